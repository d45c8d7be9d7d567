package db

import (
	"context"
	"database/sql/driver"
	"fmt"
	"io"
	"math/rand/v2"
	"time"
)

// sqliteConn is what the connections of the driver implement.
type sqliteConn interface {
	driver.Conn
	driver.ConnPrepareContext
	driver.ConnBeginTx
	driver.ExecerContext
	driver.QueryerContext
	driver.Pinger
	driver.SessionResetter
	driver.Validator
}

// sqliteStmt is what the prepared statements of the driver implement.
type sqliteStmt interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

// Trace is called before each statement with its text without arguments. The statement then has
// the context that Trace returns. The function that Trace returns is called once when the statement
// has ended and its rows are read; it may be nil. Trace is called concurrently. On SQLite neither
// begin nor commit is traced, because concurrent callers share transactions.
type Trace func(ctx context.Context, statement string) (context.Context, func(error))

// conn is a connection to SQLite. It prepares each statement once: the driver prepares a statement
// anew for each execution, which takes longer than executing most of ours does. If it writes, it
// takes turns with the writers of other connections and processes.
type conn struct {
	sqliteConn
	trace  Trace
	writes bool

	kept  map[string]sqliteStmt // statements that are not in use, by their text
	turn  time.Time             // when the first transaction began since the last pause
	ended time.Time             // when the last transaction ended
}

// maxKept is how many statements a connection keeps. A program has fewer, unless their texts are
// composed; then it loses all of them now and then.
const maxKept = 200

// take returns a prepared statement that the caller alone uses.
func (c *conn) take(ctx context.Context, query string) (sqliteStmt, error) {
	if s, ok := c.kept[query]; ok {
		delete(c.kept, query)
		return s, nil
	}
	prepared, err := c.sqliteConn.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	full, ok := prepared.(sqliteStmt)
	if !ok {
		prepared.Close()
		return nil, fmt.Errorf("the driver has statements of type %T", prepared)
	}
	return full, nil
}

// giveBack keeps a statement for the next execution, unless another with its text is kept already.
func (c *conn) giveBack(query string, s sqliteStmt) {
	if _, ok := c.kept[query]; ok {
		s.Close()
		return
	}
	if len(c.kept) == maxKept {
		c.closeKept()
	}
	c.kept[query] = s
}

// closeKept closes the statements. That fails only for one that has failed and was not reset.
func (c *conn) closeKept() {
	for _, s := range c.kept {
		s.Close()
	}
	clear(c.kept)
}

func (c *conn) Close() error {
	c.closeKept()
	return c.sqliteConn.Close()
}

// begin starts the trace of a statement.
func (c *conn) begin(ctx context.Context, query string) (context.Context, func(error)) {
	if c.trace != nil {
		if ctx, end := c.trace(ctx, query); end != nil {
			return ctx, end
		}
	}
	return ctx, func(error) {}
}

func (c *conn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (
	result driver.Result, err error,
) {
	ctx, end := c.begin(ctx, query)
	defer func() { end(err) }()
	s, err := c.take(ctx, query)
	if err != nil {
		return nil, err
	}
	defer c.giveBack(query, s)
	err = c.wait(ctx, func() (err error) {
		result, err = s.ExecContext(ctx, args)
		return err
	})
	return result, err
}

func (c *conn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	ctx, end := c.begin(ctx, query)
	s, err := c.take(ctx, query)
	if err != nil {
		end(err)
		return nil, err
	}
	r := &rows{conn: c, query: query, stmt: s, end: end}
	if err := c.wait(ctx, func() (err error) {
		r.Rows, err = s.QueryContext(ctx, args)
		return err
	}); err != nil {
		c.giveBack(query, s)
		end(err)
		return nil, err
	}
	return r, nil
}

// PrepareContext implements driver.ConnPrepareContext: what a program prepares is traced and waits
// for others as the connection's own statements do, one of which it is.
func (c *conn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	s, err := c.take(ctx, query)
	if err != nil {
		return nil, err
	}
	c.giveBack(query, s)
	return prepared{s, c, query}, nil
}

// prepared is a statement that a program has prepared. The embedded one may be closed by now.
type prepared struct {
	sqliteStmt
	conn  *conn
	query string
}

func (p prepared) Close() error { return nil }

func (p prepared) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	return p.conn.ExecContext(ctx, p.query, args)
}

func (p prepared) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	return p.conn.QueryContext(ctx, p.query, args)
}

// rows are the rows of a kept statement.
type rows struct {
	driver.Rows
	conn  *conn
	query string
	stmt  sqliteStmt
	err   error // of Next
	end   func(error)
}

func (r *rows) Next(values []driver.Value) error {
	err := r.Rows.Next(values)
	if err != nil && err != io.EOF {
		r.err = err
	}
	return err
}

func (r *rows) Close() error {
	err := r.Rows.Close()
	r.conn.giveBack(r.query, r.stmt)
	if r.err == nil {
		r.err = err
	}
	r.end(r.err)
	return err
}

// busyTimeout is how long a connection waits while others write.
const busyTimeout = 10 * time.Second

// SQLite itself waits for the lock of a file by trying again, at first after 1 ms, in the end every
// 100 ms. A connection that writes all the time releases the lock for microseconds, in which nobody
// tries, so that all others time out. Connections of this package try more often, and one that has
// written without a pause for as long as maxTurn pauses for longer than the others wait between two
// attempts.
const (
	maxTurn  = 50 * time.Millisecond
	pause    = time.Millisecond
	minRetry = 200 * time.Microsecond
	maxRetry = 800 * time.Microsecond
)

// BeginTx implements driver.ConnBeginTx. Its wait for the lock ends with ctx.
func (c *conn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	if !c.writes {
		return c.sqliteConn.BeginTx(ctx, opts)
	}
	if time.Since(c.ended) < pause && time.Since(c.turn) > maxTurn {
		if err := sleep(ctx, pause); err != nil {
			return nil, err
		}
	}
	t := writeTx{conn: c}
	if err := c.wait(ctx, func() (err error) {
		t.Tx, err = c.sqliteConn.BeginTx(ctx, opts)
		return err
	}); err != nil {
		return nil, err
	}
	if time.Since(c.ended) >= pause {
		c.turn = time.Now()
	}
	return t, nil
}

// wait repeats f of a connection that writes while others hold the lock.
func (c *conn) wait(ctx context.Context, f func() error) error {
	err := f()
	if !c.writes || !isBusy(err) {
		return err
	}
	for late := time.Now().Add(busyTimeout); isBusy(err) && time.Now().Before(late); err = f() {
		if err := sleep(ctx, minRetry+rand.N(maxRetry-minRetry)); err != nil {
			return err
		}
	}
	return err
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// writeTx is a transaction of a connection that writes.
type writeTx struct {
	driver.Tx
	conn *conn
}

func (t writeTx) Commit() error {
	err := t.Tx.Commit()
	t.conn.ended = time.Now()
	return err
}

func (t writeTx) Rollback() error {
	err := t.Tx.Rollback()
	t.conn.ended = time.Now()
	return err
}
