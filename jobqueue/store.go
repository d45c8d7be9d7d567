package jobqueue

import (
	"context"
	"time"
)

// Store is a queue in a database: what the packages pgqueue and sqlitequeue implement and queuetest proves. Programs
// use [Client] and [Worker] instead.
//
// Every method is safe for concurrent use, is atomic, and returns the error of ctx when that ends first, except that a
// write on SQLite may wait for the lock of the file all the same. "Now" is one clock for all processes: PostgreSQL's, or on
// SQLite, where all are on one machine, that machine's. An error after which a change may or may not have been made (a
// connection cut during commit) is allowed: the worker finds out by Release and Get.
//
// A job's fence grows by one whenever the job is taken by a worker, and whenever somebody else than its worker takes
// it away from that worker. Whoever finishes a job must name the fence.
type Store interface {
	// Check returns an error that wraps ErrSchema when the tables do not fit this package.
	Check(ctx context.Context) error

	// Insert adds all records or none and returns a receipt for each, in order. Two records of one call with the same
	// unique key are the same job.
	Insert(ctx context.Context, rs []Record) ([]Receipt, error)

	// Register adds a worker whose lease ends after lease unless Beat extends it.
	Register(ctx context.Context, name string, lease time.Duration) (worker int64, err error)
	// Beat extends the lease of the worker and returns the ids of jobs it holds that were asked to stop.
	// alive is false when the worker is gone: swept by another process, its jobs taken away.
	Beat(ctx context.Context, worker int64, lease time.Duration) (cancelled []int64, alive bool, err error)
	// Exchange records outcomes and takes new jobs in one transaction. Its error has a method Permanent() bool that
	// returns true when the same outcomes will never be accepted.
	Exchange(ctx context.Context, x Exchange) (Exchanged, error)
	// Release takes back every job the worker holds except those in keep, and gives their attempts back.
	// With forget it removes the worker too.
	Release(ctx context.Context, worker int64, keep []Lease, forget bool) (released int, err error)
	// Sweep removes workers whose lease has ended and takes their jobs back, noting "lease expired", word for word, as the
	// error of the attempt. Jobs without attempts left are taken back as well, so that the next worker that takes them can run
	// their Dead callback. With audit it looks for jobs of workers that do not exist too, which costs a look at
	// every unfinished job.
	Sweep(ctx context.Context, audit bool) (recovered int, err error)

	// Get returns ErrNotFound for an unknown id.
	Get(ctx context.Context, id int64) (*Job, error)
	// List returns jobs in falling order of their ids.
	List(ctx context.Context, f Filter) ([]*Job, error)
	// Stats counts up to StatsLimit jobs for each queue and state that it reports.
	Stats(ctx context.Context) (Stats, error)
	// Retry makes a failed, cancelled or scheduled job wait to start at once, with all its attempts. It returns
	// ErrNotFound, ErrNotRetryable or ErrDuplicate.
	Retry(ctx context.Context, id int64) error
	// Cancel ends a job that does not run, and asks the worker of a running one to stop it. It returns ErrNotFound or
	// ErrFinished.
	Cancel(ctx context.Context, id int64) error
	// Purge deletes finished jobs, at most a few thousand, and returns how many. 0 means that none are left.
	Purge(ctx context.Context, f PurgeFilter) (int, error)
}

// Loader is a [Store] that can insert many records faster when nobody asks for their ids.
type Loader interface {
	// Load inserts all records or none. No record has a unique key.
	Load(ctx context.Context, rs []Record) error
}

// Waker is a [Store] that can tell a worker about jobs sooner than the next poll.
type Waker interface {
	// Wake calls f from its own goroutine until ctx ends or an error makes it return, at first with the zero Signal, once
	// it hears of what this process enqueues. up is called once notifications from other processes are certain to arrive,
	// and never when they cannot.
	Wake(ctx context.Context, up func(), f func(Signal) (taken bool)) error
}

// Signal is a wake-up. The zero Signal says that any queue may have jobs.
type Signal struct {
	// Queue has a job that may start after In.
	Queue string
	In    time.Duration
	// Cancel, when not 0, is the id of a running job that may have been asked to stop, for Beat to tell; Queue is empty then.
	Cancel int64
}

// Lease names a job as taken at one time.
type Lease struct {
	ID    int64
	Fence int
}

// Verdict is what becomes of a job.
type Verdict uint8

// The verdicts of a worker.
const (
	Succeed  Verdict = iota
	Fail             // for good
	Abort            // cancelled
	Postpone         // back to the queue, to start after Delay
)

// Outcome is a worker's word on a job it holds.
type Outcome struct {
	Lease
	Verdict Verdict
	// Discard keeps no history: the job is deleted.
	Discard bool
	// Error, when its text is not empty, is appended to the job's errors with the time of the database.
	Error AttemptError
	// Delay and Refund belong to Postpone. Refund gives the attempt back. A job that was asked to stop is not delayed.
	Delay  time.Duration
	Refund bool
}

// Mark is a place in the order of one queue and priority. The zero Mark is before every job: no RunAt is before year 1.
type Mark struct {
	RunAt time.Time
	ID    int64
}

// Want asks for up to N waiting jobs of a queue, the most urgent first. Jobs of priority p at or before After[p-1] need
// not be looked at.
type Want struct {
	Queue string
	N     int
	After [lowestPriority]Mark
}

// Exchange is one round of a worker's conversation with the database.
type Exchange struct {
	Worker   int64
	Outcomes []Outcome
	Wants    []Want
	// Ahead asks for Exchanged.Next.
	Ahead bool
}

// Exchanged is the answer to an Exchange.
type Exchanged struct {
	// Lost are the outcomes that did not count because their lease is over.
	Lost []Lease
	// Jobs are the jobs taken, each with its new fence, in any order. Cancelling is set for those that were asked to stop
	// during an earlier attempt.
	Jobs []*Job
	// Next is the time until the next scheduled job of the wanted queues may start, or 0 when there is none. Times too long for
	// a Duration are the longest one.
	Next time.Duration
}

// Filter chooses jobs for List.
type Filter struct {
	State State  // required
	Queue string // empty: every queue
	Kind  string // empty: every kind
	// Before, when not 0, continues after a page whose last job had this id.
	Before int64
	// Limit defaults to 50 and is at most 1000.
	Limit int
}

// PurgeFilter chooses finished jobs to delete.
type PurgeFilter struct {
	State State         // StateSucceeded, StateFailed or StateCancelled; 0 means all three
	Queue string        // empty: every queue
	Age   time.Duration // finished longer ago than this
}

// StatsLimit is where Stats stops counting: a number above it means "more".
const StatsLimit = 10_000

// Stats is the state of all queues at a glance.
type Stats struct {
	Queues  []QueueStats // by name
	Workers []WorkerInfo // by id
}

// QueueStats counts the jobs of one queue, each number capped at StatsLimit+1. Failed and Cancelled look at the newest
// StatsLimit+1 of all queues together.
type QueueStats struct {
	Queue                                          string
	Waiting, Scheduled, Running, Failed, Cancelled int
	// Oldest is how long the job that has waited longest could have started already; 0 when none waits.
	Oldest time.Duration
}

// WorkerInfo is a worker process.
type WorkerInfo struct {
	ID                   int64
	Name                 string
	StartedAt, ExpiresAt time.Time
}
