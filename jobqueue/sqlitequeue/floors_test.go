package sqlitequeue_test

import (
	"flag"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"lessonkit.example/jobqueue/driver"
	"lessonkit.example/jobqueue/internal/queuetest"
	"lessonkit.example/jobqueue/sqlitequeue"
)

var floors = flag.String("floors", "", "run the floors: ci, or full, on an idle machine")

func TestFloors(t *testing.T) {
	if *floors == "" {
		t.Skip("-floors=ci runs it")
	}
	queuetest.Floors{Full: *floors == "full", Open: func(t *testing.T) (driver.Store, string) {
		file := filepath.Join(t.TempDir(), "queue.db")
		store, err := sqlitequeue.Open(file, sqlitequeue.Config{})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, store.Close()) })
		require.NoError(t, store.Migrate(t.Context()))
		return store, file
	}}.Run(t)
}
