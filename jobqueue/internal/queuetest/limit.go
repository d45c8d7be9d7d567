package queuetest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/jobqueue"
	"lessonkit.example/jobqueue/driver"
)

func slotsAreSharedAndReturned(t *testing.T, h Harness) {
	a, b := register(t, h.Store, never), register(t, h.Store, never)
	slots := func(worker int64, queue string, limit, target, want int) {
		t.Helper()
		held, err := h.Store.Slots(t.Context(), worker, queue, limit, target)
		require.NoError(t, err)
		require.Equal(t, want, held)
	}
	slots(a, "q", 5, 3, 3)
	slots(a, "q", 5, 3, 3)
	slots(b, "q", 5, 5, 2)
	slots(b, "other", 5, 5, 5)
	slots(a, "q", 5, 1, 1)
	slots(b, "q", 5, 5, 4)
	_, err := h.Store.Release(t.Context(), a, nil, true)
	require.NoError(t, err)
	slots(b, "q", 5, 5, 5)
	slots(b, "q", 5, 0, 0)
	slots(b, "q", 2, 5, 2) // the limit is lower now

	c := register(t, h.Store, never)
	slots(c, "q", 2, 2, 0)
	die(t, h.Store, b)
	_, err = h.Store.Rescue(t.Context(), false)
	require.NoError(t, err)
	slots(c, "q", 2, 2, 2)
	slots(b, "q", 2, 2, 0) // it is dead
}

// After a burst, the next job waits until the time that its rate has set, even if another is
// higher.
func rateAllowsABurst(t *testing.T, h Harness) {
	fill(t, h.Store, 10)
	w := register(t, h.Store, never)
	for i, rate := range []driver.Rate{
		{Every: time.Hour, Burst: 3}, {Every: time.Hour, Burst: 3}, {Every: time.Microsecond, Burst: 1},
	} {
		res := exchange(t, h.Store, driver.ExchangeRequest{Worker: w, Kinds: kinds, Claims: []driver.ClaimRequest{
			{Queue: "default", Limit: 5, Rate: rate}}})
		require.Len(t, res.Jobs, []int{3, 0, 0}[i])
		require.InDelta(t, []time.Duration{time.Hour, time.Hour, 3 * time.Hour}[i], res.Next, float64(time.Minute))
	}
}

func rateKeepsNoOtherQueue(t *testing.T, h Harness) {
	fill(t, h.Store, 5)
	fill(t, h.Store, 5, func(p *jobqueue.Params) { p.Queue = "free" })
	r := start(t, h.Store, jobqueue.WorkerConfig{Queues: map[string]jobqueue.QueueConfig{
		"default": {Rate: jobqueue.Rate{N: 1, Per: time.Hour}}, "free": {},
	}}, handle(nothing))
	queues := map[string]int{}
	for range 6 {
		queues[r.next(jobqueue.EventSucceeded).Job.Queue]++
	}
	require.Equal(t, map[string]int{"default": 1, "free": 5}, queues)
}
