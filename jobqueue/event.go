package jobqueue

import "time"

// EventType says what happened to a job.
type EventType uint8

// The types of events. For every EventClaimed exactly one of the others follows, unless the job was given back
// before it started or its process died. What became of an attempt may be told after the next one was claimed.
const (
	EventClaimed   EventType = iota + 1
	EventSucceeded           // in the history
	EventFailed              // the attempt failed, another one follows
	EventDead                // failed for good
	EventSnoozed             // put back at no cost
	EventCancelled           // in the history
	EventLost                // the lease was lost: whatever the handler did does not count
)

// String returns the lower-case name.
func (t EventType) String() string {
	return [...]string{"", "claimed", "succeeded", "failed", "dead", "snoozed", "cancelled", "lost"}[t]
}

// Event is something that happened to a job, for metrics and tests: see WorkerConfig.OnEvent.
type Event struct {
	Type EventType
	Job  *Job // must not be changed
	Err  error
	// Wait is how late the job was taken (EventClaimed), by the clock of the database.
	Wait time.Duration
	// Took is how long its handler ran (every other type).
	Took time.Duration
}

func (w *Worker) emit(e Event) {
	if w.cfg.OnEvent != nil {
		w.cfg.OnEvent(e)
	}
}
