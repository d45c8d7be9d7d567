package queuetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/jobqueue"
	"lessonkit.example/jobqueue/driver"
)

var serialTests = map[string]func(*testing.T, Harness){
	"SerialRunsOneAtATimeInOrder":     serialRunsOneAtATimeInOrder,
	"SerialKeepsItsTurn":              serialKeepsItsTurn,
	"SerialByHand":                    serialByHand,
	"SerialSurvivesTheDeathOfAWorker": serialSurvivesTheDeathOfAWorker,
	"SerialInTransactions":            serialInTransactions,
	"SerialLostSignalIsRepaired":      serialLostSignalIsRepaired,
}

func serialKey(key string) func(*jobqueue.Params) {
	return func(p *jobqueue.Params) { p.SerialKey = key }
}

// Several workers and enqueuers share keys across two queues and two kinds; jobs fail and are
// snoozed on the way.
func serialRunsOneAtATimeInOrder(t *testing.T, h Harness) {
	const keys, each, enqueuers = 8, 10, 4
	type run struct{ enqueuer, n int }
	var mu sync.Mutex
	busy, ended := map[string]bool{}, map[string][]run{}
	handler := func(_ context.Context, job *jobqueue.Job, a args) error {
		mu.Lock()
		if busy[job.SerialKey] {
			t.Errorf("two jobs of %q at once", job.SerialKey)
		}
		busy[job.SerialKey] = true
		mu.Unlock()
		time.Sleep(time.Duration(rand.IntN(1000)) * time.Microsecond)
		mu.Lock()
		defer mu.Unlock()
		busy[job.SerialKey] = false
		switch {
		case job.Attempt == 1 && a.N%7 == 3:
			return errTest
		case job.Fence == 1 && a.N%7 == 5:
			return jobqueue.Snooze(time.Millisecond)
		}
		ended[job.SerialKey] = append(ended[job.SerialKey], run{a.N / 1000, a.N % 1000})
		return nil
	}
	cfg := jobqueue.WorkerConfig{Queues: map[string]jobqueue.QueueConfig{"default": {MaxWorkers: 5}, "b": {}}}
	var workers []*running
	for range 3 {
		workers = append(workers, start(t, h.Again(), cfg, func(w *jobqueue.Worker) {
			jobqueue.Handle(w, "work", handler)
			jobqueue.Handle(w, "other", handler)
		}))
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
	poll(t, "all jobs end", func() bool {
		mu.Lock()
		defer mu.Unlock()
		total := 0
		for _, runs := range ended {
			total += len(runs)
		}
		return total == keys*each*enqueuers
	})
	for _, w := range workers {
		w.wait()
	}
	for key, runs := range ended {
		next := map[int]int{}
		for _, r := range runs {
			require.Equal(t, next[r.enqueuer], r.n, "%s: the order of enqueuer %d", key, r.enqueuer)
			next[r.enqueuer]++
		}
	}
	require.Len(t, ended, keys)
}

// A job has its turn while it waits for another attempt or for RunAt.
func serialKeepsItsTurn(t *testing.T, h Harness) {
	ids := fill(t, h.Store, 3, serialKey("k"))
	free := fill(t, h.Store, 1)[0]
	w := register(t, h.Store, never)
	jobs := claim(t, h.Store, w, "default", 10)
	require.Len(t, jobs, 2)
	first := jobs[0]
	if first.ID == free {
		first = jobs[1]
	}
	require.Equal(t, ids[0], first.ID)
	require.Equal(t, "k", first.SerialKey)
	retry := result(first, driver.Reschedule)
	retry.SerialKey, retry.Delay = "k", time.Hour
	require.Empty(t, record(t, h.Store, w, retry))
	require.Empty(t, claim(t, h.Store, w, "default", 10), "its next attempt comes first")
	require.NoError(t, h.Store.Retry(t.Context(), first.ID))
	first = claim(t, h.Store, w, "default", 10)[0]
	require.Equal(t, ids[0], first.ID)

	done := result(first, driver.Complete)
	done.SerialKey = "k"
	res, err := h.Store.Exchange(t.Context(), driver.ExchangeRequest{Worker: w, Results: []driver.Result{done},
		Claims: []driver.ClaimRequest{{Queue: "default", Limit: 10}}})
	require.NoError(t, err)
	require.Len(t, res.Jobs, 1, "the next one, in the same exchange")
	require.Equal(t, ids[1], res.Jobs[0].ID)

	late := fill(t, h.Store, 2, serialKey("later"), func(p *jobqueue.Params) {
		if p.Args.(args).N == 0 {
			p.RunAt = time.Now().Add(time.Hour)
		}
	})
	require.Equal(t, jobqueue.StateScheduled, get(t, h.Store, late[0]).State)
	require.Equal(t, jobqueue.StateHeld, get(t, h.Store, late[1]).State)
}

func serialByHand(t *testing.T, h Harness) {
	c := jobqueue.NewClient(h.Store)
	ids := fill(t, h.Store, 4, serialKey("k"))
	list := func(state jobqueue.State) (got []int64) {
		jobs, err := c.List(t.Context(), jobqueue.Filter{State: state})
		require.NoError(t, err)
		for _, j := range jobs {
			require.Equal(t, state, j.State)
			require.Equal(t, "k", j.SerialKey)
			got = append(got, j.ID)
		}
		return got
	}
	require.Equal(t, []int64{ids[3], ids[2], ids[1]}, list(jobqueue.StateHeld))
	require.Equal(t, []int64{ids[0]}, list(jobqueue.StateWaiting))
	require.Empty(t, list(jobqueue.StateRunning))
	stats, err := c.Stats(t.Context())
	require.NoError(t, err)
	require.Equal(t, 3, stats.Queues[0].Held)
	require.Equal(t, 1, stats.Queues[0].Waiting)
	require.Zero(t, stats.Queues[0].Running)
	require.Empty(t, stats.Workers)
	require.ErrorIs(t, c.Retry(t.Context(), ids[1]), jobqueue.ErrState)

	require.NoError(t, c.Cancel(t.Context(), ids[1]), "it is held")
	require.Equal(t, []int64{ids[3], ids[2]}, list(jobqueue.StateHeld))
	require.NoError(t, c.Cancel(t.Context(), ids[0]), "the next one gets its turn")
	require.Equal(t, []int64{ids[2]}, list(jobqueue.StateWaiting))

	require.NoError(t, c.Retry(t.Context(), ids[1]), "it gets in line")
	require.Equal(t, jobqueue.StateHeld, get(t, h.Store, ids[1]).State)
	require.NoError(t, c.Cancel(t.Context(), ids[2]))
	require.Equal(t, []int64{ids[1]}, list(jobqueue.StateWaiting))
	require.NoError(t, c.Cancel(t.Context(), ids[1]))
	require.NoError(t, c.Cancel(t.Context(), ids[3]))
	require.NoError(t, c.Retry(t.Context(), ids[3]), "nobody is in line")
	require.Equal(t, []int64{ids[3]}, list(jobqueue.StateWaiting))
}

func serialSurvivesTheDeathOfAWorker(t *testing.T, h Harness) {
	ids := fill(t, h.Store, 3, serialKey("k"))
	dead := register(t, h.Store, never)
	require.Equal(t, ids[0], claim(t, h.Store, dead, "default", 10)[0].ID)
	for _, orphans := range []bool{false, true} {
		_, err := h.Store.Rescue(t.Context(), orphans)
		require.NoError(t, err)
	}
	require.Equal(t, jobqueue.StateHeld, get(t, h.Store, ids[1]).State, "held jobs have no worker and are not orphans")
	die(t, h.Store, dead)
	rescue(t, h.Store, 1)
	var mu sync.Mutex
	var order []int64
	r := start(t, h.Store, jobqueue.WorkerConfig{}, handle(func(_ context.Context, job *jobqueue.Job, _ args) error {
		mu.Lock()
		defer mu.Unlock()
		order = append(order, job.ID)
		return nil
	}))
	for range ids {
		r.next(jobqueue.EventSucceeded)
	}
	r.wait()
	require.Equal(t, ids, order)
}

// Jobs of a transaction get in line when it commits, and CompleteTx ends a turn.
func serialInTransactions(t *testing.T, h Harness) {
	for name, inTx := range h.InTx {
		var ids []int64
		require.NoError(t, inTx(t.Context(), func(tx Tx) error {
			p := jobqueue.Params{Kind: "work", SerialKey: name}
			rs, err := tx.Enqueue(p, p, p)
			for _, r := range rs {
				ids = append(ids, r.ID)
			}
			return err
		}))
		var order []int64
		r := start(t, h.Store, jobqueue.WorkerConfig{Lease: time.Hour}, // Rescue comes too late
			handle(func(ctx context.Context, job *jobqueue.Job, _ args) error {
				order = append(order, job.ID)
				return inTx(ctx, func(tx Tx) error { return tx.Complete(job) })
			}))
		for range ids {
			r.next(jobqueue.EventSucceeded)
		}
		r.wait()
		require.Equal(t, ids, order, name)
		require.ErrorIs(t, inTx(t.Context(), func(tx Tx) error {
			_, err := tx.Enqueue(jobqueue.Params{Kind: "work", SerialKey: name})
			return errors.Join(err, errTest)
		}), errTest)
		last := fill(t, h.Store, 1, serialKey(name))[0]
		require.Equal(t, jobqueue.StateWaiting, get(t, h.Store, last).State)
		require.NoError(t, h.Store.Cancel(t.Context(), last))
	}
}

// Nobody receives the notification of the transaction.
func serialLostSignalIsRepaired(t *testing.T, h Harness) {
	for name, inTx := range h.InTx {
		var id int64
		require.NoError(t, inTx(t.Context(), func(tx Tx) error {
			rs, err := tx.Enqueue(jobqueue.Params{Kind: "work", SerialKey: name})
			if err == nil {
				id = rs[0].ID
			}
			return err
		}))
		_, err := h.Store.Rescue(t.Context(), false)
		require.NoError(t, err)
		require.Equal(t, jobqueue.StateWaiting, get(t, h.Store, id).State)
	}
}
