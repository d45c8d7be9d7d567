package queuetest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/jobqueue"
	"lessonkit.example/jobqueue/driver"
)

var bulkTests = map[string]func(*testing.T, Harness){
	"PauseStopsClaims":         pauseStopsClaims,
	"PauseEndsByItself":        pauseEndsByItself,
	"RetryManyByFilter":        retryManyByFilter,
	"CancelManyByFilter":       cancelManyByFilter,
	"CancelManyStopsRunning":   cancelManyStopsRunning,
	"ManyOfASerialKey":         manyOfASerialKey,
	"ManyNeedsAFittingState":   manyNeedsAFittingState,
	"RetryManyWakes":           retryManyWakes,
	"RetryManyInManyPortions":  retryManyInManyPortions,
	"CancelManyInManyPortions": cancelManyInManyPortions,
}

func pauseStopsClaims(t *testing.T, h Harness) {
	c := jobqueue.NewClient(h.Again())
	r := idle(t, h.Store, jobqueue.WorkerConfig{
		Queues: map[string]jobqueue.QueueConfig{"default": {}, "b": {}}, PollInterval: 200 * time.Millisecond,
	})
	require.NoError(t, c.Pause(t.Context(), "default", time.Time{}))
	paused := fill(t, h.Store, 3)
	other := fill(t, h.Store, 1, func(p *jobqueue.Params) { p.Queue = "b" })[0]
	require.Equal(t, other, r.next(jobqueue.EventSucceeded).Job.ID)
	w := register(t, h.Store, never)
	require.Empty(t, claim(t, h.Store, w, "default", 10))
	stats, err := c.Stats(t.Context())
	require.NoError(t, err)
	require.Equal(t, 9999, stats.Queue("default").PausedUntil.Year())
	require.Equal(t, 3, stats.Queue("default").Waiting)
	require.Zero(t, stats.Queue("b").PausedUntil)

	require.NoError(t, c.Resume(t.Context(), "default"))
	require.NoError(t, c.Resume(t.Context(), "default"), "there is no pause any more")
	for range paused {
		r.next(jobqueue.EventSucceeded)
	}
	stats, err = c.Stats(t.Context())
	require.NoError(t, err)
	require.Zero(t, stats.Queue("default").PausedUntil)
	require.Error(t, c.Pause(t.Context(), "", time.Time{}))
}

func pauseEndsByItself(t *testing.T, h Harness) {
	c := jobqueue.NewClient(h.Store)
	until := time.Now().Add(500 * time.Millisecond)
	require.NoError(t, c.Pause(t.Context(), "default", time.Now().Add(time.Hour)))
	require.NoError(t, c.Pause(t.Context(), "default", until), "the last call counts")
	fill(t, h.Store, 1)
	r := start(t, h.Store, jobqueue.WorkerConfig{},
		handle(nothing))
	job := r.next(jobqueue.EventSucceeded).Job
	require.WithinDuration(t, until, job.ClaimedAt, time.Minute)
	require.False(t, job.ClaimedAt.Before(until.Truncate(time.Microsecond)), "%v before %v", job.ClaimedAt, until)
}

// finished makes n failed and n cancelled jobs of each of two kinds and queues.
func finished(t *testing.T, h Harness, n int) {
	t.Helper()
	w := register(t, h.Store, never)
	for _, queue := range []string{"a", "b"} {
		for _, kind := range []string{"work", "other"} {
			fill(t, h.Store, 2*n, func(p *jobqueue.Params) { p.Queue, p.Kind = queue, kind })
		}
		var results []driver.Result
		for i, j := range claim(t, h.Store, w, queue, 4*n) {
			results = append(results, result(j, []driver.Action{driver.Fail, driver.Cancel}[i%2]))
		}
		require.Empty(t, record(t, h.Store, w, results...))
	}
}

func count(t *testing.T, h Harness, f jobqueue.Filter) int {
	t.Helper()
	f.Limit = 1000
	jobs, err := jobqueue.NewClient(h.Store).List(t.Context(), f)
	require.NoError(t, err)
	return len(jobs)
}

