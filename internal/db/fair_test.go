package db

import (
	"context"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Several connections write without a pause until each has had the lock. Were it for SQLite's own
// wait, one of them would keep it until the others time out.
func TestWritersTakeTurns(t *testing.T) {
	t.Parallel()
	const writers = 5
	path := filepath.Join(t.TempDir(), "x.db")
	var dbs []*DB
	for range writers {
		dbs = append(dbs, openFile(t, path))
	}
	_, err := dbs[0].W.Exec("create table n (v integer primary key) strict")
	require.NoError(t, err)
	var group sync.WaitGroup
	var waiting atomic.Int64
	waiting.Store(writers)
	for _, db := range dbs {
		group.Go(func() {
			for n := 0; waiting.Load() > 0; n++ {
				tx, err := db.W.Begin()
				if err != nil {
					t.Error(err)
					waiting.Store(0)
					return
				}
				if n == 0 {
					waiting.Add(-1)
				}
				time.Sleep(10 * time.Millisecond)
				if err := tx.Commit(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
}

func TestWaitForTheLockEndsWithTheContext(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	holder, db := openFile(t, path), openFile(t, path)
	held, err := holder.W.Begin()
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	_, err = db.W.BeginTx(ctx, nil)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.NoError(t, held.Rollback())
	tx, err := db.W.BeginTx(t.Context(), nil)
	require.NoError(t, err, "the connection is still good")
	require.NoError(t, tx.Rollback())
}
