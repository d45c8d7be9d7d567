package feedback

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
)

// The kinds of [Error], to be found with errors.Is.
var (
	// ErrNotFound: there is no such thing, or it belongs to another teacher.
	ErrNotFound = errors.New("not found")
	// ErrInvalid: fields break a rule; [Error.Fields] names each.
	ErrInvalid = errors.New("invalid")
	// ErrNoActiveSession: the student has no session in progress.
	ErrNoActiveSession = errors.New("no active session")
	// ErrSessionCompleted: the session was completed by a record and changes no more.
	ErrSessionCompleted = errors.New("session completed")
	// ErrStale: the session has changed since the caller read it.
	ErrStale = errors.New("stale version")
	// ErrLessonInProgress: a lesson of the session is still recording; [Error.LessonID] names it.
	ErrLessonInProgress = errors.New("lesson in progress")
	// ErrSequenceTaken: the lesson has other audio under this sequence number.
	ErrSequenceTaken = errors.New("sequence taken")
	// ErrNotFailed: only a failed segment can be retried.
	ErrNotFailed = errors.New("segment has not failed")
	// ErrNothingTranscribed: there is no transcript to make a summary of.
	ErrNothingTranscribed = errors.New("nothing transcribed")
	// ErrAudioEmpty: the recording has no bytes.
	ErrAudioEmpty = errors.New("empty audio")
	// ErrAudioTooLarge: the recording is larger than the limit.
	ErrAudioTooLarge = errors.New("audio too large")
	// ErrAudioType: the content is not audio of a kind that is taken.
	ErrAudioType = errors.New("not audio")
	// ErrUpload: reading the recording from the caller broke off.
	ErrUpload = errors.New("upload broken off")
	// ErrSummary: no summary could be made.
	ErrSummary = errors.New("summary failed")
	// ErrUnavailable: the database cannot be reached or is overloaded.
	ErrUnavailable = errors.New("database unavailable")
	// ErrStorage: the audio store cannot take or give a recording (disk full, device gone).
	ErrStorage = errors.New("audio storage unavailable")
	// ErrSuperseded: another worker took the segment over; nothing was changed.
	ErrSuperseded = errors.New("superseded by another worker")
)

// Error is a failure that the caller can act on.
type Error struct {
	Kind     error        // one of this package's Err… values
	Message  string       // what is wrong and what would be right, fit for the person who asked
	Fields   []FieldError // with ErrInvalid: each field that breaks a rule
	LessonID uuid.UUID    // with ErrLessonInProgress: the lesson that is still recording
	Err      error        // the cause, for logs only; may be nil
}

// FieldError says which rule a field breaks.
type FieldError struct {
	Field   string // in snake_case, as in "start_time"
	Message string
}

// Error returns the message, or the kind where there is none, the fields and the cause.
func (e *Error) Error() string {
	var b strings.Builder
	switch {
	case e.Message != "":
		b.WriteString(e.Message)
	case e.Kind != nil:
		b.WriteString(e.Kind.Error())
	}
	for i, f := range e.Fields {
		sep := "; "
		if i == 0 {
			sep = ": "
		}
		b.WriteString(sep + f.Field + " " + f.Message)
	}
	if e.Err != nil {
		b.WriteString(": " + e.Err.Error())
	}
	return b.String()
}

// Unwrap gives the kind and the cause to errors.Is and errors.As.
func (e *Error) Unwrap() []error {
	var errs []error
	if e.Kind != nil {
		errs = append(errs, e.Kind)
	}
	if e.Err != nil {
		errs = append(errs, e.Err)
	}
	return errs
}

// unavailableDelay is how long to stay away from a database or an audio store
// that is not there.
const unavailableDelay = 5 * time.Second

// RetryAfter is how long to wait before trying again when a database or an
// audio store is away, and 0 for every other kind.
func (e *Error) RetryAfter() time.Duration {
	if e.Kind == ErrUnavailable || e.Kind == ErrStorage {
		return unavailableDelay
	}
	return 0
}

// NotFound returns an [*Error] of the kind ErrNotFound for a thing named what.
func NotFound(what string) error {
	return &Error{Kind: ErrNotFound, Message: "there is no such " + what}
}

// Invalid returns an [*Error] of the kind ErrInvalid with one field.
func Invalid(field, format string, args ...any) error {
	return &Error{Kind: ErrInvalid, Message: "a field breaks a rule",
		Fields: []FieldError{{Field: field, Message: fmt.Sprintf(format, args...)}}}
}

// isPermanent tells by method whether trying again cannot help.
func isPermanent(err error) bool {
	var e interface{ Permanent() bool }
	return errors.As(err, &e) && e.Permanent()
}

// retryAfter tells by method how long what the work needs is away; 0 when the
// failure is an ordinary one.
func retryAfter(err error) time.Duration {
	var e interface{ RetryAfter() time.Duration }
	if errors.As(err, &e) {
		return e.RetryAfter()
	}
	return 0
}

// publicText is what a teacher may read of a transcriber's error.
func publicText(err error) string {
	var e interface{ PublicText() string }
	if errors.As(err, &e) {
		if text := cleanText(e.PublicText()); text != "" {
			return text
		}
	}
	if isPermanent(err) {
		return "the recogniser refused the audio"
	}
	return "the recogniser failed"
}
