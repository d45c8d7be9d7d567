package jobqueue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"lessonkit.example/jobqueue/driver"
)

// HandlerFunc runs one attempt of a job. Its error decides what happens to the job:
//   - nil: the job has succeeded.
//   - an error whose method Permanent() returns true (see [Permanent]): the job has failed.
//   - an error whose method RetryAfter() returns more than 0 (see [Snooze]): the job returns to the
//     queue for that long, and the attempt is not counted.
//   - any other error: the attempt has failed, and the next one follows after the backoff, if any
//     attempt is left.
type HandlerFunc func(ctx context.Context, job *Job) error

// HandleOption is an option of [Handle].
type HandleOption func(*handler)

// WithTimeout replaces WorkerConfig.Timeout for the kind; negative means no timeout.
func WithTimeout(d time.Duration) HandleOption { return func(h *handler) { h.timeout = d } }

// WithBackoff replaces WorkerConfig.Backoff for the kind.
func WithBackoff(f func(attempt int) time.Duration) HandleOption {
	return func(h *handler) { h.backoff = f }
}

// OnFailed has f called when a job of the kind ends without success. When f returns an error or its
// process dies, f is called again later, so it must be idempotent.
//
// A job fails permanently by a permanent error, with its last attempt, or because its worker died
// or lost its lease during that (cause ErrExpired; then the worker that rescued the job calls f).
// It enters the history only after f has returned nil. When f is called again, the cause has only
// the text of the original error, and if attempts are left, the handler runs first. After ten
// failures of f beyond the last attempt the job enters the history regardless.
//
// A job that was cancelled, before or while it ran, is in the history when f is called with cause
// ErrCancelled, usually at once, by any worker of the kind; f has a minute, and Save is not
// possible. Of a job that is retried before that, f is not called.
func OnFailed(f func(ctx context.Context, job *Job, cause error) error) HandleOption {
	return func(h *handler) { h.onFailed = f }
}

const maxFailedCalls = 10

func defaultBackoff(attempt int) time.Duration {
	d := time.Hour
	if attempt < 13 {
		d = min(d, time.Second<<max(attempt-1, 0))
	}
	return time.Duration(float64(d) * (0.8 + 0.4*rand.Float64()))
}

// Handle makes h the handler of all jobs of one kind; their arguments are decoded from JSON into a
// T. An attempt whose arguments cannot be decoded has failed; a newer worker may make another.
// Until the last one the job keeps its UniqueKey and its turn of its LimitKey.
//
// A worker claims only jobs of kinds that it has a handler for. Others wait for a worker that has
// one, and no attempt of theirs is lost: while a new version of a program replaces the old one,
// workers of the old one leave the jobs of new kinds alone.
//
// Handle panics when the kind is not valid (see [Params]) or already has a handler, or when the
// worker has been started.
func Handle[T any](w *Worker, kind string, h func(ctx context.Context, job *Job, args T) error, opts ...HandleOption) {
	w.handle(kind, func(ctx context.Context, job *Job) error {
		var args T
		if err := json.Unmarshal(job.Args, &args); err != nil {
			return fmt.Errorf("decode arguments: %w", err)
		}
		return h(ctx, job, args)
	}, opts)
}

type handler struct {
	run      HandlerFunc
	timeout  time.Duration
	backoff  func(int) time.Duration
	onFailed func(ctx context.Context, job *Job, cause error) error // may be nil
}

func (w *Worker) handle(kind string, run HandlerFunc, opts []HandleOption) {
	if w.started.Load() {
		panic("jobqueue: Handle after Run")
	}
	if w.handlers[kind] != nil {
		panic(fmt.Sprintf("jobqueue: kind %q has two handlers", kind))
	}
	if err := driver.CheckName("kind", kind); err != nil {
		panic(err.Error())
	}
	for _, wrap := range slices.Backward(w.cfg.Middleware) {
		run = wrap(run)
	}
	h := &handler{run: run, timeout: w.cfg.Timeout, backoff: w.cfg.Backoff}
	for _, o := range opts {
		o(h)
	}
	w.handlers[kind] = h
}

