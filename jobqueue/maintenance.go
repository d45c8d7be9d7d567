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
			w.warn("rescue jobs of dead workers, trying again", "", err)
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
// do not live long, then seldom.
func (w *Worker) purgeLoop(ctx context.Context) {
	var purges []*purge
	for _, q := range w.byName { // not w.queues: its order changes
		for state, age := range map[driver.State]time.Duration{
			driver.StateSucceeded: q.Retention,
			driver.StateFailed:    q.RetentionFailed,
			driver.StateCancelled: max(q.RetentionFailed, minCancelled),
		} {
			if age != KeepForever {
				purges = append(purges, &purge{f: driver.PurgeFilter{State: state, Queue: q.name, Age: max(age, 0)}})
			}
		}
	}
	for pause := minPurgePause; sleep(ctx, jitter(pause)); pause = w.purgePause() {
		for _, p := range purges {
			w.purge(ctx, p)
		}
	}
}

// purge is how far the jobs of a queue and state have been purged. It goes on there, because the
// history of other queues may be long, and begins again after fullPurgeEvery for jobs that took
// longer than their retention.
type purge struct {
	f     driver.PurgeFilter
	began time.Time // with the first job
}

// minCancelled is how long cancelled jobs stay in the history at least, so that their callbacks can
// be called.
const minCancelled = time.Hour

// purgePause returns the time until the next purge.
func (w *Worker) purgePause() time.Duration {
	pause := maxPurgePause
	for _, q := range w.byName {
		for _, age := range []time.Duration{q.Retention, q.RetentionFailed} {
			if age > 0 {
				pause = min(pause, age)
			}
		}
	}
	return max(pause, minPurgePause)
}

// purge deletes the old jobs of one queue and state, batch by batch. Others may write at least half
// of the time.
func (w *Worker) purge(ctx context.Context, p *purge) {
	if time.Since(p.began) >= fullPurgeEvery {
		p.f.After, p.began = 0, time.Now()
	}
	for total := 0; ; {
		begin := time.Now()
		io, cancel := context.WithTimeout(ctx, longIOTimeout)
		n, last, err := w.store.Purge(io, p.f)
		cancel()
		total += n
		more := err == nil && last > p.f.After
		if more {
			p.f.After = last
		}
		if more && sleep(ctx, max(time.Since(begin), 10*time.Millisecond)) {
			continue
		}
		if err != nil && ctx.Err() == nil {
			w.warn("purge history", p.f.Queue, err, "queue", p.f.Queue)
		}
		if total > 0 {
			w.cfg.Logger.Debug("history purged", "queue", p.f.Queue, "state", p.f.State, "count", total)
		}
		return
	}
}
