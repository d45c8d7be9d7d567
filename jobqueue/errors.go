package jobqueue

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"lessonkit.example/jobqueue/driver"
)

// Errors of [Client], and of EnqueueTx, SaveTx and CompleteTx of a store, to be
// tested with errors.Is.
var (
	// ErrNotFound: no job has this id, neither unfinished nor in the history, or no schedule has
	// this name.
	ErrNotFound = driver.ErrNotFound
	// ErrState: the job cannot be cancelled because it is finished, or cannot be retried because it
	// is not failed, cancelled or scheduled.
	ErrState = driver.ErrState
	// ErrDuplicate: the job cannot be retried because another one holds its unique key.
	ErrDuplicate = driver.ErrDuplicate
	// ErrLeaseLost: the worker can no longer assume that it holds the job. CompleteTx and SaveTx
	// return it, and it is the cause (context.Cause) of the handler's context. What the handler
	// returns is ignored.
	ErrLeaseLost = driver.ErrLeaseLost
	// ErrName: the name of a queue, kind, group or schedule, or a key, is not 1 to 200 bytes of
	// UTF-8 without NUL.
	ErrName = driver.ErrName
	// ErrSchema: the tables are missing or of another version; Migrate of the store creates them.
	// A worker's Run returns it too.
	ErrSchema = driver.ErrSchema
	// ErrUnavailable: the database cannot be reached, is stopping or overloaded, or its disk fails.
	// The same call may succeed later. Whether a job was enqueued is then unknown.
	ErrUnavailable = driver.ErrUnavailable
)

// Causes of the end of a handler's context, besides ErrLeaseLost, and of the failure of a job.
var (
	// ErrCancelled is the cause when the job was cancelled, also for an OnFailed callback.
	ErrCancelled = errors.New("jobqueue: job cancelled")
	// ErrTimeout is the cause when the attempt has exceeded its timeout.
	ErrTimeout = errors.New("jobqueue: job timed out")
	// ErrStopped is the cause when the worker stops and WorkerConfig.ShutdownTimeout has passed.
	// The job returns to the queue and the attempt is not counted.
	ErrStopped = errors.New("jobqueue: worker stopped")
	// ErrExpired is the cause for an OnFailed callback when the worker died, or lost its lease,
	// during the last attempt.
	ErrExpired = errors.New("jobqueue: lease expired during the last attempt")
)

var (
	errGoexit = errors.New("jobqueue: the handler called runtime.Goexit")
	errStuck  = fmt.Errorf("%w, and the handler did not return", ErrTimeout)

	errNotCommitted = errors.New("CompleteTx in a transaction that was not committed")
)

// Permanent wraps err so that the job fails at once, without the attempts that are left.
// Permanent(nil) is nil.
//
// Any error with a method Permanent() bool that returns true has the same effect.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return permanentError{err}
}

type permanentError struct{ error }

func (permanentError) Permanent() bool { return true }
func (e permanentError) Unwrap() error { return e.error }

// Snooze returns an error that returns the job to the queue for d, at least a millisecond. The
// attempt is not counted, and the history does not mention it.
//
// Any error with a method RetryAfter() time.Duration that returns more than 0 has the same effect.
func Snooze(d time.Duration) error { return snoozeError(max(d, time.Millisecond)) }

type snoozeError time.Duration

func (e snoozeError) RetryAfter() time.Duration { return time.Duration(e) }
func (e snoozeError) Error() string             { return fmt.Sprintf("jobqueue: snooze for %v", time.Duration(e)) }

type panicError struct {
	value any
	stack string
}

func (e *panicError) Error() string { return fmt.Sprintf("panic: %v", e.value) }

func isPermanent(err error) bool {
	var p interface{ Permanent() bool }
	return errors.As(err, &p) && p.Permanent()
}

func retryAfter(err error) time.Duration {
	var r interface{ RetryAfter() time.Duration }
	if errors.As(err, &r) {
		return r.RetryAfter()
	}
	return 0
}

const maxErrorText = 8 << 10

// cleanText returns s as every engine can store it: valid UTF-8 without NUL, of limited length.
func cleanText(s string) string {
	if len(s) > maxErrorText {
		s = s[:maxErrorText] + "…"
	}
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}
