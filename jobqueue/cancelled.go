package jobqueue

import (
	"context"
	"errors"
	"time"
)

// callbackTimeout limits a callback for a cancelled job. After that, another worker may call it.
const callbackTimeout = time.Minute

// cancelledLoop calls the OnFailed callbacks of jobs that have ended by cancelling, whether or not
// they had started. The history remembers which callbacks have returned.
func (w *Worker) cancelledLoop(ctx context.Context) {
	var kinds []string
	for kind, h := range w.handlers {
		if h.onFailed != nil {
			kinds = append(kinds, kind)
		}
	}
	if len(kinds) == 0 {
		return
	}
	for {
		for found := true; found; {
			var err error
			if found, err = w.callCancelled(ctx, kinds); err != nil && ctx.Err() == nil {
				w.cfg.Logger.Warn("callback for a cancelled job, trying again", "error", err)
			}
		}
		if !wait(ctx, jitter(w.cfg.Lease/3), w.wake.cancelled) {
			return
		}
	}
}

// callCancelled calls one callback that is due, and reports whether there was one.
func (w *Worker) callCancelled(ctx context.Context, kinds []string) (found bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, callbackTimeout)
	defer cancel()
	looking, stop := context.WithTimeout(ctx, ioTimeout)
	defer stop()
	id, err := w.store.NextCancelled(looking, kinds, callbackTimeout)
	if err != nil || id == 0 {
		return false, err
	}
	job, err := get(looking, w.store, id)
	if errors.Is(err, ErrNotFound) || err == nil && job.State != StateCancelled {
		return true, nil // it was deleted or retried meanwhile
	}
	if err != nil {
		return true, err
	}
	jobCtx, _ := w.contextOf(ctx, job)
	returned := make(chan error, 1)
	go func() {
		returned <- protect(func() error { return w.handlers[job.Kind].onFailed(jobCtx, job, ErrCancelled) })
	}()
	select {
	case err = <-returned:
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		return true, err
	}
	ending, stop := context.WithTimeout(ctx, ioTimeout)
	defer stop()
	return true, w.store.CallbackDone(ending, id)
}
