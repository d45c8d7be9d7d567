package queuetest

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/jobqueue"
	"lessonkit.example/jobqueue/driver"
)

func figuresOfWorkers(t *testing.T, h Harness) {
	c := jobqueue.NewClient(h.Store)
	enqueue(t, h.Store, jobqueue.Params{Kind: "work", Queue: "other", RunAt: time.Now().Add(-time.Hour)})
	for process := range 2 {
		fill(t, h.Store, 5, func(p *jobqueue.Params) { p.MaxAttempts = 2 })
		cfg := jobqueue.WorkerConfig{Queues: map[string]jobqueue.QueueConfig{"default": {}, "other": {}, "idle": {}}}
		r := start(t, h.Again(), cfg, handle(func(_ context.Context, _ *jobqueue.Job, a args) error {
			if a.N == 3 {
				return errTest
			}
			return nil
		}))
		poll(t, "all jobs end", func() bool {
			return count(t, h, jobqueue.Filter{State: jobqueue.StateSucceeded})+
				count(t, h, jobqueue.Filter{State: jobqueue.StateFailed}) == 6+5*process
		})
		r.wait()
	}
	sum := map[string]jobqueue.Figure{}
	figures, err := c.Figures(t.Context(), "", time.Hour, time.Minute)
	require.NoError(t, err)
	for _, f := range figures {
		require.WithinDuration(t, time.Now(), f.Start, timeout)
		s := sum[f.Queue]
		sum[f.Queue] = jobqueue.Figure{Finished: s.Finished + f.Finished, Failed: s.Failed + f.Failed,
			Started: s.Started + f.Started}
	}
	require.Equal(t, map[string]jobqueue.Figure{"default": {Finished: 10, Failed: 2, Started: 12},
		"other": {Finished: 1, Started: 1}}, sum)
	figures, err = c.Figures(t.Context(), "other", 1000*time.Hour, time.Minute)
	require.NoError(t, err)
	require.Len(t, figures, 1)
	require.Less(t, figures[0].WaitP95, timeout, "since it was enqueued")
}

func figuresAreMerged(t *testing.T, h Harness) {
	minute := func(queue string, finished int, waits map[int]int) driver.Minute {
		m := driver.Minute{Queue: queue, Finished: finished, Failed: 1}
		for i, n := range waits {
			m.Waits[i] = n
		}
		return m
	}
	add := func(ms ...driver.Minute) { require.NoError(t, h.Again().AddMinutes(t.Context(), ms)) }
	add(minute("b", 7, map[int]int{0: 1, driver.WaitBuckets - 1: 9}), minute("a", 1, nil))
	add(minute("a", 2, map[int]int{20: 90}))
	add(minute("a", 4, map[int]int{20: 4, 30: 6}))
	figures, err := jobqueue.NewClient(h.Store).Figures(t.Context(), "", time.Hour, 24*time.Hour)
	require.NoError(t, err)
	a := jobqueue.Figure{Queue: "a", Finished: 7, Failed: 3, Started: 100}
	var got jobqueue.Figure
	for _, f := range figures { // two if it is midnight
		if f.Queue == "a" {
			got = jobqueue.Figure{Queue: "a", Finished: got.Finished + f.Finished, Failed: got.Failed + f.Failed,
				Started: got.Started + f.Started}
		}
	}
	require.Equal(t, a, got)

	// Those older than a week are deleted.
	err = h.Exec(t.Context(), "update jobqueue_minute set minute = minute - interval '604860 seconds'")
	if err != nil { // SQLite
		require.NoError(t, h.Exec(t.Context(), "update jobqueue_minute set minute = minute - 604860000000"))
	}
	add(minute("c", 1, nil))
	figures, err = jobqueue.NewClient(h.Store).Figures(t.Context(), "", time.Hour, time.Minute)
	require.NoError(t, err)
	require.Len(t, figures, 1)
	require.Equal(t, "c", figures[0].Queue)
	require.Zero(t, figures[0].WaitP50)
}
