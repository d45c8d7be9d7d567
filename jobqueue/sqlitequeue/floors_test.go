package sqlitequeue_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"lessonkit.example/jobqueue/driver"
	"lessonkit.example/jobqueue/internal/queuetest"
	"lessonkit.example/jobqueue/sqlitequeue"
)

func TestMain(m *testing.M) {
	worker, err := queuetest.WorkerProcess(func(_ context.Context, file string) (driver.Store, error) {
		return sqlitequeue.Open(file, sqlitequeue.Config{})
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if worker {
		return
	}
	goleak.VerifyTestMain(m)
}

var floors = flag.Bool("floors", false, "run the floors")

func TestFloors(t *testing.T) {
	if !*floors {
		t.Skip("-floors runs it")
	}
	queuetest.Floors{Open: func(t *testing.T) (driver.Store, string) {
		file := filepath.Join(t.TempDir(), "queue.db")
		store := open(t, file, sqlitequeue.Config{})
		require.NoError(t, store.Migrate(t.Context()))
		return store, file
	}}.Run(t)
}
