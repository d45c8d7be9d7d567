package migrate_test

import (
	"database/sql"
	"path/filepath"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite" // the driver

	"lessonkit.example/internal/migrate"
	"lessonkit.example/internal/pgtest"
	"lessonkit.example/internal/sqlitedb"
)

var first = fstest.MapFS{
	"00001_one.sql": {Data: []byte("-- +goose Up\n" +
		"create table one (id bigint primary key);\ncreate table one_more (id bigint primary key);\n")},
}

var both = fstest.MapFS{
	"00001_one.sql": first["00001_one.sql"],
	"00002_two.sql": {Data: []byte("-- +goose Up\nalter table one add column name text;\n")},
}

// engines runs a test with a way to open further handles on one new database.
func engines(t *testing.T, test func(t *testing.T, e migrate.Engine, open func() *sql.DB)) {
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "x.db")
		test(t, migrate.SQLite, func() *sql.DB {
			db, err := sqlitedb.Open(path)
			require.NoError(t, err)
			t.Cleanup(func() { db.Close() })
			return db.W
		})
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		pool := pgtest.Pool(t)
		test(t, migrate.Postgres, func() *sql.DB {
			db := stdlib.OpenDBFromPool(pool)
			t.Cleanup(func() { db.Close() })
			return db
		})
	})
}

func TestUpAndPending(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, e migrate.Engine, open func() *sql.DB) {
		db := open()
		pending := func(fs fstest.MapFS) bool {
			p, err := migrate.Pending(t.Context(), db, e, "x_migrations", fs)
			require.NoError(t, err)
			return p
		}
		require.True(t, pending(first), "a new database")
		require.NoError(t, migrate.Up(t.Context(), db, e, "x_migrations", first))
		require.False(t, pending(first))
		require.NoError(t, migrate.Up(t.Context(), db, e, "x_migrations", first), "again")
		require.True(t, pending(both), "a newer program")
		require.NoError(t, migrate.Up(t.Context(), db, e, "x_migrations", both))
		require.False(t, pending(both))
		require.False(t, pending(first), "an older program on a newer database")
		_, err := db.Exec("insert into one (id, name) values (1, 'x')")
		require.NoError(t, err)
	})
}

func TestStartersAtOnceAllSucceed(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, e migrate.Engine, open func() *sql.DB) {
		var wg sync.WaitGroup
		for range 6 {
			db := open()
			for _, table := range []string{"x_migrations", "y_migrations"} {
				fs := fstest.MapFS{"00001_one.sql": {Data: []byte("-- +goose Up\ncreate table " + table +
					"_t (id bigint);\n")}}
				wg.Go(func() { require.NoError(t, migrate.Up(t.Context(), db, e, table, fs)) })
			}
		}
		wg.Wait()
	})
}

func TestBrokenMigrationLeavesNothing(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, e migrate.Engine, open func() *sql.DB) {
		db := open()
		sql := "-- +goose Up\ncreate table one (id bigint);\nselect nonsense;\n"
		broken := fstest.MapFS{"00001_one.sql": {Data: []byte(sql)}}
		require.ErrorContains(t, migrate.Up(t.Context(), db, e, "x_migrations", broken), "x_migrations")
		require.NoError(t, migrate.Up(t.Context(), db, e, "x_migrations", first))
	})
}
