package db_test

import (
	"context"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/pressly/goose/v3/lock"
	"github.com/stretchr/testify/require"

	"lessonkit.example/internal/db"
	"lessonkit.example/internal/pgtest"
)

var first = fstest.MapFS{
	"00100_one.sql": {Data: []byte("-- +goose Up\n" +
		"create table one (id bigint primary key);\ncreate table one_more (id bigint primary key);\n")},
}

var both = fstest.MapFS{
	"00100_one.sql": first["00100_one.sql"],
	"00101_two.sql": {Data: []byte("-- +goose Up\nalter table one add column name text;\n")},
}

func TestUpAndPending(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, open func() *db.DB) {
		d := open()
		pending := func(fs fstest.MapFS) bool {
			migrated, err := d.Migrated(t.Context(), "x_migrations", fs)
			require.NoError(t, err)
			return !migrated
		}
		require.True(t, pending(first), "a new database")
		require.NoError(t, d.Migrate(t.Context(), "x_migrations", first))
		require.False(t, pending(first))
		require.NoError(t, d.Migrate(t.Context(), "x_migrations", first), "again")
		require.True(t, pending(both), "a newer program")
		require.NoError(t, d.Migrate(t.Context(), "x_migrations", both))
		require.False(t, pending(both))
		require.False(t, pending(first), "an older program on a newer database")
		_, err := d.W.Exec("insert into one (id, name) values (1, 'x')")
		require.NoError(t, err)
	})
}

func TestStartersAtOnceAllSucceed(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, open func() *db.DB) {
		var wg sync.WaitGroup
		for range 6 {
			d := open()
			for _, table := range []string{"x_migrations", "y_migrations"} {
				fs := fstest.MapFS{"00100_one.sql": {Data: []byte("-- +goose Up\ncreate table " + table +
					"_t (id bigint);\n")}}
				wg.Go(func() { require.NoError(t, d.Migrate(t.Context(), table, fs)) })
			}
		}
		wg.Wait()
	})
}

func TestLocksOfOthersAreNotWaitedFor(t *testing.T) {
	t.Parallel()
	d, err := db.Open(pgtest.URL(t))
	require.NoError(t, err)
	defer d.Close()
	other, err := d.W.Conn(t.Context())
	require.NoError(t, err)
	defer other.Close()
	_, err = other.ExecContext(t.Context(), "select pg_advisory_lock($1)", lock.DefaultLockID)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	require.NoError(t, d.Migrate(ctx, "x_migrations", first))
}

func TestBrokenMigrationLeavesNothing(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, open func() *db.DB) {
		d := open()
		sql := "-- +goose Up\ncreate table one (id bigint);\nselect nonsense;\n"
		broken := fstest.MapFS{"00100_one.sql": {Data: []byte(sql)}}
		require.ErrorContains(t, d.Migrate(t.Context(), "x_migrations", broken), "x_migrations")
		require.NoError(t, d.Migrate(t.Context(), "x_migrations", first))
	})
}

func TestDatabaseFromBeforeTheFirstReleaseIsRefused(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, open func() *db.DB) {
		d := open()
		old := fstest.MapFS{"00017_old.sql": {Data: []byte("-- +goose Up\ncreate table old (id bigint);\n")}}
		require.NoError(t, d.Migrate(t.Context(), "x_migrations", old))
		err := d.Migrate(t.Context(), "x_migrations", first)
		require.EqualError(t, err, "migrate x_migrations: "+
			"the tables were made by a version before the first release; "+
			"create the database anew")
		_, err = d.Migrated(t.Context(), "x_migrations", first)
		require.ErrorContains(t, err, "before the first release")
		require.Error(t, d.W.QueryRow("select count(*) from one").Err(), "nothing is changed")
	})
}
