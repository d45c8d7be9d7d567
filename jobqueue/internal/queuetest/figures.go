package queuetest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/jobqueue"
	"lessonkit.example/jobqueue/driver"
)

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
	c := jobqueue.NewClient(h.Store)
	figures, err := c.Figures(t.Context(), "a", time.Hour, 24*time.Hour)
	require.NoError(t, err)
	var got jobqueue.Figure
	for _, f := range figures { // two if it is midnight
		got = jobqueue.Figure{Queue: f.Queue, Finished: got.Finished + f.Finished, Failed: got.Failed + f.Failed,
			Started: got.Started + f.Started}
	}
	require.Equal(t, jobqueue.Figure{Queue: "a", Finished: 7, Failed: 3, Started: 100}, got)

	// Those older than a week are deleted.
	err = h.Exec(t.Context(), "update jobqueue_minute set minute = minute - interval '604860 seconds'")
	if err != nil { // SQLite
		require.NoError(t, h.Exec(t.Context(), "update jobqueue_minute set minute = minute - 604860000000"))
	}
	add(minute("c", 1, nil))
	figures, err = c.Figures(t.Context(), "", time.Hour, time.Minute)
	require.NoError(t, err)
	require.Len(t, figures, 1)
	require.Equal(t, "c", figures[0].Queue)
	require.Zero(t, figures[0].WaitP50)
}
