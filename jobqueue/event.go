package jobqueue

import "time"

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
	if w.cfg.OnEvent != nil {
		w.cfg.OnEvent(e)
	}
}
