package jobqueue

import (
	"context"
	"time"
)

// Queues with a Limit have slots, which are leased by workers like jobs: a worker claims no more
// jobs of the queue than it has slots, and the slots of a dead process become free with its jobs. A
// worker keeps its slots while it uses them, and a moment longer, so that a busy queue needs no
// further statement for them. A worker that waits for the slots of others tries again and again.

const (
	slotKeep  = time.Second            // unused slots are returned after at least this time
	slotRetry = 100 * time.Millisecond // when others have all slots
	maxLimit  = 10_000
)

// inUse returns how many jobs of the queue are claimed or being claimed.
func (q *queue) inUse() int { return q.busy + len(q.buffer) + q.claiming }

// wantSlots returns how many slots the queue could use, at least those it uses. To find out whether
// there are jobs, it needs one. Worker.mu is held.
func (q *queue) wantSlots() int {
	switch {
	case !q.ready:
		return q.inUse()
	case !q.found:
		return min(q.Limit, q.MaxWorkers, q.inUse()+1)
	}
	return min(q.Limit, q.MaxWorkers+q.ahead())
}

// slotLoop gets slots for queues that have jobs and returns those that are not used.
func (w *Worker) slotLoop(ctx context.Context) {
	var limited []*queue
	for _, q := range w.byName {
		if q.Limit > 0 {
			limited = append(limited, q)
		}
	}
	if len(limited) == 0 {
		return
	}
	for {
		pause, wake := slotKeep, w.wake.slots
		for _, q := range limited {
			if !w.adjustSlots(ctx, q) {
				pause, wake = slotRetry, nil // however many wishes there are meanwhile
			}
		}
		if !wait(ctx, jitter(pause), wake) {
			return
		}
	}
}

// adjustSlots changes the number of slots of a queue and returns false if it should have more.
func (w *Worker) adjustSlots(ctx context.Context, q *queue) (enough bool) {
	w.mu.Lock()
	l, held, target := w.lease, q.slots, q.wantSlots()
	if w.stopping {
		target = min(target, q.inUse())
	}
	if target < held && time.Since(q.slotsUsed) < slotKeep {
		target = held
	}
	if target < held { // so that no claim uses them meanwhile
		target = max(target, q.inUse())
		q.slots = min(q.slots, target)
	}
	w.mu.Unlock()
	if l == nil || target == held {
		return true
	}
	io, cancel := context.WithTimeout(ctx, min(w.cfg.Lease/3, ioTimeout))
	defer cancel()
	got, err := w.store.Slots(io, l.worker, q.name, q.Limit, target)
	if err != nil {
		if ctx.Err() == nil {
			w.warn("slots of a queue with a limit, trying again", q.name, err, "queue", q.name)
		}
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.lease == l {
		q.slots = got
		w.cond.Broadcast()
	}
	return got >= target
}
