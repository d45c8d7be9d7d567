package driver

import (
	"encoding/json"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// State is the state of a job. The numbers of finished states are stored in databases.
type State uint8

// The states of a job. The first three and the last are unfinished; a failed or cancelled job can
// be retried.
const (
	StateWaiting   State = 1 // may start now
	StateScheduled State = 2 // may start at RunAt: delayed, snoozed, or due for another attempt
	StateRunning   State = 3 // leased by a worker
	StateSucceeded State = 4
	StateFailed    State = 5 // permanently: no attempts left, or a permanent error
	StateCancelled State = 6
	StateHeld      State = 7 // unfinished: waits for another job of its serial key, or for a group
)

var stateNames = [...]string{"", "waiting", "scheduled", "running", "succeeded", "failed", "cancelled", "held"}

// String returns the lower-case name, such as "waiting".
func (s State) String() string {
	if !s.Valid() {
		return "state " + strconv.Itoa(int(s))
	}
	return stateNames[s]
}

// Valid reports whether s is one of the states above.
func (s State) Valid() bool { return s >= StateWaiting && s <= StateHeld }

// Finished reports whether the job has left the queue for the history.
func (s State) Finished() bool { return s >= StateSucceeded && s <= StateCancelled }

// Job is a job as handlers receive it and package admin returns it.
type Job struct {
	ID       int64
	Queue    string
	Kind     string
	Priority int // 1 (first) to 4
	// Attempt counts the starts so far, so it is 1 when a handler receives a job for the first
	// time. Snoozed attempts and those interrupted by a stopping worker are not counted.
	Attempt     int
	MaxAttempts int             // negative: unlimited
	Args        json.RawMessage // JSON
	CreatedAt   time.Time
	RunAt       time.Time // the earliest start
	SerialKey   string    // empty: none
	Group       string    // that it is a member of; empty: none
	AfterGroup  string    // that it started after; empty: none
	Meta        map[string]string
	// Saved is the JSON that the handler has saved: see Save. A handler's job has that of earlier
	// attempts. Nil: none.
	Saved json.RawMessage

	// Worker and Fence identify the lease: see Token.
	Worker    int64
	Fence     int
	ClaimedAt time.Time // start of the lease, zero when the job never started

	// The following are set by Get and List only; a handler's job has no State but StateRunning.

	State      State
	UniqueKey  string         // empty: none
	FinishedAt time.Time      // zero while unfinished
	Errors     []AttemptError // oldest first, at most 100
	Cancelling bool           // running, and to be cancelled

	completed uint32 // atomic; not an atomic.Bool, so that a Job may be copied
	saver     Saver  // of a handler's job
}

// DecodeMeta returns the Meta of a job, nil if text is empty or damaged.
func DecodeMeta(text []byte) map[string]string {
	if len(text) == 0 {
		return nil
	}
	var meta map[string]string
	if json.Unmarshal(text, &meta) != nil {
		return nil
	}
	return meta
}

// Token returns a text unique to this lease of this job: a later lease of the same job has another
// one. Store it with what the handler changes elsewhere and check it when finishing, so that a
// worker that has lost its lease changes nothing.
func (j *Job) Token() string {
	return strconv.FormatInt(j.ID, 10) + "." + strconv.Itoa(j.Fence)
}

// MarkCompleted records that a transaction of the handler completes the job. A store's CompleteTx
// calls it.
func MarkCompleted(j *Job) { atomic.StoreUint32(&j.completed, 1) }

// IsCompleted reports whether MarkCompleted was called. The transaction may have failed since.
func IsCompleted(j *Job) bool { return atomic.LoadUint32(&j.completed) == 1 }

// AttemptError is the error of one failed attempt.
type AttemptError struct {
	Attempt int       `json:"attempt"` // from 1
	At      time.Time `json:"at"`
	Error   string    `json:"error"`
	Stack   string    `json:"stack,omitempty"` // of a panic
}

// LeaseExpired is the text of an [AttemptError] whose worker died.
const LeaseExpired = "lease expired"

// DecodeErrors decodes the stored errors of a job. If they are not JSON errors, the result is one
// error that says so and begins with the stored text, so that a damaged row can be read.
func DecodeErrors(stored []byte) []AttemptError {
	var errs []AttemptError
	if err := json.Unmarshal(stored, &errs); err != nil {
		text := strings.ToValidUTF8(string(stored[:min(len(stored), 200)]), "\uFFFD")
		return []AttemptError{{Error: "damaged row: errors is not a JSON array of errors: " + text}}
	}
	return errs
}

// Record is a job to insert, checked and encoded.
type Record struct {
	Queue, Kind  string
	Priority     int       // 1 to Priorities
	RunAt        time.Time // zero: now, by the clock of the database
	MaxAttempts  int       // negative: unlimited
	UniqueKey    string    // empty: none
	UntilStarted bool      // the key is freed when a worker claims the job
	SerialKey    string    // empty: none
	Group        string    // empty: none
	AfterGroup   string    // empty: none; not together with SerialKey
	Meta         []byte    // JSON object of texts; nil: none
	Args         []byte    // valid JSON
}

// InsertResult is the result of enqueuing one job.
type InsertResult struct {
	// ID is the id of the new job or, with Duplicate, of the one that already held the unique key.
	ID int64
	// Duplicate is true when nothing was enqueued because the unique key was taken.
	Duplicate bool
}
