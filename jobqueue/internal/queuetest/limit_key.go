package queuetest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/jobqueue"
	"lessonkit.example/jobqueue/driver"
)

// settle lets a worker claim all jobs and release them, so that those that have no turn are held
// on engines that decide when they claim.
func settle(t *testing.T, s driver.Store, queue string) {
	t.Helper()
	w := register(t, s, never)
	for len(claim(t, s, w, queue, 100)) > 0 {
	}
	_, err := s.Release(t.Context(), w, nil, true)
	require.NoError(t, err)
}

func limitKey(key string) func(*jobqueue.Params) {
	return func(p *jobqueue.Params) { p.LimitKey = key }
}

// Several workers and enqueuers share keys across two queues and two kinds; jobs fail and are
// snoozed on the way.
func serialRunsOneAtATimeInOrder(t *testing.T, h Harness) {
	const keys, each, enqueuers = 8, 10, 4
	var mu sync.Mutex
	busy, next := map[string]bool{}, map[string]int{} // by key, and by key and enqueuer
	total := 0
	handler := func(_ context.Context, job *jobqueue.Job, a args) error {
		mu.Lock()
		if busy[job.LimitKey] {
			t.Errorf("two jobs of %q at once", job.LimitKey)
		}
		busy[job.LimitKey] = true
		mu.Unlock()
		time.Sleep(time.Duration(job.ID%1000) * time.Microsecond)
		mu.Lock()
		defer mu.Unlock()
		busy[job.LimitKey] = false
		switch {
		case job.Attempt == 1 && a.N%7 == 3:
			return errTest
		case job.Fence == 1 && a.N%7 == 5:
			return jobqueue.Snooze(time.Millisecond)
		}
		enqueuer := fmt.Sprint(job.LimitKey, " ", a.N/1000)
		if n := a.N % 1000; n != next[enqueuer] {
			t.Errorf("key and enqueuer %s: %d instead of %d", enqueuer, n, next[enqueuer])
		}
		next[enqueuer]++
		total++
		return nil
	}
	cfg := jobqueue.WorkerConfig{Queues: map[string]jobqueue.QueueConfig{"default": {MaxWorkers: 5}, "b": {}}}
	for range 3 {
		start(t, h.Again(), cfg, func(w *jobqueue.Worker) {
			jobqueue.Handle(w, "work", handler)
			jobqueue.Handle(w, "other", handler)
		})
	}
	var group sync.WaitGroup
	for e := range enqueuers {
		group.Go(func() {
			c := jobqueue.NewClient(h.Again())
			for n := range each {
				var ps []jobqueue.Params
				for key := range keys {
					p := jobqueue.Params{Kind: "work", Args: args{1000*e + n}, LimitKey: fmt.Sprint("key ", key)}
					if (n+key)%2 == 0 {
						p.Queue, p.Kind, p.Priority = "b", "other", 1+n%4
					}
					ps = append(ps, p)
				}
				if _, err := c.EnqueueMany(t.Context(), ps); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	poll(t, "all jobs end", func() bool { mu.Lock(); defer mu.Unlock(); return total == keys*each*enqueuers })
}

// The next job of a key waits while one waits for another worker, another attempt or RunAt.
func serialWaitsForTheNextAttempt(t *testing.T, h Harness) {
	ids := fill(t, h.Store, 3, limitKey("k"))
	dead := register(t, h.Store, never)
	require.Equal(t, ids[0], claim(t, h.Store, dead, "default", 10)[0].ID)
	_, err := h.Store.Rescue(t.Context(), true)
	require.NoError(t, err)
	require.Equal(t, driver.StateHeld, get(t, h.Store, ids[1]).State, "held jobs are not orphans")
	die(t, h.Store, dead)
	rescue(t, h.Store, 1)
	w := register(t, h.Store, never)
	first := claim(t, h.Store, w, "default", 10)
	require.Len(t, first, 1)
	require.Equal(t, ids[0], first[0].ID)
	require.Equal(t, "k", first[0].LimitKey)
	retry := result(first[0], driver.Reschedule)
	retry.LimitKey, retry.Delay = "k", time.Hour
	require.Empty(t, record(t, h.Store, w, retry))
	require.Empty(t, claim(t, h.Store, w, "default", 10))
	require.NoError(t, h.Store.Retry(t.Context(), ids[0]))
	done := result(claim(t, h.Store, w, "default", 10)[0], driver.Complete)
	require.Equal(t, ids[0], done.ID)
	done.LimitKey = "k"
	res := exchange(t, h.Store, driver.ExchangeRequest{Worker: w, Results: []driver.Result{done}, Kinds: kinds,
		Claims: []driver.ClaimRequest{{Queue: "default", Limit: 10}}})
	require.Len(t, res.Jobs, 1, "the next one, in the same exchange")
	require.Equal(t, ids[1], res.Jobs[0].ID)

	later := fill(t, h.Store, 1, limitKey("later"), runAt(time.Now().Add(time.Hour)))[0]
	held := fill(t, h.Store, 1, limitKey("later"))[0]
	settle(t, h.Store, "default")
	require.Equal(t, driver.StateScheduled, get(t, h.Store, later).State)
	require.Equal(t, driver.StateHeld, get(t, h.Store, held).State)
}

func serialByHand(t *testing.T, h Harness) {
	c := jobqueue.NewClient(h.Store)
	ids := fill(t, h.Store, 5, limitKey("k"))
	expect := func(state jobqueue.State, want ...int64) {
		t.Helper()
		settle(t, h.Store, "default")
		jobs, _, err := c.List(t.Context(), jobqueue.Filter{State: state})
		require.NoError(t, err)
		var got []int64
		for _, j := range jobs {
			require.Equal(t, "k", j.LimitKey)
			got = append(got, j.ID)
		}
		require.Equal(t, want, got)
	}
	expect(jobqueue.StateHeld, ids[4], ids[3], ids[2], ids[1])
	expect(jobqueue.StateWaiting, ids[0])
	expect(jobqueue.StateRunning)
	require.ErrorIs(t, c.Retry(t.Context(), ids[1]), jobqueue.ErrState)
	require.NoError(t, c.Cancel(t.Context(), ids[1]), "it is held")
	expect(jobqueue.StateHeld, ids[4], ids[3], ids[2])
	require.NoError(t, c.Cancel(t.Context(), ids[0]), "the next one may start")
	expect(jobqueue.StateWaiting, ids[2])
	require.NoError(t, c.Retry(t.Context(), ids[1]), "it waits for the others")
	expect(jobqueue.StateHeld, ids[4], ids[3], ids[1])
	require.NoError(t, c.Cancel(t.Context(), ids[2]))
	expect(jobqueue.StateWaiting, ids[1])

	for _, state := range []jobqueue.State{jobqueue.StateWaiting, jobqueue.StateHeld, jobqueue.StateWaiting} {
		_, _, err := c.CancelMany(t.Context(), jobqueue.Filter{State: state})
		require.NoError(t, err)
	}
	expect(jobqueue.StateCancelled, ids[4], ids[3], ids[2], ids[1], ids[0])
	n, _, err := c.RetryMany(t.Context(), jobqueue.Filter{State: jobqueue.StateCancelled})
	require.NoError(t, err)
	require.Equal(t, 5, n)
	settle(t, h.Store, "default")
	require.Equal(t, 1, count(t, h, jobqueue.Filter{State: jobqueue.StateWaiting}))
	require.Equal(t, 4, count(t, h, jobqueue.Filter{State: jobqueue.StateHeld}))
}

// Jobs of a transaction wait in line when it commits, and CompleteTx lets the next one start.
func serialInTransactions(t *testing.T, h Harness) {
	for name, inTx := range h.InTx {
		p := jobqueue.Params{Kind: "work", LimitKey: name}
		var ids []int64
		insert := func(tx Tx) error {
			rs, err := tx.Enqueue(p, p, p)
			for _, r := range rs {
				ids = append(ids, r.ID)
			}
			return err
		}
		require.NoError(t, inTx(t.Context(), insert))
		_, err := h.Store.Rescue(t.Context(), false) // which finds jobs of which nobody was notified
		require.NoError(t, err)
		settle(t, h.Store, "default")
		require.Equal(t, driver.StateWaiting, get(t, h.Store, ids[0]).State)
		require.Equal(t, driver.StateHeld, get(t, h.Store, ids[1]).State)
		var order []int64
		r := start(t, h.Store, jobqueue.WorkerConfig{Lease: never}, // Rescue comes too late
			handle(func(ctx context.Context, job *jobqueue.Job, _ args) error {
				order = append(order, job.ID)
				return inTx(ctx, func(tx Tx) error { return tx.Complete(job) })
			}))
		r.succeed(len(ids))
		r.wait()
		require.Equal(t, ids, order, name)
	}
}

func keyLimit(key string, n int) func(*jobqueue.Params) {
	return func(p *jobqueue.Params) { p.LimitKey, p.KeyLimit = key, n }
}

// A job gets a turn when fewer jobs than its own limit have one, after those before it.
func keyLimitOfEachJobCounts(t *testing.T, h Harness) {
	turns := func(want ...int64) { // in one claim, since a job may get one when another has started
		t.Helper()
		w := register(t, h.Store, never)
		var got []int64
		for _, j := range claim(t, h.Store, w, "default", 100) {
			got = append(got, j.ID)
		}
		_, err := h.Store.Release(t.Context(), w, nil, true)
		require.NoError(t, err)
		require.ElementsMatch(t, want, got)
	}
	cancel := func(id int64) {
		t.Helper()
		require.NoError(t, h.Store.Cancel(t.Context(), id))
	}
	three := fill(t, h.Store, 4, keyLimit("k", 3))
	turns(three[0], three[1], three[2])
	one := fill(t, h.Store, 1, keyLimit("k", 1))
	two := fill(t, h.Store, 2, keyLimit("k", 2))
	cancel(three[1])
	turns(three[0], three[2], three[3])
	cancel(three[2])
	cancel(three[0])
	turns(three[3])
	cancel(three[3])
	turns(one[0])
	cancel(one[0])
	turns(two...)
	require.NoError(t, h.Store.Retry(t.Context(), three[0]), "with its limit, from the history")
	turns(append(two, three[0])...)
	for _, id := range append(two, three[0]) {
		cancel(id)
	}
	limit := 0
	mixed := fill(t, h.Store, 3, func(p *jobqueue.Params) {
		p.LimitKey, p.KeyLimit = "mixed", []int{3, 1, 3}[limit]
		limit++
	})
	turns(mixed[0]) // the last one does not overtake the second
}

// Rescue gives free turns to the jobs of a key that has others.
func keyLimitFillsFreeTurns(t *testing.T, h Harness) {
	ids := fill(t, h.Store, 5, keyLimit("k", 3))
	settle(t, h.Store, "default")
	require.NoError(t, h.Exec(t.Context(), fmt.Sprint("delete from jobqueue_job where id = ", ids[1])))
	_, err := h.Store.Rescue(t.Context(), false)
	require.NoError(t, err)
	if !h.Notifies { // Rescue has nothing to find: what ends a job gives the turn to the next one
		fill(t, h.Store, 1, keyLimit("k", 3))
	}
	require.Equal(t, driver.StateWaiting, get(t, h.Store, ids[3]).State)
	require.Equal(t, driver.StateHeld, get(t, h.Store, ids[4]).State)
}
