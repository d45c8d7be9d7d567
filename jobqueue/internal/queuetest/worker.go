package queuetest

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/jobqueue"
)

var workerTests = map[string]func(*testing.T, Harness){
	"EveryJobRunsOnce":                 everyJobRunsOnce,
	"RetriesThenFails":                 retriesThenFails,
	"PermanentFailsAtOnce":             permanentFailsAtOnce,
	"SnoozeCostsNothing":               snoozeCostsNothing,
	"PanicIsRecorded":                  panicIsRecorded,
	"GoexitIsAFailure":                 goexitIsAFailure,
	"UndecodableFailsAlone":            undecodableFailsAlone,
	"OtherKindsAreLeftToOthers":        otherKindsAreLeftToOthers,
	"TimeoutEndsTheContext":            timeoutEndsTheContext,
	"CancelStopsARunningJob":           cancelStopsARunningJob,
	"LeaseLostCancelsAll":              leaseLostCancelsAll,
	"StopWaitsForHandlers":             stopWaitsForHandlers,
	"StopReleasesAfterShutdownTimeout": stopReleasesAfterShutdownTimeout,
	"CompleteTxInAHandler":             completeTxInAHandler,
}

func everyJobRunsOnce(t *testing.T, h Harness) {
	const n = 2000
	fill(t, h.Store, n/2)
	fill(t, h.Store, n/2, func(p *jobqueue.Params) { p.Queue = "b" })
	var count [n / 2]atomic.Int32
	var parallel, most atomic.Int32
	queues := map[string]jobqueue.QueueConfig{"default": {MaxWorkers: 5}, "b": {MaxWorkers: 3}}
	r := start(t, h.Store, jobqueue.WorkerConfig{Queues: queues},
		handle(func(ctx context.Context, job *jobqueue.Job, a args) error {
			most.Store(max(most.Load(), parallel.Add(1)))
			defer parallel.Add(-1)
			count[a.N].Add(1)
			return nil
		}))
	for range n {
		r.next(jobqueue.EventSucceeded)
	}
	r.wait()
	for i := range count {
		require.EqualValues(t, 2, count[i].Load(), "argument %d", i)
	}
	require.LessOrEqual(t, most.Load(), int32(8))
	jobs, err := jobqueue.NewClient(h.Store).List(t.Context(), jobqueue.Filter{State: jobqueue.StateSucceeded, Limit: 1000})
	require.NoError(t, err)
	require.Len(t, jobs, 1000)
}

func retriesThenFails(t *testing.T, h Harness) {
	id := fill(t, h.Store, 1, func(p *jobqueue.Params) { p.MaxAttempts = 3 })[0]
	tokens := make(chan string, 10)
	r := start(t, h.Store, jobqueue.WorkerConfig{}, handle(func(_ context.Context, job *jobqueue.Job, _ args) error {
		tokens <- job.Token()
		return fmt.Errorf("attempt %d of %d: %w", job.Attempt, job.MaxAttempts, errTest)
	}))
	r.next(jobqueue.EventRetried)
	r.next(jobqueue.EventRetried)
	require.ErrorIs(t, r.next(jobqueue.EventFailed).Err, errTest)
	j := get(t, h.Store, id)
	require.Equal(t, jobqueue.StateFailed, j.State)
	require.Equal(t, 3, j.Attempt)
	require.Len(t, j.Errors, 3)
	for i, e := range j.Errors {
		require.Equal(t, i+1, e.Attempt)
		require.Equal(t, fmt.Sprintf("attempt %d of 3: %v", i+1, errTest), e.Error)
	}
	a, b, c := receive(t, tokens), receive(t, tokens), receive(t, tokens)
	require.True(t, a != b && b != c && a != c, "tokens %s %s %s", a, b, c)
}

// permanent and away are classified by their methods, as errors of other packages are.
type permanent struct{}

func (permanent) Error() string   { return "never" }
func (permanent) Permanent() bool { return true }

type away struct{}

func (away) Error() string             { return "away" }
func (away) RetryAfter() time.Duration { return 5 * time.Millisecond }

