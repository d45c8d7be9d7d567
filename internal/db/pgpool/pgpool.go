// Package pgpool configures pools of PostgreSQL's connections, whose statements have a time limit.
package pgpool

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"lessonkit.example/internal/db"
)

// StatementTimeout is how long one statement, or one connect, may take: far longer than our
// statements need. Without a limit, a half-open connection would block its user until TCP gives up.
const StatementTimeout = 20 * time.Second

// defaultMaxConns is enough to keep a small server busy; eight such processes fit into PostgreSQL's
// default of 100 connections. pgx would use four on a machine with up to four processors.
const defaultMaxConns = 12

// Config returns the configuration of a pool, of 12 connections unless the address has a
// pool_max_conns. Its tracer limits statements; migrations, waiting for notifications, and
// transactions between their statements, have no limit, nor has COPY, which no store uses. The
// error does not contain the address.
func Config(address string) (*pgxpool.Config, error) {
	if !strings.HasPrefix(address, "postgres://") && !strings.HasPrefix(address, "postgresql://") {
		return nil, errors.New("database address: must begin with postgres://")
	}
	config, err := pgxpool.ParseConfig(address)
	if err != nil {
		// pgx redacts the password, but repeats an address that it cannot parse.
		return nil, errors.New("database address: not a valid postgres:// address")
	}
	if !strings.Contains(address, "pool_max_conns") {
		config.MaxConns = defaultMaxConns
	}
	config.PingTimeout = 5 * time.Second // of a connection that was idle and may be half-open
	config.ConnConfig.Tracer = limit(StatementTimeout)
	return config, nil
}

// limit is how long a statement may take. It is a tracer because a tracer provides the context that
// pgx continues with.
type limit time.Duration

var (
	_ pgx.QueryTracer   = limit(0)
	_ pgx.BatchTracer   = limit(0)
	_ pgx.PrepareTracer = limit(0)
	_ pgx.ConnectTracer = limit(0)
)

type cancelKey struct{}

func (l limit) begin(ctx context.Context) context.Context {
	if db.Migrating(ctx) {
		return ctx
	}
	ctx, cancel := context.WithTimeout(ctx, time.Duration(l))
	return context.WithValue(ctx, cancelKey{}, cancel)
}

// end receives the context that begin returned.
func (limit) end(ctx context.Context) {
	if cancel, ok := ctx.Value(cancelKey{}).(context.CancelFunc); ok {
		cancel()
	}
}

// The methods below implement pgx's tracers.

func (l limit) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	return l.begin(ctx)
}

func (l limit) TraceQueryEnd(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryEndData) { l.end(ctx) }

func (l limit) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	return l.begin(ctx)
}

func (limit) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

func (l limit) TraceBatchEnd(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchEndData) { l.end(ctx) }

func (l limit) TracePrepareStart(ctx context.Context, _ *pgx.Conn, _ pgx.TracePrepareStartData) context.Context {
	return l.begin(ctx)
}

func (l limit) TracePrepareEnd(ctx context.Context, _ *pgx.Conn, _ pgx.TracePrepareEndData) {
	l.end(ctx)
}

func (l limit) TraceConnectStart(ctx context.Context, _ pgx.TraceConnectStartData) context.Context {
	return l.begin(ctx)
}

func (l limit) TraceConnectEnd(ctx context.Context, _ pgx.TraceConnectEndData) { l.end(ctx) }
