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
	"time"
)

// HandlerFunc runs one attempt of a job. What it returns decides what becomes of the job:
//   - nil: it has succeeded.
//   - an error whose method Permanent() returns true (see [Permanent]): it has failed.
//   - an error whose method RetryAfter() returns more than 0 (see [Snooze]): it is put back for that long, at no cost.
//   - any other error: the attempt is noted as failed, and the next one follows after the backoff, if one is left.
type HandlerFunc func(ctx context.Context, job *Job) error

// Middleware wraps a handler, to log, measure or change what it sees and returns.
type Middleware func(next HandlerFunc) HandlerFunc

// DeadFunc is told that a job has failed for good, and why: see [WithDead].
type DeadFunc func(ctx context.Context, job *Job, cause error) error

// HandleOption is an option of one kind of job.
type HandleOption func(*handler)

// WithTimeout replaces WorkerConfig.Timeout for the kind; negative means no timeout.
func WithTimeout(d time.Duration) HandleOption { return func(h *handler) { h.timeout = d } }

// WithBackoff replaces WorkerConfig.Backoff for the kind.
func WithBackoff(f func(attempt int) time.Duration) HandleOption {
	return func(h *handler) { h.backoff = f }
}

// WithDead has f called when a job of the kind fails for good: permanently, with its last attempt, or because its last
// attempt died with its process (cause ErrExpired; then whichever worker takes the job over calls f). The job is in
// the history only after f has returned nil. When f returns an error or its process dies, it is called again later, so
// f must bear being called twice, the next time with the text of the cause only; when attempts are left the handler runs
// again before it. After ten failures of f beyond the last attempt the job is put into the history regardless.
func WithDead(f DeadFunc) HandleOption { return func(h *handler) { h.dead = f } }

const deadTries = 10

// DefaultBackoff is 1 s after the first attempt and doubles up to 1 h, each time with up to a fifth more or less.
func DefaultBackoff(attempt int) time.Duration {
	d := time.Hour
	if attempt < 13 {
		d = min(d, time.Second<<max(attempt-1, 0))
	}
	return time.Duration(float64(d) * (0.8 + 0.4*rand.Float64()))
}

// Handle makes h the handler of all jobs of one kind; their arguments are decoded from JSON into a T. A job whose
// arguments do not decode fails at once, alone.
//
// Handle panics when the kind has a handler already or the worker runs.
func Handle[T any](w *Worker, kind string, h func(ctx context.Context, job *Job, args T) error, opts ...HandleOption) {
	w.handle(kind, func(ctx context.Context, job *Job) error {
		var args T
		if err := json.Unmarshal(job.Args, &args); err != nil {
			return Permanent(fmt.Errorf("decode arguments: %w", err))
		}
		return h(ctx, job, args)
	}, opts)
}

type handler struct {
	run     HandlerFunc
	timeout time.Duration
	backoff func(int) time.Duration
	dead    DeadFunc
}

func (w *Worker) handle(kind string, run HandlerFunc, opts []HandleOption) {
	if w.started.Load() {
		panic("jobqueue: Handle after Run")
	}
	if w.handlers[kind] != nil {
		panic(fmt.Sprintf("jobqueue: kind %q has two handlers", kind))
	}
	if err := checkName("kind", kind); err != nil {
		panic(err.Error())
	}
	for i := len(w.cfg.Middleware) - 1; i >= 0; i-- {
		run = w.cfg.Middleware[i](run)
	}
	h := &handler{run: run, timeout: w.cfg.Timeout, backoff: w.cfg.Backoff}
	for _, o := range opts {
		o(h)
	}
	w.handlers[kind] = h
}

// attempt is one lease of one job: taken, perhaps running, perhaps finished and waiting to be recorded.
type attempt struct {
	job   *Job
	queue *queue
	lease *lease

	// Worker.mu guards these.
	cancelled bool                    // asked to stop
	cancel    context.CancelCauseFunc // nil unless the handler runs
	overdue   time.Time               // when to abandon it
	settled   bool                    // an outcome is chosen: whatever else is said does not count
	lost      bool                    // told to be lost with its lease
	unsure    bool                    // an exchange with the outcome failed and may yet have counted
	refused   bool                    // the database did not accept the first outcome

	outcome Outcome
	event   Event
}

// perform runs the handler of a job and decides what becomes of it.
func (w *Worker) perform(ctx context.Context, job *Job) (Outcome, Event) {
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, ErrCancelled):
		return Outcome{Verdict: Abort}, Event{Type: EventCancelled}
	case cause != nil:
		return Outcome{Verdict: Postpone, Refund: true}, Event{Type: EventSnoozed, Err: cause}
	}
	h := w.handlers[job.Kind]
	if h == nil {
		return w.failed(ctx, nil, &handler{backoff: w.cfg.Backoff}, job, fmt.Errorf("no handler for kind %q", job.Kind))
	}
	if job.spent() {
		return w.dead(ctx, h, job, w.lastError(ctx, job), Outcome{})
	}
	limited, cancel := h.withTimeout(ctx)
	defer cancel()
	err := protect(func() error { return h.run(limited, job) })
	if job.isCompleted() && err == nil {
		// The transaction has removed the job. If this outcome counts all the same, it was not committed.
		err := errors.New("CompleteTx in a transaction that was not committed")
		return h.putBack(job, err)
	}
	if err == nil {
		return Outcome{Verdict: Succeed}, Event{Type: EventSucceeded}
	}
	return w.failed(ctx, context.Cause(limited), h, job, err)
}

