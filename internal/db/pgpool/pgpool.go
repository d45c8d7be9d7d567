// Package pgpool configures pools of PostgreSQL's connections, whose statements have a time limit.
package pgpool

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
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
// transactions between their statements, have no limit, nor has COPY, which no store uses. trace,
// if not nil, is called for statements and batches. The error does not contain the address.
func Config(address string, trace db.Trace) (*pgxpool.Config, error) {
	if !strings.HasPrefix(address, "postgres://") && !strings.HasPrefix(address, "postgresql://") {
		return nil, errors.New("database address: must begin with postgres://")
	}
	config, err := pgxpool.ParseConfig(address)
	if file, ok := errors.AsType[*fs.PathError](err); ok { // of a certificate
		return nil, fmt.Errorf("database address: %w", file)
	}
	if err != nil {
		// pgx redacts the password, but repeats an address that it cannot parse.
		return nil, errors.New("database address: not a valid postgres:// address")
	}
	if !strings.Contains(address, "pool_max_conns") {
		config.MaxConns = defaultMaxConns
	}
	config.PingTimeout = 5 * time.Second // of a connection that was idle and may be half-open
	config.ConnConfig.Tracer = tracer{StatementTimeout, trace}
	return config, nil
}

// tracer limits and traces statements, because a tracer provides the context that pgx continues
// with.
type tracer struct {
	limit time.Duration
	trace db.Trace // may be nil
}

var (
	_ pgx.QueryTracer   = tracer{}
	_ pgx.BatchTracer   = tracer{}
	_ pgx.PrepareTracer = tracer{}
	_ pgx.ConnectTracer = tracer{}
)

type cancelKey struct{}

func (t tracer) begin(ctx context.Context) context.Context {
	if db.Migrating(ctx) {
		return ctx
	}
	ctx, cancel := context.WithTimeout(ctx, t.limit)
	return context.WithValue(ctx, cancelKey{}, cancel)
}

// end receives the context that begin returned.
func (tracer) end(ctx context.Context) {
	if cancel, ok := ctx.Value(cancelKey{}).(context.CancelFunc); ok {
		cancel()
	}
}

type tracedKey struct{}

func (t tracer) beginStatement(ctx context.Context, statement string) context.Context {
	if t.trace != nil {
		traced, end := t.trace(ctx, statement)
		var once sync.Once // pgx tells of a batch that fails early when it fails and when it is closed
		ctx = context.WithValue(traced, tracedKey{}, func(err error) {
			once.Do(func() {
				if end != nil {
					end(err)
				}
			})
		})
	}
	return t.begin(ctx)
}

// endStatement receives the context that beginStatement returned.
func (t tracer) endStatement(ctx context.Context, err error) {
	if end, _ := ctx.Value(tracedKey{}).(func(error)); end != nil {
		end(err)
	}
	t.end(ctx)
}

// The methods below implement pgx's tracers.

func (t tracer) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	return t.beginStatement(ctx, data.SQL)
}

func (t tracer) TraceQueryEnd(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryEndData) {
	t.endStatement(ctx, data.Err)
}

func (t tracer) TraceBatchStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceBatchStartData) context.Context {
	if t.trace == nil {
		return t.begin(ctx)
	}
	var statements []string
	for _, q := range data.Batch.QueuedQueries {
		statements = append(statements, q.SQL)
	}
	return t.beginStatement(ctx, strings.Join(statements, "; "))
}

func (tracer) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

func (t tracer) TraceBatchEnd(ctx context.Context, _ *pgx.Conn, data pgx.TraceBatchEndData) {
	t.endStatement(ctx, data.Err)
}

func (t tracer) TracePrepareStart(ctx context.Context, _ *pgx.Conn, _ pgx.TracePrepareStartData) context.Context {
	return t.begin(ctx)
}

func (t tracer) TracePrepareEnd(ctx context.Context, _ *pgx.Conn, _ pgx.TracePrepareEndData) {
	t.end(ctx)
}

func (t tracer) TraceConnectStart(ctx context.Context, _ pgx.TraceConnectStartData) context.Context {
	return t.begin(ctx)
}

func (t tracer) TraceConnectEnd(ctx context.Context, _ pgx.TraceConnectEndData) { t.end(ctx) }
