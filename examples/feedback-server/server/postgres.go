package server

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// statementTrace is called before each statement with its text without arguments. The statement
// then has the context that it returns. The function that it returns is called when the statement
// has ended; it may be nil.
type statementTrace func(ctx context.Context, statement string) (context.Context, func(error))

// postgresTracer traces the statements of PostgreSQL, and looks for the errors of a connection
// pooler that the address of the database does not consider.
type postgresTracer struct {
	trace         statementTrace // may be nil
	poolerMisused *atomic.Bool
	log           *slog.Logger
}

var (
	_ pgx.QueryTracer = postgresTracer{}
	_ pgx.BatchTracer = postgresTracer{}
)

type endKey struct{}

func (t postgresTracer) start(ctx context.Context, statement string) context.Context {
	if t.trace == nil {
		return ctx
	}
	ctx, end := t.trace(ctx, statement)
	return context.WithValue(ctx, endKey{}, end)
}

// end looks for a prepared statement that was not found or existed already. pgx prepares the
// statements of a connection once. A pooler in transaction mode runs each transaction on any
// connection of the server, where other statements are prepared.
func (t postgresTracer) end(ctx context.Context, err error) {
	if end, _ := ctx.Value(endKey{}).(func(error)); end != nil {
		end(err)
	}
	const undefinedStatement, duplicateStatement = "26000", "42P05"
	e, ok := errors.AsType[*pgconn.PgError](err)
	if ok && (e.Code == undefinedStatement || e.Code == duplicateStatement) && !t.poolerMisused.Swap(true) {
		t.log.Error("DATABASE_URL: the database is behind a connection pooler in transaction mode, such as " +
			"pgbouncer: add default_query_exec_mode=exec to the address of the database")
	}
}

// TraceQueryStart implements [pgx.QueryTracer].
func (t postgresTracer) TraceQueryStart(
	ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData,
) context.Context {
	return t.start(ctx, data.SQL)
}

// TraceQueryEnd implements [pgx.QueryTracer].
func (t postgresTracer) TraceQueryEnd(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryEndData) {
	t.end(ctx, data.Err)
}

// TraceBatchStart implements [pgx.BatchTracer].
func (t postgresTracer) TraceBatchStart(
	ctx context.Context, _ *pgx.Conn, data pgx.TraceBatchStartData,
) context.Context {
	var statements []string
	for _, q := range data.Batch.QueuedQueries {
		statements = append(statements, q.SQL)
	}
	return t.start(ctx, strings.Join(statements, "; "))
}

// TraceBatchQuery implements [pgx.BatchTracer].
func (postgresTracer) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

// TraceBatchEnd implements [pgx.BatchTracer].
func (t postgresTracer) TraceBatchEnd(ctx context.Context, _ *pgx.Conn, data pgx.TraceBatchEndData) {
	t.end(ctx, data.Err)
}
