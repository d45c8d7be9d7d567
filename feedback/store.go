package feedback

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// Store keeps the rows. Every method is one atomic step that is durable when
// it returns nil. A row of another teacher is treated as absent. A database
// that is away is an [*Error] of the kind [ErrUnavailable]. Times are UTC to
// the microsecond. Implementations are safe for concurrent use, also by
// several processes; package feedbacktest checks them.
type Store interface {
	ProfileStore
	RecordStore
	SessionStore
	SegmentStore
	TranscriptionStore
}

// ProfileStore keeps profiles and defaults.
type ProfileStore interface {
	// Defaults returns what the teacher saved, or [ErrNotFound].
	Defaults(ctx context.Context, teacher uuid.UUID) (Defaults, error)
	// SaveDefaults inserts or replaces.
	SaveDefaults(ctx context.Context, teacher uuid.UUID, d Defaults, at time.Time) error

	InsertProfile(ctx context.Context, p Profile) error
	// ReplaceProfile replaces all but the identifiers and CreatedAt, and
	// returns the result, or [ErrNotFound].
	ReplaceProfile(ctx context.Context, p Profile) (Profile, error)
	// Profile returns one profile, or [ErrNotFound].
	Profile(ctx context.Context, teacher, id uuid.UUID) (Profile, error)
	// Profiles returns up to limit profiles in the order of name (by code
	// point), then identifier, beginning after a key where one is given.
	Profiles(ctx context.Context, teacher uuid.UUID, f ProfileFilter, after *ProfileKey, limit int) ([]Profile, error)
	// DeleteProfile removes a profile with its records, sessions, lessons and
	// segments, and hands the outbox a [TaskDeleteAudio] for every recording.
	DeleteProfile(ctx context.Context, teacher, id uuid.UUID) error
}

// ProfileKey is a place in the list of profiles.
type ProfileKey struct {
	Name string
	ID   uuid.UUID
}

// RecordStore keeps records.
type RecordStore interface {
	// InsertRecord fails with [ErrInvalid] naming profile_id or
	// feedback_session_id unless the profile is the teacher's and the session
	// that profile's. A session becomes completed.
	InsertRecord(ctx context.Context, r Record) error
	// Records returns up to limit records, newest date first, then newest
	// created, then greatest identifier, beginning after a key where one is given.
	Records(ctx context.Context, teacher uuid.UUID, f RecordFilter, after *RecordKey, limit int) ([]Record, error)
	// DeleteRecord removes one record, or fails with [ErrNotFound].
	DeleteRecord(ctx context.Context, teacher, id uuid.UUID) error
}

// RecordKey is a place in the list of records.
type RecordKey struct {
	Date      string
	CreatedAt time.Time
	ID        uuid.UUID
}

// SessionStore keeps sessions and lessons. Every change raises the session's
// revision by at least one and stamps it on the lesson or segment that
// changed; changes of one session never overlap.
type SessionStore interface {
	// OpenSession returns the profile's active session whole (created false)
	// or inserts s. Concurrent calls agree on one. A profile that is not the
	// teacher's is [ErrInvalid] naming profile_id.
	OpenSession(ctx context.Context, s Session) (_ Session, created bool, err error)
	// ActiveSession returns the profile's active session whole, or [ErrNoActiveSession].
	ActiveSession(ctx context.Context, teacher, profile uuid.UUID) (Session, error)
	// Session returns a session whole, or [ErrNotFound].
	Session(ctx context.Context, teacher, id uuid.UUID) (Session, error)
	// EditSession applies an edit, raises the version and returns the session
	// whole. [ErrSessionCompleted], [ErrStale] and [ErrNotFound] change nothing.
	EditSession(ctx context.Context, teacher, id uuid.UUID, e SessionEdit, at time.Time) (Session, error)
	// SaveGenerated stores a summary. [ErrSessionCompleted] changes nothing.
	SaveGenerated(ctx context.Context, teacher, id uuid.UUID, text string, at time.Time) error
	// Changes returns the lessons and segments whose revision is greater than
	// since, by revision, and the session's own revision.
	Changes(ctx context.Context, teacher, session uuid.UUID, since int64) (_ []Event, revision int64, err error)

	// StartLesson inserts l with the next number. A lesson that still records
	// is [ErrLessonInProgress], a completed session [ErrSessionCompleted].
	StartLesson(ctx context.Context, teacher uuid.UUID, l Lesson) (Lesson, error)
	// Lesson returns a lesson with its segments, or [ErrNotFound].
	Lesson(ctx context.Context, teacher, id uuid.UUID) (Lesson, error)
	// EditLesson finishes a lesson or marks it applied; what it is already
	// stays as it was. It returns the lesson with its segments.
	EditLesson(ctx context.Context, teacher, id uuid.UUID, e LessonEdit, at time.Time) (Lesson, error)
}

