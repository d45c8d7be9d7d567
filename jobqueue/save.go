package jobqueue

import (
	"context"
	"encoding/json"
	"time"

	"lessonkit.example/jobqueue/driver"
)

// savePause is the time between two statements that store what handlers have saved.
const savePause = time.Second

// save has state stored, soon and with the result of the attempt. After CompleteTx there is no
// result that it could go with.
func (a *attempt) save(state json.RawMessage) error {
	w := a.lease.owner
	w.mu.Lock()
	defer w.mu.Unlock()
	if a.settled || a.completed.Load() || w.lease != a.lease {
		return ErrLeaseLost
	}
	a.saved = state
	w.unsaved[a] = struct{}{}
	notify(w.wake.save)
	return nil
}

// saveLoop stores what handlers have saved: at once, and then at most once every savePause. The
// result of an attempt contains the last value too.
func (w *Worker) saveLoop(ctx context.Context) {
	for {
		select {
		case <-w.wake.save:
		case <-ctx.Done():
			return
		}
		w.storeSaved(ctx)
		if !sleep(ctx, savePause) {
			return
		}
	}
}

func (w *Worker) storeSaved(ctx context.Context) {
	w.mu.Lock()
	l, unsaved := w.lease, w.unsaved
	w.unsaved = map[*attempt]struct{}{}
	var states []driver.Saved
	size := 0
	for a := range unsaved {
		switch {
		case a.settled || a.lease != l:
		case size > driver.MaxExchangeBytes:
			delete(unsaved, a)
			w.unsaved[a] = struct{}{}
			notify(w.wake.save)
		default:
			lease := driver.Lease{ID: a.job.ID, Fence: a.job.Fence}
			states = append(states, driver.Saved{Lease: lease, State: a.saved})
			size += len(a.saved)
		}
	}
	w.mu.Unlock()
	if len(states) == 0 {
		return
	}
	io, cancel := context.WithTimeout(ctx, min(w.cfg.Lease/3, ioTimeout))
	defer cancel()
	if err := w.store.Save(io, l.worker, states); err != nil && ctx.Err() == nil {
		w.warn("save states of jobs, trying again", "", err, "count", len(states))
		w.mu.Lock()
		for a := range unsaved {
			w.unsaved[a] = struct{}{}
		}
		w.mu.Unlock()
		notify(w.wake.save)
	}
}