// attempt is one lease of one job: claimed, perhaps running, perhaps finished and not yet recorded.
type attempt struct {
	job     Job // handlers and events get its address
	row     uint64
	queue   *queue
	lease   *lease
	handler *handler
	ctx     lazyContext // of the handler, except for its timeout

	completed atomic.Bool // a transaction of the handler completes the job, if it commits

	// Worker.mu guards these.
	cancelled bool            // the job was cancelled
	stuckAt   time.Time       // when to fail it although its handler runs
	settled   bool            // it has a result, later ones are ignored
	lost      bool            // reported as lost with its lease
	unsure    bool            // an exchange with the result failed and may have been committed
	refused   bool            // the database did not accept the first result
	saved     json.RawMessage // by the handler; nil: nothing

	result driver.Result
	event  Event
}

// cancel ends the context of a job that was cancelled. Worker.mu is held, unless a is new.
func (a *attempt) cancel() {
	a.cancelled = true
	a.ctx.end(ErrCancelled)
}

// started records when the handler or the callback of a started. Worker.mu is held.
func (a *attempt) started(start time.Time) {
	if a.handler.timeout > 0 {
		a.stuckAt = start.Add(a.handler.timeout + stuckThreshold)
	}
}

// perform runs the handler of a job and returns the result.
func (w *Worker) perform(a *attempt, start time.Time) (driver.Result, Event) {
	job, h := &a.job, a.handler
	switch cause := context.Cause(&a.ctx); {
	case errors.Is(cause, ErrCancelled):
		return driver.Result{Action: driver.Cancel}, Event{Type: EventCancelled}
	case cause != nil:
		return snoozed(0, cause)
	}
	ctx, contextErr := w.contextOf(&a.ctx, job)
	if job.MaxAttempts >= 0 && job.Attempt > job.MaxAttempts {
		// Its last worker died, and only the OnFailed callback is left to run.
		return w.fail(ctx, h, job, w.lastError(ctx, job), driver.Result{})
	}
	if contextErr != nil {
		return w.resultOf(ctx, nil, h, job, contextErr)
	}
	limited := h.limit(ctx, start)
	defer limited.end(nil)
	err := protect(func() error { return h.run(limited, job) })
	switch {
	case err != nil:
		return w.resultOf(ctx, context.Cause(limited), h, job, err)
	case a.completed.Load():
		// The transaction has removed the job. If this result is recorded, it was not committed.
		return h.retry(job, errNotCommitted)
	}
	return driver.Result{Action: driver.Complete}, Event{Type: EventSucceeded}
}

// contextOf returns the context of a job, and ctx with an error if WorkerConfig.Context panics.
func (w *Worker) contextOf(ctx context.Context, job *Job) (context.Context, error) {
	if w.cfg.Context == nil {
		return ctx, nil
	}
	of := ctx
	err := protect(func() error {
		if c := w.cfg.Context(ctx, job); c != nil {
			of = c
		}
		return nil
	})
	return of, err
}

// limit returns a child of ctx with the timeout of a handler that starts at start.
func (h *handler) limit(ctx context.Context, start time.Time) *lazyContext {
	limited := &lazyContext{parent: ctx}
	if h.timeout > 0 {
		limited.deadline = start.Add(h.timeout)
	}
	return limited
}

// resultOf translates the error of a handler; cause is why its context has ended, if it has.
func (w *Worker) resultOf(ctx context.Context, cause error, h *handler, job *Job, err error) (driver.Result, Event) {
	after := retryAfter(err)
	switch {
	case errors.Is(cause, ErrCancelled):
		return driver.Result{Action: driver.Cancel, Error: attemptError(job, err)},
			Event{Type: EventCancelled, Err: err}
	case errors.Is(cause, ErrStopped):
		return snoozed(0, err)
	case isPermanent(err):
		return w.fail(ctx, h, job, err, driver.Result{Error: attemptError(job, err)})
	case after > 0:
		return snoozed(after, err)
	case errors.Is(cause, ErrTimeout) && !errors.Is(err, ErrTimeout):
		err = fmt.Errorf("%w: %w", ErrTimeout, err)
	}
	if job.MaxAttempts >= 0 && job.Attempt >= job.MaxAttempts {
		return w.fail(ctx, h, job, err, driver.Result{Error: attemptError(job, err)})
	}
	return h.retry(job, err)
}