// LessonEdit is a change of a lesson.
type LessonEdit struct{ Finish, Apply bool }

// SegmentStore keeps the segments of lessons.
type SegmentStore interface {
	// SessionOf returns the session of a lesson, or [ErrNotFound].
	SessionOf(ctx context.Context, teacher, lesson uuid.UUID) (uuid.UUID, error)
	// InsertSegment inserts s in the state queued and hands the outbox a
	// [TaskTranscribe] in the same transaction. Each task of a segment has a
	// Round of its own, greater than those before. With next, the sequence is
	// one more than the lesson's greatest. The same audio (by SHA-256) under
	// the same sequence, or with next anywhere in the lesson, is the existing
	// segment, returned with created false; other audio under a taken
	// sequence is [ErrSequenceTaken].
	InsertSegment(ctx context.Context, s Segment, next bool) (_ Segment, created bool, err error)
	// Segment returns one segment, or [ErrNotFound].
	Segment(ctx context.Context, teacher, id uuid.UUID) (Segment, error)
	// RetrySegment puts a failed segment back into the state queued, with no
	// attempts and no error, and hands the outbox a [TaskTranscribe]. Any
	// other state is [ErrNotFailed].
	RetrySegment(ctx context.Context, teacher, id uuid.UUID, at time.Time) (Segment, error)
}

// TranscriptionStore serves the background work, which knows no teacher.
type TranscriptionStore interface {
	// BeginTranscription puts a segment that is queued or transcribing into
	// the state transcribing under a token, and returns it. A segment in
	// another state is returned as it is: there is nothing to do. [ErrNotFound]
	// where it was deleted.
	BeginTranscription(ctx context.Context, id uuid.UUID, token string, attempts int, at time.Time) (Segment, error)
	// EndTranscription leaves the state transcribing, provided that the segment
	// is in it under this token; [ErrSuperseded] otherwise.
	EndTranscription(ctx context.Context, id uuid.UUID, token string, o Outcome, at time.Time) (Segment, error)
	// AbandonTranscription fails a segment that is queued or transcribing in
	// this round, whatever its token. A segment in another state or a later
	// round is returned as it is.
	AbandonTranscription(ctx context.Context, id uuid.UUID, round int64, message string, at time.Time) (Segment, error)
	// RequeueStuck puts the segments that have been transcribing since before a
	// time back to queued, each with a [TaskTranscribe] for the outbox, and
	// returns them.
	RequeueStuck(ctx context.Context, before, at time.Time) ([]Segment, error)
	// AudioInUse returns those of the keys that a segment names.
	AudioInUse(ctx context.Context, keys []string) ([]string, error)
}

// Outcome is how a transcription ended.
type Outcome struct {
	State    SegmentState  // transcribed, failed, or queued to be tried again
	Text     string        // with transcribed
	Duration time.Duration // replaces the segment's where above 0
	Error    string        // with failed and queued
	Attempts int           // that counted
}
