package sqlitequeue_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/jobqueue"
	"lessonkit.example/jobqueue/driver"
	"lessonkit.example/jobqueue/internal/queuetest"
	"lessonkit.example/jobqueue/sqlitequeue"
)

func TestStore(t *testing.T) {
	t.Parallel()
	queuetest.Run(t, harness)
}

func open(t *testing.T, path string, cfg sqlitequeue.Config) *sqlitequeue.Store {
	t.Helper()
	s, err := sqlitequeue.Open(path, cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func harness(t *testing.T) queuetest.Harness {
	dir := t.TempDir()
	cfg := sqlitequeue.Config{OnEnqueue: queuetest.OnEnqueue}
	path := filepath.Join(dir, "queue.db")
	store := open(t, path, cfg)
	require.NoError(t, store.Migrate(t.Context()))
	write, _ := store.DB()
	return queuetest.Harness{
		Store: store,
		Again: func() driver.Store { return open(t, path, cfg) },
		Empty: func() driver.Store { return open(t, filepath.Join(dir, "empty.db"), cfg) },
		Broken: func() driver.Store {
			closed := open(t, filepath.Join(dir, "closed.db"), cfg)
			require.NoError(t, closed.Close())
			return closed
		},
		InTx: map[string]func(context.Context, func(queuetest.Tx) error) error{"sql": queuetest.InSQL(write, store)},
		Exec: func(ctx context.Context, statement string) error {
			_, err := write.ExecContext(ctx, statement)
			return err
		},
	}
}

// A health check must not report a migrated queue as not migrated because another process writes.
func TestMigratedDoesNotWaitForTheWriter(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "queue.db")
	store, again := open(t, path, sqlitequeue.Config{}), open(t, path, sqlitequeue.Config{})
	require.NoError(t, store.Migrate(t.Context()))
	write, _ := store.DB()
	elsewhere, _ := again.DB()
	other, err := elsewhere.BeginTx(t.Context(), nil) // holds the lock of the file
	require.NoError(t, err)
	defer other.Rollback()
	enqueued := make(chan error, 1)
	go func() {
		_, err := jobqueue.NewClient(store).Enqueue(t.Context(), jobqueue.Params{Kind: "work"})
		enqueued <- err
	}()
	require.Eventually(t, func() bool { return write.Stats().InUse == 1 }, time.Minute, time.Millisecond)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // the lock is held until after this
	defer cancel()
	ok, err := store.Migrated(ctx)
	require.NoError(t, err)
	require.True(t, ok)
	require.NoError(t, other.Rollback())
	require.NoError(t, <-enqueued)
}

// A handler begins a transaction that it never ends. Nothing can be written until the program ends
// it, but no call and no worker hangs.
func TestLeakedTransactionHangsNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := open(t, filepath.Join(t.TempDir(), "queue.db"), sqlitequeue.Config{})
		require.NoError(t, store.Migrate(t.Context()))
		write, _ := store.DB()
		client := jobqueue.NewClient(store)
		_, err := client.Enqueue(t.Context(), jobqueue.Params{Kind: "work"})
		require.NoError(t, err)
		worker := jobqueue.NewWorker(store, jobqueue.WorkerConfig{ShutdownTimeout: time.Second})
		leaked := make(chan *sql.Tx, 1)
		jobqueue.Handle(worker, "work", func(context.Context, *jobqueue.Job, any) error {
			tx, err := write.Begin()
			leaked <- tx
			return err
		})
		running, stop := context.WithCancel(t.Context())
		stopped := make(chan error, 1)
		go func() { stopped <- worker.Run(running) }()
		tx := <-leaked
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = client.Enqueue(ctx, jobqueue.Params{Kind: "work"})
		require.ErrorIs(t, err, jobqueue.ErrUnavailable)
		require.ErrorContains(t, err, "a transaction of this program")
		begin := time.Now()
		stop()
		require.NoError(t, <-stopped)
		require.LessOrEqual(t, time.Since(begin), 6*time.Second)
		require.NoError(t, tx.Rollback())
		_, err = client.Enqueue(t.Context(), jobqueue.Params{Kind: "work"})
		require.NoError(t, err)
	})
}