func retryManyByFilter(t *testing.T, h Harness) {
	c := jobqueue.NewClient(h.Store)
	finished(t, h, 10)
	failed := count(t, h, jobqueue.Filter{State: jobqueue.StateFailed, Queue: "a", Kind: "work"})
	require.Positive(t, failed)
	n, skipped, err := c.RetryMany(t.Context(), jobqueue.Filter{State: jobqueue.StateFailed, Queue: "a", Kind: "work"})
	require.NoError(t, err)
	require.Equal(t, []int{failed, 0}, []int{n, skipped})
	require.Equal(t, failed, count(t, h, jobqueue.Filter{State: jobqueue.StateWaiting}))
	require.Equal(t, 40-failed, count(t, h, jobqueue.Filter{State: jobqueue.StateFailed}))
	n, _, err = c.RetryMany(t.Context(), jobqueue.Filter{State: jobqueue.StateCancelled})
	require.NoError(t, err)
	require.Equal(t, 40, n)

	// A unique key that is taken keeps only its own job in the history.
	w := register(t, h.Store, never)
	for i := range 5 {
		fill(t, h.Store, 1, func(p *jobqueue.Params) { p.Queue, p.UniqueKey = "u", fmt.Sprint("key ", i/2) })
		require.Empty(t, record(t, h.Store, w, result(claim(t, h.Store, w, "u", 1)[0], driver.Fail)))
	}
	fill(t, h.Store, 1, func(p *jobqueue.Params) { p.Queue, p.UniqueKey = "u", "key 2" })
	n, skipped, err = c.RetryMany(t.Context(), jobqueue.Filter{State: jobqueue.StateFailed, Queue: "u"})
	require.NoError(t, err)
	require.Equal(t, []int{2, 3}, []int{n, skipped})
	require.Equal(t, 3, count(t, h, jobqueue.Filter{State: jobqueue.StateFailed, Queue: "u"}))

	fill(t, h.Store, 7, func(p *jobqueue.Params) { p.Queue, p.RunAt = "s", time.Now().Add(time.Hour) })
	n, _, err = c.RetryMany(t.Context(), jobqueue.Filter{State: jobqueue.StateScheduled, Queue: "s"})
	require.NoError(t, err)
	require.Equal(t, 7, n)
	require.Len(t, claim(t, h.Store, w, "s", 10), 7)
}

func cancelManyByFilter(t *testing.T, h Harness) {
	c := jobqueue.NewClient(h.Store)
	fill(t, h.Store, 5)
	fill(t, h.Store, 6, func(p *jobqueue.Params) { p.Kind = "other" })
	fill(t, h.Store, 7, func(p *jobqueue.Params) { p.RunAt = time.Now().Add(time.Hour) })
	for f, want := range map[jobqueue.Filter]int{
		{State: jobqueue.StateWaiting, Kind: "other"}:  6,
		{State: jobqueue.StateWaiting, Queue: "empty"}: 0,
		{State: jobqueue.StateScheduled}:               7,
	} {
		n, skipped, err := c.CancelMany(t.Context(), f)
		require.NoError(t, err)
		require.Equal(t, []int{want, 0}, []int{n, skipped}, "%+v", f)
	}
	require.Equal(t, 5, count(t, h, jobqueue.Filter{State: jobqueue.StateWaiting}))
	require.Equal(t, 13, count(t, h, jobqueue.Filter{State: jobqueue.StateCancelled}))
}

func cancelManyStopsRunning(t *testing.T, h Harness) {
	fill(t, h.Store, 5)
	r := start(t, h.Store, jobqueue.WorkerConfig{Lease: 5 * time.Second},
		handle(func(ctx context.Context, _ *jobqueue.Job, _ args) error {
			<-ctx.Done()
			return context.Cause(ctx)
		}))
	for range 5 {
		r.next(jobqueue.EventClaimed)
	}
	n, _, err := jobqueue.NewClient(h.Store).CancelMany(t.Context(), jobqueue.Filter{State: jobqueue.StateRunning})
	require.NoError(t, err)
	require.Equal(t, 5, n)
	for range 5 {
		r.next(jobqueue.EventCancelled)
	}
}

