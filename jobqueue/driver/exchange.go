package driver

import (
	"cmp"
	"encoding/json"
	"time"
)

// Lease identifies one claim of a job.
type Lease struct {
	ID    int64 // of the job
	Fence int
}

// Saved is the state of a job that its handler has saved.
type Saved struct {
	Lease
	State json.RawMessage
}

// Action is what to do with a job whose attempt has ended.
type Action uint8

// The actions of a [Result].
const (
	Complete   Action = iota // succeeded
	Fail                     // failed permanently
	Cancel                   // cancelled
	Reschedule               // return to the queue, to start after Delay
)

// Result is the result of one attempt of a job.
type Result struct {
	Lease
	Action Action
	// Saved replaces the saved state of the job, unless it is nil.
	Saved json.RawMessage
	// Discard deletes the job instead of moving it to the history.
	Discard bool
	// LimitKey and Group are those of the job.
	LimitKey, Group string
	// Row is where an engine has left the job when it was claimed, so that it finds it faster if it
	// is still there. 0: unknown.
	Row uint64
	// Error, when its text is not empty, is appended to the job's errors with the time of the
	// database.
	Error AttemptError
	// Delay and Uncounted apply to Reschedule. Uncounted does not count the attempt. A job that was
	// cancelled meanwhile ends instead: see ExchangeResponse.Cancelled.
	Delay     time.Duration
	Uncounted bool
}

// Size returns the number of bytes of the state and the error.
func (r *Result) Size() int { return len(r.Saved) + len(r.Error.Error) + len(r.Error.Stack) }

// Cursor is a position in the order of one queue and priority. The zero Cursor is before every job:
// no RunAt is before year 1.
type Cursor struct {
	RunAt time.Time
	ID    int64
}

// Compare returns -1 if c comes before o, 1 if it comes after o, and 0 if they are equal.
func (c Cursor) Compare(o Cursor) int {
	return cmp.Or(c.RunAt.Compare(o.RunAt), cmp.Compare(c.ID, o.ID))
}

// Before reports whether c comes before o.
func (c Cursor) Before(o Cursor) bool { return c.Compare(o) < 0 }

// Priorities is the number of priorities: 1 is the most urgent.
const Priorities = 4

// ClaimRequest requests up to Limit waiting jobs of a queue, the most urgent first. Jobs of
// priority p at or before After[p-1] may be skipped.
type ClaimRequest struct {
	Queue string
	Limit int
	After [Priorities]Cursor
	// Rate, if its Every is not 0, limits how many jobs of the queue are claimed, by all workers.
	// ExchangeResponse.Next then considers when the next one may be claimed.
	Rate Rate
}

// Rate is at most one job for each interval, and a burst of several after a time without.
type Rate struct {
	Every time.Duration // in microseconds
	Burst int           // at least 1
}

// ExchangeRequest is the argument of [Store.Exchange].
type ExchangeRequest struct {
	Worker  int64
	Results []Result
	Claims  []ClaimRequest
	// Kinds are the kinds of jobs to claim, each once.
	Kinds []string
	// LookAhead requests ExchangeResponse.Next.
	LookAhead bool
}

// ExchangeResponse is the result of [Store.Exchange].
type ExchangeResponse struct {
	// Lost are the results that were not recorded because their lease has ended.
	Lost []Lease
	// Cancelled are the results with Reschedule whose job was cancelled meanwhile, and has ended.
	Cancelled []Lease
	// Jobs are the claimed jobs, each with its new fence, in any order. Cancelling is set for those
	// that were cancelled while a worker ran them that has died or stopped.
	Jobs []*Job
	// Excess is how many more jobs were claimed than Jobs may contain: see AddJob. The worker
	// releases them.
	Excess int
	// Next is the time until the next scheduled job of the claimed queues may start, or 0 when
	// there is none. Times too long for a Duration are the longest one.
	Next time.Duration

	size int // bytes of Jobs
}

// MaxExchangeBytes limits the arguments and states of the jobs that one exchange returns, and the
// states and errors of the results that it records. A single job or result may be larger.
const MaxExchangeBytes = 32 << 20

// AddJob adds a claimed job to Jobs, or to Excess if they would exceed MaxExchangeBytes.
func (r *ExchangeResponse) AddJob(j *Job) {
	size := len(j.Args) + len(j.Saved)
	for key, value := range j.Meta {
		size += len(key) + len(value)
	}
	if len(r.Jobs) > 0 && r.size+size > MaxExchangeBytes {
		r.Excess++
		return
	}
	r.size += size
	r.Jobs = append(r.Jobs, j)
}

// Claimed returns the number of claimed jobs.
func (r *ExchangeResponse) Claimed() int { return len(r.Jobs) + r.Excess }

// AddNext makes Next consider that something may start after d.
func (r *ExchangeResponse) AddNext(d time.Duration) {
	if d > 0 && (r.Next == 0 || d < r.Next) {
		r.Next = d
	}
}
