package opendb

import (
	"context"
	"sync/atomic"

	"github.com/jackc/pgx/v5"

	"lessonkit.example/internal/db"
)

// PoolerAdvice says what to do about [DB.PoolerMisused].
const PoolerAdvice = "the database is behind a connection pooler in transaction mode, such as pgbouncer: add " +
	"default_query_exec_mode=exec to the address of the database"

// tracer limits statements and looks for the errors of a pooler.
type tracer struct {
	statementTimeout
	misused *atomic.Bool
	warn    func() // called at the first such error
}

func (t tracer) check(err error) {
	if db.IsPoolerError(err) && !t.misused.Swap(true) {
		t.warn()
	}
}

// TraceQueryEnd implements [pgx.QueryTracer].
func (t tracer) TraceQueryEnd(ctx context.Context, conn *pgx.Conn, data pgx.TraceQueryEndData) {
	t.check(data.Err)
	t.statementTimeout.TraceQueryEnd(ctx, conn, data)
}

// TracePrepareEnd implements [pgx.PrepareTracer].
func (t tracer) TracePrepareEnd(ctx context.Context, conn *pgx.Conn, data pgx.TracePrepareEndData) {
	t.check(data.Err)
	t.statementTimeout.TracePrepareEnd(ctx, conn, data)
}

// TraceBatchEnd implements [pgx.BatchTracer].
func (t tracer) TraceBatchEnd(ctx context.Context, conn *pgx.Conn, data pgx.TraceBatchEndData) {
	t.check(data.Err)
	t.statementTimeout.TraceBatchEnd(ctx, conn, data)
}
