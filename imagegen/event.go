package imagegen

import "time"

// EventKind is the kind of an [Event].
type EventKind string

// The kinds of event, in the order a call reports them.
const (
	EventAttempt EventKind = "attempt" // a request for images is about to be sent
	EventRetry   EventKind = "retry"   // it failed with Err and will be sent again after Wait
	EventTask    EventKind = "task"    // the service responded with a task; store TaskID now, before the first poll
	EventPoll    EventKind = "poll"    // a poll returned State, or failed with Err and will be repeated
	EventImage   EventKind = "image"   // an image has been stored
)

// Event reports progress of a call. Fields that do not apply to the kind are zero.
type Event struct {
	Kind    EventKind
	Request *Request // of the call, as it was passed; nil in Wait
	Attempt int      // requests for images sent so far by this call
	TaskID  string
	State   State
	Image   *Info
	Wait    time.Duration
	Err     error
}