// snoozed is the result of an attempt that is not counted.
func snoozed(delay time.Duration, err error) (driver.Result, Event) {
	return driver.Result{Action: driver.Reschedule, Delay: delay, Uncounted: true}, Event{Type: EventSnoozed, Err: err}
}

// retry is the result of an attempt that failed with err. When it was the last one, the next worker
// to claim the job only runs its OnFailed callback.
func (h *handler) retry(job *Job, err error) (driver.Result, Event) {
	delay, err := h.delay(job, err)
	return driver.Result{Action: driver.Reschedule, Delay: delay, Error: attemptError(job, err)},
		Event{Type: EventRetried, Err: err}
}

// delay returns the backoff after an attempt that failed with err, and err with a panic of it.
func (h *handler) delay(job *Job, err error) (time.Duration, error) {
	delay := time.Duration(0)
	panicked := protect(func() error {
		delay = h.backoff(job.Attempt)
		return nil
	})
	if panicked != nil {
		return defaultBackoff(job.Attempt), fmt.Errorf("%w (and the backoff: %w)", err, panicked)
	}
	return max(delay, 0), err
}

// fail runs the OnFailed callback before the job is recorded as failed.
func (w *Worker) fail(ctx context.Context, h *handler, job *Job, cause error, r driver.Result) (driver.Result, Event) {
	r.Action = driver.Fail
	event := Event{Type: EventFailed, Err: cause}
	if h.onFailed == nil {
		return r, event
	}
	if job.attempt.completed.Load() {
		switch now, err := w.lookUp(ctx, job.ID); {
		case err != nil: // the next worker to claim the job, if it still exists, calls h.onFailed
			return driver.Result{Action: driver.Reschedule, Error: r.Error}, Event{Type: EventRetried, Err: cause}
		case now == nil || now.State != StateRunning || now.Fence != job.Fence:
			return r, event // it has succeeded, and report will find out
		}
		job.attempt.completed.Store(false) // the transaction was rolled back
	}
	start := time.Now() // anew: the timeout of the attempt may have passed
	w.mu.Lock()
	job.attempt.started(start)
	w.mu.Unlock()
	limited := h.limit(ctx, start)
	defer limited.end(nil)
	err := protect(func() error { return h.onFailed(limited, job, cause) })
	if err == nil {
		return r, event
	}
	isLast := job.MaxAttempts >= 0 && job.Attempt >= job.MaxAttempts+maxFailedCalls
	delay := retryAfter(err)
	if delay <= 0 && !isLast {
		delay, err = h.delay(job, err)
	}
	event.Err = fmt.Errorf("%w%s%w)", cause, callbackNote, err)
	if isLast {
		return r, event
	}
	event.Type = EventRetried
	return driver.Result{Action: driver.Reschedule, Delay: delay, Error: attemptError(job, event.Err)}, event
}

// callbackNote separates, in an error, why the job failed from the error of the callback.
const callbackNote = " (and OnFailed: "

// lastError returns why a job has failed that has no attempts left: the error of the last attempt,
// without those of the OnFailed callback.
func (w *Worker) lastError(ctx context.Context, job *Job) error {
	job, err := w.lookUp(ctx, job.ID)
	if err != nil || job == nil {
		return ErrExpired
	}
	for _, e := range slices.Backward(job.Errors) {
		if e.Attempt > job.MaxAttempts {
			continue // only the callback ran
		}
		if text, _, _ := strings.Cut(e.Error, callbackNote); text != driver.LeaseExpired {
			return errors.New(text)
		}
		break
	}
	return ErrExpired
}

func attemptError(job *Job, err error) driver.AttemptError {
	e := driver.AttemptError{Attempt: job.Attempt, Error: cleanText(err.Error())}
	if e.Error == "" {
		e.Error = fmt.Sprintf("%T", err)
	}
	var p *panicError
	if errors.As(err, &p) {
		e.Stack = cleanText(p.stack)
	}
	return e
}

// protect turns a panic of f, or of a method of the error that f returns, into an error.
func protect(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &panicError{value: v, stack: string(debug.Stack())}
		}
	}()
	if err = f(); err != nil {
		_, _, _ = err.Error(), isPermanent(err), retryAfter(err)
	}
	return err
}
