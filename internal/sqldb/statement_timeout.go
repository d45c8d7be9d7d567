package sqldb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"time"

	"lessonkit.example/internal/migrate"
)

// StatementTimeout is how long one statement, or one connect, may take on PostgreSQL: far longer
// than our statements need. Without a limit, a half-open connection would block its user until TCP
// gives up. Migrations, and transactions between their statements, have no limit.
const StatementTimeout = 20 * time.Second

// openLimited opens a database with the registered driver of pgx, each of whose statements has a
// timeout. It works without linking pgx, and so can be used by programs that import the driver
// themselves.
func openLimited(address string, timeout time.Duration) (*sql.DB, error) {
	unlimited, err := sql.Open("pgx", address)
	if err != nil {
		return nil, fmt.Errorf("open postgres with github.com/jackc/pgx/v5/stdlib: %w", err)
	}
	defer unlimited.Close() // it has no connection
	d, ok := unlimited.Driver().(driver.DriverContext)
	if !ok {
		return nil, fmt.Errorf("open postgres: the driver pgx is a %T", unlimited.Driver())
	}
	connector, err := d.OpenConnector(address)
	if err != nil {
		return nil, ErrPostgresAddress // the driver's error may contain the address
	}
	return sql.OpenDB(limitedConnector{connector, timeout}), nil
}

type limitedConnector struct {
	driver.Connector
	timeout time.Duration
}

// Connect implements driver.Connector.
func (c limitedConnector) Connect(ctx context.Context) (driver.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	full, ok := conn.(pgxConn)
	if !ok {
		conn.Close()
		return nil, fmt.Errorf("open postgres: the driver pgx has connections of type %T", conn)
	}
	return limitedConn{full, c.timeout}, nil
}

// pgxConn is what pgx's connections implement.
type pgxConn interface {
	driver.Conn
	driver.ConnPrepareContext
	driver.ConnBeginTx
	driver.ExecerContext
	driver.QueryerContext
	driver.Pinger
	driver.SessionResetter
	driver.NamedValueChecker
}

// limitedConn limits statements that are not prepared; the stores prepare none on PostgreSQL.
type limitedConn struct {
	pgxConn
	timeout time.Duration
}

func (c limitedConn) limit(ctx context.Context) (context.Context, context.CancelFunc) {
	if migrate.Running(ctx) {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, c.timeout)
}

// ExecContext implements driver.ExecerContext.
func (c limitedConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	ctx, cancel := c.limit(ctx)
	defer cancel()
	return c.pgxConn.ExecContext(ctx, query, args)
}

// Ping implements driver.Pinger.
func (c limitedConn) Ping(ctx context.Context) error {
	ctx, cancel := c.limit(ctx)
	defer cancel()
	return c.pgxConn.Ping(ctx)
}

// ResetSession implements driver.SessionResetter. pgx pings a connection that was idle.
func (c limitedConn) ResetSession(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	return c.pgxConn.ResetSession(ctx)
}

// QueryContext implements driver.QueryerContext. The time includes reading the rows.
func (c limitedConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	ctx, cancel := c.limit(ctx)
	rows, err := c.pgxConn.QueryContext(ctx, query, args)
	if err != nil {
		cancel()
		return nil, err
	}
	return limitedRows{rows, cancel}, nil
}

type limitedRows struct {
	driver.Rows
	cancel context.CancelFunc
}

// Close implements driver.Rows.
func (r limitedRows) Close() error {
	defer r.cancel()
	return r.Rows.Close()
}

// BeginTx implements driver.ConnBeginTx. pgx keeps the context for the end of the transaction, so
// it ends then, or when a step takes too long.
func (c limitedConn) BeginTx(ctx context.Context, options driver.TxOptions) (driver.Tx, error) {
	limited := limitedTx{timeout: c.timeout}
	if migrate.Running(ctx) {
		limited.timeout = 1<<63 - 1
	}
	ctx, limited.cancel = context.WithCancel(ctx)
	timer := time.AfterFunc(limited.timeout, limited.cancel)
	defer timer.Stop()
	var err error
	if limited.Tx, err = c.pgxConn.BeginTx(ctx, options); err != nil {
		limited.cancel()
		return nil, timedOut(timer, err)
	}
	return limited, nil
}

type limitedTx struct {
	driver.Tx
	timeout time.Duration
	cancel  context.CancelFunc
}

// Commit implements driver.Tx.
func (t limitedTx) Commit() error { return t.end(t.Tx.Commit) }

// Rollback implements driver.Tx.
func (t limitedTx) Rollback() error { return t.end(t.Tx.Rollback) }

func (t limitedTx) end(end func() error) error {
	defer t.cancel()
	timer := time.AfterFunc(t.timeout, t.cancel)
	defer timer.Stop()
	if err := end(); err != nil {
		return timedOut(timer, err)
	}
	return nil
}

// timedOut returns the error of a step, as a timeout if the timer has ended it: the driver reports
// that as canceled, as if the caller had done it.
func timedOut(timer *time.Timer, err error) error {
	if timer.Stop() {
		return err
	}
	return fmt.Errorf("%w: %v", context.DeadlineExceeded, err)
}
