package jobqueue

import "lessonkit.example/jobqueue/driver"

// Job is a job as handlers receive it and package admin returns it: its ID, Queue, Kind, Args, the
// number of its Attempt, and the other fields of [driver.Job]. The Save method stores what the next
// attempt needs. The Token method returns a text unique to this lease of the job: store it with
// what the handler changes elsewhere and check it when finishing, so that a worker that has lost
// its lease changes nothing. Handlers must not change a Job.
type Job = driver.Job

// AttemptError is the error of one failed attempt in [Job].Errors: its number, time and text, and
// the stack of a panic.
type AttemptError = driver.AttemptError

// InsertResult is the result of enqueuing one job: its ID, and whether it is a Duplicate, which
// means that nothing was enqueued because the job of that ID holds the unique key.
type InsertResult = driver.InsertResult
