package opendb

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"

	"zombiezen.com/go/sqlite"
)

// readConnector opens connections that read. They call the same SQLite as modernc.org/sqlite, by
// another library: that driver locks a connection for each value of a row, although database/sql
// uses no connection twice at the same time, and looks up the names and types of the columns for
// each query. A query for one row takes half the time without.
type readConnector struct {
	driver driver.Driver
	name   string // of the data source
	trace  Trace  // may be nil
}

// Driver implements driver.Connector.
func (c readConnector) Driver() driver.Driver { return c.driver }

// Connect implements driver.Connector.
func (c readConnector) Connect(context.Context) (driver.Conn, error) {
	file, query, _ := strings.Cut(c.name, "?")
	options, err := url.ParseQuery(query)
	if err != nil {
		return nil, fmt.Errorf("open sqlite: %w", err)
	}
	conn, err := sqlite.OpenConn(file, sqlite.OpenReadWrite|sqlite.OpenURI) // query_only is among the pragmas
	if err != nil {
		return nil, readError{err}
	}
	read := readConn{conn, c.trace}
	for _, pragma := range options["_pragma"] {
		if err := read.run("pragma " + pragma); err != nil {
			return nil, errors.Join(err, conn.Close())
		}
	}
	return read, nil
}

// readError gives errors the method that those of modernc.org/sqlite have.
type readError struct{ error }

// Unwrap returns the error of the library.
func (e readError) Unwrap() error { return e.error }

// Code returns the extended result code of SQLite.
func (e readError) Code() int { return int(sqlite.ErrCode(e.error)) }

type readConn struct {
	conn  *sqlite.Conn
	trace Trace
}

var (
	_ driver.ConnBeginTx        = readConn{}
	_ driver.Pinger             = readConn{}
	_ driver.ConnPrepareContext = readConn{}
	_ driver.StmtQueryContext   = (*readStmt)(nil)
)

// Close implements driver.Conn.
func (c readConn) Close() error { return c.conn.Close() }

// Begin implements driver.Conn.
func (c readConn) Begin() (driver.Tx, error) { return readTx{c}, c.run("begin") }

// BeginTx implements driver.ConnBeginTx. The transaction reads, whatever the options are.
func (c readConn) BeginTx(context.Context, driver.TxOptions) (driver.Tx, error) { return c.Begin() }

// Ping implements driver.Pinger.
func (c readConn) Ping(context.Context) error { return c.run("select 1") }

// run executes a statement without arguments and skips what it returns.
func (c readConn) run(statement string) error {
	stmt, _, err := c.conn.PrepareTransient(statement)
	if err != nil {
		return readError{err}
	}
	_, err = stmt.Step()
	if err := errors.Join(err, stmt.Finalize()); err != nil {
		return readError{err}
	}
	return nil
}

type readTx struct{ conn readConn }

// Commit implements driver.Tx.
func (t readTx) Commit() error { return t.conn.run("commit") }

// Rollback implements driver.Tx.
func (t readTx) Rollback() error { return t.conn.run("rollback") }

// PrepareContext implements driver.ConnPrepareContext. It traces a statement that fails here.
func (c readConn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	stmt, err := c.Prepare(query)
	if err != nil && c.trace != nil {
		if _, end := c.trace(ctx, query); end != nil {
			end(err)
		}
	}
	return stmt, err
}