func permanentFailsAtOnce(t *testing.T, h Harness) {
	ids := fill(t, h.Store, 2)
	r := start(t, h.Store, jobqueue.WorkerConfig{}, handle(func(_ context.Context, _ *jobqueue.Job, a args) error {
		if a.N == 0 {
			return fmt.Errorf("wrapped: %w", permanent{})
		}
		return jobqueue.Permanent(errTest)
	}))
	r.next(jobqueue.EventFailed)
	r.next(jobqueue.EventFailed)
	for _, id := range ids {
		j := get(t, h.Store, id)
		require.Equal(t, jobqueue.StateFailed, j.State)
		require.Equal(t, 1, j.Attempt)
		require.Len(t, j.Errors, 1)
	}
}

func snoozeCostsNothing(t *testing.T, h Harness) {
	ids := fill(t, h.Store, 2, func(p *jobqueue.Params) { p.MaxAttempts = 1 })
	var calls [2]atomic.Int32
	r := start(t, h.Store, jobqueue.WorkerConfig{}, handle(func(_ context.Context, job *jobqueue.Job, a args) error {
		switch n := calls[a.N].Add(1); {
		case job.Attempt != 1:
			return fmt.Errorf("attempt %d", job.Attempt)
		case n > 3:
			return nil
		case a.N == 0:
			return fmt.Errorf("wrapped: %w", away{})
		}
		return jobqueue.Snooze(time.Millisecond)
	}))
	snoozed := 0
	for range 8 {
		if r.next(jobqueue.EventSnoozed, jobqueue.EventSucceeded).Type == jobqueue.EventSnoozed {
			snoozed++
		}
	}
	require.Equal(t, 6, snoozed)
	for _, id := range ids {
		j := get(t, h.Store, id)
		require.Equal(t, jobqueue.StateSucceeded, j.State)
		require.Equal(t, 1, j.Attempt)
		require.Empty(t, j.Errors)
	}
}

func panicIsRecorded(t *testing.T, h Harness) {
	id := fill(t, h.Store, 1, func(p *jobqueue.Params) { p.MaxAttempts = 1 })[0]
	r := start(t, h.Store, jobqueue.WorkerConfig{}, handle(func(context.Context, *jobqueue.Job, args) error {
		panic("out of \x00 cheese")
	}))
	r.next(jobqueue.EventFailed)
	j := get(t, h.Store, id)
	require.Len(t, j.Errors, 1)
	require.Equal(t, "panic: out of \uFFFD cheese", j.Errors[0].Error)
	require.Contains(t, j.Errors[0].Stack, "panicIsRecorded")
}

// Goexit ends the goroutine of the handler; its worker goes on and its job is retried.
func goexitIsAFailure(t *testing.T, h Harness) {
	ids := fill(t, h.Store, 4, func(p *jobqueue.Params) { p.MaxAttempts = 2 })
	var dead atomic.Int32
	r := start(t, h.Store, jobqueue.WorkerConfig{Queues: map[string]jobqueue.QueueConfig{"default": {MaxWorkers: 1}}},
		handle(
			func(_ context.Context, _ *jobqueue.Job, a args) error {
				if a.N < 3 {
					runtime.Goexit()
				}
				return nil
			},
			jobqueue.OnFailed(func(_ context.Context, _ *jobqueue.Job, cause error) error {
				if dead.Add(1) == 1 {
					runtime.Goexit()
				}
				return nil
			})))
	for range ids {
		r.next(jobqueue.EventSucceeded, jobqueue.EventFailed)
	}
	r.wait()
	require.EqualValues(t, 4, dead.Load())
	for _, id := range ids[:3] {
		j := get(t, h.Store, id)
		require.Equal(t, jobqueue.StateFailed, j.State)
		require.Equal(t, 2, j.Attempt)
		require.Contains(t, j.Errors[0].Error, "Goexit")
		require.Contains(t, j.Errors[1].Error, "Goexit")
	}
	require.Equal(t, jobqueue.StateSucceeded, get(t, h.Store, ids[3]).State)
}

func undecodableFailsAlone(t *testing.T, h Harness) {
	c := jobqueue.NewClient(h.Store)
	bad, err := c.Enqueue(t.Context(), jobqueue.Params{Kind: "work", Args: []string{"not", "an", "object"}})
	require.NoError(t, err)
	good := fill(t, h.Store, 5)
	r := start(t, h.Store, jobqueue.WorkerConfig{},
		handle(nothing))
	for range 6 {
		r.next(jobqueue.EventSucceeded, jobqueue.EventFailed)
	}
	require.Contains(t, get(t, h.Store, bad.ID).Errors[0].Error, "decode arguments")
	for _, id := range good {
		require.Equal(t, jobqueue.StateSucceeded, get(t, h.Store, id).State)
	}
}

