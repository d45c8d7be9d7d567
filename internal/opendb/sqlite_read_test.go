package opendb_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"lessonkit.example/internal/opendb"
	"lessonkit.example/internal/sqldb"
)

func openSQLite(t *testing.T) *opendb.DB {
	t.Helper()
	db, err := opendb.Open(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "a ü?%#.db"))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

// The driver that writes shows what the connections that read must return.
func TestReadersReturnWhatTheDriverOfSQLiteReturns(t *testing.T) {
	t.Parallel()
	db := openSQLite(t)
	_, err := db.W.Exec(`create table t (i integer, f real, s text, b blob, n text, empty text, yes boolean)`)
	require.NoError(t, err)
	_, err = db.W.Exec("insert into t values ($1, $2, $3, $4, null, '', true)",
		int64(-1<<63), 1.5, "a\x00 ü 学", []byte{0, 1, 255})
	require.NoError(t, err)
	for name, query := range map[string]struct {
		text string
		args []any
	}{
		"values":                       {"select * from t", nil},
		"arguments of every type":      {"select $1, $2, $3, $4, $5, $6", []any{1, 2.5, "x", []byte{7}, true, nil}},
		"empty arguments":              {"select $1, typeof($2)", []any{"", []byte{}}},
		"numbered in another order":    {"select $2, $1, $2 as again", []any{1, 2}},
		"numbered with question marks": {"select ?2, ?1, ?2 as again", []any{1, 2}},
		"in their order":               {"select ? as a, ? as b", []any{1, 2}},
		"unused argument":              {"select $1", []any{1, 2}},
		"no rows":                      {"select i from t where false", nil},
		"an empty end":                 {"select 1 ; \n", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := readAll(t, db.W, query.text, query.args...)
			require.Equal(t, want, readAll(t, db.R, query.text, query.args...))
			require.Equal(t, want, readAll(t, db.R, query.text, query.args...), "again")
		})
	}
}

// readAll returns the names of the columns and the values of all rows.
func readAll(t *testing.T, db *sql.DB, query string, args ...any) [][]any {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query, args...)
	require.NoError(t, err)
	defer rows.Close()
	names, err := rows.Columns()
	require.NoError(t, err)
	all := [][]any{{}}
	for _, name := range names {
		all[0] = append(all[0], name)
	}
	for rows.Next() {
		values, targets := make([]any, len(names)), make([]any, len(names))
		for i := range values {
			targets[i] = &values[i]
		}
		require.NoError(t, rows.Scan(targets...))
		all = append(all, values)
	}
	require.NoError(t, rows.Err())
	return all
}

func TestReadersHaveErrorsOfSQLite(t *testing.T) {
	t.Parallel()
	db := openSQLite(t)
	var n int
	err := db.R.QueryRow("select n from missing").Scan(&n)
	require.ErrorContains(t, err, "no such table: missing")
	require.True(t, sqldb.IsNotMigrated(err))
	require.Error(t, db.R.QueryRow("select $2", 1).Scan(&n), "an argument is missing")
	require.Error(t, db.R.QueryRow("select 1; select 2").Scan(&n), "two statements")

	_, err = db.W.Exec("create table t (n int)")
	require.NoError(t, err)
	err = db.R.QueryRow("insert into t values (1) returning n").Scan(&n)
	var sqlite interface{ Code() int }
	require.ErrorAs(t, err, &sqlite)
	const readOnly = 8 // SQLITE_READONLY
	require.Equal(t, readOnly, sqlite.Code())
	_, err = db.R.Exec("delete from t")
	require.ErrorContains(t, err, "only reads")
}

func TestReadersHaveTheSettingsOfThePool(t *testing.T) {
	t.Parallel()
	db := openSQLite(t)
	for pragma, want := range map[string]int{
		"query_only": 1, "mmap_size": 1 << 30, "busy_timeout": 10_000, "cache_size": -16_000, "foreign_keys": 1,
	} {
		var got int
		require.NoError(t, db.R.QueryRow("pragma "+pragma).Scan(&got))
		require.Equal(t, want, got, pragma)
	}
	require.NoError(t, db.R.PingContext(t.Context()))
}

func TestTransactionOfReaderSeesOneState(t *testing.T) {
	t.Parallel()
	db := openSQLite(t)
	_, err := db.W.Exec("create table t (n int)")
	require.NoError(t, err)
	count := func(q interface{ QueryRow(string, ...any) *sql.Row }) (n int) {
		require.NoError(t, q.QueryRow("select count(*) from t").Scan(&n))
		return n
	}
	for _, end := range []func(*sql.Tx) error{(*sql.Tx).Commit, (*sql.Tx).Rollback} {
		tx, err := db.R.BeginTx(t.Context(), &sql.TxOptions{ReadOnly: true})
		require.NoError(t, err)
		before := count(tx)
		_, err = db.W.Exec("insert into t values (1)")
		require.NoError(t, err)
		require.Equal(t, before, count(tx))
		require.NoError(t, end(tx))
		require.Equal(t, before+1, count(db.R))
	}
}

func TestReaderStopsAndIsUsedAgainWhenTheContextEnds(t *testing.T) {
	t.Parallel()
	db := openSQLite(t)
	db.R.SetMaxOpenConns(1)
	ctx, cancel := context.WithCancel(t.Context())
	endless := "with recursive c(n) as (select 1 union all select n + 1 from c) select n from c where n > $1"
	rows, err := db.R.QueryContext(ctx, endless, 0)
	require.NoError(t, err)
	require.True(t, rows.Next())
	cancel()
	for rows.Next() {
	}
	require.ErrorIs(t, rows.Err(), context.Canceled)
	require.NoError(t, rows.Close())

	ctx, cancel = context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		var n int
		done <- db.R.QueryRowContext(ctx, endless, int64(1<<62)).Scan(&n) // returns no row
	}()
	cancel()
	require.ErrorIs(t, <-done, context.Canceled)
	var n int
	require.NoError(t, db.R.QueryRow("select 1").Scan(&n))
}
