package jobqueue

import (
	"encoding/json"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"
)

// State is where a job stands.
type State uint8

// The states of a job. The first three are unfinished; a failed or cancelled job can be retried by hand.
const (
	StateWaiting   State = iota + 1 // may start now
	StateScheduled                  // may start at RunAt: enqueued for later, snoozed, or waiting for its next attempt
	StateRunning                    // leased by a worker
	StateSucceeded
	StateFailed // failed for good: attempts used up or a permanent error
	StateCancelled
)

var stateNames = [...]string{"", "waiting", "scheduled", "running", "succeeded", "failed", "cancelled"}

// States lists every state in the order of a job's life.
func States() []State {
	return []State{StateWaiting, StateScheduled, StateRunning, StateSucceeded, StateFailed, StateCancelled}
}

// String returns the lower-case name, "waiting" to "cancelled".
func (s State) String() string {
	if s == 0 || int(s) >= len(stateNames) {
		return "state " + strconv.Itoa(int(s))
	}
	return stateNames[s]
}

// ParseState is the inverse of String.
func ParseState(name string) (State, error) {
	for s := StateWaiting; s <= StateCancelled; s++ {
		if stateNames[s] == name {
			return s, nil
		}
	}
	return 0, fmt.Errorf("jobqueue: unknown state %q", name)
}

// Finished reports whether the job has left the queue for the history.
func (s State) Finished() bool { return s >= StateSucceeded }

// Job is a job as a handler or [Client.Get] sees it.
type Job struct {
	ID       int64
	Queue    string
	Kind     string
	Priority int
	// Attempt counts the starts so far, so it is 1 when a handler sees a job for the first time. Snoozes and releases
	// are not counted.
	Attempt int
	// MaxAttempts is negative when there is no limit.
	MaxAttempts int
	Args        json.RawMessage
	CreatedAt   time.Time
	RunAt       time.Time

	// The following are filled in by Get and List only, except ClaimedAt.

	State      State
	UniqueKey  string
	ClaimedAt  time.Time      // start of the lease, zero when the job never started
	FinishedAt time.Time      // zero while unfinished
	Errors     []AttemptError // oldest first
	Cancelling bool           // running, and asked to stop

	// Worker and Fence are the lease: see Token.
	Worker int64
	Fence  int

	completed uint32 // atomic; not an atomic.Bool, so that a Job may be copied
}

// Token is unique to this lease of this job: a later lease of the same job has another one. Write it next to what the
// handler changes elsewhere and require it when finishing, so that a worker that has lost its lease changes nothing.
func (j *Job) Token() string {
	return strconv.FormatInt(j.ID, 10) + "." + strconv.Itoa(j.Fence)
}

// MarkCompleted tells the worker that a transaction of the handler finishes the job. It is called by a store's
// CompleteTx, not by handlers.
func (j *Job) MarkCompleted() { atomic.StoreUint32(&j.completed, 1) }

func (j *Job) isCompleted() bool { return atomic.LoadUint32(&j.completed) == 1 }

// last reports whether a failure of this attempt is final.
func (j *Job) last() bool { return j.MaxAttempts >= 0 && j.Attempt >= j.MaxAttempts }

// spent reports whether the job was taken although its attempts are used up: its last worker died, and only the Dead
// callback is left to run.
func (j *Job) spent() bool { return j.MaxAttempts >= 0 && j.Attempt > j.MaxAttempts }

// AttemptError is one failed attempt in a job's history.
type AttemptError struct {
	Attempt int       `json:"attempt"`
	At      time.Time `json:"at"`
	Error   string    `json:"error"`
	Stack   string    `json:"stack,omitempty"` // of a panic
}