// Jobs of a kind that a worker has no handler for keep nobody waiting, and wait for a worker that
// has one.
func otherKindsAreLeftToOthers(t *testing.T, h Harness) {
	other := fill(t, h.Store, 2000, func(p *jobqueue.Params) { p.Kind = "new"; p.MaxAttempts = 1 })
	fill(t, h.Store, 10)
	r := start(t, h.Store, jobqueue.WorkerConfig{Prefetch: 100},
		handle(nothing))
	for range 10 {
		r.next(jobqueue.EventSucceeded)
	}
	fill(t, h.Store, 1)
	r.next(jobqueue.EventSucceeded)
	r.wait()
	j := get(t, h.Store, other[0])
	require.Equal(t, jobqueue.StateWaiting, j.State)
	require.Zero(t, j.Fence, "it was never claimed")

	r = start(t, h.Store, jobqueue.WorkerConfig{}, func(*jobqueue.Worker) {})
	r.wait()
	require.Zero(t, get(t, h.Store, other[0]).Fence, "a worker without handlers claims nothing")

	r = start(t, h.Store, jobqueue.WorkerConfig{}, func(w *jobqueue.Worker) {
		jobqueue.Handle(w, "new", func(context.Context, *jobqueue.Job, any) error { return nil })
	})
	require.Equal(t, other[0], r.next(jobqueue.EventSucceeded).Job.ID)
}

func timeoutEndsTheContext(t *testing.T, h Harness) {
	id := fill(t, h.Store, 1, func(p *jobqueue.Params) { p.MaxAttempts = 1 })[0]
	r := start(t, h.Store, jobqueue.WorkerConfig{}, handle(func(ctx context.Context, _ *jobqueue.Job, _ args) error {
		if _, ok := ctx.Deadline(); !ok {
			return jobqueue.Permanent(fmt.Errorf("no deadline"))
		}
		<-ctx.Done()
		return context.Cause(ctx)
	}, jobqueue.WithTimeout(10*time.Millisecond)))
	require.ErrorIs(t, r.next(jobqueue.EventFailed).Err, jobqueue.ErrTimeout)
	require.Contains(t, get(t, h.Store, id).Errors[0].Error, "timed out")
}

func cancelStopsARunningJob(t *testing.T, h Harness) {
	id := fill(t, h.Store, 1)[0]
	started := make(chan struct{})
	causes := make(chan error, 1)
	r := start(t, h.Store, jobqueue.WorkerConfig{Lease: 5 * time.Second},
		handle(func(ctx context.Context, _ *jobqueue.Job, _ args) error {
			close(started)
			<-ctx.Done()
			causes <- context.Cause(ctx)
			return ctx.Err()
		}))
	receive(t, started)
	require.NoError(t, h.Again().Cancel(t.Context(), id))
	require.ErrorIs(t, receive(t, causes), jobqueue.ErrCancelled)
	r.next(jobqueue.EventCancelled)
	require.Equal(t, jobqueue.StateCancelled, get(t, h.Store, id).State)
}

func leaseLostCancelsAll(t *testing.T, h Harness) {
	ids := fill(t, h.Store, 2, func(p *jobqueue.Params) { p.MaxAttempts = 5 })
	causes := make(chan error, 10)
	var runs atomic.Int32
	r := start(t, h.Store, jobqueue.WorkerConfig{Lease: 5 * time.Second}, handle(
		func(ctx context.Context, _ *jobqueue.Job, _ args) error {
			if runs.Add(1) > 2 {
				return nil
			}
			<-ctx.Done()
			causes <- context.Cause(ctx)
			return nil // too late
		}))
	r.next(jobqueue.EventClaimed)
	poll(t, "both run", func() bool { return runs.Load() == 2 })
	// What Rescue does to a worker that was suspended for too long.
	stats, err := h.Store.Stats(t.Context())
	require.NoError(t, err)
	require.Len(t, stats.Workers, 1)
	require.Contains(t, stats.Workers[0].Name, fmt.Sprint(os.Getpid()))
	_, err = h.Again().Release(t.Context(), stats.Workers[0].ID, nil, true)
	require.NoError(t, err)

	require.ErrorIs(t, r.next(jobqueue.EventLost).Err, jobqueue.ErrLeaseLost)
	r.next(jobqueue.EventLost)
	require.ErrorIs(t, receive(t, causes), jobqueue.ErrLeaseLost)
	r.next(jobqueue.EventSucceeded)
	r.next(jobqueue.EventSucceeded)
	for _, id := range ids {
		require.Equal(t, jobqueue.StateSucceeded, get(t, h.Store, id).State)
	}
}

