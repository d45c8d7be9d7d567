// Package jobtest runs jobs of package jobqueue in tests: [Run] runs one as a worker does, on a
// real queue, so its handler may call CompleteTx, SaveTx or EnqueueTx. With package sqlitequeue it
// works in the bubbles of testing/synctest.
//
//	store, err := sqlitequeue.Open(filepath.Join(t.TempDir(), "queue.db"), sqlitequeue.Config{})
//	require.NoError(t, err)
//	defer store.Close()
//	params := jobqueue.Params{Kind: "welcome", Args: "Ann"}
//	job := jobtest.Run(t, store, params, jobqueue.WorkerConfig{}, register)
//	require.Equal(t, jobqueue.StateSucceeded, job.State)
package jobtest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"lessonkit.example/jobqueue"
)

// maxAttempts is how often a job may be started, so that one that never ends fails its test.
const maxAttempts = 1000

// Run enqueues p in a store, whose tables it creates, and runs it as a worker does: it decodes the
// arguments, calls the middleware and the handler, tries again after errors, and calls the OnFailed
// callback. It returns the job, with the errors of all attempts, when it has succeeded, failed or
// been cancelled. Other jobs, such as those that the handler enqueues, do not run and have no
// events.
//
// The worker has the configuration cfg, except for its queues and schedules, and the handlers that
// register adds, one of which must be for the kind of p. Run waits neither for RunAt nor between
// attempts. The test fails if p is invalid, if it has no handler, if its AfterGroup has members, or
// if the job does not end after a thousand attempts.
func Run(
	t testing.TB, store jobqueue.Store, p jobqueue.Params, cfg jobqueue.WorkerConfig,
	register func(w *jobqueue.Worker),
) *jobqueue.Job {
	t.Helper()
	if err := store.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	client := jobqueue.NewClient(store)
	enqueued, err := client.Enqueue(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	// It may not wait for a RunAt.
	if err := client.Retry(t.Context(), enqueued.ID); err != nil && !errors.Is(err, jobqueue.ErrState) {
		t.Fatal(err)
	}
	if job, err := client.Get(t.Context(), enqueued.ID); err == nil && job.State == jobqueue.StateHeld {
		t.Fatalf("jobtest: job of kind %q is held for jobs that do not run here: see its AfterGroup", p.Kind)
	}
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(t.Context()))
	defer cancel(nil)
	var mu sync.Mutex
	var others []int64 // ids of jobs that were put off
	var again sync.WaitGroup
	onEvent := cfg.OnEvent
	cfg.OnEvent = func(e jobqueue.Event) {
		if e.Job.ID != enqueued.ID {
			if e.Type == jobqueue.EventSnoozed {
				mu.Lock()
				others = append(others, e.Job.ID)
				mu.Unlock()
			}
			return
		}
		if onEvent != nil {
			onEvent(e)
		}
		switch {
		case e.Type != jobqueue.EventRetried && e.Type != jobqueue.EventSnoozed:
		case e.Job.Fence >= maxAttempts: // which counts snoozed ones, too
			cancel(fmt.Errorf("it has not ended after %d attempts, the last with: %v", maxAttempts, e.Err))
		default:
			again.Go(func() { _ = client.Retry(ctx, enqueued.ID) }) // an error: it starts by itself already
		}
	}
	cfg.Queues = map[string]jobqueue.QueueConfig{cmp.Or(p.Queue, jobqueue.DefaultQueue): {MaxWorkers: 1}}
	cfg.Schedules = nil
	putOff := func(next jobqueue.HandlerFunc) jobqueue.HandlerFunc {
		return func(ctx context.Context, job *jobqueue.Job) error {
			if job.ID != enqueued.ID {
				return jobqueue.Snooze(time.Hour)
			}
			return next(ctx, job)
		}
	}
	cfg.Middleware = append([]func(jobqueue.HandlerFunc) jobqueue.HandlerFunc{putOff}, cfg.Middleware...)
	w := jobqueue.NewWorker(store, cfg)
	register(w)
	if !handles(w, p.Kind) {
		t.Fatalf("jobtest: register adds no handler for kind %q", p.Kind)
	}
	run, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	defer stop()
	stopped := make(chan error, 1)
	go func() { stopped <- w.Run(run) }()
	job, err := client.Wait(ctx, enqueued.ID)
	stop()
	if runErr := <-stopped; err == nil {
		err = runErr
	}
	again.Wait()
	for _, id := range others {
		_ = client.Retry(context.WithoutCancel(ctx), id) // it waits again
	}
	if err != nil {
		t.Fatalf("jobtest: job of kind %q: %v", p.Kind, err)
	}
	return job
}

// handles reports whether w has a handler for kind: then Handle panics. Otherwise w has one now.
func handles(w *jobqueue.Worker, kind string) (ok bool) {
	defer func() { ok = recover() != nil }()
	jobqueue.Handle(w, kind, func(context.Context, *jobqueue.Job, any) error { return nil })
	return false
}
