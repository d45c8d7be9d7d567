package queuetest_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"lessonkit.example/jobqueue/driver"
	"lessonkit.example/jobqueue/queuetest"
	"lessonkit.example/jobqueue/sqlitequeue"
)

// The test of a store hands the suite a function that makes a new queue.
func ExampleRun() {
	_ = func(t *testing.T) {
		queuetest.Run(t, func(t *testing.T) queuetest.Harness {
			dir := t.TempDir()
			open := func(name string) *sqlitequeue.Store {
				s, err := sqlitequeue.Open(filepath.Join(dir, name), sqlitequeue.Config{})
				require.NoError(t, err)
				t.Cleanup(func() { s.Close() })
				return s
			}
			store := open("queue.db")
			require.NoError(t, store.Migrate(t.Context()))
			return queuetest.Harness{
				Store: store,
				Again: func() driver.Store { return open("queue.db") },
				Empty: func() driver.Store { return open("empty.db") },
				// One entry for each kind of transaction that the store supports.
				InTx: map[string]func(context.Context, func(queuetest.Tx) error) error{},
			}
		})
	}
}