func stopWaitsForHandlers(t *testing.T, h Harness) {
	ids := fill(t, h.Store, 30)
	started, finish := make(chan struct{}, 30), make(chan struct{})
	r := start(t, h.Store, jobqueue.WorkerConfig{Queues: map[string]jobqueue.QueueConfig{"default": {MaxWorkers: 2}},
		Prefetch: 20},
		handle(func(ctx context.Context, _ *jobqueue.Job, _ args) error {
			started <- struct{}{}
			select {
			case <-finish:
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}))
	receive(t, started)
	receive(t, started)
	r.stop()
	// Prefetched jobs are released before the handlers end.
	other := register(t, h.Store, never)
	taken := 0
	poll(t, "the rest is released", func() bool {
		taken += len(claim(t, h.Store, other, "default", 30))
		return taken == 28
	})
	close(finish)
	r.wait()
	succeeded := 0
	for _, id := range ids {
		j := get(t, h.Store, id)
		require.Equal(t, 1, j.Attempt)
		if j.State == jobqueue.StateSucceeded {
			succeeded++
		}
	}
	require.Equal(t, 2, succeeded)
	stats, err := h.Store.Stats(t.Context())
	require.NoError(t, err)
	require.Len(t, stats.Workers, 1, "only the other worker is left")
}

func stopReleasesAfterShutdownTimeout(t *testing.T, h Harness) {
	ids := fill(t, h.Store, 2)
	started, stubborn := make(chan struct{}, 2), make(chan struct{})
	defer close(stubborn)
	r := start(t, h.Store, jobqueue.WorkerConfig{ShutdownTimeout: 50 * time.Millisecond},
		handle(func(ctx context.Context, _ *jobqueue.Job, a args) error {
			started <- struct{}{}
			<-ctx.Done()
			if a.N == 1 {
				<-stubborn // ignores its context
			}
			return context.Cause(ctx)
		}))
	receive(t, started)
	receive(t, started)
	begin := time.Now()
	r.wait()
	require.Less(t, time.Since(begin), 50*time.Millisecond+5*time.Second)
	for _, id := range ids {
		j := get(t, h.Store, id)
		require.Equal(t, jobqueue.StateWaiting, j.State)
		require.Zero(t, j.Attempt)
		require.Empty(t, j.Errors)
	}
}

func completeTxInAHandler(t *testing.T, h Harness) {
	for name, inTx := range h.InTx {
		t.Run(name, func(t *testing.T) {
			queue := func(p *jobqueue.Params) { p.Queue = name; p.MaxAttempts = 1 + p.Args.(args).N }
			ids := fill(t, h.Store, 2, queue)
			var forgot atomic.Bool
			r := start(t, h.Store, jobqueue.WorkerConfig{Queues: map[string]jobqueue.QueueConfig{name: {}}},
				handle(func(ctx context.Context, job *jobqueue.Job, a args) error {
					err := inTx(ctx, func(tx Tx) error {
						if err := tx.Complete(job); err != nil {
							return err
						}
						if a.N == 1 && !forgot.Swap(true) {
							return errTest // rolls back, and the handler ignores the error
						}
						_, err := tx.Enqueue(jobqueue.Params{Kind: "follow-up", Queue: "later"})
						return err
					})
					if a.N == 1 {
						return nil
					}
					return err
				}))
			require.ErrorContains(t, r.next(jobqueue.EventRetried).Err, "not committed")
			r.wait()
			require.Equal(t, jobqueue.StateSucceeded, get(t, h.Store, ids[0]).State)
		})
	}
}
