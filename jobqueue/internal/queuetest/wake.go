package queuetest

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/jobqueue"
	"lessonkit.example/jobqueue/driver"
)

// idle starts a worker that has polled its empty queue.
func idle(t *testing.T, s driver.Store, cfg jobqueue.WorkerConfig) *running {
	t.Helper()
	fill(t, s, 1)
	r := start(t, s, cfg, handle(nothing))
	r.succeed(1)
	return r
}

// A worker that neither polls nor sends heartbeats learns of new, scheduled and retried jobs.
func sameProcessIsWoken(t *testing.T, h Harness) {
	r := idle(t, h.Store, jobqueue.WorkerConfig{PollInterval: never, Lease: never})
	for n := range 20 {
		fill(t, h.Store, 1+n%2)
		r.succeed(1 + n%2)
	}
	for _, d := range []time.Duration{400 * time.Millisecond, 150 * time.Millisecond} {
		fill(t, h.Store, 1, runAt(time.Now().Add(d)))
	}
	for ended := 0; ended < 2; {
		e := r.next(jobqueue.EventClaimed, jobqueue.EventSucceeded)
		require.GreaterOrEqual(t, e.Wait, time.Duration(0), "not early")
		if e.Type == jobqueue.EventSucceeded {
			ended++
		}
	}
	c := jobqueue.NewClient(h.Store)
	id := fill(t, h.Store, 1, runAt(time.Now().Add(time.Hour)))[0]
	require.NoError(t, c.Cancel(t.Context(), id))
	require.NoError(t, c.Retry(t.Context(), id))
	require.Equal(t, id, r.next(jobqueue.EventSucceeded).Job.ID)
	id = fill(t, h.Store, 1, runAt(time.Now().Add(time.Hour)))[0]
	require.NoError(t, c.Cancel(t.Context(), id))
	_, _, err := c.RetryMany(t.Context(), jobqueue.Filter{State: jobqueue.StateCancelled})
	require.NoError(t, err)
	require.Equal(t, id, r.next(jobqueue.EventSucceeded).Job.ID)
}

// Workers learn of the jobs of other processes and of transactions, by notifications if the store
// has them.
func othersAreWoken(t *testing.T, h Harness) {
	cfg := jobqueue.WorkerConfig{}
	if h.Notifies {
		cfg.PollInterval = never
	}
	r := idle(t, h.Store, cfg)
	other := h.Again()
	ways := map[string]func(){"another process": func() { fill(t, other, 1) }}
	for name, inTx := range h.InTx {
		ways[name] = func() {
			require.NoError(t, inTx(t.Context(), func(tx Tx) error {
				_, err := tx.Enqueue(jobqueue.Params{Kind: "work"})
				return err
			}))
		}
	}
	for name, way := range ways {
		enqueued := 0
		poll(t, name, func() bool { // again and again, because the worker may not listen yet
			way()
			enqueued++
			select {
			case e := <-r.events:
				return e.Type == jobqueue.EventClaimed
			case <-time.After(500 * time.Millisecond):
				return false
			}
		})
		r.succeed(enqueued)
	}
}

// Running jobs are cancelled from another process, one by its id and the others by a filter. A
// worker is notified, or finds out by its heartbeat.
func cancelReachesAll(t *testing.T, h Harness) {
	const jobs = 5
	ids := fill(t, h.Store, jobs)
	cfg := jobqueue.WorkerConfig{Lease: 3 * time.Second}
	if h.Notifies {
		cfg.Lease = never
	}
	r := start(t, h.Store, cfg, handle(func(ctx context.Context, _ *jobqueue.Job, a args) error {
		<-ctx.Done()
		if a.N == 0 {
			return nil // it succeeds regardless
		}
		return context.Cause(ctx)
	}))
	for range jobs {
		r.next(jobqueue.EventClaimed)
	}
	c := jobqueue.NewClient(h.Again())
	require.NoError(t, c.Cancel(t.Context(), ids[0]))
	ended := 0
	poll(t, "all end", func() bool { // again and again, because the worker may not listen yet
		_, _, err := c.CancelMany(t.Context(), jobqueue.Filter{State: jobqueue.StateRunning})
		require.NoError(t, err)
		select {
		case e := <-r.events:
			if ended++; e.Type == jobqueue.EventCancelled {
				require.ErrorIs(t, e.Err, jobqueue.ErrCancelled)
			}
		case <-time.After(200 * time.Millisecond):
		}
		return ended == jobs
	})
	require.Equal(t, driver.StateSucceeded, get(t, h.Store, ids[0]).State)
	require.Equal(t, jobs-1, count(t, h, jobqueue.Filter{State: jobqueue.StateCancelled}))
}
