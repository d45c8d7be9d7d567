package jobqueue

import (
	"context"
	"maps"
	"time"
)

// lease is the worker row under which this process holds jobs, from registration until it is lost or given up.
type lease struct {
	worker int64
	ctx    context.Context    // parent of all handlers' contexts, never cancelled itself: end does that to each of them
	held   map[int64]*attempt // by job id: every job taken and not yet recorded; Worker.mu guards it
}

// keep lists what the lease holds.
func (l *lease) keep() []Lease {
	keep := make([]Lease, 0, len(l.held))
	for _, a := range l.held {
		keep = append(keep, Lease{ID: a.job.ID, Fence: a.job.Fence})
	}
	return keep
}

// end ends the contexts of all handlers that run. Worker.mu is held.
func (l *lease) end(cause error) {
	for _, a := range l.held {
		if a.cancel != nil {
			a.cancel(cause)
		}
	}
}

// newLease registers this process; it tries until ctx ends.
func (w *Worker) newLease(ctx context.Context) error {
	var id int64
	err := w.await(ctx, "register worker", func(ctx context.Context) (err error) {
		ctx, cancel := context.WithTimeout(ctx, w.cfg.Lease/3)
		defer cancel()
		id, err = w.store.Register(ctx, w.cfg.Name, w.cfg.Lease)
		return err
	})
	if err != nil {
		return err
	}
	l := &lease{worker: id, ctx: context.WithoutCancel(ctx), held: map[int64]*attempt{}}
	w.mu.Lock()
	w.lease = l
	w.doubt = false
	w.wakeAll(true)
	w.mu.Unlock()
	return nil
}

// loseLease ends the contexts of all handlers with cause ErrLeaseLost and forgets what they held.
func (w *Worker) loseLease(l *lease) {
	w.mu.Lock()
	if w.lease != l {
		w.mu.Unlock()
		return
	}
	w.lease = nil
	l.end(ErrLeaseLost)
	lost := make([]*attempt, 0, len(l.held))
	for _, a := range l.held {
		a.settled, a.lost = true, true
		lost = append(lost, a)
	}
	clear(l.held)
	w.finished = nil
	for _, q := range w.queues {
		q.buffer = nil
	}
	w.cond.Broadcast()
	w.mu.Unlock()

	w.cfg.Logger.Error("lease lost", "worker", l.worker, "jobs", len(lost))
	for _, a := range lost {
		w.emit(Event{Type: EventLost, Job: a.job, Err: ErrLeaseLost})
	}
}

// beatLoop keeps the lease alive. When it is lost (the database says so, or could not be asked for a whole lease), it
// registers anew.
func (w *Worker) beatLoop(ctx context.Context) {
	last := time.Now() // start of the last heartbeat that counted; monotonic, so clock jumps do not matter
	for w.untilBeat(ctx) {
		w.mu.Lock()
		l := w.lease
		w.mu.Unlock()
		alive, err := false, error(nil)
		for {
			start := time.Now()
			alive, err = w.beat(ctx, l)
			if err == nil {
				last = start
				break
			}
			if ctx.Err() != nil || time.Since(last) >= w.cfg.Lease*9/10 {
				break
			}
			w.cfg.Logger.Warn("heartbeat", "error", err)
			if !sleep(ctx, jitter(w.cfg.Lease/20)) {
				return
			}
		}
		switch {
		case ctx.Err() != nil:
			return
		case err == nil && alive:
			w.abandonOverdue()
			w.mu.Lock()
			w.doubt = w.doubt || w.recheck
			w.recheck = false
			w.cond.Broadcast()
			w.mu.Unlock()
		default:
			w.loseLease(l)
			if w.newLease(ctx) != nil {
				return
			}
			last = time.Now()
			w.store.Release(ctx, l.worker, nil, true) // sooner than the sweep; that comes if this fails
		}
	}
}

