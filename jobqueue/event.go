package jobqueue

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"lessonkit.example/jobqueue/driver"
)

// EventType is what happened to a job.
type EventType string

// The types of events. For every EventClaimed exactly one of the others follows, unless the job was
// released before it started or its process died. The end of an attempt may be reported after the
// next attempt was claimed.
const (
	EventClaimed   EventType = "claimed"
	EventSucceeded EventType = "succeeded" // the job is in the history
	EventRetried   EventType = "retried"   // the attempt failed, another one follows
	EventFailed    EventType = "failed"    // the job failed permanently; it is in the history
	EventSnoozed   EventType = "snoozed"   // the job returned to the queue, the attempt does not count
	EventCancelled EventType = "cancelled" // the job is in the history
	EventLost      EventType = "lost"      // the lease was lost, the result of the attempt is ignored
)

// Event is something that happened to a job, for metrics and tests: see WorkerConfig.OnEvent.
type Event struct {
	Type EventType
	Job  *Job // must not be changed
	Err  error
	// Wait is how long the job could have started before it was claimed (EventClaimed), by the
	// clock of the database: since its RunAt, or since it was enqueued if that was later.
	Wait time.Duration
	// Took is how long the handler ran (every other type).
	Took time.Duration
}

func (w *Worker) emit(e Event) {
	e.Job.attempt.queue.counters.count(e)
	if w.cfg.OnEvent != nil {
		w.cfg.OnEvent(e)
	}
}

// waited returns how long a job could have started before it was claimed.
func waited(j *Job) time.Duration {
	return min(j.ClaimedAt.Sub(j.RunAt), j.ClaimedAt.Sub(j.CreatedAt))
}

// report emits and logs the events of done.
func (w *Worker) report(ctx context.Context, done []*attempt, res driver.ExchangeResponse) {
	for _, a := range done {
		e := a.event
		e.Job = &a.job
		switch isLost := slices.Contains(res.Lost, a.result.Lease); {
		case slices.Contains(res.Cancelled, a.result.Lease):
			e.Type = EventCancelled
		case isLost && a.completed.Load(): // by CompleteTx
			if !errors.Is(e.Err, errNotCommitted) {
				w.logJob(ctx, slog.LevelWarn, "attempt failed after CompleteTx; the job stays succeeded", e.Job,
					"kind", e.Job.Kind, "attempt", e.Job.Attempt, "error", e.Err, "stack", a.result.Error.Stack)
			}
			e.Type, e.Err = EventSucceeded, nil
		case isLost && !(a.unsure && w.wasRecorded(ctx, a)):
			e.Type, e.Err = EventLost, ErrLeaseLost
		}
		if e.Type == EventCancelled {
			notify(w.wake.cancelled)
		}
		w.log(ctx, e)
		w.emit(e)
	}
}

// logJob logs a line about a job with its context. Worker.mu is not held, because
// WorkerConfig.Context and the logger may read the job.
func (w *Worker) logJob(ctx context.Context, level slog.Level, message string, job *Job, args ...any) {
	ctx, _ = w.contextOf(ctx, job)
	w.cfg.Logger.Log(ctx, level, message, append([]any{"job", job.ID}, args...)...)
}

func (w *Worker) log(ctx context.Context, e Event) {
	level, message := slog.LevelWarn, ""
	switch e.Type {
	case EventRetried:
		message = "attempt failed"
	case EventFailed:
		level, message = slog.LevelError, "job failed"
	case EventLost:
		message = "result ignored"
	default:
		return
	}
	attempt := e.Job.Attempt
	if e.Job.MaxAttempts >= 0 {
		attempt = min(attempt, e.Job.MaxAttempts) // after those, only the OnFailed callback ran
	}
	w.logJob(ctx, level, message, e.Job, "kind", e.Job.Kind, "attempt", attempt, "error", e.Err)
}
