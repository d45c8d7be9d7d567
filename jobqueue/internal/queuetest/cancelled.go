package queuetest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/jobqueue"
	"lessonkit.example/jobqueue/driver"
)

func callbackIsDueUntilDone(t *testing.T, h Harness) {
	c := jobqueue.NewClient(h.Store)
	next := func(kind string, again time.Duration) int64 {
		t.Helper()
		id, err := h.Store.NextCancelled(t.Context(), []string{kind}, again)
		require.NoError(t, err)
		return id
	}
	ids := fill(t, h.Store, 2)
	require.Zero(t, next("work", 0))
	require.NoError(t, c.Cancel(t.Context(), ids[0]))
	require.Zero(t, next("other", 0))
	require.Equal(t, ids[0], next("work", 0))
	require.Equal(t, ids[0], next("work", time.Hour), "it was not done")
	require.Zero(t, next("work", 0), "it is being called")

	require.NoError(t, c.Cancel(t.Context(), ids[1]))
	require.Equal(t, ids[1], next("work", 0))
	first := get(t, h.Store, ids[1]).FinishedAt
	require.NoError(t, h.Store.CallbackDone(t.Context(), ids[1], first))
	require.Zero(t, next("work", 0))

	require.NoError(t, c.Retry(t.Context(), ids[1]))
	require.Zero(t, next("work", 0))
	require.NoError(t, c.Cancel(t.Context(), ids[1]))
	require.NoError(t, h.Store.CallbackDone(t.Context(), ids[1], first), "a slow one of the first time")
	require.Equal(t, ids[1], next("work", 0), "it was cancelled again")
}

// A job that is cancelled after its handler has returned with another attempt ends, at once and
// also while its queue is paused, and the next one of its key and of its group may start.
func cancelledInsteadOfReturning(t *testing.T, h Harness) {
	worker := register(t, h.Store, time.Hour)
	id := fill(t, h.Store, 1, func(p *jobqueue.Params) { p.LimitKey, p.Group = "key", "group" })[0]
	byKey := fill(t, h.Store, 1, func(p *jobqueue.Params) { p.LimitKey = "key" })[0]
	byGroup := fill(t, h.Store, 1, func(p *jobqueue.Params) { p.AfterGroup = "group" })[0]
	jobs := claim(t, h.Store, worker, "default", 10)
	require.Len(t, jobs, 1)
	c := jobqueue.NewClient(h.Store)
	require.NoError(t, c.Cancel(t.Context(), id))
	require.NoError(t, c.Pause(t.Context(), "default", time.Time{}))
	result := driver.Result{
		Lease: driver.Lease{ID: id, Fence: jobs[0].Fence}, Action: driver.Reschedule, Delay: time.Hour,
		LimitKey: "key", Group: "group", Error: driver.AttemptError{Attempt: 1, Error: "away"},
	}
	res := exchange(t, h.Store, driver.ExchangeRequest{Worker: worker, Results: []driver.Result{result}})
	require.Equal(t, []driver.Lease{result.Lease}, res.Cancelled)
	require.Empty(t, res.Lost)
	job := get(t, h.Store, id)
	require.Equal(t, driver.StateCancelled, job.State)
	require.Len(t, job.Errors, 1)
	next, err := h.Store.NextCancelled(t.Context(), []string{"work"}, time.Hour)
	require.NoError(t, err)
	require.Equal(t, id, next)
	for _, id := range []int64{byKey, byGroup} {
		require.Eventually(t, func() bool { return get(t, h.Store, id).State == driver.StateWaiting },
			time.Minute, time.Millisecond)
	}
	require.Equal(t, []int64{id}, record(t, h.Store, worker, result), "once more")
}
