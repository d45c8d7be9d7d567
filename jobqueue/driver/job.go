package driver

import (
	"encoding/json"
	"time"
)

// State is the state of a job: see jobqueue.State, which has the same numbers. Those of finished
// states are stored in databases.
type State uint8

// The states of a job.
const (
	StateWaiting   State = 1
	StateScheduled State = 2
	StateRunning   State = 3
	StateSucceeded State = 4
	StateFailed    State = 5
	StateCancelled State = 6
	StateHeld      State = 7
)

// Job is a job as a store returns it: see jobqueue.Job. UniqueKey, FinishedAt and Errors are those
// of Get, List and Search only; Cancelling is also set by Exchange.
type Job struct {
	ID                          int64
	Queue, Kind                 string
	Priority                    int
	Attempt, MaxAttempts        int
	Args, Saved                 json.RawMessage
	CreatedAt, RunAt            time.Time
	LimitKey, Group, AfterGroup string
	Meta                        map[string]string

	Worker    int64
	Fence     int
	ClaimedAt time.Time
	Row       uint64 // of Exchange, for Result.Row

	State      State
	UniqueKey  string
	FinishedAt time.Time
	Errors     []AttemptError
	Cancelling bool
}

// DecodeMeta returns the Meta of a job, without what cannot be decoded.
func DecodeMeta(text []byte) map[string]string {
	if len(text) == 0 {
		return nil
	}
	var meta map[string]string
	_ = json.Unmarshal(text, &meta)
	return meta
}

// AttemptError is the error of one failed attempt.
type AttemptError struct {
	Attempt int       `json:"attempt"` // from 1
	At      time.Time `json:"at"`
	Error   string    `json:"error"`
	Stack   string    `json:"stack,omitempty"` // of a panic
}

// LeaseExpired is the text of an [AttemptError] whose worker died.
const LeaseExpired = "lease expired"

// DecodeErrors returns the errors of a job, without what cannot be decoded.
func DecodeErrors(text []byte) (errs []AttemptError) {
	_ = json.Unmarshal(text, &errs)
	return errs
}

// Record is a job to insert, checked and encoded.
type Record struct {
	Queue, Kind string
	Priority    int       // 1 to Priorities
	RunAt       time.Time // zero: now, by the clock of the database
	MaxAttempts int       // negative: unlimited
	UniqueKey   string    // empty: none
	LimitKey    string    // empty: none
	KeyLimit    int       // how many jobs of LimitKey may have a turn, from 2; 0: one
	Group       string    // empty: none
	AfterGroup  string    // empty: none; not together with LimitKey
	Meta        []byte    // JSON object of texts; nil: none
	Args        []byte    // valid JSON
}

// InsertResult is the result of enqueuing one job: see jobqueue.InsertResult.
type InsertResult struct {
	ID        int64
	Duplicate bool
}