func manyOfASerialKey(t *testing.T, h Harness) {
	c := jobqueue.NewClient(h.Store)
	ids := fill(t, h.Store, 5, serialKey("k"))
	n, _, err := c.CancelMany(t.Context(), jobqueue.Filter{State: jobqueue.StateWaiting})
	require.NoError(t, err)
	require.GreaterOrEqual(t, n, 1)
	n, _, err = c.CancelMany(t.Context(), jobqueue.Filter{State: jobqueue.StateHeld})
	require.NoError(t, err)
	require.GreaterOrEqual(t, n, 1)
	_, _, err = c.CancelMany(t.Context(), jobqueue.Filter{State: jobqueue.StateWaiting})
	require.NoError(t, err)
	require.Equal(t, 5, count(t, h, jobqueue.Filter{State: jobqueue.StateCancelled}))
	n, _, err = c.RetryMany(t.Context(), jobqueue.Filter{State: jobqueue.StateCancelled})
	require.NoError(t, err)
	require.Equal(t, 5, n)
	require.Equal(t, 1, count(t, h, jobqueue.Filter{State: jobqueue.StateWaiting}))
	require.Equal(t, 4, count(t, h, jobqueue.Filter{State: jobqueue.StateHeld}))
	require.NotContains(t, ids, int64(0))
}

func manyNeedsAFittingState(t *testing.T, h Harness) {
	c := jobqueue.NewClient(h.Store)
	for _, state := range []jobqueue.State{0, jobqueue.StateWaiting, jobqueue.StateRunning, jobqueue.StateSucceeded} {
		_, _, err := c.RetryMany(t.Context(), jobqueue.Filter{State: state})
		require.ErrorIs(t, err, jobqueue.ErrState)
	}
	for _, state := range []jobqueue.State{0, jobqueue.StateSucceeded, jobqueue.StateFailed, jobqueue.StateCancelled} {
		_, _, err := c.CancelMany(t.Context(), jobqueue.Filter{State: state})
		require.ErrorIs(t, err, jobqueue.ErrState)
	}
}

func retryManyWakes(t *testing.T, h Harness) {
	r := idle(t, h.Store, jobqueue.WorkerConfig{PollInterval: never})
	c := jobqueue.NewClient(h.Store)
	id := fill(t, h.Store, 1, func(p *jobqueue.Params) { p.RunAt = time.Now().Add(time.Hour) })[0]
	require.NoError(t, c.Cancel(t.Context(), id))
	n, _, err := c.RetryMany(t.Context(), jobqueue.Filter{State: jobqueue.StateCancelled})
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.Equal(t, id, r.next(jobqueue.EventSucceeded).Job.ID)
}

const portions = 2500 // jobs, more than two transactions

func retryManyInManyPortions(t *testing.T, h Harness) {
	c := jobqueue.NewClient(h.Store)
	fill(t, h.Store, portions, func(p *jobqueue.Params) { p.RunAt = time.Now().Add(time.Hour) })
	n, _, err := c.CancelMany(t.Context(), jobqueue.Filter{State: jobqueue.StateScheduled})
	require.NoError(t, err)
	require.Equal(t, portions, n)
	n, skipped, err := c.RetryMany(t.Context(), jobqueue.Filter{State: jobqueue.StateCancelled, Limit: 1, Before: 2})
	require.NoError(t, err)
	require.Equal(t, []int{portions, 0}, []int{n, skipped})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, err = c.CancelMany(ctx, jobqueue.Filter{State: jobqueue.StateWaiting})
	require.ErrorIs(t, err, context.Canceled)
}

// Workers claim the jobs meanwhile: every job is cancelled or runs, and none is lost.
func cancelManyInManyPortions(t *testing.T, h Harness) {
	fill(t, h.Store, portions)
	r := start(t, h.Store, jobqueue.WorkerConfig{},
		handle(nothing))
	n, _, err := jobqueue.NewClient(h.Store).CancelMany(t.Context(), jobqueue.Filter{State: jobqueue.StateWaiting})
	require.NoError(t, err)
	for range portions - n {
		r.next(jobqueue.EventSucceeded)
	}
	r.wait()
	require.Equal(t, min(n, 1000), count(t, h, jobqueue.Filter{State: jobqueue.StateCancelled}))
	require.Zero(t, count(t, h, jobqueue.Filter{State: jobqueue.StateWaiting}))
}
