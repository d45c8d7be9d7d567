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

func pauseStopsClaims(t *testing.T, h Harness) {
	c := jobqueue.NewClient(h.Store)
	r := idle(t, h.Store, jobqueue.WorkerConfig{
		Queues: map[string]jobqueue.QueueConfig{"default": {}, "b": {}}, PollInterval: never, Lease: never,
	})
	require.NoError(t, c.Pause(t.Context(), "default", time.Time{}))
	paused := fill(t, h.Store, 3)
	other := fill(t, h.Store, 1, func(p *jobqueue.Params) { p.Queue = "b" })[0]
	require.Equal(t, other, r.next(jobqueue.EventSucceeded).Job.ID)
	require.Empty(t, claim(t, h.Store, register(t, h.Store, never), "default", 10))
	all := stats(t, h.Store)
	require.Equal(t, 9999, all.Queue("default").PausedUntil.Year())
	require.Equal(t, 3, all.Queue("default").Waiting)
	require.Zero(t, all.Queue("b").PausedUntil)

	require.NoError(t, c.Resume(t.Context(), "default"))
	require.NoError(t, c.Resume(t.Context(), "default"), "there is no pause any more")
	r.succeed(len(paused))
	all = stats(t, h.Store)
	require.Zero(t, all.Queue("default").PausedUntil)
	require.NoError(t, c.Pause(t.Context(), "default", time.Now().Add(time.Hour)))
	require.NoError(t, c.Pause(t.Context(), "default", time.Now()), "the last call counts, and its time has come")
	fill(t, h.Store, 1)
	r.succeed(1)
	require.Error(t, c.Pause(t.Context(), "", time.Time{}))
}

func retryManyByFilter(t *testing.T, h Harness) {
	c := jobqueue.NewClient(h.Store)
	retry := func(f jobqueue.Filter, retried, skipped int) {
		t.Helper()
		n, m, err := c.RetryMany(t.Context(), f)
		require.NoError(t, err)
		require.Equal(t, []int{retried, skipped}, []int{n, m})
	}
	// Five failed and five cancelled jobs of each of two kinds and queues.
	w := register(t, h.Store, never)
	for i := range 20 {
		fill(t, h.Store, 1, func(p *jobqueue.Params) {
			p.Queue, p.Kind = []string{"a", "b"}[i%2], []string{"work", "other"}[i/2%2]
			p.Meta = map[string]string{"trace": p.Queue}
		})
		action := []driver.Action{driver.Fail, driver.Cancel}[i/4%2]
		for _, queue := range []string{"a", "b"} {
			for _, j := range claim(t, h.Store, w, queue, 1) {
				require.Empty(t, record(t, h.Store, w, result(j, action)))
			}
		}
	}
	retry(jobqueue.Filter{State: jobqueue.StateFailed, Queue: "a", Kind: "work"}, 3, 0)
	waiting, _, err := c.List(t.Context(), jobqueue.Filter{State: jobqueue.StateWaiting})
	require.NoError(t, err)
	require.Len(t, waiting, 3)
	require.Equal(t, map[string]string{"trace": "a"}, waiting[0].Meta)
	require.Equal(t, 12-3, count(t, h, jobqueue.Filter{State: jobqueue.StateFailed}))
	retry(jobqueue.Filter{State: jobqueue.StateCancelled}, 8, 0)

	// A unique key that is taken keeps only its own job in the history.
	for i := range 5 {
		fill(t, h.Store, 1, func(p *jobqueue.Params) { p.Queue, p.UniqueKey = "u", fmt.Sprint("key ", i/2) })
		require.Empty(t, record(t, h.Store, w, result(claim(t, h.Store, w, "u", 1)[0], driver.Fail)))
	}
	fill(t, h.Store, 1, func(p *jobqueue.Params) { p.Queue, p.UniqueKey = "u", "key 2" })
	retry(jobqueue.Filter{State: jobqueue.StateFailed, Queue: "u"}, 2, 3)
	require.Equal(t, 3, count(t, h, jobqueue.Filter{State: jobqueue.StateFailed, Queue: "u"}))

	fill(t, h.Store, 7, runAt(time.Now().Add(time.Hour)), func(p *jobqueue.Params) { p.Queue = "s" })
	retry(jobqueue.Filter{State: jobqueue.StateScheduled, Queue: "s"}, 7, 0)
	require.Len(t, claim(t, h.Store, w, "s", 10), 7)
}

func cancelManyByFilter(t *testing.T, h Harness) {
	c := jobqueue.NewClient(h.Store)
	fill(t, h.Store, 5)
	fill(t, h.Store, 6, func(p *jobqueue.Params) { p.Kind = "other" })
	fill(t, h.Store, 7, runAt(time.Now().Add(time.Hour)))
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

const many = 2500 // jobs, more than two transactions

// Every job is cancelled or runs, and none is lost.
func cancelManyWhileWorkersClaim(t *testing.T, h Harness) {
	fill(t, h.Store, many)
	r := start(t, h.Store, jobqueue.WorkerConfig{},
		handle(func(context.Context, *jobqueue.Job, args) error { time.Sleep(time.Millisecond); return nil }))
	n, _, err := jobqueue.NewClient(h.Store).CancelMany(t.Context(), jobqueue.Filter{State: jobqueue.StateWaiting})
	require.NoError(t, err)
	r.succeed(many - n)
	r.wait()
	require.Equal(t, min(n, 1000), count(t, h, jobqueue.Filter{State: jobqueue.StateCancelled}))
	require.Zero(t, count(t, h, jobqueue.Filter{State: jobqueue.StateWaiting}))
}
