package db_test

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver
	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite" // the driver

	"lessonkit.example/internal/db"
	"lessonkit.example/internal/pgtest"
)

// engines runs a test on a new database of each engine, with a way to open it again and again.
func engines(t *testing.T, test func(t *testing.T, open func() *db.DB)) {
	for name, address := range map[string]func(t *testing.T) string{
		"sqlite":   func(t *testing.T) string { return "sqlite:" + filepath.Join(t.TempDir(), "x.db") },
		"postgres": func(t *testing.T) string { return pgtest.URL(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address := address(t)
			test(t, func() *db.DB {
				d, err := db.Open(address)
				require.NoError(t, err)
				t.Cleanup(func() { require.NoError(t, d.Close()) })
				return d
			})
		})
	}
}

func TestTimesKeepTheirMicroseconds(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, open func() *db.DB) {
		d := open()
		column := map[bool]string{true: "timestamptz", false: "text"}[d.Engine == "postgres"]
		_, err := d.W.Exec("create table t (id bigint primary key, at " + column + ")")
		require.NoError(t, err)
		want := time.Date(2026, 2, 28, 23, 59, 59, 123456000, time.FixedZone("east", 8*3600))
		_, err = d.W.Exec("insert into t values (1, $1), (2, $2)", db.Time(want), db.Time(time.Time{}))
		require.NoError(t, err)

		var got, none db.Time
		require.NoError(t, d.R.QueryRow("select at from t where at = $1", db.Time(want)).Scan(&got))
		require.True(t, want.Equal(time.Time(got)))
		require.Equal(t, time.UTC, time.Time(got).Location())
		require.NoError(t, d.R.QueryRow("select at from t where id = 2").Scan(&none))
		require.True(t, time.Time(none).IsZero())
	})
}

func TestErrorsAreClassified(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, open func() *db.DB) {
		d := open()
		_, err := d.W.Exec("create table p (id bigint primary key); create table c (id bigint references p (id))")
		require.NoError(t, err)
		add := func(q string) error {
			return d.Update(t.Context(), func(_ context.Context, tx *sql.Tx) error {
				_, err := tx.Exec(q)
				return err
			})
		}
		require.NoError(t, add("insert into p values (1)"))
		require.True(t, db.IsForeignKey(add("insert into c values (9)")))
		missing := add("insert into nowhere values (1)")
		require.True(t, db.IsUnavailable(missing), "not migrated: %v", missing)
		syntax := add("nonsense")
		require.Error(t, syntax)
		require.False(t, db.IsUnavailable(syntax))
	})
}

func TestLostServerIsUnavailable(t *testing.T) {
	t.Parallel()
	s := pgtest.Start(t, pgtest.Options{})
	d, err := db.Open(s.URL())
	require.NoError(t, err)
	defer d.Close()
	require.NoError(t, d.W.Ping())
	s.Kill()
	for range 3 {
		err := d.Update(t.Context(), func(_ context.Context, tx *sql.Tx) error { return nil })
		require.True(t, db.IsUnavailable(err), "%v", err)
	}
	s.Restart(t)
	require.Eventually(t, func() bool { return d.W.Ping() == nil }, time.Minute, 10*time.Millisecond)
	require.NoError(t, d.Close())
	require.True(t, db.IsUnavailable(d.W.Ping()), "closed")
	require.False(t, db.IsUnavailable(context.Canceled), "canceled by the caller")
	require.False(t, db.IsUnavailable(errors.New("anything")))
}

func TestOpenRejectsInvalidAddresses(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{
		"", "mysql://x", "postgres://u:secret@h:notaport/x", "sqlite://x.db", "sqlite:x.db?mode=ro",
	} {
		_, err := db.Open(bad)
		require.ErrorContains(t, err, "database address")
		require.NotContains(t, err.Error(), "secret")
	}
}

func TestCanceledCallerDoesNotMeanUnavailable(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, open func() *db.DB) {
		d := open()
		ctx, cancel := context.WithCancel(t.Context())
		err := d.Update(ctx, func(_ context.Context, tx *sql.Tx) error {
			cancel()
			_, err := tx.ExecContext(ctx, "select 1")
			return err
		})
		require.ErrorIs(t, err, context.Canceled)
		require.False(t, db.IsUnavailable(err), "%v", err)
	})
}

// A request that is abandoned while its commit waits for the synchronous standby has not happened
// until the standby has it: its repetition must not find it.
func TestAnAbandonedCommitStillWaitsForTheStandby(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t, pgtest.Options{Settings: map[string]string{
		"synchronous_commit": "on", "synchronous_standby_names": "nobody",
	}})
	local, err := sql.Open("pgx", server.URL()+"&synchronous_commit=local")
	require.NoError(t, err)
	defer local.Close()
	_, err = local.Exec("create table t (id bigint)")
	require.NoError(t, err)
	d, err := db.Open(server.URL())
	require.NoError(t, err)
	defer d.Close()

	ctx, abandon := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		done <- d.Update(ctx, func(ctx context.Context, tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, "insert into t values (1)")
			return err
		})
	}()
	var waiting int
	wait := func() bool {
		const sql = "select coalesce(max(pid), 0) from pg_stat_activity where wait_event = 'SyncRep'"
		return local.QueryRow(sql).Scan(&waiting) == nil && waiting != 0
	}
	require.Eventually(t, wait, time.Minute, 10*time.Millisecond)
	abandon()
	require.Never(t, func() bool { return !wait() }, 500*time.Millisecond, 20*time.Millisecond)
	var visible bool
	require.NoError(t, local.QueryRow("select exists (select from t)").Scan(&visible))
	require.False(t, visible)

	_, err = local.Exec("select pg_cancel_backend($1)", waiting) // what the standby's return would do
	require.NoError(t, err)
	require.NoError(t, <-done)
}
