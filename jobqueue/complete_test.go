package jobqueue_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lessonkit.example/jobqueue"
)

// The first job is completed by a transaction, and the handler panics after its commit. The second
// one's transaction is rolled back, which its handler does not report; the third one's handler
// does. The log alone has the panic.
func TestCompleteTxInAHandler(t *testing.T) {
	t.Parallel()
	store, c := newQueue(t, nil)
	db, _ := store.DB()
	const commits, forgets, fails = 0, 1, 2
	ids := make([]int64, 3)
	for n := range ids {
		attempts := map[int]int{commits: 1, forgets: 2, fails: 1}[n]
		ids[n] = enqueue(t, c, jobqueue.Params{Kind: "work", Args: n, MaxAttempts: attempts})
	}
	failed := make(chan int64, 10)
	var log bytes.Buffer
	cfg := jobqueue.WorkerConfig{Logger: slog.New(slog.NewTextHandler(&log, nil))}
	stop, ended := runWorker(t, store, cfg, work(
		func(ctx context.Context, job *jobqueue.Job, n int) error {
			tx, err := db.BeginTx(ctx, nil)
			if err != nil {
				return err
			}
			defer tx.Rollback() // without effect after the commit
			if err = store.CompleteTx(ctx, tx, job); err == nil && (n == commits || job.Attempt == 2) {
				err = tx.Commit()
			} else {
				err = errors.Join(err, errWrong, tx.Rollback())
			}
			switch {
			case n == forgets:
				return nil
			case err == nil:
				panic("after the commit")
			}
			return err
		},
		jobqueue.OnFailed(func(_ context.Context, job *jobqueue.Job, _ error) error {
			failed <- job.ID
			return job.Save("rolled back")
		})))
	ended(3)
	stop()
	require.Len(t, failed, 1)
	require.Equal(t, ids[fails], <-failed)
	require.Equal(t, jobqueue.StateSucceeded, get(t, c, ids[commits]).State)
	forgot := get(t, c, ids[forgets])
	require.Equal(t, jobqueue.StateSucceeded, forgot.State)
	require.Len(t, forgot.Errors, 1)
	require.Contains(t, forgot.Errors[0].Error, "not committed")
	j := get(t, c, ids[fails])
	require.Equal(t, jobqueue.StateFailed, j.State)
	require.Equal(t, `"rolled back"`, string(j.Saved))
	const line = "the job stays succeeded"
	require.Equal(t, 1, strings.Count(log.String(), line), log.String())
	require.Regexp(t, fmt.Sprintf(line+`.* job=%d .*error="panic: after the commit" stack=.`, ids[commits]),
		log.String())
}
