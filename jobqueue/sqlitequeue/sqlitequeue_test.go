package sqlitequeue_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/internal/db"
	"lessonkit.example/jobqueue"
	"lessonkit.example/jobqueue/driver"
	"lessonkit.example/jobqueue/internal/queuetest"
	"lessonkit.example/jobqueue/sqlitequeue"
)

func TestStore(t *testing.T) {
	t.Parallel()
	queuetest.Run(t, harness)
}

func harness(t *testing.T) queuetest.Harness {
	dir := t.TempDir()
	var hook queuetest.Hook
	cfg := sqlitequeue.Config{OnEnqueue: hook.Call}
	open := func(name string) driver.Store {
		s, err := sqlitequeue.Open(filepath.Join(dir, name), cfg)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, s.Close()) })
		return s
	}
	file, err := db.OpenSQLite(filepath.Join(dir, "queue.db"), nil)
	require.NoError(t, err)
	t.Cleanup(func() { file.Close() })
	store := sqlitequeue.New(file.W, file.R, cfg)
	require.NoError(t, store.Migrate(t.Context()))
	return queuetest.Harness{
		Store:   store,
		SetHook: hook.Set,
		Again:   func() driver.Store { return open("queue.db") },
		Empty:   func() driver.Store { return open("empty.db") },
		Broken: func() driver.Store {
			db, err := db.OpenSQLite(filepath.Join(dir, "closed.db"), nil)
			require.NoError(t, err)
			require.NoError(t, db.Close())
			return sqlitequeue.New(db.W, db.R, sqlitequeue.Config{})
		},
		InTx: map[string]func(context.Context, func(queuetest.Tx) error) error{
			"sql": func(ctx context.Context, f func(queuetest.Tx) error) error {
				tx, err := file.W.BeginTx(ctx, nil)
				if err != nil {
					return err
				}
				defer tx.Rollback()
				err = f(queuetest.Tx{
					Enqueue: func(ps ...jobqueue.Params) ([]jobqueue.InsertResult, error) {
						return store.EnqueueManyTx(ctx, tx, ps)
					},
					Complete: func(job *jobqueue.Job) error { return store.CompleteTx(ctx, tx, job) },
					Save:     func(job *jobqueue.Job, v any) error { return store.SaveTx(ctx, tx, job, v) },
				})
				if err != nil {
					return err
				}
				return tx.Commit()
			},
		},
		Exec: func(ctx context.Context, statement string) error {
			_, err := file.W.ExecContext(ctx, statement)
			return err
		},
	}
}

// A health check must not report a migrated queue as not migrated because another process writes.
func TestMigratedDoesNotWaitForTheWriter(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "queue.db")
	open := func() *db.DB {
		db, err := db.OpenSQLite(path, nil)
		require.NoError(t, err)
		t.Cleanup(func() { db.Close() })
		return db
	}
	db := open()
	store := sqlitequeue.New(db.W, db.R, sqlitequeue.Config{})
	require.NoError(t, store.Migrate(t.Context()))
	other, err := open().W.BeginTx(t.Context(), nil) // holds the lock of the file
	require.NoError(t, err)
	defer other.Rollback()
	enqueued := make(chan error, 1)
	go func() {
		_, err := jobqueue.NewClient(store).Enqueue(t.Context(), jobqueue.Params{Kind: "work"})
		enqueued <- err
	}()
	require.Eventually(t, func() bool { return db.W.Stats().InUse == 1 }, time.Minute, time.Millisecond)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // the lock is held until after this
	defer cancel()
	ok, err := store.Migrated(ctx)
	require.NoError(t, err)
	require.True(t, ok)
	require.NoError(t, other.Rollback())
	require.NoError(t, <-enqueued)
}
