package sqlitequeue_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"lessonkit.example/jobqueue/driver"
	"lessonkit.example/jobqueue/internal/queuetest"
	"lessonkit.example/jobqueue/sqlitequeue"
)

func TestMain(m *testing.M) {
	queuetest.WorkerProcess(func(_ context.Context, file string) (driver.Store, error) {
		return sqlitequeue.Open(file, sqlitequeue.Config{})
	})
	goleak.VerifyTestMain(m)
}

func TestFloors(t *testing.T) {
	queuetest.RunFloors(t, func(t *testing.T) (driver.Store, string) {
		file := filepath.Join(t.TempDir(), "queue.db")
		store := open(t, file, sqlitequeue.Config{})
		require.NoError(t, store.Migrate(t.Context()))
		return store, file
	})
}