func (h *handler) withTimeout(ctx context.Context) (context.Context, context.CancelFunc) {
	if h.timeout <= 0 {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, h.timeout, ErrTimeout)
}

// failed decides what the error of a handler means; cause is why its context has ended, if it has.
func (w *Worker) failed(ctx context.Context, cause error, h *handler, job *Job, err error) (Outcome, Event) {
	after := retryAfter(err)
	switch {
	case errors.Is(cause, ErrCancelled):
		return Outcome{Verdict: Abort, Error: attemptError(job, err)}, Event{Type: EventCancelled, Err: err}
	case errors.Is(cause, ErrStopped):
		return Outcome{Verdict: Postpone, Refund: true}, Event{Type: EventSnoozed, Err: err}
	case isPermanent(err):
		return w.dead(ctx, h, job, err, Outcome{Error: attemptError(job, err)})
	case after > 0:
		return Outcome{Verdict: Postpone, Delay: after, Refund: true}, Event{Type: EventSnoozed, Err: err}
	case errors.Is(cause, ErrTimeout):
		err = fmt.Errorf("%w: %w", ErrTimeout, err)
	}
	if job.last() {
		return w.dead(ctx, h, job, err, Outcome{Error: attemptError(job, err)})
	}
	return h.putBack(job, err)
}

// putBack is the outcome of an attempt that failed with err. When it was the last one, whoever takes the job next only runs
// its Dead callback.
func (h *handler) putBack(job *Job, err error) (Outcome, Event) {
	return Outcome{Verdict: Postpone, Delay: max(h.backoff(job.Attempt), 0), Error: attemptError(job, err)},
		Event{Type: EventFailed, Err: err}
}

// dead runs the Dead callback before the job is recorded as failed.
func (w *Worker) dead(ctx context.Context, h *handler, job *Job, cause error, o Outcome) (Outcome, Event) {
	o.Verdict = Fail
	if h.dead == nil {
		return o, Event{Type: EventDead, Err: cause}
	}
	if job.isCompleted() {
		switch now, err := w.lookUp(ctx, job.ID); {
		case err != nil: // whoever takes the job next, if it is there, calls f
			return Outcome{Verdict: Postpone, Error: o.Error}, Event{Type: EventFailed, Err: cause}
		case now == nil || now.State != StateRunning || now.Fence != job.Fence:
			return o, Event{Type: EventDead, Err: cause} // it has succeeded, and report will find out
		}
	}
	ctx, cancel := h.withTimeout(ctx) // anew: that of the attempt may be over
	defer cancel()
	err := protect(func() error { return h.dead(ctx, job, cause) })
	if err == nil || job.MaxAttempts >= 0 && job.Attempt >= job.MaxAttempts+deadTries {
		return o, Event{Type: EventDead, Err: cause}
	}
	delay := retryAfter(err)
	if delay <= 0 {
		delay = max(h.backoff(job.Attempt), 0)
	}
	err = fmt.Errorf("%w%s%w)", cause, deadNote, err)
	return Outcome{Verdict: Postpone, Delay: delay, Error: attemptError(job, err)}, Event{Type: EventFailed, Err: err}
}

const deadNote = " (and the dead callback: "

// lastError is why a job has failed whose attempts are used up: what was noted of the last one, but for what became of the
// Dead callback.
func (w *Worker) lastError(ctx context.Context, job *Job) error {
	job, err := w.lookUp(ctx, job.ID)
	if err != nil || job == nil {
		return ErrExpired
	}
	for _, e := range slices.Backward(job.Errors) {
		if e.Attempt > job.MaxAttempts {
			continue // there was the callback only
		}
		if text, _, _ := strings.Cut(e.Error, deadNote); text != leaseExpired {
			return errors.New(text)
		}
		break
	}
	return ErrExpired
}

func attemptError(job *Job, err error) AttemptError {
	e := AttemptError{Attempt: job.Attempt, Error: cleanText(err.Error())}
	if e.Error == "" {
		e.Error = fmt.Sprintf("%T", err)
	}
	var p *panicError
	if errors.As(err, &p) {
		e.Stack = cleanText(p.stack)
	}
	return e
}

// protect turns a panic of f into an error.
func protect(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &panicError{value: v, stack: string(debug.Stack())}
		}
	}()
	return f()
}
