package queuetest

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/jobqueue"
	"lessonkit.example/jobqueue/driver"
)

var limitTests = map[string]func(*testing.T, Harness){
	"LimitHoldsOverAllWorkers":  limitHoldsOverAllWorkers,
	"LimitIsUsedByWhoeverWorks": limitIsUsedByWhoeverWorks,
	"LimitOfADeadWorkerIsFreed": limitOfADeadWorkerIsFreed,
	"SlotsAreSharedAndReturned": slotsAreSharedAndReturned,
	"LimitIsChecked":            limitIsChecked,
	"RateHoldsOverAllWorkers":   rateHoldsOverAllWorkers,
	"RateAllowsABurst":          rateAllowsABurst,
	"RateMayBecomeMuchHigher":   rateMayBecomeMuchHigher,
	"RateKeepsNoOtherQueue":     rateKeepsNoOtherQueue,
}

func limited(limit int) jobqueue.WorkerConfig {
	return jobqueue.WorkerConfig{Queues: map[string]jobqueue.QueueConfig{"default": {Limit: limit, MaxWorkers: 5}}}
}

// Workers come and go; jobs are never more than the limit, and reach it.
func limitHoldsOverAllWorkers(t *testing.T, h Harness) {
	const limit, jobs = 3, 300
	fill(t, h.Store, jobs)
	var parallel, most, total atomic.Int32
	reached, once := make(chan struct{}), sync.Once{}
	set := handle(func(ctx context.Context, _ *jobqueue.Job, _ args) error {
		n := parallel.Add(1)
		defer parallel.Add(-1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		if n == limit {
			once.Do(func() { close(reached) })
		}
		select {
		case <-reached: // The first jobs wait for one another.
		case <-ctx.Done():
			return ctx.Err()
		}
		time.Sleep(time.Millisecond)
		total.Add(1)
		return nil
	})
	workers := make([]*running, 4)
	for i := range workers {
		workers[i] = start(t, h.Again(), limited(limit), set)
	}
	poll(t, "as many jobs as the limit run", func() bool { return total.Load() > 0 })
	for i := range 6 {
		poll(t, "progress", func() bool { return int(total.Load()) >= jobs*i/8 })
		workers[i%4].wait()
		workers[i%4] = start(t, h.Again(), limited(limit), set)
	}
	poll(t, "all jobs run", func() bool { return total.Load() == jobs })
	require.EqualValues(t, limit, most.Load())
}

// A worker that is idle returns its slots to one that has jobs.
func limitIsUsedByWhoeverWorks(t *testing.T, h Harness) {
	quick := handle(nothing)
	fill(t, h.Store, 1)
	first := start(t, h.Store, limited(1), quick)
	first.next(jobqueue.EventSucceeded)
	fill(t, h.Store, 3, func(p *jobqueue.Params) { p.Kind = "other" })
	second := start(t, h.Again(), limited(1), func(w *jobqueue.Worker) {
		jobqueue.Handle(w, "other", func(context.Context, *jobqueue.Job, args) error { return nil })
	})
	for range 3 {
		second.next(jobqueue.EventSucceeded)
	}
}

func limitOfADeadWorkerIsFreed(t *testing.T, h Harness) {
	dead := register(t, h.Store, never)
	held, err := h.Store.Slots(t.Context(), dead, "default", 2, 2)
	require.NoError(t, err)
	require.Equal(t, 2, held)
	fill(t, h.Store, 1)
	r := start(t, h.Again(), limited(2), handle(nothing))
	select {
	case e := <-r.events:
		require.Fail(t, "a job beyond the limit", "%+v", e)
	case <-time.After(300 * time.Millisecond):
	}
	die(t, h.Store, dead)
	_, err = h.Store.Rescue(t.Context(), false)
	require.NoError(t, err)
	r.next(jobqueue.EventSucceeded)
	held, err = h.Store.Slots(t.Context(), dead, "default", 2, 2)
	require.NoError(t, err)
	require.Zero(t, held, "a dead worker gets none")
}

func slotsAreSharedAndReturned(t *testing.T, h Harness) {
	a, b := register(t, h.Store, never), register(t, h.Store, never)
	slots := func(worker int64, queue string, target, want int) {
		t.Helper()
		held, err := h.Store.Slots(t.Context(), worker, queue, 5, target)
		require.NoError(t, err)
		require.Equal(t, want, held)
	}
	slots(a, "q", 3, 3)
	slots(a, "q", 3, 3)
	slots(b, "q", 5, 2)
	slots(b, "other", 5, 5)
	slots(a, "q", 1, 1)
	slots(b, "q", 5, 4)
	_, err := h.Store.Release(t.Context(), a, nil, true)
	require.NoError(t, err)
	slots(b, "q", 5, 5)
	slots(b, "q", 0, 0)
	held, err := h.Store.Slots(t.Context(), b, "q", 2, 5) // the limit is lower now
	require.NoError(t, err)
	require.Equal(t, 2, held)
}

func limitIsChecked(t *testing.T, h Harness) {
	for _, limit := range []int{-1, 10_001} {
		require.ErrorContains(t, jobqueue.NewWorker(h.Store, limited(limit)).Run(t.Context()), "Limit")
	}
}

// In no period do more jobs start than the rate and the burst allow.
func rateHoldsOverAllWorkers(t *testing.T, h Harness) {
	const jobs, burst, every = 200, 10, 5 * time.Millisecond
	fill(t, h.Store, jobs)
	cfg := jobqueue.WorkerConfig{Queues: map[string]jobqueue.QueueConfig{
		"default": {Rate: jobqueue.Rate{N: 200, Per: time.Second, Burst: burst}}}}
	var mu sync.Mutex
	var claimed []time.Time
	for range 4 {
		start(t, h.Again(), cfg, handle(func(_ context.Context, job *jobqueue.Job, _ args) error {
			mu.Lock()
			defer mu.Unlock()
			claimed = append(claimed, job.ClaimedAt)
			return nil
		}))
	}
	poll(t, "all jobs run", func() bool { mu.Lock(); defer mu.Unlock(); return len(claimed) == jobs })
	mu.Lock()
	defer mu.Unlock()
	slices.SortFunc(claimed, time.Time.Compare)
	for i := range claimed {
		for j := i; j < len(claimed); j++ {
			most := int(claimed[j].Sub(claimed[i])/every) + burst + 1
			require.LessOrEqual(t, j-i+1, most, "between %v and %v", claimed[i], claimed[j])
		}
	}
	took := claimed[jobs-1].Sub(claimed[0])
	t.Log("mean", float64(jobs-burst)/took.Seconds(), "a second")
}

func rateAllowsABurst(t *testing.T, h Harness) {
	fill(t, h.Store, 10)
	w := register(t, h.Store, never)
	claim := func() driver.ExchangeResponse {
		res, err := h.Store.Exchange(t.Context(), driver.ExchangeRequest{Worker: w, Claims: []driver.ClaimRequest{
			{Queue: "default", Limit: 5, Rate: driver.Rate{Every: time.Hour, Burst: 3}}}})
		require.NoError(t, err)
		return res
	}
	res := claim()
	require.Len(t, res.Jobs, 3)
	require.InDelta(t, time.Hour, res.Next, float64(time.Minute))
	res = claim()
	require.Empty(t, res.Jobs)
	require.InDelta(t, time.Hour, res.Next, float64(time.Minute))
}

// The next job waits until the time that the old rate has set.
func rateMayBecomeMuchHigher(t *testing.T, h Harness) {
	fill(t, h.Store, 2)
	w := register(t, h.Store, never)
	claim := func(every time.Duration) driver.ExchangeResponse {
		res, err := h.Store.Exchange(t.Context(), driver.ExchangeRequest{Worker: w, Claims: []driver.ClaimRequest{
			{Queue: "default", Limit: 2, Rate: driver.Rate{Every: every, Burst: 1}}}})
		require.NoError(t, err)
		return res
	}
	require.Len(t, claim(24*time.Hour).Jobs, 1)
	res := claim(time.Microsecond)
	require.Empty(t, res.Jobs)
	require.InDelta(t, 24*time.Hour, res.Next, float64(time.Minute))
}

func rateKeepsNoOtherQueue(t *testing.T, h Harness) {
	fill(t, h.Store, 5)
	fill(t, h.Store, 5, func(p *jobqueue.Params) { p.Queue = "free" })
	r := start(t, h.Store, jobqueue.WorkerConfig{Queues: map[string]jobqueue.QueueConfig{
		"default": {Rate: jobqueue.Rate{N: 1, Per: time.Hour}}, "free": {}}},
		handle(nothing))
	queues := map[string]int{}
	for range 6 {
		queues[r.next(jobqueue.EventSucceeded).Job.Queue]++
	}
	require.Equal(t, map[string]int{"default": 1, "free": 5}, queues)
	for _, rate := range []jobqueue.Rate{{N: -1}, {N: 1}, {N: 10, Per: time.Microsecond}, {Per: time.Second},
		{N: 1, Per: time.Second, Burst: -1}} {
		cfg := jobqueue.WorkerConfig{Queues: map[string]jobqueue.QueueConfig{"default": {Rate: rate}}}
		require.ErrorContains(t, jobqueue.NewWorker(h.Store, cfg).Run(t.Context()), "invalid Rate", "%+v", rate)
	}
}
