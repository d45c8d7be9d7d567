package pgqueue_test

import (
	"context"
	"database/sql"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite"

	"lessonkit.example/internal/longtest"
	"lessonkit.example/internal/pgtest"
	"lessonkit.example/jobqueue"
	"lessonkit.example/jobqueue/driver"
	"lessonkit.example/jobqueue/internal/queuetest"
	"lessonkit.example/jobqueue/pgqueue"
)

func TestStore(t *testing.T) {
	t.Parallel()
	queuetest.Run(t, func(t *testing.T) queuetest.Harness { return harness(t, pgtest.Pool(t), pgqueue.Config{}) })
}

// A transaction of another driver, such as lib/pq, cannot take the arguments.
func TestEnqueueTxNeedsPgx(t *testing.T) {
	t.Parallel()
	db, err := sql.Open("sqlite", ":memory:")
	require.NoError(t, err)
	defer db.Close()
	store := pgqueue.New(pgtest.Pool(t), pgqueue.Config{})
	err = queuetest.InSQL(db, store)(t.Context(), func(tx queuetest.Tx) error {
		_, err := tx.Enqueue(jobqueue.Params{Kind: "welcome"})
		return err
	})
	require.ErrorContains(t, err, "the transaction must be one of pgx's stdlib driver")
}

// Poolers in transaction mode do not support prepared statements.
func TestStoreWithoutPreparedStatements(t *testing.T) {
	without(t, pgx.QueryExecModeExec, pgqueue.Config{Schema: `My "jobs"`})
}

func TestStoreBySimpleProtocolPollingOnly(t *testing.T) {
	without(t, pgx.QueryExecModeSimpleProtocol, pgqueue.Config{PollOnly: true})
}

func without(t *testing.T, mode pgx.QueryExecMode, cfg pgqueue.Config) {
	longtest.Only(t)
	t.Parallel()
	queuetest.Run(t, func(t *testing.T) queuetest.Harness {
		pc := pgtest.Pool(t).Config()
		pc.ConnConfig.DefaultQueryExecMode = mode
		pool, err := pgxpool.NewWithConfig(t.Context(), pc)
		require.NoError(t, err)
		t.Cleanup(pool.Close)
		return harness(t, pool, cfg)
	})
}

func harness(t *testing.T, pool *pgxpool.Pool, cfg pgqueue.Config) queuetest.Harness {
	cfg.OnEnqueue = queuetest.OnEnqueue
	store := pgqueue.New(pool, cfg)
	require.NoError(t, store.Migrate(t.Context()))
	db := stdlib.OpenDBFromPool(pool)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return queuetest.Harness{
		Store: store,
		Again: func() driver.Store { return pgqueue.New(pool, cfg) },
		Empty: func() driver.Store { return pgqueue.New(pool, pgqueue.Config{Schema: "elsewhere"}) },
		Broken: func() driver.Store {
			pool, err := pgxpool.New(context.Background(), "postgres://u@127.0.0.1:1/none?connect_timeout=5")
			require.NoError(t, err)
			t.Cleanup(pool.Close)
			return pgqueue.New(pool, cfg)
		},
		InTx: map[string]func(context.Context, func(queuetest.Tx) error) error{
			"pgx": func(ctx context.Context, f func(queuetest.Tx) error) error {
				return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
					return f(queuetest.Tx{
						Enqueue: func(ps ...jobqueue.Params) ([]jobqueue.InsertResult, error) {
							return store.EnqueueManyPgx(ctx, tx, ps)
						},
						Complete: func(job *jobqueue.Job) error { return store.CompletePgx(ctx, tx, job) },
						Save:     func(job *jobqueue.Job, v any) error { return store.SavePgx(ctx, tx, job, v) },
					})
				})
			},
			"stdlib": queuetest.InSQL(db, store),
		},
		Exec: func(ctx context.Context, statement string) error {
			if cfg.Schema != "" {
				schema := pgx.Identifier{cfg.Schema}.Sanitize()
				statement = strings.ReplaceAll(statement, "jobqueue_", schema+".jobqueue_")
			}
			_, err := pool.Exec(ctx, statement)
			return err
		},
		Notifies: !cfg.PollOnly,
	}
}
