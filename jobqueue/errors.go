package jobqueue

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

var (
	// ErrNotFound: no job has this id, neither unfinished nor in the history.
	ErrNotFound = errors.New("jobqueue: job not found")
	// ErrFinished: the job has ended already, so it cannot be cancelled.
	ErrFinished = errors.New("jobqueue: job is finished")
	// ErrNotRetryable: only failed, cancelled and scheduled jobs can be retried.
	ErrNotRetryable = errors.New("jobqueue: job cannot be retried in its state")
	// ErrDuplicate: the job cannot be retried because another one holds its unique key now.
	ErrDuplicate = errors.New("jobqueue: another job holds the unique key")
	// ErrSchema: the tables are missing or older than this package; run Migrate of the store.
	ErrSchema = errors.New("jobqueue: schema does not fit")

	// ErrLeaseLost is the cause of a handler's context when the worker may no longer assume that the job is its own.
	// Whatever the handler returns then is ignored. CompleteTx of a store returns it too.
	ErrLeaseLost = errors.New("jobqueue: lease lost")
	// ErrCancelled is the cause of a handler's context when the job was cancelled.
	ErrCancelled = errors.New("jobqueue: job cancelled")
	// ErrTimeout is the cause of a handler's context when the timeout of its kind has passed.
	ErrTimeout = errors.New("jobqueue: job timed out")
	// ErrStopped is the cause of a handler's context when the worker stops and the grace period is over. The job goes
	// back to the queue and keeps the attempt.
	ErrStopped = errors.New("jobqueue: worker stopped")
	// ErrExpired is what a Dead callback receives when the last attempt died with its process.
	ErrExpired = errors.New("jobqueue: lease expired during the last attempt")

	errExited    = errors.New("jobqueue: the handler called runtime.Goexit")
	errAbandoned = fmt.Errorf("%w, and the handler did not return", ErrTimeout)
)

const leaseExpired = "lease expired" // what Sweep of a store notes

// Permanent wraps err so that the job fails at once, whatever attempts are left. Permanent(nil) is nil.
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

// Snooze returns an error that puts the job back for d, at least a millisecond. It costs no attempt and leaves no
// trace in the history.
//
// Any error with a method RetryAfter() time.Duration that returns more than 0 has the same effect.
func Snooze(d time.Duration) error { return snoozeError(max(d, time.Millisecond)) }

type snoozeError time.Duration

func (e snoozeError) RetryAfter() time.Duration { return time.Duration(e) }
func (e snoozeError) Error() string             { return fmt.Sprintf("jobqueue: snooze for %v", time.Duration(e)) }

// panicError is the error of a handler that panicked.
type panicError struct {
	value any
	stack string
}

func (e *panicError) Error() string { return fmt.Sprintf("panic: %v", e.value) }

// isPermanent and retryAfter read errors by method, so that packages need not share a type.
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

// cleanText makes s fit for every engine: valid UTF-8, no NUL, bounded.
func cleanText(s string) string {
	if len(s) > maxErrorText {
		s = s[:maxErrorText] + "…"
	}
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}
