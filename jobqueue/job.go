package jobqueue

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"

	"lessonkit.example/jobqueue/driver"
)

// State is the state of a job.
type State uint8

// The states of a job. The first three and the last are unfinished; a failed or cancelled job can
// be retried: see [Client.Retry].
const (
	StateWaiting   State = 1 // may start now
	StateScheduled State = 2 // may start at RunAt: delayed, snoozed, or due for another attempt
	StateRunning   State = 3 // leased by a worker
	StateSucceeded State = 4
	StateFailed    State = 5 // permanently: no attempts left, or a permanent error
	StateCancelled State = 6
	StateHeld      State = 7 // waits for other jobs of its LimitKey, or for a group
)

var stateNames = [...]string{"", "waiting", "scheduled", "running", "succeeded", "failed", "cancelled", "held"}

// String returns the lower-case name, such as "waiting".
func (s State) String() string {
	if !s.valid() {
		return "state " + strconv.Itoa(int(s))
	}
	return stateNames[s]
}

// valid reports whether s is one of the states above.
func (s State) valid() bool { return s >= StateWaiting && s <= StateHeld }

// Finished reports whether the job has left the queue for the history.
func (s State) Finished() bool { return s >= StateSucceeded && s <= StateCancelled }

// Job is a job as handlers receive it and a [Client] returns it. Handlers must not change it.
type Job struct {
	ID       int64
	Queue    string
	Kind     string
	Priority int // 1 (first) to 4
	// Attempt counts the starts so far, so it is 1 when a handler receives a job for the first
	// time. Snoozed attempts and those interrupted by a stopping worker are not counted; those
	// whose lease was lost are.
	Attempt     int
	MaxAttempts int             // negative: unlimited
	Args        json.RawMessage // JSON
	CreatedAt   time.Time
	RunAt       time.Time // the earliest start
	LimitKey    string    // empty: none
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

	// The following are set by a Client only; a handler's job has no State but StateRunning.

	State      State
	UniqueKey  string         // empty: none
	FinishedAt time.Time      // zero while unfinished
	Errors     []AttemptError // oldest first, at most 100
	Cancelling bool           // running, and to be cancelled

	attempt *attempt // of a handler's job
}

// AttemptError is the error of one failed attempt.
type AttemptError struct {
	Attempt int // from 1
	At      time.Time
	Error   string
	Stack   string // of a panic; empty otherwise
}

// InsertResult is the result of enqueuing one job.
type InsertResult struct {
	// ID is the id of the new job or, with Duplicate, of the one that already held the unique key.
	ID int64
	// Duplicate is true when nothing was enqueued because the unique key was taken.
	Duplicate bool
}

func newJob(d *driver.Job) Job {
	j := Job{
		ID: d.ID, Queue: d.Queue, Kind: d.Kind, Priority: d.Priority, Attempt: d.Attempt, MaxAttempts: d.MaxAttempts,
		Args: d.Args, CreatedAt: d.CreatedAt, RunAt: d.RunAt, LimitKey: d.LimitKey, Group: d.Group,
		AfterGroup: d.AfterGroup, Meta: d.Meta, Saved: d.Saved, Worker: d.Worker, Fence: d.Fence,
		ClaimedAt: d.ClaimedAt, State: State(d.State), UniqueKey: d.UniqueKey, FinishedAt: d.FinishedAt,
		Cancelling: d.Cancelling,
	}
	for _, e := range d.Errors {
		j.Errors = append(j.Errors, AttemptError(e))
	}
	return j
}

func newJobs(ds []*driver.Job) []*Job {
	jobs := make([]*Job, len(ds))
	for i, d := range ds {
		j := newJob(d)
		jobs[i] = &j
	}
	return jobs
}

// Token returns a text unique to this lease of this job: a later lease of the same job has another
// one. Store it with what the handler changes elsewhere and check it when finishing, so that a
// worker that has lost its lease changes nothing.
func (j *Job) Token() string {
	return strconv.FormatInt(j.ID, 10) + "." + strconv.Itoa(j.Fence)
}

const maxSaved = 64 << 10

// Save stores v as JSON, in place of what was saved before: progress, a position to continue at, or
// a result. The next attempt finds it in Saved, as does [Client.Get]. A number named "progress"
// from 0 to 1 is shown as a bar in the pages of package queueui.
//
// Save does not wait for the database: the worker stores the newest value soon, at most once a
// second, and with the result of the attempt. To store it in a transaction, use SaveTx of the
// store. It is safe for concurrent use. It returns an error if v cannot be encoded or is longer
// than 64 KiB, ErrLeaseLost if the attempt has ended or CompleteTx has been called, even if its
// transaction is rolled back, and an error outside of the job's handler.
func (j *Job) Save(v any) error {
	state, err := encodeSaved(v)
	if err == nil && j.attempt == nil {
		err = errors.New("not in its handler")
	}
	if err == nil {
		err = j.attempt.save(state)
	}
	if err != nil {
		return fmt.Errorf("jobqueue: save state of job %d: %w", j.ID, err)
	}
	return nil
}

// encodeSaved encodes v for Save and SaveTx.
func encodeSaved(v any) (json.RawMessage, error) {
	state, err := json.Marshal(v)
	switch {
	case err != nil:
		return nil, err
	case len(state) > maxSaved:
		return nil, fmt.Errorf("%d bytes are more than %d", len(state), maxSaved)
	case !utf8.Valid(state):
		return nil, errors.New("it is not UTF-8")
	}
	return state, nil
}

// Running is for stores.
func (j *Job) Running() Running { return Running{j} }

// Running is a job whose handler is running, as CompleteTx and SaveTx of a store need it.
type Running struct{ job *Job }

// Saved returns what the handler has saved with Save during this attempt, nil if nothing.
func (r Running) Saved() json.RawMessage {
	a := r.job.attempt
	if a == nil {
		return nil
	}
	a.lease.owner.mu.Lock()
	defer a.lease.owner.mu.Unlock()
	return a.saved
}

// EncodeSaved encodes v for SaveTx. It returns an error if the handler has called Save, because the
// worker may still replace v by that.
func (r Running) EncodeSaved(v any) (json.RawMessage, error) {
	state, err := encodeSaved(v)
	if r.Saved() != nil {
		err = errors.New("SaveTx after Save in the same attempt")
	}
	if err != nil {
		return nil, fmt.Errorf("jobqueue: save state of job %d: %w", r.job.ID, err)
	}
	return state, nil
}

// SetCompleted records that a transaction of the handler completes the job, if it commits.
func (r Running) SetCompleted() {
	if r.job.attempt != nil {
		r.job.attempt.completed.Store(true)
	}
}
