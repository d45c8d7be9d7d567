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
type Store interface {
	// Defaults returns what the teacher has saved, or [ErrNotFound].
	Defaults(ctx context.Context, teacher uuid.UUID) (Defaults, error)
	// SaveDefaults inserts or replaces the teacher's defaults.
	SaveDefaults(ctx context.Context, teacher uuid.UUID, d Defaults, at time.Time) error

	// Words returns the teacher's words, most recently used first.
	Words(ctx context.Context, teacher uuid.UUID) ([]string, error)
	// SaveWords replaces the teacher's words, of which no two are equal. The first one counts as
	// the most recently used.
	SaveWords(ctx context.Context, teacher uuid.UUID, words []string, at time.Time) error
	// UseWords adds words of a student's records to the teacher's, or marks those that are there as
	// used, the first one most recently. Beyond [MaxWords], those that have not been used for
	// longest are deleted. It fails with [ErrNotFound] if the student has been deleted meanwhile.
	UseWords(ctx context.Context, teacher, profile uuid.UUID, words []string, at time.Time) error
	// Hints returns what a transcriber should know about recordings of a session: the language of
	// the teacher's defaults, or "", and the words to expect: the student's name, the subject and
	// the teacher's words. Without the session it fails with [ErrNotFound].
	Hints(ctx context.Context, teacher, session uuid.UUID) (language string, words []string, err error)

	// Usage returns what the teacher has used on the day (UTC) of a time.
	Usage(ctx context.Context, teacher uuid.UUID, at time.Time) (Usage, error)
	// AddUsage adds to what the teacher has used on the day (UTC) of a time, and returns the sum.
	// Only the sums of one day are kept: what comes after the next day has begun counts for that.
	AddUsage(ctx context.Context, teacher uuid.UUID, u Usage, at time.Time) (Usage, error)

	// InsertProfile treats the key as InsertRecord does.
	InsertProfile(ctx context.Context, p Profile, key *IdempotencyKey) (Profile, error)
	// ReplaceProfile replaces everything but the identifiers and CreatedAt, and returns the result,
	// or [ErrNotFound].
	ReplaceProfile(ctx context.Context, p Profile) (Profile, error)
	// Profile returns one profile, or [ErrNotFound].
	Profile(ctx context.Context, teacher, id uuid.UUID) (Profile, error)
	// Profiles returns up to limit profiles ordered by name (by code point), then identifier,
	// starting after a key if it is not nil, and whether there are more. It returns fewer, but at
	// least one, if they have more than [MaxPageText] bytes of text.
	Profiles(ctx context.Context, teacher uuid.UUID, f ProfileFilter, after *ProfileKey, limit int) (
		_ []Profile, more bool, err error)
	// DeleteProfile deletes a profile with its records, sessions, lessons and segments and those of
	// the teacher's words that its name contains, and gives the outbox a [TaskDeleteAudio] for each
	// recording whose audio has not expired. On a disk that is full, it may delete records before
	// all else, as may EraseTeacher.
	DeleteProfile(ctx context.Context, teacher, id uuid.UUID) error

	// EraseTeacher deletes everything of a teacher, and gives the outbox the same tasks. If there
	// is an outbox and again is not zero, it is also given a [TaskEraseTeacher] with again as its
	// Turn.
	EraseTeacher(ctx context.Context, teacher uuid.UUID, again time.Time) error

	// InsertRecord fails with [ErrInvalid] on profile_id or feedback_session_id unless the profile
	// is the teacher's and the session is the profile's. The session becomes completed, and the
	// outbox, if there is one, is given a [TaskLearn]. If the session has a record of the same date
	// and content, InsertRecord returns that one and created false.
	//
	// If key is not nil and the teacher has used the key since ExpiredAt, InsertRecord returns what
	// it returned then, unless the record has been deleted; it fails with [ErrKeyReused] if the
	// fingerprint is another. Concurrent calls with one key insert one record.
	InsertRecord(ctx context.Context, r Record, key *IdempotencyKey) (_ Record, created bool, err error)
	// DeleteIdempotencyKeys deletes the keys that were used before a time.
	DeleteIdempotencyKeys(ctx context.Context, before time.Time) error
	// Record returns one record, or [ErrNotFound].
	Record(ctx context.Context, teacher, id uuid.UUID) (Record, error)
	// Records returns up to limit records ordered by date, time of creation and identifier, all
	// descending, starting after a key if it is not nil, and whether there are more. It returns
	// fewer, but at least one, if they have more than [MaxPageText] bytes of text.
	Records(ctx context.Context, teacher uuid.UUID, f RecordFilter, after *RecordKey, limit int) (
		_ []Record, more bool, err error)
	// CountLessons returns how many lessons the sessions of the records have that a filter without
	// a query selects.
	CountLessons(ctx context.Context, teacher uuid.UUID, f RecordFilter) (int, error)
	// EditRecord replaces date and content of one record, and increases its version. It fails with
	// [ErrNotFound], or with [ErrStale] if the edit names versions and the record has none of them.
	// The outbox, if there is one, is given a [TaskLearn] if the record has a session.
	EditRecord(ctx context.Context, teacher, id uuid.UUID, e RecordEdit, at time.Time) (Record, error)
	// DeleteRecord deletes one record, or fails with [ErrNotFound].
	DeleteRecord(ctx context.Context, teacher, id uuid.UUID) error

	// Sessions and lessons are returned with segments up to [MaxPageText] and
	// [MaxSessionSegments]: beginning with the last lesson, each is left out and marked as
	// truncated that would exceed one of them.
	//
	// Every change of a session, its lessons and segments increases the session's revision and
	// sets the revision of the lesson or segment that has changed. Changes of one session are
	// serialized.

	// OpenSession returns the profile's active session with its lessons (created false) or inserts
	// s and adds it to the teacher's usage. Concurrent calls return the same session. If the
	// profile is not the teacher's, it fails with [ErrInvalid] on profile_id.
	OpenSession(ctx context.Context, s Session) (_ Session, created bool, err error)
	// ActiveSession returns the profile's active session with its lessons, or [ErrNoActiveSession].
	ActiveSession(ctx context.Context, teacher, profile uuid.UUID) (Session, error)
	// Session returns a session with its lessons, or [ErrNotFound].
	Session(ctx context.Context, teacher, id uuid.UUID) (Session, error)
	// SessionIDs returns up to limit sessions of a student, ordered by identifier, after one.
	SessionIDs(ctx context.Context, teacher, profile, after uuid.UUID, limit int) ([]uuid.UUID, error)
	// EditSession applies an edit, increases the version and returns the session with its lessons.
	// It changes nothing if it fails with [ErrSessionCompleted], [ErrStale] or [ErrNotFound].
	EditSession(ctx context.Context, teacher, id uuid.UUID, e SessionEdit, at time.Time) (Session, error)
	// SaveGenerated stores a summary, or fails with [ErrSessionCompleted].
	SaveGenerated(ctx context.Context, teacher, id uuid.UUID, text string, at time.Time) error
	// Changes returns the lessons and segments that changed after the revision since, ordered by
	// revision, and the revision up to which they are complete: the session's, or a smaller one
	// if the segments have more than [MaxPageText] bytes of text. At least one is returned if
	// there are any.
	Changes(ctx context.Context, teacher, session uuid.UUID, since int64) (_ []Event, revision int64, err error)
	// Revisions returns the revisions of those sessions that exist, of any teacher.
	Revisions(ctx context.Context, sessions []uuid.UUID) (map[uuid.UUID]int64, error)

	// StartLesson inserts l with the next number. It fails with [ErrLessonInProgress] while another
	// lesson is recording, with [ErrSessionCompleted], and with [ErrInvalid] on session_id if the
	// number exceeds [MaxLessons].
	StartLesson(ctx context.Context, teacher uuid.UUID, l Lesson) (Lesson, error)
	// Lesson returns a lesson with its segments, or [ErrNotFound].
	Lesson(ctx context.Context, teacher, id uuid.UUID) (Lesson, error)
	// LessonSession returns the session of a lesson, or [ErrNotFound].
	LessonSession(ctx context.Context, teacher, lesson uuid.UUID) (uuid.UUID, error)
	// EditLesson finishes a lesson or marks it as applied. A lesson that is so already is not
	// changed. It returns the lesson with its segments.
	EditLesson(ctx context.Context, teacher, id uuid.UUID, e LessonEdit, at time.Time) (Lesson, error)

	// InsertSegment inserts s as queued, adds it to the teacher's usage and gives the outbox a
	// [TaskTranscribe], in one transaction. If next is set, the sequence is one more than the
	// lesson's greatest. If the same audio (by SHA-256) is there under the same sequence, or with
	// next anywhere in the lesson, it returns that segment and created false; if other audio is
	// there under the sequence, it fails with [ErrSequenceTaken]. A completed session takes no
	// other audio: [ErrSessionCompleted].
	InsertSegment(ctx context.Context, s Segment, next bool) (_ Segment, created bool, err error)
	// Segments returns up to limit segments of a lesson by sequence, after a sequence (negative:
	// from the first), and whether there are more. It returns fewer, but at least one, if they have
	// more than [MaxPageText] bytes of text.
	Segments(ctx context.Context, teacher, lesson uuid.UUID, after, limit int) (_ []Segment, more bool, err error)
	// Segment returns one segment, or [ErrNotFound].
	Segment(ctx context.Context, teacher, id uuid.UUID) (Segment, error)
	// EditSegment replaces the edited text of a segment, increases its version and adds the growth
	// of the text to the teacher's usage. It fails with [ErrNotFound], or with [ErrStale] if the
	// edit names versions and the segment has none of them.
	EditSegment(ctx context.Context, teacher, id uuid.UUID, e SegmentEdit, at time.Time) (Segment, error)
	// RetrySegment puts a transcribed or failed segment back to queued, without attempts,
	// suspicions and error, adds it to the teacher's usage and gives the outbox a [TaskTranscribe]
	// of a greater round. Its texts stay; RecognizerTask stays if RetryLanguage was the same. It
	// fails with [ErrInProgress] in other states, and with [ErrAudioDeleted].
	RetrySegment(ctx context.Context, teacher, id uuid.UUID, language string, at time.Time) (Segment, error)
	// RetryLesson does that for all segments of a lesson for which it would not fail, in one
	// transaction. It fails with [ErrAudioDeleted] if it would for all for that reason.
	RetryLesson(ctx context.Context, teacher, id uuid.UUID, language string, at time.Time) (Lesson, error)

	// StartTranscription marks a segment as transcribing under a lease token and returns it, also
	// one that has failed or has an error: its task runs again because somebody has retried it in
	// the queue. Another transcribed segment is returned unchanged. It fails with [ErrSuperseded]
	// when a later round of the segment has begun, and with [ErrNotFound].
	StartTranscription(ctx context.Context, id uuid.UUID, round int64, leaseToken string, attempts int,
		at time.Time) (Segment, error)
	// FinishTranscription stores the result of an attempt. A segment that has a text keeps it if
	// the attempt has none, and is transcribed instead of failed. It fails with [ErrSuperseded]
	// unless the segment is transcribing under this lease token.
	FinishTranscription(ctx context.Context, id uuid.UUID, leaseToken string, r TranscriptionResult,
		at time.Time) (Segment, error)
	// SaveRecognizerTask stores a name of the transcriber's, "" for none. It fails with
	// [ErrSuperseded] unless the segment is transcribing under this lease token. The name stays
	// until the segment is transcribed.
	SaveRecognizerTask(ctx context.Context, id uuid.UUID, leaseToken, task string, at time.Time) error
	// FailTranscription marks a segment as failed, or as transcribed if it has a text, that is
	// queued or transcribing in this round, under any lease token. A segment in another state or a
	// later round is returned unchanged. With keepError, code and message do not replace the error
	// of an earlier attempt.
	FailTranscription(ctx context.Context, id uuid.UUID, round int64, code, message string, keepError bool,
		at time.Time) (Segment, error)
	// RequeueStuck puts the segments that have been transcribing since before a time back to
	// queued, each with a [TaskTranscribe] for the outbox, and returns them.
	RequeueStuck(ctx context.Context, before, at time.Time) ([]Segment, error)
	// Unfinished returns the recordings of all teachers that are transcribing, and then those that
	// are queued in the order of [Task.Turn], up to limit in all.
	Unfinished(ctx context.Context, limit int) ([]UnfinishedSegment, error)
	// LastTranscriptions returns up to limit transcriptions of recordings of any teacher, the last
	// one first, without recordings whose duration is unknown.
	LastTranscriptions(ctx context.Context, limit int) ([]TranscriptionTime, error)
	// ExpireAudio marks the audio of up to limit segments that have been transcribed since before a
	// time as expired, gives the outbox a [TaskDeleteAudio] for each, and returns them, also with
	// an error those before it. Concurrent calls return different segments, and one that returns
	// none may have left all to the others.
	ExpireAudio(ctx context.Context, before time.Time, limit int, at time.Time) ([]Segment, error)
	// AudioInUse returns those of the keys that belong to a segment whose audio has not expired.
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
