package jobqueue

import (
	"context"
	"time"

	"lessonkit.example/jobqueue/driver"
)

// rescueLoop returns the jobs of dead processes to the queue. Every process does it: there is no
// leader.
func (w *Worker) rescueLoop(ctx context.Context) {
	var orphansAt time.Time
	for {
		orphans := time.Since(orphansAt) > orphansEvery
		pause := w.cfg.Lease / 3
		io, cancel := context.WithTimeout(ctx, ioTimeout)
		n, err := w.store.Rescue(io, orphans)
		cancel()
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			w.cfg.Logger.Warn("rescue jobs of dead workers, trying again", "error", err)
			pause = min(pause, time.Second)
		default:
			if orphans {
				orphansAt = time.Now()
			}
			if n > 0 {
				w.cfg.Logger.Warn("rescued jobs of dead workers", "count", n)
				w.mu.Lock()
				w.wakeAll(true)
				w.mu.Unlock()
			}
		}
		if !sleep(ctx, jitter(pause)) {
			return
		}
	}
}

// purgeLoop deletes history older than the retention of each queue: first soon, for processes that
// do not live long, then seldom, because an engine may have to read the whole history for it.
func (w *Worker) purgeLoop(ctx context.Context) {
	for pause := minPurgePause; sleep(ctx, jitter(pause)); pause = w.purgePause() {
		for _, q := range w.byName { // not w.queues: its order changes
			w.purge(ctx, q.name, driver.StateSucceeded, q.retention)
			w.purge(ctx, q.name, driver.StateFailed, q.retentionFailed)
			w.purge(ctx, q.name, driver.StateCancelled, max(q.retentionFailed, minCancelled))
		}
	}
}

// minCancelled is how long cancelled jobs stay in the history at least, so that their callbacks can
// be called.
const minCancelled = time.Hour

// purgePause returns the time until the next purge.
func (w *Worker) purgePause() time.Duration {
	pause := maxPurgePause
	for _, q := range w.byName {
		for _, age := range []time.Duration{q.retention, q.retentionFailed} {
			if age > 0 {
				pause = min(pause, age)
			}
		}
	}
	return max(pause, minPurgePause)
}

// purge deletes the jobs of one queue and state that are older than age, batch by batch. Others may
// write at least half of the time.
func (w *Worker) purge(ctx context.Context, queue string, state driver.State, age time.Duration) {
	if age == KeepForever {
		return
	}
	f := driver.PurgeFilter{State: state, Queue: queue, Age: max(age, 0)}
	for total := 0; ; {
		begin := time.Now()
		io, cancel := context.WithTimeout(ctx, longIOTimeout)
		n, err := w.store.Purge(io, f)
		cancel()
		total += n
		if err == nil && n > 0 && sleep(ctx, max(time.Since(begin), 10*time.Millisecond)) {
			continue
		}
		if err != nil && ctx.Err() == nil {
			w.cfg.Logger.Warn("purge history", "queue", queue, "error", err)
		}
		if total > 0 {
			w.cfg.Logger.Debug("history purged", "queue", queue, "state", state, "count", total)
		}
		return
	}
}
