package jobqueue

import (
	"context"
	"time"

	"lessonkit.example/jobqueue/driver"
)

// polling is what decides when pollLoop wakes the queues. Worker.mu guards it.
type polling struct {
	listening  bool          // the store notifies us
	lookAhead  bool          // request the time of the next scheduled job
	eagerPause time.Duration // until the next poll, after jobs were found
	alarmAt    time.Time     // when a scheduled job is due, or a late one may be found; zero: none known
}

// wakeAll makes the next claims try every queue; with full, from the beginning. Worker.mu is held.
func (w *Worker) wakeAll(full bool) {
	for _, q := range w.queues {
		q.wake()
		if full {
			q.scanned = time.Time{}
		}
	}
	w.cond.Broadcast()
}

// alarm has the queues polled when a scheduled job is due, after in. Worker.mu is held.
func (w *Worker) alarm(in time.Duration) {
	w.alarmAt(time.Now().Add(in).Add(time.Millisecond)) // in may be the longest Duration
}

// alarmAt has the queues polled then. Only the earliest time is kept: when it has come, the
// database returns the next one at which a scheduled job is due. Worker.mu is held.
func (w *Worker) alarmAt(at time.Time) {
	if !w.polling.alarmAt.IsZero() && !at.Before(w.polling.alarmAt) {
		return
	}
	w.polling.alarmAt = at
	notify(w.wake.poll)
}

// notify makes the receiver of c run once more, now or later.
func notify(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// pollLoop polls the queues every poll interval and whenever a scheduled job is due.
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
			w.polling.eagerPause = min(2*w.polling.eagerPause, time.Hour) // nothing found since
			pollAt = now.Add(jitter(w.pollInterval()))
		} else if soon := now.Add(w.pollInterval()); w.polling.eagerPause == minEagerPause && soon.Before(pollAt) {
			pollAt = soon
		}
		if !w.polling.alarmAt.IsZero() && !now.Before(w.polling.alarmAt) {
			w.polling.alarmAt = time.Time{}
			w.polling.lookAhead = true
			w.wakeAll(false)
		}
		next := pollAt
		if !w.polling.alarmAt.IsZero() && w.polling.alarmAt.Before(next) {
			next = w.polling.alarmAt
		}
		w.mu.Unlock()
		timer.Reset(max(time.Until(next), alarmGap))
		select {
		case <-timer.C:
		case <-w.wake.poll:
			if !sleep(ctx, alarmGap) {
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// minEagerPause is when a queue is polled after it had jobs; then after twice that, and so on up to
// the usual interval. Where there was a job there is often another, and its notification may be
// slow on a busy machine.
const minEagerPause = 20 * time.Millisecond

// pollEagerly records that there were jobs. Worker.mu is held.
func (w *Worker) pollEagerly() {
	if w.cfg.PollInterval > 0 || w.polling.eagerPause == minEagerPause {
		return
	}
	w.polling.eagerPause = minEagerPause
	notify(w.wake.poll)
}

// pollInterval returns the time until the next poll. Worker.mu is held.
func (w *Worker) pollInterval() time.Duration {
	interval := 200 * time.Millisecond
	if w.polling.listening {
		interval = time.Second
	}
	switch {
	case w.cfg.PollInterval > 0:
		return w.cfg.PollInterval
	case w.polling.eagerPause > 0:
		return min(w.polling.eagerPause, interval)
	}
	return interval
}

// listenLoop has the store wake the queues, and listens again after errors.
func (w *Worker) listenLoop(ctx context.Context) {
	for pause := minListenPause; ; pause = min(2*pause, maxListenPause) {
		err := w.store.Listen(ctx, func() {
			pause = minListenPause
			w.setListening(true)
		}, w.signal)
		w.setListening(false)
		if ctx.Err() != nil {
			return
		}
		w.warn("listen for notifications, trying again", "", err)
		if !sleep(ctx, jitter(pause)) {
			return
		}
	}
}

func (w *Worker) setListening(on bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.polling.listening = on; on {
		w.wakeAll(false) // earlier notifications were not received
	}
}

// signal processes a wake-up and reports whether this worker can start the job immediately.
func (w *Worker) signal(s driver.Signal) (started bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	q := w.byName[s.Queue]
	switch {
	case s.Schedules:
		notify(w.wake.schedules)
	case s.Cancel != 0:
		w.checkCancelled(s.Cancel)
	case s == (driver.Signal{}):
		w.wakeAll(false)
	case q == nil || w.stopping:
	case s.In > 0:
		w.alarm(s.In)
	default:
		if s.In < -watermarkLag { // the job may be behind the watermark
			q.scanned = time.Time{}
		}
		q.changed = time.Now()
		q.wake()
		w.cond.Broadcast()
		return w.lease != nil && q.busy < q.MaxWorkers
	}
	return false
}

// checkCancelled looks for callbacks to call and, if this worker runs the job, sends a heartbeat,
// which returns the jobs to cancel. The signal alone is not enough: it may come late, after a retry
// of the job, or from other tables, where the same id is another job. Worker.mu is held.
func (w *Worker) checkCancelled(id int64) {
	notify(w.wake.cancelled)
	if w.lease != nil && w.lease.held[id] != nil && !w.lease.held[id].cancelled {
		notify(w.wake.heartbeat)
	}
}
