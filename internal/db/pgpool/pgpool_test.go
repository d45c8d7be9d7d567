package pgpool_test

import (
	"context"
	"fmt"
	"testing"
	"testing/fstest"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/require"

	"lessonkit.example/internal/db"
	"lessonkit.example/internal/db/pgpool"
	"lessonkit.example/internal/pgtest"
)

func TestStatementsHaveATimeout(t *testing.T) {
	t.Parallel()
	config, err := pgpool.Config(pgtest.URL(t), nil)
	require.NoError(t, err)
	const timeout = 3 * time.Second // a busy machine needs one for a commit
	config.ConnConfig.Tracer = pgpool.Limit(timeout)
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	defer pool.Close()
	opened := db.FromPostgres(stdlib.OpenDBFromPool(pool))

	began := time.Now()
	_, err = opened.W.ExecContext(t.Context(), "select pg_sleep(30)")
	require.True(t, db.IsUnavailable(err), "%v", err)
	_, err = pool.Exec(t.Context(), "select pg_sleep(30)")
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Less(t, time.Since(began), 50*time.Second)

	// A whole transaction has no limit, nor has waiting for a notification.
	tx, err := opened.W.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	conn, err := pool.Acquire(t.Context())
	require.NoError(t, err)
	_, err = conn.Exec(t.Context(), "listen something")
	require.NoError(t, err)
	wait, cancel := context.WithTimeout(t.Context(), 2*timeout)
	defer cancel()
	_, err = conn.Conn().WaitForNotification(wait)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.GreaterOrEqual(t, time.Since(began), 2*timeout)
	conn.Release()
	var n int
	require.NoError(t, tx.QueryRowContext(t.Context(), "select 7").Scan(&n))
	require.NoError(t, tx.Commit())

	slow := fstest.MapFS{"00100_slow.sql": {Data: []byte("-- +goose Up\nselect pg_sleep(0.7);\n")}}
	require.NoError(t, opened.Migrate(t.Context(), "slow_migrations", slow))
}

func TestThePoolsSizeIsTheAddresss(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]int32{
		"postgres://localhost/app":                   12,
		"postgres://localhost/app?pool_max_conns=32": 32,
	} {
		config, err := pgpool.Config(address, nil)
		require.NoError(t, err)
		require.Equal(t, want, config.MaxConns, address)
	}
}

func TestStatementsAndBatchesAreTraced(t *testing.T) {
	t.Parallel()
	var traced, ended []string
	config, err := pgpool.Config(pgtest.URL(t), func(ctx context.Context, s string) (context.Context, func(error)) {
		traced = append(traced, s)
		ctx, cancel := context.WithCancel(ctx)
		if s == "select 3" {
			cancel() // the statement has this context
		}
		return ctx, func(err error) { ended = append(ended, fmt.Sprint(s, ": ", err != nil)); cancel() }
	})
	require.NoError(t, err)
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	defer pool.Close()
	_, err = pool.Exec(t.Context(), "select 1")
	require.NoError(t, err)
	_, err = pool.Exec(t.Context(), "select 3")
	require.ErrorIs(t, err, context.Canceled)
	batch := &pgx.Batch{}
	batch.Queue("select 4")
	batch.Queue("select 5")
	require.NoError(t, pool.SendBatch(t.Context(), batch).Close())
	batch = &pgx.Batch{}
	batch.Queue("select nothing_there")
	require.Error(t, pool.SendBatch(t.Context(), batch).Close())
	require.Equal(t, []string{"select 1", "select 3", "select 4; select 5", "select nothing_there"}, traced)
	require.Equal(t, []string{"select 1: false", "select 3: true", "select 4; select 5: false",
		"select nothing_there: true"}, ended)
}
