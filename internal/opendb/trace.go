package opendb

import (
	"context"
	"database/sql/driver"
	"fmt"
	"io"
	"strings"

	"github.com/jackc/pgx/v5"

	"lessonkit.example/internal/sqlitedb"
)

// Trace is called before each statement, or batch of statements, with its text without arguments.
// The statement then has the context that Trace returns. The function that Trace returns is called
// once when the statement has ended and its rows are read; it may be nil. Trace is called
// concurrently. Of SQLite's transactions, neither begin nor commit is traced, because concurrent
// callers share them.
type Trace func(ctx context.Context, statement string) (context.Context, func(error))

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

// sqliteConnector opens connections whose statements are traced.
type sqliteConnector struct {
	driver driver.Driver
	name   string // of the data source
	begin  Trace
}

// Driver implements driver.Connector.
func (c sqliteConnector) Driver() driver.Driver { return c.driver }

// Connect implements driver.Connector.
func (c sqliteConnector) Connect(context.Context) (driver.Conn, error) {
	conn, err := c.driver.Open(c.name)
	if err != nil {
		return nil, err
	}
	full, ok := conn.(sqlitedb.Conn)
	if !ok {
		conn.Close()
		return nil, fmt.Errorf("open sqlite: the driver has connections of type %T", conn)
	}
	return tracedConn{full, c.begin}, nil
}

type tracedConn struct {
	sqlitedb.Conn
	begin Trace
}

// ExecContext implements driver.ExecerContext.
func (c tracedConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	ctx, end := c.begin(ctx, query)
	result, err := c.Conn.ExecContext(ctx, query, args)
	if end != nil {
		end(err)
	}
	return result, err
}

// QueryContext implements driver.QueryerContext.
func (c tracedConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	ctx, end := c.begin(ctx, query)
	rows, err := c.Conn.QueryContext(ctx, query, args)
	return traceRows(rows, err, end)
}

// PrepareContext implements driver.ConnPrepareContext.
func (c tracedConn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	stmt, err := c.Conn.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	full, ok := stmt.(sqlitedb.Stmt)
	if !ok {
		stmt.Close()
		return nil, fmt.Errorf("the driver of SQLite has statements of type %T", stmt)
	}
	return tracedStmt{full, query, c.begin}, nil
}

type tracedStmt struct {
	sqlitedb.Stmt
	query string
	begin Trace
}

// ExecContext implements driver.StmtExecContext.
func (s tracedStmt) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	ctx, end := s.begin(ctx, s.query)
	result, err := s.Stmt.ExecContext(ctx, args)
	if end != nil {
		end(err)
	}
	return result, err
}

// QueryContext implements driver.StmtQueryContext.
func (s tracedStmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	ctx, end := s.begin(ctx, s.query)
	rows, err := s.Stmt.QueryContext(ctx, args)
	return traceRows(rows, err, end)
}

// traceRows calls end when rows are closed, or at once if there are none.
func traceRows(rows driver.Rows, err error, end func(error)) (driver.Rows, error) {
	switch {
	case end == nil:
		return rows, err
	case err != nil:
		end(err)
		return nil, err
	}
	return &tracedRows{Rows: rows, end: end}, nil
}

type tracedRows struct {
	driver.Rows
	err error // of Next
	end func(error)
}

// Next implements driver.Rows.
func (r *tracedRows) Next(values []driver.Value) error {
	err := r.Rows.Next(values)
	if err != nil && err != io.EOF {
		r.err = err
	}
	return err
}

// Close implements driver.Rows.
func (r *tracedRows) Close() error {
	err := r.Rows.Close()
	if r.err == nil {
		r.err = err
	}
	r.end(r.err)
	return err
}
