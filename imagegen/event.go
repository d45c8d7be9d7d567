package imagegen

import (
	"time"
)

// EventKind says what an [Event] is about.
type EventKind string

// The kinds of event, in the order a call sees them.
const (
	EventAttempt  EventKind = "attempt"  // a request for images is about to be sent
	EventRetry    EventKind = "retry"    // it failed with Err and will be sent again after Wait
	EventTask     EventKind = "task"     // the service answered with a task; store TaskID now, before the first poll
	EventPoll     EventKind = "poll"     // a poll was answered, with State, or failed with Err
	EventProgress EventKind = "progress" // Bytes of the image Image.Index have arrived
	EventImage    EventKind = "image"    // an image is stored
	EventDone     EventKind = "done"     // the call ended; Err, Usage and Attempts are final
)

// Event is something that happened in a call, for progress displays, ledgers and logs. Fields that do not belong to the kind
// are zero.
type Event struct {
	Kind       EventKind
	Attempt    int // requests for images sent so far in this call
	TaskID     string
	State      State
	Polls      int
	Image      *Info
	Bytes      int64
	Usage      *Usage
	Wait       time.Duration
	Elapsed    time.Duration // since the call began
	MayHaveRun bool
	Err        error
}

// call is one call of Generate, Submit, Wait or Watch.
type call struct {
	*Client
	op       string // what its errors are called
	began    time.Time
	attempts int
	unsure   int // attempts that may have run without an answer
	gate     *gate
}

func (c *Client) begin() *call { return &call{Client: c, op: "poll", began: c.now()} }

func (c *call) trace(e Event) {
	if c.config.Trace == nil {
		return
	}
	e.Attempt = c.attempts
	e.Elapsed = c.now().Sub(c.began)
	c.config.Trace(e)
}

// done tells of the end of a call.
func (c *call) done(r *Result, err error) {
	e := Event{Kind: EventDone, Err: err, MayHaveRun: c.unsure > 0}
	if r != nil {
		e.Usage, e.TaskID = &r.Usage, r.TaskID
	}
	c.trace(e)
}
