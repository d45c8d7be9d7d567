package feedback

import (
	"cmp"
	"errors"
	"time"

	"github.com/google/uuid"
)

// The kinds of [Error], for errors.Is.
var (
	// ErrNotFound: the resource does not exist or belongs to another teacher.
	ErrNotFound = errors.New("not found")
	// ErrInvalid: [Error.Fields] lists the invalid fields.
	ErrInvalid = errors.New("invalid")
	// ErrNoActiveSession: the student has no active session.
	ErrNoActiveSession = errors.New("no active session")
	// ErrSessionCompleted: a record has completed the session; it can no longer be changed.
	ErrSessionCompleted = errors.New("session completed")
	// ErrStale: the session, the record or the text has changed since the caller read it.
	ErrStale = errors.New("stale version")
	// ErrLessonInProgress: [Error.LessonID] is a lesson of the session that is still recording.
	ErrLessonInProgress = errors.New("lesson in progress")
	// ErrKeyReused: the idempotency key was used for another request.
	ErrKeyReused = errors.New("idempotency key reused")
	// ErrSequenceTaken: the lesson has other audio with this sequence number.
	ErrSequenceTaken = errors.New("sequence taken")
	// ErrInProgress: the segment is queued or being transcribed.
	ErrInProgress = errors.New("transcription in progress")
	// ErrAudioDeleted: the recording was deleted because of its age.
	ErrAudioDeleted = errors.New("recording deleted")
	// ErrNothingTranscribed: there is no transcript to summarize.
	ErrNothingTranscribed = errors.New("nothing transcribed")
	// ErrNothingToReport: there are no records to report on.
	ErrNothingToReport = errors.New("nothing to report")
	// ErrAudioEmpty: the recording is empty.
	ErrAudioEmpty = errors.New("empty audio")
	// ErrAudioTooLarge: the recording exceeds the size limit.
	ErrAudioTooLarge = errors.New("audio too large")
	// ErrAudioType: the content is not audio of a supported type.
	ErrAudioType = errors.New("unsupported audio type")
	// ErrUpload: reading the recording from the caller failed.
	ErrUpload = errors.New("upload failed")
	// ErrSummary: the summary could not be generated.
	ErrSummary = errors.New("summary failed")
	// ErrNoOutbox: the store has no outbox for background work, so that it cannot take recordings.
	ErrNoOutbox = errors.New("no outbox")
	// ErrUnavailable: the database cannot be reached or is overloaded.
	ErrUnavailable = errors.New("database unavailable")
	// ErrStorage: the audio store cannot be written or read.
	ErrStorage = errors.New("audio storage unavailable")
	// ErrStorageFull: the audio store has no space for another recording, or the store for more
	// text.
	ErrStorageFull = errors.New("storage full")
	// ErrLimit: the teacher has reached one of the [Limits]; [Error.After] tells until when.
	ErrLimit = errors.New("limit reached")
	// ErrSuperseded: another attempt has taken the segment over; nothing was changed.
	ErrSuperseded = errors.New("superseded by another attempt")
)

// Error is a failure that the caller can act on.
type Error struct {
	Kind     error        // one of this package's Err variables
	Message  string       // can be shown to the caller
	Fields   []FieldError // with ErrInvalid
	LessonID uuid.UUID    // with ErrLessonInProgress

	After time.Duration // with ErrLimit: how long the limit lasts; with ErrStorage: instead of 5 s
	Err   error         // the cause, for logs only; may be nil
}

// FieldError describes an invalid field.
type FieldError struct {
	Field   string // in snake_case, as in "start_time"
	Message string

	// Code is a stable word for what people often get wrong: too_long, too_many, not_after_start,
	// unknown_placeholder, brace_not_closed, text_missing or text_repeated. Otherwise it is empty.
	Code  string
	Limit int // with too_long and too_many
	Line  int // of a text or a list, from 1; 0 if it is the whole field
}

// Error returns the message (or the kind, if there is none), the fields and the cause.
func (e *Error) Error() string {
	text := e.Message
	if text == "" {
		text = e.Kind.Error()
	}
	for _, f := range e.Fields {
		text += "; " + f.Field + " " + f.Message
	}
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap returns the kind and the cause.
func (e *Error) Unwrap() []error {
	if e.Err == nil {
		return []error{e.Kind}
	}
	return []error{e.Kind, e.Err}
}

// RetryAfter returns how long to wait before trying again if a limit is reached or a database or an
// audio store is unavailable or full, and 0 for other kinds.
func (e *Error) RetryAfter() time.Duration {
	switch e.Kind {
	case ErrUnavailable, ErrStorage:
		return cmp.Or(e.After, 5*time.Second)
	case ErrStorageFull:
		return time.Minute
	}
	return e.After
}

// NotFound returns an [*Error] of kind ErrNotFound; what names the kind of resource.
func NotFound(what string) error {
	return &Error{Kind: ErrNotFound, Message: what + " not found"}
}

// Invalid returns an [*Error] of kind ErrInvalid with one field.
func Invalid(field, format string, args ...any) error {
	var v validator
	v.fail(field, format, args...)
	return v.err()
}

// isPermanent reports whether another attempt cannot help.
func isPermanent(err error) bool {
	var e interface{ Permanent() bool }
	return errors.As(err, &e) && e.Permanent()
}

// retryAfter returns how long a resource is unavailable, or 0 if the failure is of another kind.
func retryAfter(err error) time.Duration {
	var e interface{ RetryAfter() time.Duration }
	if errors.As(err, &e) {
		return e.RetryAfter()
	}
	return 0
}

// isSuspect reports whether the recording may have made the transcriber stop or hang.
func isSuspect(err error) bool {
	var e interface{ Suspect() bool }
	return errors.As(err, &e) && e.Suspect()
}
