package db

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite" // the driver
)

// countingConn counts the statements that are prepared and not closed.
type countingConn struct {
	sqliteConn
	prepared, open int
}

func (c *countingConn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	s, err := c.sqliteConn.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	c.prepared++
	c.open++
	return countingStmt{s.(sqliteStmt), c}, nil
}

type countingStmt struct {
	sqliteStmt
	conn *countingConn
}

func (s countingStmt) Close() error {
	s.conn.open--
	return s.sqliteStmt.Close()
}

// preparing returns a pool with one connection that prepares statements once.
func preparing(t *testing.T) (*sql.DB, *countingConn) {
	t.Helper()
	registered, err := sql.Open("sqlite", "")
	require.NoError(t, err)
	require.NoError(t, registered.Close())
	opened, err := registered.Driver().Open(dsn(filepath.Join(t.TempDir(), "x.db"), true))
	require.NoError(t, err)
	counting := &countingConn{sqliteConn: opened.(sqliteConn)}
	db := sql.OpenDB(theConnector{registered.Driver(), &conn{sqliteConn: counting, kept: map[string]sqliteStmt{}}})
	db.SetMaxOpenConns(1)
	t.Cleanup(func() {
		require.NoError(t, db.Close())
		require.Zero(t, counting.open, "statements that are never closed")
	})
	_, err = db.Exec("create table n (v integer primary key, name text) strict; insert into n values (1, 'one')")
	require.NoError(t, err)
	counting.prepared = 0
	return db, counting
}

type theConnector struct {
	driver driver.Driver
	conn   driver.Conn
}

func (c theConnector) Driver() driver.Driver                        { return c.driver }
func (c theConnector) Connect(context.Context) (driver.Conn, error) { return c.conn, nil }

func TestStatementThatFailedIsUsedAgain(t *testing.T) {
	t.Parallel()
	db, conn := preparing(t)
	for _, v := range []int{1, 2, 1, 3} {
		_, err := db.Exec("insert into n values ($1, $2)", v, "x")
		rows, queryErr := db.Query("insert into n values ($1, $2) returning name", v+10, nil)
		require.NoError(t, queryErr)
		require.True(t, rows.Next())
		require.NoError(t, rows.Close())
		_, queryErr = db.Query("insert into n values ($1, $2) returning v", v+10, nil)
		require.ErrorContains(t, queryErr, "UNIQUE")
		if v == 1 {
			require.ErrorContains(t, err, "UNIQUE")
			_, err = db.Exec("delete from n where v = $1", v+10)
		}
		require.NoError(t, err)
	}
	require.Equal(t, 4, conn.prepared)
}

func TestStatementIsUsedWhileItsRowsAreRead(t *testing.T) {
	t.Parallel()
	db, conn := preparing(t)
	_, err := db.Exec("insert into n values (2, 'two'), (3, 'three')")
	require.NoError(t, err)
	tx, err := db.Begin()
	require.NoError(t, err)
	defer tx.Rollback()
	const query = "select v from n where v > $1 order by v"
	outer, err := tx.Query(query, 0)
	require.NoError(t, err)
	var got [][]int
	for outer.Next() {
		var v int
		require.NoError(t, outer.Scan(&v))
		larger := []int{v}
		inner, err := tx.Query(query, v)
		require.NoError(t, err)
		for inner.Next() {
			require.NoError(t, inner.Scan(&v))
			larger = append(larger, v)
		}
		require.NoError(t, inner.Err())
		got = append(got, larger)
	}
	require.NoError(t, outer.Err())
	require.Equal(t, [][]int{{1, 2, 3}, {2, 3}, {3}}, got)
	require.Equal(t, 3, conn.prepared, "one to insert, two to read")
}

func TestKeptStatementsAreBounded(t *testing.T) {
	t.Parallel()
	db, conn := preparing(t)
	for i := range 2 * maxKept {
		var v int
		require.NoError(t, db.QueryRow(fmt.Sprintf("select %d + $1", i), 1).Scan(&v))
		require.Equal(t, i+1, v)
		require.LessOrEqual(t, conn.open, maxKept)
	}
}

// traceKey is the key of a value that a trace adds to the context of a statement.
type traceKey struct{}

func TestTraceIsCalledOnceForEachStatement(t *testing.T) {
	t.Parallel()
	var statements []string
	var failed []bool
	trace := func(ctx context.Context, statement string) (context.Context, func(error)) {
		if ctx.Value(traceKey{}) == nil {
			return ctx, nil
		}
		return ctx, func(err error) {
			statements, failed = append(statements, statement), append(failed, err != nil)
		}
	}
	db, err := OpenSQLite(filepath.Join(t.TempDir(), "x.db"), trace)
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	_, err = db.W.ExecContext(t.Context(), "create table t (id integer primary key) strict")
	require.NoError(t, err)

	ctx := context.WithValue(t.Context(), traceKey{}, true)
	tx, err := db.W.Begin()
	require.NoError(t, err)
	_, err = tx.ExecContext(ctx, "insert into t values ($1), ($2)", 1, 2)
	require.NoError(t, err)
	require.NoError(t, tx.Commit())
	_, err = db.W.ExecContext(ctx, "insert into t values ($1)", 1)
	require.Error(t, err)
	rows, err := db.QueryContext(ctx, "select id from t where id >= $1", 1)
	require.NoError(t, err)
	require.Len(t, statements, 2, "the third has not ended")
	require.NoError(t, rows.Close())
	_, err = db.R.QueryContext(ctx, "select nothing from nowhere")
	require.Error(t, err)
	prepared, err := db.W.PrepareContext(ctx, "delete from t")
	require.NoError(t, err)
	_, err = prepared.ExecContext(ctx)
	require.NoError(t, err)
	require.NoError(t, prepared.Close())
	require.Equal(t, []string{"insert into t values ($1), ($2)", "insert into t values ($1)",
		"select id from t where id >= $1", "select nothing from nowhere", "delete from t"}, statements)
	require.Equal(t, []bool{false, true, false, true, false}, failed)
}
