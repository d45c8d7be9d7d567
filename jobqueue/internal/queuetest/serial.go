package queuetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/jobqueue"
	"lessonkit.example/jobqueue/driver"
)

var serialTests = map[string]func(*testing.T, Harness){
	"SerialRunsOneAtATimeInOrder":     serialRunsOneAtATimeInOrder,
	"SerialWaitsForTheNextAttempt":    serialWaitsForTheNextAttempt,
	"SerialByHand":                    serialByHand,
	"SerialSurvivesTheDeathOfAWorker": serialSurvivesTheDeathOfAWorker,
	"SerialInTransactions":            serialInTransactions,
}

func serialKey(key string) func(*jobqueue.Params) {
	return func(p *jobqueue.Params) { p.SerialKey = key }
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
		if busy[job.SerialKey] {
			t.Errorf("two jobs of %q at once", job.SerialKey)
		}
		busy[job.SerialKey] = true
		mu.Unlock()
		time.Sleep(time.Duration(job.ID%1000) * time.Microsecond)
		mu.Lock()
		defer mu.Unlock()
		busy[job.SerialKey] = false
		switch {
		case job.Attempt == 1 && a.N%7 == 3:
			return errTest
		case job.Fence == 1 && a.N%7 == 5:
			return jobqueue.Snooze(time.Millisecond)
		}
		enqueuer := fmt.Sprint(job.SerialKey, " ", a.N/1000)
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
					p := jobqueue.Params{Kind: "work", Args: args{1000*e + n}, SerialKey: fmt.Sprint("key ", key)}
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

// The next job of a key waits while one waits for another attempt or for RunAt.
func serialWaitsForTheNextAttempt(t *testing.T, h Harness) {
	ids := fill(t, h.Store, 3, serialKey("k"))
	w := register(t, h.Store, never)
	first := claim(t, h.Store, w, "default", 10)
	require.Len(t, first, 1)
	require.Equal(t, ids[0], first[0].ID)
	require.Equal(t, "k", first[0].SerialKey)
	retry := result(first[0], driver.Reschedule)
	retry.SerialKey, retry.Delay = "k", time.Hour
	require.Empty(t, record(t, h.Store, w, retry))
	require.Empty(t, claim(t, h.Store, w, "default", 10))
	require.NoError(t, h.Store.Retry(t.Context(), ids[0]))
	done := result(claim(t, h.Store, w, "default", 10)[0], driver.Complete)
	require.Equal(t, ids[0], done.ID)
	done.SerialKey = "k"
	res := exchange(t, h.Store, driver.ExchangeRequest{Worker: w, Results: []driver.Result{done}, Kinds: kinds,
		Claims: []driver.ClaimRequest{{Queue: "default", Limit: 10}}})
	require.Len(t, res.Jobs, 1, "the next one, in the same exchange")
	require.Equal(t, ids[1], res.Jobs[0].ID)

	later := fill(t, h.Store, 1, serialKey("later"), runAt(time.Now().Add(time.Hour)))[0]
	held := fill(t, h.Store, 1, serialKey("later"))[0]
	require.Equal(t, driver.StateScheduled, get(t, h.Store, later).State)
	require.Equal(t, driver.StateHeld, get(t, h.Store, held).State)
}

func serialByHand(t *testing.T, h Harness) {
	c := jobqueue.NewClient(h.Store)
	ids := fill(t, h.Store, 5, serialKey("k"))
	expect := func(state jobqueue.State, want ...int64) {
		t.Helper()
		jobs, _, err := c.List(t.Context(), jobqueue.Filter{State: state})
		require.NoError(t, err)
		var got []int64
		for _, j := range jobs {
			require.Equal(t, "k", j.SerialKey)
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
	require.Equal(t, 1, count(t, h, jobqueue.Filter{State: jobqueue.StateWaiting}))
	require.Equal(t, 4, count(t, h, jobqueue.Filter{State: jobqueue.StateHeld}))
}

func serialSurvivesTheDeathOfAWorker(t *testing.T, h Harness) {
	ids := fill(t, h.Store, 3, serialKey("k"))
	dead := register(t, h.Store, never)
	require.Equal(t, ids[0], claim(t, h.Store, dead, "default", 10)[0].ID)
	_, err := h.Store.Rescue(t.Context(), true)
	require.NoError(t, err)
	require.Equal(t, driver.StateHeld, get(t, h.Store, ids[1]).State, "held jobs are not orphans")
	die(t, h.Store, dead)
	rescue(t, h.Store, 1)
	w := register(t, h.Store, never)
	for _, id := range ids {
		jobs := claim(t, h.Store, w, "default", 10)
		require.Len(t, jobs, 1)
		require.Equal(t, id, jobs[0].ID)
		done := result(jobs[0], driver.Complete)
		done.SerialKey = "k"
		require.Empty(t, record(t, h.Store, w, done))
	}
}

// Jobs of a transaction wait in line when it commits, and CompleteTx lets the next one start.
// Rescue finds those of which nobody was notified.
func serialInTransactions(t *testing.T, h Harness) {
	for name, inTx := range h.InTx {
		p := jobqueue.Params{Kind: "work", SerialKey: name}
		var ids []int64
		insert := func(tx Tx) error {
			rs, err := tx.Enqueue(p, p, p)
			for _, r := range rs {
				ids = append(ids, r.ID)
			}
			return err
		}
		require.ErrorIs(t, inTx(t.Context(), func(tx Tx) error { return errors.Join(insert(tx), errTest) }), errTest)
		ids = nil
		require.NoError(t, inTx(t.Context(), insert))
		_, err := h.Store.Rescue(t.Context(), false)
		require.NoError(t, err)
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
