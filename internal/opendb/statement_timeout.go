package opendb

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"lessonkit.example/internal/db"
)

// statementTimeout limits every statement of pgx. It is a tracer because a tracer provides the
// context that pgx continues with. Migrations, and waiting for notifications, have no limit.
type statementTimeout time.Duration

var (
	_ pgx.QueryTracer    = statementTimeout(0)
	_ pgx.BatchTracer    = statementTimeout(0)
	_ pgx.CopyFromTracer = statementTimeout(0)
	_ pgx.PrepareTracer  = statementTimeout(0)
	_ pgx.ConnectTracer  = statementTimeout(0)
)

type cancelKey struct{}

func (t statementTimeout) begin(ctx context.Context) context.Context {
	if db.Migrating(ctx) {
		return ctx
	}
	ctx, cancel := context.WithTimeout(ctx, time.Duration(t))
	return context.WithValue(ctx, cancelKey{}, cancel)
}

// end receives the context that begin returned.
func (statementTimeout) end(ctx context.Context) {
	if cancel, ok := ctx.Value(cancelKey{}).(context.CancelFunc); ok {
		cancel()
	}
}

// The methods below implement pgx's tracers.

func (t statementTimeout) TraceQueryStart(ctx context.Context, _ *pgx.Conn,
	_ pgx.TraceQueryStartData) context.Context {
	return t.begin(ctx)
}

func (t statementTimeout) TraceQueryEnd(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryEndData) {
	t.end(ctx)
}

func (t statementTimeout) TraceBatchStart(ctx context.Context, _ *pgx.Conn,
	_ pgx.TraceBatchStartData) context.Context {
	return t.begin(ctx)
}

func (statementTimeout) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

func (t statementTimeout) TraceBatchEnd(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchEndData) {
	t.end(ctx)
}

func (t statementTimeout) TraceCopyFromStart(ctx context.Context, _ *pgx.Conn,
	_ pgx.TraceCopyFromStartData) context.Context {
	return t.begin(ctx)
}

func (t statementTimeout) TraceCopyFromEnd(ctx context.Context, _ *pgx.Conn, _ pgx.TraceCopyFromEndData) {
	t.end(ctx)
}

func (t statementTimeout) TracePrepareStart(ctx context.Context, _ *pgx.Conn,
	_ pgx.TracePrepareStartData) context.Context {
	return t.begin(ctx)
}

func (t statementTimeout) TracePrepareEnd(ctx context.Context, _ *pgx.Conn, _ pgx.TracePrepareEndData) {
	t.end(ctx)
}

func (t statementTimeout) TraceConnectStart(ctx context.Context, _ pgx.TraceConnectStartData) context.Context {
	return t.begin(ctx)
}

func (t statementTimeout) TraceConnectEnd(ctx context.Context, _ pgx.TraceConnectEndData) { t.end(ctx) }
