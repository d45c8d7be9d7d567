package queuetest

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/jobqueue"
)

func handleMany(
	size int, wait time.Duration, f func(context.Context, []*jobqueue.Job) []error,
) func(*jobqueue.Worker) {
	return func(w *jobqueue.Worker) { jobqueue.HandleMany(w, "work", size, wait, f) }
}

func handleManyFillsItsCalls(t *testing.T, h Harness) {
	fill(t, h.Store, 40)
	var mu sync.Mutex
	var sizes []int
	set := handleMany(10, never, func(_ context.Context, jobs []*jobqueue.Job) []error {
		mu.Lock()
		defer mu.Unlock()
		sizes = append(sizes, len(jobs))
		return nil
	})
	r := start(t, h.Store, jobqueue.WorkerConfig{}, set)
	r.succeed(40)
	r.wait()
	require.Equal(t, []int{10, 10, 10, 10}, sizes)
}

func handleManyHasAResultForEachJob(t *testing.T, h Harness) {
	ids := fill(t, h.Store, 30)
	c := jobqueue.NewClient(h.Store)
	start(t, h.Store, jobqueue.WorkerConfig{},
		handleMany(7, time.Millisecond, func(_ context.Context, jobs []*jobqueue.Job) []error {
			errs := make([]error, len(jobs))
			for i, job := range jobs {
				switch n := job.ID - ids[0]; {
				case n%3 == 1 && job.Attempt == 1:
					errs[i] = errTest
				case n%3 == 2:
					errs[i] = jobqueue.Permanent(errTest)
				default:
					errs[i] = job.Save(n)
				}
			}
			return errs
		}))
	for n, id := range ids {
		job, err := c.Wait(t.Context(), id)
		require.NoError(t, err)
		if n%3 == 2 {
			require.Equal(t, jobqueue.StateFailed, job.State)
			continue
		}
		require.Equal(t, jobqueue.StateSucceeded, job.State)
		require.Equal(t, 1+n%3, job.Attempt)
		require.Len(t, job.Errors, n%3)
		require.Equal(t, strconv.Itoa(n), string(job.Saved))
	}
}

func handleManyFailsAllByOneMistake(t *testing.T, h Harness) {
	for name, c := range map[string]struct {
		handle  func(context.Context, []*jobqueue.Job) []error
		message string
	}{
		"panic":  {func(context.Context, []*jobqueue.Job) []error { panic("no rows") }, "no rows"},
		"number": {func(context.Context, []*jobqueue.Job) []error { return []error{errTest} }, "1 errors for 3 jobs"},
		"empty":  {func(context.Context, []*jobqueue.Job) []error { return []error{} }, "0 errors for 3 jobs"},
	} {
		ids := fill(t, h.Store, 3, maxAttempts(1))
		r := start(t, h.Store, jobqueue.WorkerConfig{}, handleMany(3, never, c.handle))
		for _, id := range ids {
			job, err := jobqueue.NewClient(h.Store).Wait(t.Context(), id)
			require.NoError(t, err, name)
			require.Equal(t, jobqueue.StateFailed, job.State, name)
			require.Contains(t, job.Errors[0].Error, c.message)
		}
		r.wait()
	}
}

// The others of the call go on, and its context ends only with the last of them.
func handleManyCancelsOneJobOfACall(t *testing.T, h Harness) {
	ids := fill(t, h.Store, 2)
	c := jobqueue.NewClient(h.Store)
	started, finish := make(chan struct{}), make(chan struct{})
	set := handleMany(2, never, func(ctx context.Context, jobs []*jobqueue.Job) []error {
		close(started)
		<-finish
		errs := make([]error, len(jobs))
		for i, job := range jobs {
			if job.ID == ids[0] {
				errs[i] = errTest
			} else {
				errs[i] = ctx.Err()
			}
		}
		return errs
	})
	start(t, h.Store, jobqueue.WorkerConfig{}, set)
	<-started
	require.NoError(t, c.Cancel(t.Context(), ids[0]))
	close(finish)
	job, err := c.Wait(t.Context(), ids[1])
	require.NoError(t, err)
	require.Equal(t, jobqueue.StateSucceeded, job.State)
	require.Empty(t, job.Errors)
}

// A job that waits for others when the worker stops is not counted as an attempt.
func handleManyReturnsGatheredAtStop(t *testing.T, h Harness) {
	ids := fill(t, h.Store, 3)
	r := start(t, h.Store, jobqueue.WorkerConfig{ShutdownTimeout: time.Millisecond},
		handleMany(10, never, func(context.Context, []*jobqueue.Job) []error {
			t.Error("called for jobs that were still being gathered")
			return nil
		}))
	poll(t, "jobs run", func() bool { return count(t, h, jobqueue.Filter{State: jobqueue.StateRunning}) == 3 })
	r.wait()
	require.Equal(t, 0, get(t, h.Store, ids[0]).Attempt)
}
