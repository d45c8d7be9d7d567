package jobqueue

import (
	"context"
	"errors"
	"time"
)

// callbackTimeout limits a callback for a cancelled job. After that, another worker may call it.
const callbackTimeout = time.Minute

// cancelledLoop calls the OnFailed callbacks of jobs that have ended by cancelling, whether or not
// they had started, until ctx ends; their contexts are derived from base. The history remembers
// which callbacks have returned.
func (w *Worker) cancelledLoop(ctx, base context.Context) {
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
			if found, err = w.callCancelled(ctx, base, kinds); err != nil && ctx.Err() == nil {
				w.cfg.Logger.Warn("callback for a cancelled job, trying again", "error", err)
			}
		}
		if !wait(ctx, jitter(w.cfg.Lease/3), w.wake.cancelled) {
			return
		}
	}
}

// callCancelled calls one callback that is due, and reports whether there was one.
func (w *Worker) callCancelled(ctx, base context.Context, kinds []string) (found bool, err error) {
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
	call, end := context.WithCancelCause(base)
	defer end(nil)
	call, cancel := context.WithTimeout(call, callbackTimeout)
	defer cancel()
	w.mu.Lock()
	if w.stopping {
		w.mu.Unlock()
		return false, nil
	}
	w.running++
	w.endCallback = end
	w.mu.Unlock()
	returned := make(chan error, 1)
	go func() { returned <- w.callback(call, base, job) }()
	select {
	case err = <-returned:
	case <-call.Done():
		err = context.Cause(call)
	}
	return true, err
}

// callback calls the callback of a cancelled job and records that it has returned.
func (w *Worker) callback(ctx, base context.Context, job *Job) error {
	defer func() {
		w.mu.Lock()
		w.running--
		w.cond.Broadcast()
		w.mu.Unlock()
	}()
	ctx, _ = w.contextOf(ctx, job)
	err := protect(func() error { return w.handlers[job.Kind].onFailed(ctx, job, ErrCancelled) })
	if err != nil {
		return err
	}
	io, cancel := context.WithTimeout(base, ioTimeout)
	defer cancel()
	return w.store.CallbackDone(io, job.ID)
}