// Prepare implements driver.Conn.
func (c readConn) Prepare(query string) (driver.Stmt, error) {
	stmt, rest, err := c.conn.PrepareTransient(query)
	if err != nil {
		return nil, readError{err}
	}
	if strings.TrimSpace(query[len(query)-rest:]) != "" {
		return nil, errors.Join(errors.New("sqlite: one statement is expected"), stmt.Finalize())
	}
	s := &readStmt{
		conn: c, query: query, stmt: stmt,
		columns: make([]string, stmt.ColumnCount()), ordinals: make([]int, stmt.BindParamCount()),
	}
	for i := range s.columns {
		s.columns[i] = stmt.ColumnName(i)
	}
	for i := range s.ordinals {
		// SQLite takes the number of ?2, but numbers $2 by where it first occurs.
		number, isNumbered := strings.CutPrefix(stmt.BindParamName(i+1), "$")
		s.ordinals[i] = i + 1
		if isNumbered {
			if s.ordinals[i], err = strconv.Atoi(number); err != nil {
				return nil, errors.Join(fmt.Errorf("sqlite: parameter %q", stmt.BindParamName(i+1)), stmt.Finalize())
			}
		}
	}
	return s, nil
}

type readStmt struct {
	conn     readConn
	query    string
	stmt     *sqlite.Stmt
	columns  []string
	ordinals []int // which argument each parameter has, from 1
}

// Close implements driver.Stmt.
func (s *readStmt) Close() error { return s.stmt.Finalize() }

// NumInput implements driver.Stmt.
func (s *readStmt) NumInput() int { return -1 } // some may be unused

// Exec implements driver.Stmt.
func (s *readStmt) Exec([]driver.Value) (driver.Result, error) {
	return nil, errors.New("sqlite: this pool only reads")
}

// Query implements driver.Stmt. database/sql calls QueryContext instead.
func (s *readStmt) Query([]driver.Value) (driver.Rows, error) { return nil, driver.ErrSkip }

// QueryContext implements driver.StmtQueryContext. The first row is read by Next.
func (s *readStmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	for i, ordinal := range s.ordinals {
		if ordinal < 1 || ordinal > len(args) {
			return nil, fmt.Errorf("sqlite: argument %d is missing", ordinal)
		}
		if err := s.bind(i+1, args[ordinal-1].Value); err != nil {
			return nil, err
		}
	}
	var end func(error)
	if s.conn.trace != nil {
		ctx, end = s.conn.trace(ctx, s.query)
	}
	s.conn.conn.SetInterrupt(ctx.Done())
	return traceRows(readRows{s, ctx}, nil, end)
}

func (s *readStmt) bind(parameter int, value driver.Value) error {
	switch v := value.(type) {
	case nil:
		s.stmt.BindNull(parameter)
	case int64:
		s.stmt.BindInt64(parameter, v)
	case float64:
		s.stmt.BindFloat(parameter, v)
	case bool:
		s.stmt.BindBool(parameter, v)
	case string:
		s.stmt.BindText(parameter, v)
	case []byte:
		s.stmt.BindBytes(parameter, v)
	default:
		return fmt.Errorf("sqlite: argument of type %T", value)
	}
	return nil
}

type readRows struct {
	*readStmt
	ctx context.Context
}

// Columns implements driver.Rows. Of several columns of one name, only the last has it here.
func (r readRows) Columns() []string { return r.columns }

// Next implements driver.Rows.
func (r readRows) Next(values []driver.Value) error {
	found, err := r.stmt.Step()
	switch {
	case err != nil && r.ctx.Err() != nil:
		return r.ctx.Err()
	case err != nil:
		return readError{err}
	case !found:
		return io.EOF
	}
	for i := range values {
		switch r.stmt.ColumnType(i) {
		case sqlite.TypeInteger:
			values[i] = r.stmt.ColumnInt64(i)
		case sqlite.TypeFloat:
			values[i] = r.stmt.ColumnFloat(i)
		case sqlite.TypeText:
			values[i] = r.stmt.ColumnText(i)
		case sqlite.TypeBlob:
			blob := make([]byte, r.stmt.ColumnLen(i))
			r.stmt.ColumnBytes(i, blob)
			values[i] = blob
		default:
			values[i] = nil
		}
	}
	return nil
}

// Close implements driver.Rows.
func (r readRows) Close() error {
	r.conn.conn.SetInterrupt(nil)
	return r.stmt.Reset()
}
