// Package driver defines the interface between package jobqueue and its storage engines. Only
// engines, such as pgqueue and sqlitequeue, implement it; programs use package jobqueue. The tests
// of both engines run one conformance suite.
//
// A worker process registers itself, extends its lease by heartbeats, and otherwise talks to the
// database by [Store.Exchange]: one transaction that records the results of the jobs it has
// finished and claims new ones. Each claim of a job increments its fence, and a result must name
// the current fence.
package driver

import (
	"context"
	"time"
)

// Store is a queue in a database.
//
// Every method is safe for concurrent use, is atomic, and returns the error of ctx when that ends
// first, except that a write on SQLite may wait for the lock of the file regardless. "Now" is one
// clock for all processes: PostgreSQL's, or with SQLite, where all processes are on one machine,
// that machine's. A method may return an error although its change was committed, for example when
// the connection broke during the commit: the worker finds out with Release and Get.
//
// Insert and the methods that a jobqueue.Client calls return errors that wrap [ErrSchema] when the
// tables do not match, and [ErrUnavailable] when the database is at fault.
//
// A job's fence grows by one whenever a worker claims the job, and whenever anybody but that worker
// takes the job away from it.
type Store interface {
	// Migrated reports whether the tables exist and are up to date.
	Migrated(ctx context.Context) (bool, error)
	// Migrate creates the tables or updates them. Several processes may do so at once.
	Migrate(ctx context.Context) error

	// Insert adds all records or none and returns a result for each, in order. Two records of one
	// call with the same unique key are the same job.
	Insert(ctx context.Context, rs []Record) ([]InsertResult, error)

	// Register adds a worker that serves queues and whose lease ends after lease unless Heartbeat
	// extends it.
	Register(ctx context.Context, name string, queues []string, lease time.Duration) (worker int64, err error)
	// Heartbeat extends the worker's lease and returns the ids of its jobs that are to be
	// cancelled. alive is false when the worker no longer exists: another process has rescued its
	// jobs. With an error, alive means that the lease was extended, and no more.
	Heartbeat(ctx context.Context, worker int64, lease time.Duration) (cancelled []int64, alive bool, err error)
	// Listen tells a worker about new jobs sooner than its next poll: it calls f from its own
	// goroutine until ctx ends or an error makes it return. The first call has the zero Signal and
	// comes once Listen receives what this process enqueues. Listen calls ready when notifications
	// from other processes are certain to arrive, and never when they cannot. f returns true when
	// its worker can start the job immediately.
	Listen(ctx context.Context, ready func(), f func(Signal) (started bool)) error
	// Exchange records results and claims jobs in one transaction. When it has ended the last
	// member of a group, the jobs that are to start after the group may start. Its error has a
	// method Permanent() bool that returns true when the database will never accept these results.
	// A store that has returned without an error no longer uses x.Results. If the process is
	// suspended, the database ends the transaction soon after the deadline of ctx.
	Exchange(ctx context.Context, x ExchangeRequest) (ExchangeResponse, error)
	// Save stores the states of running jobs of the worker. It skips those that are no longer its
	// own, and those that another transaction is changing.
	Save(ctx context.Context, worker int64, states []Saved) error
	// Slots gets or returns slots of a queue that runs at most limit jobs at a time, so that the
	// worker has target, and returns how many it has: less than target if other workers have them.
	// Release with unregister and Rescue return those of workers that end.
	Slots(ctx context.Context, worker int64, queue string, limit, target int) (held int, err error)
	// Release returns every job of the worker to the queue except those in keep, without counting
	// their attempts. With unregister it removes the worker too.
	Release(ctx context.Context, worker int64, keep []Lease, unregister bool) (released int, err error)
	// Rescue removes workers whose lease has ended and returns their jobs to the queue, with
	// LeaseExpired as the error of the attempt. That includes jobs without attempts left: the next
	// worker that claims one calls its OnFailed callback. With orphans it also rescues jobs whose
	// worker does not exist, which reads every running job, and lets those start whose group has
	// ended unnoticed.
	Rescue(ctx context.Context, orphans bool) (rescued int, err error)

	// Get returns ErrNotFound for an unknown id.
	Get(ctx context.Context, id int64) (*Job, error)
	// Unfinished returns those of ids, each once, whose jobs are unfinished.
	Unfinished(ctx context.Context, ids []int64) ([]int64, error)
	// List returns jobs in descending order of their ids. It reads at most ListWindow jobs, and
	// returns the id before which the next page begins, 0 after the last page.
	List(ctx context.Context, f Filter) (jobs []*Job, next int64, err error)
	// Search returns up to limit jobs, in any state, in descending order of their ids, whose
	// arguments contain text, which is JSON or a part of it. It reads only the jobs with the
	// SearchWindow ids before an id, or up to the newest one if that is 0, and returns the least of
	// these ids.
	Search(ctx context.Context, text string, before int64, limit int) (jobs []*Job, from int64, err error)
	// Stats counts the jobs of each queue and state, up to StatsLimit+1. It contains every queue
	// that has jobs or is served by a worker.
	Stats(ctx context.Context) (Stats, error)
	// GroupStats counts the members of a group that are unfinished or in the history.
	GroupStats(ctx context.Context, group string) (GroupStats, error)
	// DeleteGroup deletes members of a group, in any state, at most a few thousand, and returns how
	// many; 0 means that there are no more. A worker has lost the lease of one that runs.
	DeleteGroup(ctx context.Context, group string) (deleted int, err error)
	// Retry makes a failed or cancelled job wait, with all its attempts, and a scheduled one start
	// now. It returns ErrNotFound, ErrState or ErrDuplicate.
	Retry(ctx context.Context, id int64) error
	// Cancel ends a job that is not running, and has Heartbeat report a running one to its worker.
	// It returns ErrNotFound or ErrState.
	Cancel(ctx context.Context, id int64) error
	// NextCancelled returns the id of a job of one of the kinds that has ended by cancelling and
	// whose callback is due, 0 if there is none, and makes the callback due once more after again.
	// It is due as soon as the job is in the history, and until CallbackDone.
	NextCancelled(ctx context.Context, kinds []string, again time.Duration) (id int64, err error)
	// CallbackDone records that the callback of a job has returned that was cancelled at that time.
	// It does nothing if the job was retried and cancelled again since.
	CallbackDone(ctx context.Context, id int64, finishedAt time.Time) error
	// AddMinutes adds to the figures of the current minute, one element for each queue, and deletes
	// those older than KeepMinutes. Minutes returns those of the last time, of a queue, or of all
	// if it is empty, by queue and time.
	AddMinutes(ctx context.Context, minutes []Minute) error
	Minutes(ctx context.Context, queue string, last time.Duration) ([]Minute, error)
	// Schedules returns all schedules by name, and the time now.
	Schedules(ctx context.Context) (schedules []Schedule, now time.Time, err error)
	// PutSchedule adds a schedule, or replaces Spec and NextAt of the one of its name if that has
	// another Spec.
	PutSchedule(ctx context.Context, s Schedule) error
	// Tick moves a schedule to its next time and inserts the jobs that are due, except those whose
	// unique key is taken. It does nothing if the schedule no longer has this Spec and Due.
	Tick(ctx context.Context, t Tick) error
	// ChangeSchedule returns ErrNotFound for an unknown name.
	ChangeSchedule(ctx context.Context, name string, c ScheduleChange) error

	// Pause makes claims take no job of a queue until a time, or ends that if it is zero.
	Pause(ctx context.Context, queue string, until time.Time) error
	// RetryMany does what Retry does for the newest f.Limit jobs that f selects, and CancelMany
	// what Cancel does.
	RetryMany(ctx context.Context, f Filter) (Page, error)
	CancelMany(ctx context.Context, f Filter) (Page, error)

	// Purge looks at a few thousand finished jobs in the order of their ids, and deletes those that
	// f selects. It returns how many it has deleted, and the last id that was old enough when its
	// job was created; f.After means that no more follow. It has not found jobs with ids up to last
	// that finish, or become old enough, later.
	Purge(ctx context.Context, f PurgeFilter) (deleted int, last int64, err error)
}

// Signal wakes workers. The zero Signal means that any queue may have jobs. Engines may send it to
// other processes as JSON.
type Signal struct {
	// Queue has a job that may start after In. If In is negative, its RunAt is that long in the
	// past, so the job may come before others that are waiting.
	Queue string        `json:",omitzero"`
	In    time.Duration `json:",omitzero"`
	// Cancel, when not 0, is the id of a job that was cancelled. The worker that runs it sends a
	// heartbeat to find out whether it has to end it; any worker may call its callback. Queue is
	// empty then.
	Cancel int64 `json:",omitzero"`
	// Schedules is set when a schedule was changed. Queue and Cancel are empty then.
	Schedules bool `json:",omitzero"`
	// LimitKey, when not empty, has a job that ended, AfterGroup a new one. Only a store uses them.
	LimitKey   string `json:",omitzero"`
	AfterGroup string `json:",omitzero"`
}
