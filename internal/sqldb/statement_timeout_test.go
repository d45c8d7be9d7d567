package sqldb

import (
	"context"
	"database/sql"
	"net"
	"net/url"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver
	"github.com/stretchr/testify/require"

	"lessonkit.example/internal/migrate"
	"lessonkit.example/internal/pgtest"
)

func TestStatementsOfAnOpenedDatabaseHaveATimeout(t *testing.T) {
	t.Parallel()
	const timeout = 3 * time.Second // a busy machine needs one for a commit
	w, err := openLimited(pgtest.URL(t), timeout)
	require.NoError(t, err)
	db := FromPostgres(w)
	defer w.Close()

	began := time.Now()
	_, err = w.ExecContext(t.Context(), "select pg_sleep(30)")
	require.True(t, IsUnavailable(err), "%v", err)
	rows, err := w.QueryContext(t.Context(), "select pg_sleep(30)")
	if err == nil {
		require.False(t, rows.Next())
		err = rows.Err()
		require.NoError(t, rows.Close())
	}
	require.True(t, IsUnavailable(err), "%v", err)
	err = db.Update(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "select pg_sleep(30)")
		return err
	})
	require.True(t, IsUnavailable(err), "%v", err)
	require.Less(t, time.Since(began), 50*time.Second)

	// A whole transaction has no limit.
	_, err = w.ExecContext(t.Context(), "create table numbers (n int)")
	require.NoError(t, err)
	require.NoError(t, db.Update(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, "insert into numbers values (7)"); err != nil {
			return err
		}
		time.Sleep(2 * timeout)
		_, err := tx.ExecContext(ctx, "insert into numbers values (8)")
		return err
	}))
	var sum int
	require.NoError(t, w.QueryRowContext(t.Context(), "select sum(n) from numbers").Scan(&sum))
	require.Equal(t, 15, sum, "it is committed")

	slow := fstest.MapFS{"00001_slow.sql": {Data: []byte("-- +goose Up\nselect pg_sleep(1.2);\n")}}
	require.NoError(t, migrate.Up(t.Context(), w, migrate.Postgres, "slow_migrations", slow))
}

func TestCommitHasATimeout(t *testing.T) {
	t.Parallel()
	w, err := openLimited(pgtest.URL(t), 500*time.Millisecond)
	require.NoError(t, err)
	defer w.Close()
	_, err = w.ExecContext(t.Context(), `
		create table numbers (n int);
		create function wait() returns trigger language plpgsql as 'begin perform pg_sleep(30); return null; end';
		create constraint trigger waits after insert on numbers deferrable initially deferred
			for each row execute function wait()`)
	require.NoError(t, err)
	tx, err := w.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	_, err = tx.ExecContext(t.Context(), "insert into numbers values (7)")
	require.NoError(t, err)
	err = tx.Commit()
	require.True(t, IsUnavailable(err), "%v", err)
}

// TestHalfOpenConnectionsAreNotUsed: nothing arrives any more at either end.
func TestHalfOpenConnectionsAreNotUsed(t *testing.T) {
	t.Parallel()
	config, err := pgconn.ParseConfig(pgtest.URL(t))
	require.NoError(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	var silent atomic.Bool
	relay := func(from, to net.Conn) {
		buf := make([]byte, 1<<16)
		for {
			n, err := from.Read(buf)
			if err != nil {
				to.Close()
				return
			}
			if !silent.Load() {
				_, _ = to.Write(buf[:n])
			}
		}
	}
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			if conn, err := net.Dial(pgconn.NetworkAddress(config.Host, config.Port)); err == nil {
				go relay(client, conn)
				go relay(conn, client)
			}
		}
	}()
	address := url.URL{Scheme: "postgres", User: url.UserPassword(config.User, config.Password),
		Host: l.Addr().String(), Path: config.Database, RawQuery: "sslmode=disable"}
	w, err := openLimited(address.String(), 3*time.Second)
	require.NoError(t, err)
	defer w.Close()
	require.NoError(t, w.PingContext(t.Context()))
	time.Sleep(1100 * time.Millisecond) // pgx pings connections that were idle for a second
	silent.Store(true)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, err = w.ExecContext(ctx, "select 7")
	require.True(t, IsUnavailable(err), "%v", err)
	require.NoError(t, ctx.Err(), "our limit, not the caller's")
}

func TestConnectingHasATimeout(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0") // accepts, and never answers
	require.NoError(t, err)
	defer silent.Close()
	w, err := openLimited("postgres://"+silent.Addr().String()+"/x?sslmode=disable", 100*time.Millisecond)
	require.NoError(t, err)
	defer w.Close()
	err = w.PingContext(t.Context())
	require.True(t, IsUnavailable(err), "%v", err)
}

func TestOpenLimitsStatements(t *testing.T) {
	t.Parallel()
	db, err := Open("postgres://127.0.0.1/x")
	require.NoError(t, err)
	defer db.Close()
	_, err = Open("postgres://secret@[/x")
	require.ErrorIs(t, err, ErrPostgresAddress)
	_, err = Open("postgres://user:secret@host:port/x")
	require.Error(t, err)
	require.NotContains(t, err.Error(), "secret")
}
