package sqlitequeue_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"lessonkit.example/internal/sqlitedb"
	"lessonkit.example/jobqueue"
	"lessonkit.example/jobqueue/queuetest"
	"lessonkit.example/jobqueue/sqlitequeue"
)

func TestStore(t *testing.T) {
	t.Parallel()
	queuetest.Run(t, harness)
}

func harness(t *testing.T) queuetest.Harness {
	dir := t.TempDir()
	open := func(name string) jobqueue.Store {
		s, err := sqlitequeue.Open(filepath.Join(dir, name), sqlitequeue.Config{})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, s.Close()) })
		return s
	}
	db, err := sqlitedb.Open(filepath.Join(dir, "queue.db"), sqlitedb.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { db.Close() })
	store := sqlitequeue.New(db.W, db.R, sqlitequeue.Config{})
	require.NoError(t, store.Migrate(t.Context()))
	return queuetest.Harness{
		Store: store,
		Again: func() jobqueue.Store { return open("queue.db") },
		Empty: func() jobqueue.Store { return open("empty.db") },
		InTx: map[string]func(context.Context, func(queuetest.Tx) error) error{
			"sql": func(ctx context.Context, f func(queuetest.Tx) error) error {
				tx, err := db.W.BeginTx(ctx, nil)
				if err != nil {
					return err
				}
				defer tx.Rollback()
				err = f(queuetest.Tx{
					Enqueue:  func(ps ...jobqueue.Params) ([]jobqueue.Receipt, error) { return store.EnqueueTx(ctx, tx, ps...) },
					Complete: func(job *jobqueue.Job) error { return store.CompleteTx(ctx, tx, job) },
				})
				if err != nil {
					return err
				}
				return tx.Commit()
			},
		},
	}
}
