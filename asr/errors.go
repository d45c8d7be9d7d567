package asr

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// The classes of errors. errors.Is finds them in an *Error.
var (
	// ErrUnavailable means that the recogniser is down, loading or busy, or that it fails with
	// every recording. A later retry costs nothing.
	ErrUnavailable = errors.New("the recogniser is not available")
	// ErrLost means that the recogniser was lost after the recording had been sent to it: the
	// connection broke, or the time ran out. The recording may be the cause.
	ErrLost = errors.New("the recogniser was lost while it worked on the recording")
	// ErrUnusableAudio means that the recording cannot be recognised: it is not audio, damaged,
	// empty, too long or too large. It is permanent.
	ErrUnusableAudio = errors.New("the audio cannot be used")
	// ErrMisconfigured means that a setting is wrong: address, key, model or parameter. An operator
	// must act; the recording can wait.
	ErrMisconfigured = errors.New("the recogniser is misconfigured")
	// ErrRefused means that the provider refuses the account: quota exhausted, overdue or service
	// not enabled. An operator must act; the recording can wait.
	ErrRefused = errors.New("the account is refused")
)

// Error is the error of a recogniser. Its text and its fields contain no secrets.
type Error struct {
	// Class is ErrUnavailable, ErrLost, ErrUnusableAudio, ErrMisconfigured or ErrRefused. Nil means
	// an ordinary failure, which may be the fault of the recording or of the recogniser.
	Class error
	// Op is the operation: "local"; "cloud", or its interface, "flash" or "task"; "command",
	// "ffmpeg", or the name of the program that was run.
	Op string
	// Message describes the failure for an operator or the owner of the recording. A message of the
	// provider is cut to 200 bytes and does not contain what was sent. An answer that is not
	// understood is described by its form and length, because it may be what was said.
	Message string
	// Code is the error code of the provider, or "". Status is the HTTP status of its answer, or 0.
	Code   string
	Status int
	// After is how long to wait before a retry. 0 means the default of the class: 15 seconds, a
	// minute for ErrMisconfigured, ten minutes for ErrRefused.
	After time.Duration
	// Final marks an error of class ErrMisconfigured as permanent: a retry cannot succeed, because
	// the provider does not accept a parameter.
	Final bool
	// Err is the cause, for logs, or nil.
	Err error
}

// Error returns the operation, the class, the message, the codes and the cause.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("recognise")
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

// Unwrap returns the class and the cause.
func (e *Error) Unwrap() []error {
	return slices.DeleteFunc([]error{e.Class, e.Err}, func(err error) bool { return err == nil })
}

// Permanent reports whether retries cannot succeed. For an error without a class, its cause
// decides, such as an error of Audio.Open.
func (e *Error) Permanent() bool {
	var cause interface{ Permanent() bool }
	return e.Class == ErrUnusableAudio || e.Final || e.Class == nil && errors.As(e.Err, &cause) && cause.Permanent()
}

// RetryAfter returns how long to wait before a retry, if the failure is certainly not the fault of
// the recording. Otherwise it returns 0.
func (e *Error) RetryAfter() time.Duration {
	if e.Permanent() || e.Class == nil || e.Class == ErrLost {
		return 0
	}
	if e.After > 0 {
		return e.After
	}
	switch e.Class {
	case ErrMisconfigured:
		return time.Minute
	case ErrRefused:
		return 10 * time.Minute
	}
	return 15 * time.Second
}

// Suspect reports whether the recording may have made the recogniser stop or hang. Such a recording
// should be retried late, alone and a few times only.
func (e *Error) Suspect() bool { return e.Class == ErrLost }

// PublicCode returns PublicText for programs: the public code of a cause that has one, or else
// "recogniser_unavailable", "recogniser_lost", "audio_unusable", "recogniser_misconfigured" or
// "recogniser_account_refused" for the class, "recogniser_failed" without one.
func (e *Error) PublicCode() string {
	var cause interface{ PublicCode() string }
	if errors.As(e.Err, &cause) {
		return cause.PublicCode()
	}
	switch e.Class {
	case ErrUnavailable:
		return "recogniser_unavailable"
	case ErrLost:
		return "recogniser_lost"
	case ErrUnusableAudio:
		return "audio_unusable"
	case ErrMisconfigured:
		return "recogniser_misconfigured"
	case ErrRefused:
		return "recogniser_account_refused"
	}
	return "recogniser_failed"
}

// PublicText returns a description for the owner of the recording: the public text of a cause that
// has one, or else that of the class, with the message for ErrUnusableAudio.
func (e *Error) PublicText() string {
	var cause interface{ PublicText() string }
	switch {
	case errors.As(e.Err, &cause):
		return cause.PublicText()
	case e.Class == ErrUnusableAudio && e.Message != "":
		return e.Class.Error() + ": " + e.Message
	case e.Class != nil:
		return e.Class.Error()
	}
	return "the recogniser failed"
}
