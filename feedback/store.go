package feedback

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// Store keeps everything but the audio. Each method is one atomic operation that is durable when it
// returns nil. Rows of another teacher are treated as absent. A database that cannot be reached is
// reported as an [*Error] of kind [ErrUnavailable]. Times are UTC, in microseconds. Implementations
// are safe for concurrent use, also by several processes.
//
// A store of limited space may have a method CheckSpace(ctx context.Context) error, which fails
// with [ErrStorageFull]: then the service stores nothing that grows, and deletes.
//
// The Store of package sqlstore documents what each method does; what it says of disks and of its
// transactions is not required of others.
type Store interface {
	Defaults(ctx context.Context, teacher uuid.UUID) (Defaults, error)
	SaveDefaults(ctx context.Context, teacher uuid.UUID, d Defaults, at time.Time) error

	Words(ctx context.Context, teacher uuid.UUID) ([]string, error)
	SaveWords(ctx context.Context, teacher uuid.UUID, words []string, at time.Time) error
	UseWords(ctx context.Context, teacher, profile uuid.UUID, words []string, at time.Time) error
	Hints(ctx context.Context, teacher, session uuid.UUID) (language string, words []string, err error)

	Usage(ctx context.Context, teacher uuid.UUID, at time.Time) (Usage, error)
	AddUsage(ctx context.Context, teacher uuid.UUID, u Usage, at time.Time) (Usage, error)

	InsertProfile(ctx context.Context, p Profile, key *IdempotencyKey) (Profile, error)
	ReplaceProfile(ctx context.Context, p Profile) (Profile, error)
	Profile(ctx context.Context, teacher, id uuid.UUID) (Profile, error)
	Profiles(ctx context.Context, teacher uuid.UUID, f ProfileFilter, after *ProfileKey, limit int) (
		_ []Profile, more bool, err error)
	DeleteProfile(ctx context.Context, teacher, id uuid.UUID) error

	EraseTeacher(ctx context.Context, teacher uuid.UUID, again time.Time) error

	InsertRecord(ctx context.Context, r Record, key *IdempotencyKey) (_ Record, created bool, err error)
	DeleteIdempotencyKeys(ctx context.Context, before time.Time) error
	Record(ctx context.Context, teacher, id uuid.UUID) (Record, error)
	Records(ctx context.Context, teacher uuid.UUID, f RecordFilter, after *RecordKey, limit int) (
		_ []Record, more bool, err error)
	CountLessons(ctx context.Context, teacher uuid.UUID, f RecordFilter) (int, error)
	EditRecord(ctx context.Context, teacher, id uuid.UUID, e RecordEdit, at time.Time) (Record, error)
	DeleteRecord(ctx context.Context, teacher, id uuid.UUID) error

	// Sessions and lessons are returned with segments up to [MaxPageText] and
	// [MaxSessionSegments]: beginning with the last lesson, each is left out and marked as
	// truncated that would exceed one of them.
	//
	// Every change of a session, its lessons and segments increases the session's revision and
	// sets the revision of the lesson or segment that has changed. Changes of one session are
	// serialized.

	OpenSession(ctx context.Context, s Session) (_ Session, created bool, err error)
	ActiveSession(ctx context.Context, teacher, profile uuid.UUID) (Session, error)
	Session(ctx context.Context, teacher, id uuid.UUID) (Session, error)
	SessionIDs(ctx context.Context, teacher, profile, after uuid.UUID, limit int) ([]uuid.UUID, error)
	EditSession(ctx context.Context, teacher, id uuid.UUID, e SessionEdit, at time.Time) (Session, error)
	SaveGenerated(ctx context.Context, teacher, id uuid.UUID, text string, at time.Time) error
	Changes(ctx context.Context, teacher, session uuid.UUID, since int64) (_ []Event, revision int64, err error)
	Revisions(ctx context.Context, sessions []uuid.UUID) (map[uuid.UUID]int64, error)

	StartLesson(ctx context.Context, teacher uuid.UUID, l Lesson) (Lesson, error)
	Lesson(ctx context.Context, teacher, id uuid.UUID) (Lesson, error)
	LessonSession(ctx context.Context, teacher, lesson uuid.UUID) (uuid.UUID, error)
	EditLesson(ctx context.Context, teacher, id uuid.UUID, e LessonEdit, at time.Time) (Lesson, error)

	InsertSegment(ctx context.Context, s Segment, next bool) (_ Segment, created bool, err error)
	Segments(ctx context.Context, teacher, lesson uuid.UUID, after, limit int) (_ []Segment, more bool, err error)
	Segment(ctx context.Context, teacher, id uuid.UUID) (Segment, error)
	EditSegment(ctx context.Context, teacher, id uuid.UUID, e SegmentEdit, at time.Time) (Segment, error)
	RetrySegment(ctx context.Context, teacher, id uuid.UUID, language string, at time.Time) (Segment, error)
	RetryLesson(ctx context.Context, teacher, id uuid.UUID, language string, at time.Time) (Lesson, error)

	StartTranscription(ctx context.Context, id uuid.UUID, round int64, leaseToken string, attempts int,
		at time.Time) (Segment, error)
	FinishTranscription(ctx context.Context, id uuid.UUID, leaseToken string, r TranscriptionResult,
		at time.Time) (Segment, error)
	SaveRecognizerTask(ctx context.Context, id uuid.UUID, leaseToken, task string, at time.Time) error
	FailTranscription(ctx context.Context, id uuid.UUID, round int64, code, message string, keepError bool,
		at time.Time) (Segment, error)
	RequeueStuck(ctx context.Context, before, at time.Time) ([]Segment, error)
	Unfinished(ctx context.Context, limit int) ([]UnfinishedSegment, error)
	LastTranscriptions(ctx context.Context, limit int) ([]TranscriptionTime, error)
	ExpireAudio(ctx context.Context, before time.Time, limit int, at time.Time) ([]Segment, error)
	AudioInUse(ctx context.Context, keys []string) ([]string, error)
}

// UnfinishedSegment is what [Store].Unfinished returns of a segment.
type UnfinishedSegment struct {
	ID       uuid.UUID
	State    SegmentState  // transcribing or queued
	Duration time.Duration // 0 if unknown
}

// TranscriptionTime is what [Store].LastTranscriptions returns of a segment.
type TranscriptionTime struct {
	Ended time.Time
	Took  time.Duration // to the millisecond, at least one
	Audio time.Duration // duration of the recording
}

// ProfileKey is a position in the list of profiles.
type ProfileKey struct {
	Name string
	ID   uuid.UUID
}

// RecordKey is a position in the list of records.
type RecordKey struct {
	Date      string
	CreatedAt time.Time
	ID        uuid.UUID
}

// LessonEdit is a change of a lesson.
type LessonEdit struct{ Finish, Apply bool }

// TranscriptionResult is the result of an attempt at a transcription.
type TranscriptionResult struct {
	State    SegmentState  // transcribed, failed, or queued for another attempt
	Text     string        // if transcribed
	Details  string        // if transcribed: see [Segment.Details]
	Duration time.Duration // replaces the segment's if above 0
	Took     time.Duration // how long the recognition took, if transcribed
	Error    string        // if failed or queued; can be shown to the teacher
	Attempts int           // that counted
	// ErrorCode is Error for programs: see [Segment.ErrorCode].
	ErrorCode string
	// Suspicions replaces the segment's.
	Suspicions int
}
