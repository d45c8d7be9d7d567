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
				w.warn("callback for a cancelled job, trying again", "", err)
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
	go func() { returned <- w.callback(call, base, id) }()
	select {
	case err = <-returned:
	case <-call.Done():
		err = context.Cause(call)
	}
	return true, err
}

// callback calls the callback of a cancelled job and records that it has returned. As a database or
// a service is often away for a moment only, it tries three times before the next minute.
func (w *Worker) callback(ctx, base context.Context, id int64) (err error) {
	defer func() {
		w.mu.Lock()
		w.running--
		w.cond.Broadcast()
		w.mu.Unlock()
	}()
	for range 3 {
		if err = w.tryCallback(ctx, base, id); err == nil || !sleep(ctx, jitter(time.Second)) {
			break
		}
	}
	return err
}

func (w *Worker) tryCallback(ctx, base context.Context, id int64) error {
	io, cancel := context.WithTimeout(ctx, ioTimeout)
	defer cancel()
	job, err := NewClient(w.store).Get(io, id)
	if errors.Is(err, ErrNotFound) || err == nil && job.State != StateCancelled {
		return nil // it was deleted or retried meanwhile
	}
	if err != nil {
		return err
	}
	of, _ := w.contextOf(ctx, job)
	if err := protect(func() error { return w.handlers[job.Kind].onFailed(of, job, ErrCancelled) }); err != nil {
		return err
	}
	io, cancel = context.WithTimeout(base, ioTimeout)
	defer cancel()
	return w.store.CallbackDone(io, id, job.FinishedAt)
}
