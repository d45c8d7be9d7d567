package jobqueue

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// HandleMany makes h the handler of all jobs of one kind, several in one call: up to size, as soon
// as there are so many, or those that have come within wait of the first one, but not later than
// after half of the timeout, which includes the wait. It is for what costs less together, such as
// inserting rows or calling a service that takes lists.
//
// Each job keeps its own lease, timeout, retries and OnFailed callback: h returns the error of each
// in the order of jobs, to which the rules of [HandlerFunc] apply, or nil if all have succeeded. If
// it panics, or returns another number of errors, as an empty slice is, the attempt of each has
// failed. The context has the values of the first job's, and ends when those of all its jobs have
// ended, so a cancelled job does not stop the others. Middleware is called for each job.
//
// A job occupies one of QueueConfig.MaxWorkers while it waits for others and while h runs: with
// fewer than size, calls are smaller. Calls run at the same time when there are jobs for several.
// HandleMany panics as [Handle] does, and if size is less than 1.
func HandleMany(
	w *Worker, kind string, size int, wait time.Duration, h func(ctx context.Context, jobs []*Job) []error,
	opts ...HandleOption,
) {
	if size < 1 {
		panic(fmt.Sprintf("jobqueue: HandleMany of kind %q with size %d; at least 1 is needed", kind, size))
	}
	g := &gatherer{size: size, wait: wait, handle: h}
	w.handle(kind, g.run, opts)
	if timeout := w.handlers[kind].timeout; timeout > 0 {
		g.wait = min(wait, timeout/2)
	}
}

// gatherer lets the handlers of single jobs wait for one another.
type gatherer struct {
	size   int
	wait   time.Duration
	handle func(ctx context.Context, jobs []*Job) []error

	mu   sync.Mutex
	next *batch // that more jobs may join; nil: none
}

// batch is one call for many jobs. Until it has left gatherer.next, the mutex of that guards it.
type batch struct {
	jobs     []*Job
	contexts []context.Context // of jobs
	timer    *time.Timer
	errs     map[*Job]error
	done     chan struct{} // closed when errs is complete
}

// run is the handler of a job. It returns the error that the common call has for it.
func (g *gatherer) run(ctx context.Context, job *Job) error {
	b := g.join(ctx, job)
	select {
	case <-b.done:
	case <-ctx.Done():
		if g.leave(b, job) {
			return context.Cause(ctx)
		}
		<-b.done
	}
	return b.errs[job]
}

func (g *gatherer) join(ctx context.Context, job *Job) *batch {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.next == nil {
		b := &batch{errs: map[*Job]error{}, done: make(chan struct{})}
		b.timer = time.AfterFunc(g.wait, func() {
			g.mu.Lock()
			defer g.mu.Unlock()
			g.start(b)
		})
		g.next = b
	}
	b := g.next
	b.jobs, b.contexts = append(b.jobs, job), append(b.contexts, ctx)
	if len(b.jobs) == g.size {
		g.start(b)
	}
	return b
}

// start calls the handler for b, unless that has happened. g.mu is held.
func (g *gatherer) start(b *batch) {
	if g.next != b {
		return
	}
	g.next = nil
	b.timer.Stop()
	if len(b.jobs) > 0 {
		go b.call(g.handle)
	}
}

// leave takes a job out of b and returns false if b has started.
func (g *gatherer) leave(b *batch, job *Job) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.next != b {
		return false
	}
	i := slices.Index(b.jobs, job)
	b.jobs, b.contexts = slices.Delete(b.jobs, i, i+1), slices.Delete(b.contexts, i, i+1)
	return true
}

func (b *batch) call(handle func(ctx context.Context, jobs []*Job) []error) {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(b.contexts[0]))
	var running atomic.Int64
	running.Store(int64(len(b.jobs)))
	for _, c := range b.contexts {
		defer context.AfterFunc(c, func() {
			if running.Add(-1) == 0 {
				cancel(context.Cause(c))
			}
		})()
	}
	var errs []error
	err := errGoexit
	defer func() {
		for i, job := range b.jobs {
			switch {
			case err != nil:
				b.errs[job] = err
			case len(errs) > 0:
				b.errs[job] = errs[i]
			}
		}
		close(b.done)
		cancel(nil)
	}()
	err = protect(func() error {
		errs = handle(ctx, slices.Clone(b.jobs))
		if errs != nil && len(errs) != len(b.jobs) {
			return fmt.Errorf("jobqueue: the handler returned %d errors for %d jobs", len(errs), len(b.jobs))
		}
		return nil
	})
}
