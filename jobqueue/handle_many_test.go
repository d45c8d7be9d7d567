package jobqueue_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/jobqueue"
)

var errWrong = errors.New("wrong")

// enqueueMany enqueues n jobs, whose arguments are 0 to n-1, and returns their ids.
func enqueueMany(t *testing.T, c *jobqueue.Client, n int) []int64 {
	t.Helper()
	ps := make([]jobqueue.Params, n)
	for i := range ps {
		ps[i] = jobqueue.Params{Kind: "work", Args: i, MaxAttempts: 2}
	}
	rs, err := c.EnqueueMany(t.Context(), ps)
	require.NoError(t, err)
	ids := make([]int64, n)
	for i, r := range rs {
		ids[i] = r.ID
	}
	return ids
}

func handleMany(
	size int, wait time.Duration, f func(context.Context, []*jobqueue.Job) []error,
) func(*jobqueue.Worker) {
	return func(w *jobqueue.Worker) { jobqueue.HandleMany(w, "work", size, wait, f) }
}

func TestHandleManyFillsItsCalls(t *testing.T) {
	t.Parallel()
	store, c := newQueue(t, nil)
	enqueueMany(t, c, 40)
	var mu sync.Mutex
	var sizes []int
	stop, ended := runWorker(t, store, jobqueue.WorkerConfig{}, handleMany(10, time.Hour,
		func(_ context.Context, jobs []*jobqueue.Job) []error {
			mu.Lock()
			defer mu.Unlock()
			sizes = append(sizes, len(jobs))
			return nil
		}))
	ended(40)
	stop()
	require.Equal(t, []int{10, 10, 10, 10}, sizes)
}

func TestHandleManyHasAResultForEachJob(t *testing.T) {
	t.Parallel()
	store, c := newQueue(t, nil)
	ids := enqueueMany(t, c, 30)
	_, ended := runWorker(t, store, jobqueue.WorkerConfig{}, handleMany(7, time.Millisecond,
		func(_ context.Context, jobs []*jobqueue.Job) []error {
			errs := make([]error, len(jobs))
			for i, job := range jobs {
				switch n := job.ID - ids[0]; {
				case n%3 == 1 && job.Attempt == 1:
					errs[i] = errWrong
				case n%3 == 2:
					errs[i] = permanent{}
				default:
					errs[i] = job.Save(n)
				}
			}
			return errs
		}))
	ended(30)
	for n, id := range ids {
		job := get(t, c, id)
		if n%3 == 2 {
			require.Equal(t, jobqueue.StateFailed, job.State)
			continue
		}
		require.Equal(t, jobqueue.StateSucceeded, job.State)
		require.Equal(t, 1+n%3, job.Attempt)
		require.Len(t, job.Errors, n%3)
		require.Equal(t, string(job.Args), string(job.Saved))
	}
}

func TestHandleManyFailsAllByOneMistake(t *testing.T) {
	t.Parallel()
	for message, handle := range map[string]func(context.Context, []*jobqueue.Job) []error{
		"no rows":             func(context.Context, []*jobqueue.Job) []error { panic("no rows") },
		"1 errors for 3 jobs": func(context.Context, []*jobqueue.Job) []error { return []error{errWrong} },
		"0 errors for 3 jobs": func(context.Context, []*jobqueue.Job) []error { return []error{} },
	} {
		store, c := newQueue(t, nil)
		ids := enqueueMany(t, c, 3)
		_, ended := runWorker(t, store, jobqueue.WorkerConfig{}, handleMany(3, time.Hour, handle))
		ended(3)
		for _, id := range ids {
			job := get(t, c, id)
			require.Equal(t, jobqueue.StateFailed, job.State)
			require.Len(t, job.Errors, 2)
			require.Contains(t, job.Errors[0].Error, message)
		}
	}
}

// The others of the call go on, and its context ends only with the last of them.
func TestHandleManyCancelsOneJobOfACall(t *testing.T) {
	t.Parallel()
	store, c := newQueue(t, nil)
	ids := enqueueMany(t, c, 2)
	started, finish := make(chan struct{}), make(chan struct{})
	_, ended := runWorker(t, store, jobqueue.WorkerConfig{}, handleMany(2, time.Hour,
		func(ctx context.Context, jobs []*jobqueue.Job) []error {
			close(started)
			<-finish
			errs := make([]error, len(jobs))
			for i, job := range jobs {
				if job.ID == ids[0] {
					errs[i] = permanent{}
				} else {
					errs[i] = ctx.Err()
				}
			}
			return errs
		}))
	receive(t, "both jobs run", started)
	require.NoError(t, c.Cancel(t.Context(), ids[0]))
	close(finish)
	ended(2)
	job := get(t, c, ids[1])
	require.Equal(t, jobqueue.StateSucceeded, job.State)
	require.Empty(t, job.Errors)
}

// A job that waits for others when the worker stops is not counted as an attempt.
func TestHandleManyReturnsGatheredAtStop(t *testing.T) {
	t.Parallel()
	store, c := newQueue(t, nil)
	ids := enqueueMany(t, c, 3)
	stop, _ := runWorker(t, store, jobqueue.WorkerConfig{ShutdownTimeout: time.Millisecond},
		handleMany(10, time.Hour, func(context.Context, []*jobqueue.Job) []error {
			t.Error("called for jobs that were still being gathered")
			return nil
		}))
	poll(t, "jobs run", func() bool {
		stats, err := c.Stats(t.Context())
		return err == nil && stats.Queue("default").Running == 3
	})
	stop()
	require.Zero(t, get(t, c, ids[0]).Attempt)
}
