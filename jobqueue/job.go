package jobqueue

import "lessonkit.example/jobqueue/driver"

// State is the state of a job. Its String method returns "waiting" and so on, Finished reports
// whether the job has left the queue for the history, and Valid whether it is one of the states
// below.
type State = driver.State

// The states of a job. The first three and the last are unfinished; a failed or cancelled job can
// be retried: see [Client.Retry].
const (
	StateWaiting   = driver.StateWaiting   // may start now
	StateScheduled = driver.StateScheduled // may start at RunAt: delayed, snoozed, or due for another attempt
	StateRunning   = driver.StateRunning   // leased by a worker
	StateSucceeded = driver.StateSucceeded
	StateFailed    = driver.StateFailed // permanently: no attempts left, or a permanent error
	StateCancelled = driver.StateCancelled
	StateHeld      = driver.StateHeld // unfinished: waits for a job of its SerialKey, or for a group
)

// Job is a job as handlers, [Client.Get] and [Client.List] receive it: its ID, Queue, Kind, Args,
// the number of its Attempt, and so on. The Token method returns a text unique to this lease of the
// job: store it with what the handler changes elsewhere and check it when finishing, so that a
// worker that has lost its lease changes nothing. Handlers must not change a Job.
type Job = driver.Job

// AttemptError is the error of one failed attempt in [Job].Errors: its number, time and text, and
// the stack of a panic.
type AttemptError = driver.AttemptError

// InsertResult is the result of enqueuing one job: its ID, and whether it is a Duplicate, which
// means that nothing was enqueued because the job of that ID holds the unique key.
type InsertResult = driver.InsertResult

// Filter selects jobs for [Client.List]. State is required; Queue and Kind select all when empty;
// Before, when not 0, continues after a page whose last job had this id; Limit defaults to 50 and
// is at most 1000.
type Filter = driver.Filter

// Stats is a summary of all Queues, by name, and Workers, by id: see [Client.Stats]. A queue has a
// count of jobs for each state, at most StatsLimit+1, Oldest, which is how long the job that has
// waited longest could have started already, and PausedUntil, which is zero unless it is paused.
type Stats = driver.Stats

// GroupStats is how many jobs of a group are Unfinished, Succeeded, Failed and Cancelled, each up
// to StatsLimit+1: see [Client.GroupStats].
type GroupStats = driver.GroupStats

// SearchWindow is how many jobs one [Client.Search] reads at most.
const SearchWindow = driver.SearchWindow

// StatsLimit is where [Client.Stats] stops counting: StatsLimit+1 means "more".
const StatsLimit = driver.StatsLimit
