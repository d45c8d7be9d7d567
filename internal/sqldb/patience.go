package sqldb

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"lessonkit.example/internal/migrate"
)

// patience is how long one statement, or one connect, may take on PostgreSQL.
// Without a limit a connection that swallows everything (a router that forgot
// it, a pooler that hangs) would hold whoever uses it for as long as TCP is
// content. It is far above what our statements take.
const patience = 20 * time.Second

// limiter bounds every statement of pgx. It is a tracer because tracers choose
// the context that pgx goes on with. What waits without a statement, as
// LISTEN does, and migrations have no limit.
type limiter struct{ patience time.Duration }

var (
	_ pgx.QueryTracer    = limiter{}
	_ pgx.BatchTracer    = limiter{}
	_ pgx.CopyFromTracer = limiter{}
	_ pgx.PrepareTracer  = limiter{}
	_ pgx.ConnectTracer  = limiter{}
)

type cancelKey struct{}

func (l limiter) begin(ctx context.Context) context.Context {
	if migrate.Underway(ctx) {
		return ctx
	}
	ctx, cancel := context.WithTimeout(ctx, l.patience)
	return context.WithValue(ctx, cancelKey{}, cancel)
}

// end gets the context that begin returned.
func (limiter) end(ctx context.Context) {
	if cancel, ok := ctx.Value(cancelKey{}).(context.CancelFunc); ok {
		cancel()
	}
}

func (l limiter) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	return l.begin(ctx)
}

func (l limiter) TraceQueryEnd(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryEndData) { l.end(ctx) }

func (l limiter) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	return l.begin(ctx)
}

func (limiter) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

func (l limiter) TraceBatchEnd(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchEndData) { l.end(ctx) }

func (l limiter) TraceCopyFromStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceCopyFromStartData) context.Context {
	return l.begin(ctx)
}

func (l limiter) TraceCopyFromEnd(ctx context.Context, _ *pgx.Conn, _ pgx.TraceCopyFromEndData) {
	l.end(ctx)
}

func (l limiter) TracePrepareStart(ctx context.Context, _ *pgx.Conn, _ pgx.TracePrepareStartData) context.Context {
	return l.begin(ctx)
}

func (l limiter) TracePrepareEnd(ctx context.Context, _ *pgx.Conn, _ pgx.TracePrepareEndData) {
	l.end(ctx)
}

func (l limiter) TraceConnectStart(ctx context.Context, _ pgx.TraceConnectStartData) context.Context {
	return l.begin(ctx)
}

func (l limiter) TraceConnectEnd(ctx context.Context, _ pgx.TraceConnectEndData) { l.end(ctx) }
