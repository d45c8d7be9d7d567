package asr

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// The classes of error that callers branch on, found with errors.Is.
var (
	// ErrUnavailable: the recogniser is away, loading, busy or slow. Trying again later costs nothing.
	ErrUnavailable = errors.New("the recogniser is not available")
	// ErrUnusableAudio: this recording cannot be recognised: not audio, damaged, empty, too long or too large. Permanent.
	ErrUnusableAudio = errors.New("the audio cannot be used")
	// ErrMisconfigured: a setting is wrong (address, key, model, parameter). An operator must act; the recording can wait.
	ErrMisconfigured = errors.New("the recogniser is misconfigured")
	// ErrRefused: the provider refuses the account (quota used up, overdue, service not enabled). An operator must
	// act; the recording can wait.
	ErrRefused = errors.New("the account is refused")
)

// Waiting times that an Error of each class reports when it carries none of its own.
const (
	unavailableDelay   = 15 * time.Second
	misconfiguredDelay = time.Minute
	refusedDelay       = 10 * time.Minute
)

// Error is the error of a recogniser. Its text and its fields hold no secret and no address with one.
type Error struct {
	// Class is ErrUnavailable, ErrUnusableAudio, ErrMisconfigured or ErrRefused. Nil: an ordinary failure, which may
	// be the recording's fault or the recogniser's, so that attempts must be counted.
	Class error
	// Op is what was being done: "local"; "cloud", or its interface: "flash", "task", "sentence"; "command", "ffmpeg", or the
	// name of the program that was run.
	Op string
	// Message says what is wrong in words fit for an operator or the owner of the recording: the provider's own, cut to 200 bytes.
	Message string
	// Code is the provider's error code, or "". Status is the HTTP status of its answer, or 0.
	Code   string
	Status int
	// After is how long to wait before trying again. 0 means the usual time of the class.
	After time.Duration
	// Final marks an error of the class ErrMisconfigured that trying again cannot cure (a parameter that the provider does not take).
	Final bool
	// Err is the cause, for logs, or nil.
	Err error
}

// Error returns the operation, the class, the provider's message and the cause.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("recognize")
	if e.Op != "" {
		b.WriteString(" (" + e.Op + ")")
	}
	if e.Class != nil {
		b.WriteString(": " + e.Class.Error())
	}
	if e.Message != "" {
		b.WriteString(": " + e.Message)
	}
	switch {
	case e.Code != "" && e.Status != 0:
		fmt.Fprintf(&b, " (code %s, HTTP %d)", e.Code, e.Status)
	case e.Code != "":
		fmt.Fprintf(&b, " (code %s)", e.Code)
	case e.Status != 0:
		fmt.Fprintf(&b, " (HTTP %d)", e.Status)
	}
	if e.Err != nil {
		b.WriteString(": " + e.Err.Error())
	}
	return b.String()
}

// Unwrap gives the class and the cause to errors.Is and errors.As.
func (e *Error) Unwrap() []error {
	var errs []error
	if e.Class != nil {
		errs = append(errs, e.Class)
	}
	if e.Err != nil {
		errs = append(errs, e.Err)
	}
	return errs
}

// Permanent tells that trying again cannot help. An error without a class says what its cause says: a recording that is gone,
// for one, cannot be opened by any attempt.
func (e *Error) Permanent() bool {
	var cause interface{ Permanent() bool }
	return e.Class == ErrUnusableAudio || e.Final || e.Class == nil && errors.As(e.Err, &cause) && cause.Permanent()
}

// RetryAfter tells how long to wait before trying again where the failure is not the recording's fault. 0: it may be; count an attempt.
func (e *Error) RetryAfter() time.Duration {
	if e.Permanent() || e.Class == nil {
		return 0
	}
	if e.After > 0 {
		return e.After
	}
	switch e.Class {
	case ErrMisconfigured:
		return misconfiguredDelay
	case ErrRefused:
		return refusedDelay
	}
	return unavailableDelay
}

// PublicText is what the owner of the recording may read: the message without the cause, or the public text of a cause that has one.
func (e *Error) PublicText() string {
	var cause interface{ PublicText() string }
	switch {
	case e.Class == nil && errors.As(e.Err, &cause):
		return cause.PublicText()
	case e.Class == ErrUnusableAudio && e.Message != "":
		return e.Class.Error() + ": " + e.Message
	case e.Class != nil:
		return e.Class.Error()
	}
	return "the recogniser failed"
}
