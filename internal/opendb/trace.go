package opendb

import (
	"context"
	"strings"

	"github.com/jackc/pgx/v5"

	"lessonkit.example/internal/db"
)

// Trace is called before each statement.
type Trace = db.Trace

// pgxTrace traces the statements of pgx.
type pgxTrace struct{ begin Trace }

var (
	_ pgx.QueryTracer = pgxTrace{}
	_ pgx.BatchTracer = pgxTrace{}
)

type endKey struct{}

func (t pgxTrace) start(ctx context.Context, statement string) context.Context {
	ctx, end := t.begin(ctx, statement)
	return context.WithValue(ctx, endKey{}, end)
}

func (pgxTrace) end(ctx context.Context, err error) {
	if end, _ := ctx.Value(endKey{}).(func(error)); end != nil {
		end(err)
	}
}

// TraceQueryStart implements [pgx.QueryTracer].
func (t pgxTrace) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	return t.start(ctx, data.SQL)
}

// TraceQueryEnd implements [pgx.QueryTracer].
func (t pgxTrace) TraceQueryEnd(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryEndData) {
	t.end(ctx, data.Err)
}

// TraceBatchStart implements [pgx.BatchTracer].
func (t pgxTrace) TraceBatchStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceBatchStartData) context.Context {
	var statements []string
	for _, q := range data.Batch.QueuedQueries {
		statements = append(statements, q.SQL)
	}
	return t.start(ctx, strings.Join(statements, "; "))
}

// TraceBatchQuery implements [pgx.BatchTracer].
func (pgxTrace) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

// TraceBatchEnd implements [pgx.BatchTracer].
func (t pgxTrace) TraceBatchEnd(ctx context.Context, _ *pgx.Conn, data pgx.TraceBatchEndData) {
	t.end(ctx, data.Err)
}