// untilBeat waits until the next heartbeat is due, or sooner when a job may have been asked to stop. It returns false when
// ctx ended first.
func (w *Worker) untilBeat(ctx context.Context) bool {
	t := time.NewTimer(jitter(w.cfg.Lease/3) * 9 / 10)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-w.beatNow:
		return true
	case <-ctx.Done():
		return false
	}
}

// beat renews the lease once and ends the contexts of jobs that were asked to stop.
func (w *Worker) beat(ctx context.Context, l *lease) (alive bool, err error) {
	w.mu.Lock()
	asked := maps.Clone(l.held) // what is taken from here on is not meant: it may be the retry of a job that was cancelled
	w.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, max(w.cfg.Lease/6, 10*time.Millisecond))
	defer cancel()
	cancelled, alive, err := w.store.Beat(ctx, l.worker, w.cfg.Lease)
	if err != nil || !alive {
		return false, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, id := range cancelled {
		if a := asked[id]; a != nil {
			a.cancelled = true
			if a.cancel != nil {
				a.cancel(ErrCancelled)
			}
		}
	}
	return true, nil
}

// abandonOverdue gives up handlers that go on long after their timeout: the attempt counts as failed and the job may
// run elsewhere. The handler keeps its slot.
func (w *Worker) abandonOverdue() {
	now := time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.lease == nil {
		return
	}
	for _, a := range w.lease.held {
		if a.settled || a.overdue.IsZero() || now.Before(a.overdue) {
			continue
		}
		a.settled = true
		a.outcome, a.event = w.handlers[a.job.Kind].putBack(a.job, errAbandoned)
		w.record(a)
	}
}

// sweepLoop takes back the jobs of dead processes. Every process does it: there is no leader.
func (w *Worker) sweepLoop(ctx context.Context) {
	var audited time.Time
	for {
		audit := time.Since(audited) > auditEvery
		n, err := w.store.Sweep(ctx, audit)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			w.cfg.Logger.Warn("sweep", "error", err)
		default:
			if audit {
				audited = time.Now()
			}
			if n > 0 {
				w.cfg.Logger.Warn("jobs of dead workers taken back", "count", n)
				w.mu.Lock()
				w.wakeAll(true)
				w.mu.Unlock()
			}
		}
		if !sleep(ctx, jitter(w.cfg.Lease/3)) {
			return
		}
	}
}

// purgeLoop deletes history older than the retention of each queue: first soon, for processes that do not live long, then
// seldom, because an engine may have to read the whole history for it.
func (w *Worker) purgeLoop(ctx context.Context) {
	for pause := purgeAtLeast; sleep(ctx, jitter(pause)); pause = w.purgePause() {
		for _, q := range w.byName { // not w.queues: its order changes
			for _, p := range []struct {
				state State
				age   time.Duration
			}{{StateSucceeded, q.retention[0]}, {StateFailed, q.retention[1]}, {StateCancelled, q.retention[1]}} {
				if p.age == KeepForever {
					continue
				}
				n, err := w.purge(ctx, PurgeFilter{State: p.state, Queue: q.name, Age: max(p.age, 0)})
				if err != nil && ctx.Err() == nil {
					w.cfg.Logger.Warn("purge", "queue", q.name, "error", err)
				}
				if n > 0 {
					w.cfg.Logger.Debug("history purged", "queue", q.name, "state", p.state, "count", n)
				}
			}
		}
	}
}

// purgePause is the time between two purges.
func (w *Worker) purgePause() time.Duration {
	pause := purgeAtMost
	for _, q := range w.byName {
		for _, age := range q.retention {
			if age > 0 {
				pause = min(pause, age)
			}
		}
	}
	return max(pause, purgeAtLeast)
}

// purge deletes all that f chooses, batch by batch. Others may write at least half of the time.
func (w *Worker) purge(ctx context.Context, f PurgeFilter) (total int, err error) {
	for {
		begin := time.Now()
		n, err := w.store.Purge(ctx, f)
		total += n
		if err != nil || n == 0 || !sleep(ctx, max(time.Since(begin), 10*time.Millisecond)) {
			return total, err
		}
	}
}
