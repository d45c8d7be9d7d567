package jobqueue

import (
	"context"
	"errors"
	"time"
)

// wakeAll makes the next claims look at every queue; with full, from the beginning. Worker.mu is held.
func (w *Worker) wakeAll(full bool) {
	for _, q := range w.queues {
		q.wake()
		if full {
			q.scanned = time.Time{}
		}
	}
	w.cond.Broadcast()
}

// alarm has the queues looked at when a scheduled job is due, a moment after in. Only the earliest time is kept: when it
// has come, the database tells the next one. Worker.mu is held.
func (w *Worker) alarm(in time.Duration) {
	at := time.Now().Add(in).Add(time.Millisecond) // in may be the longest duration there is
	if !w.alarmAt.IsZero() && !at.Before(w.alarmAt) {
		return
	}
	w.alarmAt = at
	select {
	case w.rearm <- struct{}{}:
	default:
	}
}

// pollLoop looks at the queues every poll interval and whenever a scheduled job is due.
func (w *Worker) pollLoop(ctx context.Context) {
	const alarmGap = 2 * time.Millisecond // many due times in a row become few claims
	pollAt := time.Now()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		w.mu.Lock()
		now := time.Now()
		if !now.Before(pollAt) {
			w.wakeAll(false)
			w.eager = min(2*w.eager, time.Hour) // nothing found since
			pollAt = now.Add(jitter(w.pollInterval()))
		} else if soon := now.Add(w.pollInterval()); w.eager == eagerPoll && soon.Before(pollAt) {
			pollAt = soon
		}
		if !w.alarmAt.IsZero() && !now.Before(w.alarmAt) {
			w.alarmAt = time.Time{}
			w.ahead = true
			w.wakeAll(false)
		}
		next := pollAt
		if !w.alarmAt.IsZero() && w.alarmAt.Before(next) {
			next = w.alarmAt
		}
		w.mu.Unlock()
		timer.Reset(max(time.Until(next), alarmGap))
		select {
		case <-timer.C:
		case <-w.rearm:
			if !sleep(ctx, alarmGap) {
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// eagerPoll is when a queue is looked at after it had jobs; then after twice that, and so on up to the usual interval. Where
// there was a job there is often another, and its notification may be slow on a busy machine.
const eagerPoll = 20 * time.Millisecond

// found notes that there were jobs. Worker.mu is held.
func (w *Worker) found() {
	if w.cfg.Poll > 0 || w.eager == eagerPoll {
		return
	}
	w.eager = eagerPoll
	select {
	case w.rearm <- struct{}{}:
	default:
	}
}

// pollInterval is guarded by Worker.mu.
func (w *Worker) pollInterval() time.Duration {
	interval := 200 * time.Millisecond
	if w.listens {
		interval = time.Second
	}
	switch {
	case w.cfg.Poll > 0:
		return w.cfg.Poll
	case w.eager > 0:
		return min(w.eager, interval)
	}
	return interval
}

// listenLoop has the store wake the queues, and connects again when it cannot.
func (w *Worker) listenLoop(ctx context.Context) {
	waker, ok := w.store.(Waker)
	if !ok || w.cfg.PollOnly {
		return
	}
	listens := func(on bool) {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.listens = on; on {
			w.wakeAll(false) // what came before was not heard
		}
	}
	for pause := listenAgainMin; ; pause = min(2*pause, listenAgainMax) {
		err := waker.Wake(ctx, func() { listens(true); pause = listenAgainMin }, w.signal)
		listens(false)
		if ctx.Err() != nil {
			return
		}
		if errors.Is(err, errors.ErrUnsupported) {
			w.cfg.Logger.Info("no notifications, polling", "reason", err)
			return
		}
		w.cfg.Logger.Warn("listening for notifications, trying again", "error", err)
		if !sleep(ctx, jitter(pause)) {
			return
		}
	}
}

// signal takes in a wake-up and reports whether this worker can take the job at once.
func (w *Worker) signal(s Signal) (taken bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if s.Cancel != 0 {
		w.hintCancel(s.Cancel)
		return false
	}
	if s == (Signal{}) {
		w.wakeAll(false)
		return false
	}
	q := w.byName[s.Queue]
	if q == nil || w.stopping {
		return false
	}
	if s.In > 0 {
		w.alarm(s.In)
		return false
	}
	q.wake()
	w.cond.Broadcast()
	return w.lease != nil && q.busy < q.slots
}

// hintCancel has the database asked at once which jobs are to stop, if this may be one of ours. The hint is no order: it may
// come late, after a retry of the job, or from other tables, where the same id is another job. Worker.mu is held.
func (w *Worker) hintCancel(id int64) {
	if w.lease == nil || w.lease.held[id] == nil || w.lease.held[id].cancelled {
		return
	}
	select {
	case w.beatNow <- struct{}{}:
	default:
	}
}
