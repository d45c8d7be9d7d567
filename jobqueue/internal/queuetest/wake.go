package queuetest

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/jobqueue"
	"lessonkit.example/jobqueue/driver"
)

var wakeTests = map[string]func(*testing.T, Harness){
	"WakeBeginsWithAllQueues": wakeBeginsWithAllQueues,
	"SameProcessIsWoken":      sameProcessIsWoken,
	"OtherProcessIsWoken":     otherProcessIsWoken,
	"TransactionWakes":        transactionWakes,
	"PollingAloneWorks":       pollingAloneWorks,
	"ScheduledStartsInTime":   scheduledStartsInTime,
	"CancelReachesOthers":     cancelReachesOthers,
	"CancelSparesTheRetry":    cancelSparesTheRetry,
	"RetryWakes":              retryWakes,
	"PastRunAtGoesFirst":      pastRunAtGoesFirst,
	"RetentionNoneKeepsNone":  retentionNoneKeepsNone,
	"RunChecksTheSchema":      runChecksTheSchema,
}

// never is a poll interval, or a lease, whose heartbeats also find jobs, that is longer than any
// test.
const never = time.Hour

// idle starts a worker that has polled its empty queue.
func idle(t *testing.T, s driver.Store, cfg jobqueue.WorkerConfig) *running {
	t.Helper()
	fill(t, s, 1)
	r := start(t, s, cfg, handle(nothing))
	r.next(jobqueue.EventSucceeded)
	return r
}

func wakeBeginsWithAllQueues(t *testing.T, h Harness) {
	listener, ok := h.Store.(driver.Listener)
	if !ok {
		t.Skip("the store is not a Listener")
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	signals, done := make(chan driver.Signal, 10), make(chan error, 1)
	go func() {
		done <- listener.Listen(ctx, func() {}, func(s driver.Signal) bool { signals <- s; return false })
	}()
	require.Zero(t, receive(t, signals), "earlier signals were missed")
	cancel()
	require.Error(t, receive(t, done))
}

func sameProcessIsWoken(t *testing.T, h Harness) {
	r := idle(t, h.Store, jobqueue.WorkerConfig{PollInterval: never, Lease: never})
	for range 20 {
		fill(t, h.Store, 1)
		r.next(jobqueue.EventSucceeded)
	}
	fill(t, h.Store, 2)
	r.next(jobqueue.EventSucceeded)
	r.next(jobqueue.EventSucceeded)
}

func otherProcessIsWoken(t *testing.T, h Harness) {
	cfg := jobqueue.WorkerConfig{}
	if h.Notifies {
		cfg.PollInterval = never
	}
	r := idle(t, h.Store, cfg)
	other := h.Again()
	for range 5 {
		r.wokenBy(func() { fill(t, other, 1) })
	}
}

// wokenBy enqueues jobs until the worker claims one, since it may not listen yet, and waits until
// all of them have succeeded.
func (r *running) wokenBy(enqueue func()) {
	r.t.Helper()
	enqueued := 0
	poll(r.t, "woken", func() bool {
		enqueue()
		enqueued++
		select {
		case e := <-r.events:
			return e.Type == jobqueue.EventClaimed
		case <-time.After(500 * time.Millisecond):
			return false
		}
	})
	for range enqueued {
		r.next(jobqueue.EventSucceeded)
	}
}

func transactionWakes(t *testing.T, h Harness) {
	cfg := jobqueue.WorkerConfig{}
	if h.Notifies {
		cfg.PollInterval = never
	}
	r := idle(t, h.Store, cfg)
	for _, inTx := range h.InTx {
		r.wokenBy(func() {
			require.NoError(t, inTx(t.Context(), func(tx Tx) error {
				_, err := tx.Enqueue(jobqueue.Params{Kind: "work"})
				return err
			}))
		})
	}
}

func pollingAloneWorks(t *testing.T, h Harness) {
	silent := struct{ driver.Store }{h.Store} // without Listen
	r := idle(t, silent, jobqueue.WorkerConfig{Lease: never})
	for range 3 {
		fill(t, h.Again(), 1)
		r.next(jobqueue.EventSucceeded)
	}
}

func scheduledStartsInTime(t *testing.T, h Harness) {
	r := idle(t, h.Store, jobqueue.WorkerConfig{PollInterval: never, Lease: never})
	c := jobqueue.NewClient(h.Store)
	for _, d := range []time.Duration{400 * time.Millisecond, 150 * time.Millisecond} {
		_, err := c.Enqueue(t.Context(), jobqueue.Params{Kind: "work", RunAt: time.Now().Add(d)})
		require.NoError(t, err)
	}
	for range 2 {
		require.GreaterOrEqual(t, r.next(jobqueue.EventClaimed).Wait, time.Duration(0), "not early")
	}
}

func cancelReachesOthers(t *testing.T, h Harness) {
	if !h.Notifies {
		t.Skip("a heartbeat reports the cancellation: see CancelStopsARunningJob")
	}
	id := fill(t, h.Store, 1)[0]
	ended := make(chan error, 1)
	r := start(t, h.Store, jobqueue.WorkerConfig{}, handle(func(ctx context.Context, _ *jobqueue.Job, _ args) error {
		<-ctx.Done()
		ended <- context.Cause(ctx)
		return nil
	}))
	r.next(jobqueue.EventClaimed)
	// Long before the heartbeat of a lease of 30 s, once the worker listens.
	other := h.Again()
	poll(t, "cancelled", func() bool {
		if err := other.Cancel(t.Context(), id); err != nil {
			require.ErrorIs(t, err, jobqueue.ErrState, "the first one had only been slow")
		}
		select {
		case cause := <-ended:
			require.ErrorIs(t, cause, jobqueue.ErrCancelled)
			return true
		case <-time.After(200 * time.Millisecond):
			return false
		}
	})
	r.next(jobqueue.EventSucceeded)
	require.Equal(t, jobqueue.StateSucceeded, get(t, h.Store, id).State, "it succeeded regardless")
}

// The signal of a cancellation may arrive when the job has ended and was retried.
func cancelSparesTheRetry(t *testing.T, h Harness) {
	started := make(chan struct{}, 1)
	r := start(t, h.Store, jobqueue.WorkerConfig{Lease: 5 * time.Second},
		handle(func(ctx context.Context, job *jobqueue.Job, _ args) error {
			started <- struct{}{}
			if job.Fence == 1 {
				<-ctx.Done()
				return context.Cause(ctx)
			}
			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-time.After(30 * time.Millisecond):
				return nil
			}
		}))
	c := jobqueue.NewClient(h.Store)
	for range 20 {
		id := fill(t, h.Store, 1)[0]
		receive(t, started)
		require.NoError(t, c.Cancel(t.Context(), id))
		for err := c.Retry(t.Context(), id); err != nil; err = c.Retry(t.Context(), id) { // as soon as possible
			require.ErrorIs(t, err, jobqueue.ErrState)
		}
		receive(t, started)
		require.Equal(t, jobqueue.EventCancelled, r.next(jobqueue.EventCancelled, jobqueue.EventSucceeded).Type)
		require.Equal(t, jobqueue.EventSucceeded, r.next(jobqueue.EventCancelled, jobqueue.EventSucceeded).Type)
	}
}

