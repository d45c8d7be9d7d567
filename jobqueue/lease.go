package jobqueue

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	"lessonkit.example/jobqueue/driver"
)

// lease is the registration under which this process holds jobs, until it is lost or released.
type lease struct {
	owner  *Worker
	worker int64
	ctx    context.Context    // parent of all handlers' contexts, never cancelled itself: end cancels each of them
	held   map[int64]*attempt // by job id: every job claimed and not yet recorded; Worker.mu guards it
}

// keep returns the leases of the jobs held.
func (l *lease) keep() []driver.Lease {
	keep := make([]driver.Lease, 0, len(l.held))
	for _, a := range l.held {
		keep = append(keep, driver.Lease{ID: a.job.ID, Fence: a.job.Fence})
	}
	return keep
}

// end ends the contexts of all attempts. Worker.mu is held.
func (l *lease) end(cause error) {
	for _, a := range l.held {
		a.ctx.end(cause)
	}
}

// newLease registers this process; it tries until ctx ends.
func (w *Worker) newLease(ctx context.Context) error {
	queues := slices.Sorted(maps.Keys(w.byName))
	host, _ := os.Hostname()
	name := fmt.Sprintf("%s/%d", host, os.Getpid())
	var id int64
	err := w.await(ctx, "register worker", func(ctx context.Context) (err error) {
		ctx, cancel := context.WithTimeout(ctx, w.cfg.Lease/3)
		defer cancel()
		id, err = w.store.Register(ctx, name, queues, w.cfg.Lease)
		return err
	})
	if err != nil {
		return err
	}
	l := &lease{owner: w, worker: id, ctx: context.WithoutCancel(ctx), held: map[int64]*attempt{}}
	w.mu.Lock()
	w.lease = l
	w.uncertain = false
	for _, q := range w.queues {
		q.slots = 0 // those of an earlier lease are gone
	}
	w.wakeAll(true)
	w.mu.Unlock()
	return nil
}

// loseLease ends the contexts of all handlers with cause ErrLeaseLost, discards their results and
// returns their leases.
func (w *Worker) loseLease(l *lease) (started []driver.Lease) {
	w.mu.Lock()
	if w.lease != l {
		w.mu.Unlock()
		return nil
	}
	w.lease = nil
	w.dropPrefetched()
	started = l.keep()
	l.end(ErrLeaseLost)
	lost := make([]*attempt, 0, len(l.held))
	for _, a := range l.held {
		a.settled, a.lost = true, true
		lost = append(lost, a)
	}
	clear(l.held)
	w.finished = nil
	w.cond.Broadcast()
	w.mu.Unlock()

	w.cfg.Logger.Error("lease lost", "worker", l.worker, "jobs", len(lost))
	for _, a := range lost {
		w.emit(Event{Type: EventLost, Job: &a.job, Err: ErrLeaseLost})
	}
	return started
}

// dropPrefetched forgets the jobs that have not started. Worker.mu is held.
func (w *Worker) dropPrefetched() {
	for _, q := range w.queues {
		for _, a := range q.buffer {
			delete(a.lease.held, a.job.ID)
		}
		q.buffer = nil
	}
}

// heartbeatLoop renews the lease. When it no longer exists, or the database did not respond for
// nearly a whole lease, the worker registers again.
func (w *Worker) heartbeatLoop(ctx context.Context) {
	last := time.Now() // start of the last successful heartbeat; monotonic, so clock changes do not matter
	pause := w.cfg.Lease / 3
	for wait(ctx, jitter(pause)*9/10, w.wake.heartbeat) {
		w.mu.Lock()
		l := w.lease
		w.mu.Unlock()
		start := time.Now()
		alive, err := w.heartbeat(ctx, l)
		if ctx.Err() != nil {
			return
		}
		pause = w.cfg.Lease / 3
		if err != nil { // also if it has renewed the lease, but does not know which jobs were cancelled
			w.warn("heartbeat", "", err)
			pause = w.cfg.Lease / 20
		}
		switch {
		case alive:
			last = start
			w.failStuck()
			w.mu.Lock()
			w.uncertain = w.uncertain || w.recheck
			w.recheck = false
			w.cond.Broadcast()
			w.mu.Unlock()
		case err != nil && time.Since(last) < w.cfg.Lease*9/10: // again soon
		default:
			started := w.loseLease(l)
			if w.newLease(ctx) != nil {
				return
			}
			last = time.Now()
			// What has not started returns to the queue without losing an attempt, unless
			// Rescue was sooner. The rest is left to that, with its slots, so that its attempts
			// count: a job that takes the database away would run again and again.
			io, cancel := context.WithTimeout(ctx, ioTimeout)
			_, _ = w.store.Release(io, l.worker, started, len(started) == 0)
			cancel()
		}
	}
}

// heartbeat renews the lease once and ends the contexts of cancelled jobs.
func (w *Worker) heartbeat(ctx context.Context, l *lease) (alive bool, err error) {
	w.mu.Lock()
	held := maps.Clone(l.held) // a job claimed from here on may be the retry of one that was cancelled
	w.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, min(max(w.cfg.Lease/6, 10*time.Millisecond), ioTimeout))
	defer cancel()
	cancelled, alive, err := w.store.Heartbeat(ctx, l.worker, w.cfg.Lease)
	if err != nil || !alive {
		return alive, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, id := range cancelled {
		if a := held[id]; a != nil {
			a.cancel()
		}
	}
	return true, nil
}

// failStuck fails the attempts whose handlers have been running for stuckThreshold after their
// timeout, so that the job may run elsewhere. The handlers still occupy their workers.
func (w *Worker) failStuck() {
	now := time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.lease == nil {
		return
	}
	for _, a := range w.lease.held {
		if a.settled || a.stuckAt.IsZero() || now.Before(a.stuckAt) {
			continue
		}
		result, event := a.handler.retry(&a.job, errStuck)
		w.settleAttempt(a, result, event)
	}
}