func retryWakes(t *testing.T, h Harness) {
	r := idle(t, h.Store, jobqueue.WorkerConfig{PollInterval: never})
	c := jobqueue.NewClient(h.Store)
	id := fill(t, h.Store, 1, func(p *jobqueue.Params) { p.RunAt = time.Now().Add(time.Hour) })[0]
	require.NoError(t, c.Cancel(t.Context(), id))
	require.NoError(t, c.Retry(t.Context(), id))
	require.Equal(t, id, r.next(jobqueue.EventSucceeded).Job.ID)
}

// A worker that has claimed later jobs for a while sees those that are put before them.
func pastRunAtGoesFirst(t *testing.T, h Harness) {
	starts, finish := make(chan int, 1), make(chan struct{})
	r := start(t, h.Store, jobqueue.WorkerConfig{PollInterval: never, Prefetch: -1,
		Queues: map[string]jobqueue.QueueConfig{"default": {MaxWorkers: 1}}},
		handle(func(_ context.Context, _ *jobqueue.Job, a args) error {
			starts <- a.N
			<-finish
			return nil
		}))
	defer r.stop()
	defer close(finish)
	fill(t, h.Store, 500)
	for i := range 30 { // longer than the lag of the watermark
		require.Equal(t, i, receive(t, starts))
		time.Sleep(10 * time.Millisecond)
		finish <- struct{}{}
	}
	receive(t, starts)
	// In the middle of two scans from the beginning, which alone would find the job.
	for past := 0; past < 3; past++ {
		fill(t, h.Store, 5, func(p *jobqueue.Params) {
			p.RunAt, p.Args = time.Now().Add(-time.Hour), args{1000}
		})
		for range 5 {
			finish <- struct{}{}
			require.Equal(t, 1000, receive(t, starts))
		}
		finish <- struct{}{}
		require.Less(t, receive(t, starts), 500)
	}
	for len(r.events) > 0 {
		require.Less(t, (<-r.events).Wait, time.Minute, "a job does not wait before it is enqueued")
	}
}

func retentionNoneKeepsNone(t *testing.T, h Harness) {
	ids := fill(t, h.Store, 3)
	r := start(t, h.Store, jobqueue.WorkerConfig{Queues: map[string]jobqueue.QueueConfig{
		"default": {Retention: jobqueue.KeepNone, RetentionFailed: jobqueue.KeepForever},
	}}, handle(func(_ context.Context, _ *jobqueue.Job, a args) error {
		if a.N == 2 {
			return jobqueue.Permanent(errTest)
		}
		return nil
	}))
	for range ids {
		r.next(jobqueue.EventSucceeded, jobqueue.EventFailed)
	}
	for _, id := range ids[:2] {
		_, err := h.Store.Get(t.Context(), id)
		require.ErrorIs(t, err, jobqueue.ErrNotFound)
	}
	require.Equal(t, jobqueue.StateFailed, get(t, h.Store, ids[2]).State)
}

func runChecksTheSchema(t *testing.T, h Harness) {
	require.NoError(t, h.Store.Check(t.Context()))
	require.NotNil(t, h.Empty)
	empty := h.Empty()
	require.ErrorIs(t, empty.Check(t.Context()), driver.ErrSchema)
	err := jobqueue.NewWorker(empty, jobqueue.WorkerConfig{}).Run(t.Context())
	require.ErrorIs(t, err, driver.ErrSchema)
	require.ErrorContains(t, err, "run Migrate")
}
