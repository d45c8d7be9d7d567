package sqlstore

import (
	"context"
	"database/sql"
	"slices"
	"time"

	"github.com/google/uuid"

	"lessonkit.example/feedback"
	"lessonkit.example/internal/db"
)

const segmentColumns = `segment_id, lesson_id, session_id, teacher_id, sequence, state, text, error, attempts,
	audio_key, duration_ms, size_bytes, sha256, content_type, created_at, transcribed_at, revision, suspicions,
	recognizer_task, audio_deleted_at, error_code, details, edited_text, version,
	retry_language`

func scanSegment(r row) (feedback.Segment, error) { return scanSegmentAnd(r) }

// scanSegmentAnd scans segmentColumns and then further columns into more.
func scanSegmentAnd(r row, more ...any) (feedback.Segment, error) {
	var s feedback.Segment
	var milliseconds int64
	err := r.Scan(append([]any{&s.ID, &s.LessonID, &s.SessionID, &s.TeacherID, &s.Sequence,
		&s.State, &s.Text, &s.Error, &s.Attempts, &s.AudioKey, &milliseconds, &s.Size, &s.SHA256, &s.ContentType,
		(*db.Time)(&s.CreatedAt), (*db.Time)(&s.TranscribedAt), &s.Revision, &s.Suspicions,
		&s.RecognizerTask, (*db.Time)(&s.AudioDeletedAt), &s.ErrorCode, &s.Details,
		&s.EditedText, &s.Version, &s.RetryLanguage}, more...)...)
	s.Duration = time.Duration(milliseconds) * time.Millisecond
	return s, err
}

func textOfSegment(s feedback.Segment) int {
	size := len(s.Text) + len(s.Details) + len(s.Error)
	if s.EditedText != nil {
		size += len(*s.EditedText)
	}
	return size
}

var errSegment = feedback.NotFound("segment")

// InsertSegment inserts n as queued, adds it to the teacher's usage and gives the outbox a
// [feedback.TaskTranscribe], in one transaction. If next is set, the sequence is one more than the
// lesson's greatest. If the same audio (by SHA-256) is there under the same sequence, or with next
// anywhere in the lesson, it returns that segment and created false; if other audio is there under
// the sequence, it fails with [feedback.ErrSequenceTaken]. A completed session takes no other
// audio: [feedback.ErrSessionCompleted].
func (s *Store) InsertSegment(
	ctx context.Context, n feedback.Segment, next bool,
) (stored feedback.Segment, created bool, err error) {
	err = s.update(ctx, "insert segment", func(ctx context.Context, tx *sql.Tx) error {
		session, err := lockLesson(ctx, tx, n.TeacherID, n.LessonID, n.CreatedAt)
		if err != nil {
			return err
		}
		same, err := sameSegment(ctx, tx, n, next)
		if err != nil {
			return err
		}
		if created = len(same) == 0; !created {
			stored = same[0]
			return nil
		}
		if err := checkActive(session); err != nil {
			return err
		}
		stored = n
		if next {
			if stored.Sequence, err = nextSequence(ctx, tx, n.LessonID); err != nil {
				return err
			}
		}
		stored.State, stored.Revision = feedback.SegmentQueued, session.Revision
		turn, err := nextTurn(ctx, tx, stored, n.CreatedAt)
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `
			insert into feedback_segments (`+segmentColumns+`, changed_at, round, turn)
			values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18,
				$19, $20, $21, $22, $23, $24, $25, $26, $27, $28)`,
			stored.ID, stored.LessonID, stored.SessionID, stored.TeacherID, stored.Sequence,
			string(stored.State), stored.Text, stored.Error, stored.Attempts, stored.AudioKey,
			stored.Duration.Milliseconds(), stored.Size, stored.SHA256, stored.ContentType,
			db.Time(stored.CreatedAt), db.Time(stored.TranscribedAt), stored.Revision,
			stored.Suspicions, stored.RecognizerTask, db.Time(stored.AudioDeletedAt),
			stored.ErrorCode, stored.Details, stored.EditedText, stored.Version, stored.RetryLanguage,
			db.Time(stored.CreatedAt), stored.Revision,
			db.Time(turn)); err != nil {
			return err
		}
		if err := s.enqueue(ctx, tx, stored, stored.Revision, turn); err != nil {
			return err
		}
		_, err = addUsage(ctx, tx, stored.TeacherID, feedback.Usage{Segments: 1, Bytes: stored.Size}, stored.CreatedAt)
		return err
	})
	return stored, created && err == nil, err
}

// sameSegment returns the segment with the audio of n, if the lesson has one under the same
// sequence or, with next, under any.
func sameSegment(ctx context.Context, tx *sql.Tx, n feedback.Segment, next bool) ([]feedback.Segment, error) {
	const from = `select ` + segmentColumns + ` from feedback_segments where lesson_id = $1 and `
	if next {
		return all(ctx, tx, scanSegment, from+`sha256 = $2 order by sequence limit 1`, n.LessonID, n.SHA256)
	}
	same, err := all(ctx, tx, scanSegment, from+`sequence = $2`, n.LessonID, n.Sequence)
	if len(same) > 0 && same[0].SHA256 != n.SHA256 {
		return nil, &feedback.Error{Kind: feedback.ErrSequenceTaken,
			Message: "the lesson has other audio with this sequence number"}
	}
	return same, err
}

func nextSequence(ctx context.Context, tx *sql.Tx, lesson uuid.UUID) (int, error) {
	n, err := one(ctx, tx, nil, scanValue[int],
		`select coalesce(max(sequence), -1) + 1 from feedback_segments where lesson_id = $1`, lesson)
	if n > feedback.MaxSequence {
		return 0, feedback.Invalid("sequence", "has reached %d, the greatest of a lesson", feedback.MaxSequence)
	}
	return n, err
}

// Segments returns up to limit segments of a lesson by sequence, after a sequence (negative: from
// the first), and whether there are more. It returns fewer, but at least one, if they have more
// than [feedback.MaxPageText] bytes of text.
func (s *Store) Segments(
	ctx context.Context, teacher, lesson uuid.UUID, after, limit int,
) (segments []feedback.Segment, more bool, err error) {
	if _, err := lessonSession(ctx, s.db, teacher, lesson); err != nil {
		return nil, false, wrap("list segments", err)
	}
	segments, more, err = upTo(ctx, s.db, limit, scanSegment, textOfSegment, `
		select `+segmentColumns+` from feedback_segments where lesson_id = $1 and sequence > $2
		order by sequence limit $3`, lesson, after, limit+1)
	return segments, more, wrap("list segments", err)
}

// Segment returns one segment, or [feedback.ErrNotFound].
func (s *Store) Segment(ctx context.Context, teacher, id uuid.UUID) (feedback.Segment, error) {
	g, err := one(ctx, s.db, errSegment, scanSegment,
		`select `+segmentColumns+` from feedback_segments where segment_id = $1 and teacher_id = $2`, id, teacher)
	return g, wrap("read segment", err)
}

// EditSegment replaces the edited text of a segment, increases its version and adds the growth of
// the text to the teacher's usage. It fails with [feedback.ErrNotFound], or with
// [feedback.ErrStale] if the edit names versions and the segment has none of them.
func (s *Store) EditSegment(
	ctx context.Context, teacher, id uuid.UUID, e feedback.SegmentEdit, at time.Time,
) (feedback.Segment, error) {
	return s.editSegment(ctx, "edit segment", id, at, func(ctx context.Context, tx *sql.Tx, g *segment) error {
		if g.TeacherID != teacher {
			return errSegment
		}
		if e.IfVersion != nil && !slices.Contains(e.IfVersion, g.Version) {
			return &feedback.Error{Kind: feedback.ErrStale,
				Message: "the text has changed since it was read; read it again"}
		}
		before := ""
		if g.EditedText != nil {
			before = *g.EditedText
		}
		g.EditedText = e.Text
		g.Version++
		if e.Text == nil {
			return nil
		}
		_, err := addUsage(ctx, tx, teacher, growth(before, *e.Text), at)
		return err
	})
}

// RetrySegment puts a transcribed or failed segment back to queued, without attempts, suspicions
// and error, adds it to the teacher's usage and gives the outbox a [feedback.TaskTranscribe] of a
// greater round. Its texts stay; RecognizerTask stays if RetryLanguage was the same. It fails with
// [feedback.ErrInProgress] in other states, and with [feedback.ErrAudioDeleted].
func (s *Store) RetrySegment(
	ctx context.Context, teacher, id uuid.UUID, language string, at time.Time,
) (feedback.Segment, error) {
	return s.editSegment(ctx, "retry segment", id, at, func(ctx context.Context, tx *sql.Tx, g *segment) error {
		switch {
		case g.TeacherID != teacher:
			return errSegment
		case isWaiting(g.Segment):
			return &feedback.Error{Kind: feedback.ErrInProgress,
				Message: "the segment is " + string(g.State) + " already"}
		case !g.AudioDeletedAt.IsZero():
			return errAudioDeleted
		}
		g.ask(language)
		if err := s.requeue(ctx, tx, g, at); err != nil {
			return err
		}
		_, err := addUsage(ctx, tx, teacher, feedback.Usage{Segments: 1}, at)
		return err
	})
}

var errAudioDeleted = &feedback.Error{Kind: feedback.ErrAudioDeleted,
	Message: "the recording was deleted because of its age: it cannot be transcribed again"}

// RetryLesson does what RetrySegment does for all segments of a lesson for which that would not
// fail, in one transaction. It fails with [feedback.ErrAudioDeleted] if that would fail for all for
// that reason.
func (s *Store) RetryLesson(
	ctx context.Context, teacher, id uuid.UUID, language string, at time.Time,
) (retried feedback.Lesson, err error) {
	err = s.update(ctx, "retry lesson", func(ctx context.Context, tx *sql.Tx) error {
		session, err := lockLesson(ctx, tx, teacher, id, at)
		if err != nil {
			return err
		}
		finished, err := all(ctx, tx, scanEdited, selectEdited+`
			where lesson_id = $1 and state in ('transcribed', 'failed') order by sequence`, id)
		if err != nil {
			return err
		}
		with := slices.DeleteFunc(slices.Clone(finished), func(g segment) bool { return !g.AudioDeletedAt.IsZero() })
		if len(with) == 0 && len(finished) > 0 {
			return errAudioDeleted
		}
		for i := range with {
			g := &with[i]
			g.newRevision = session.Revision + int64(i) // each of its own, by which changes are paged
			g.ask(language)
			if err := s.requeue(ctx, tx, g, at); err != nil {
				return err
			}
			if err := save(ctx, tx, g, at); err != nil {
				return err
			}
		}
		if _, err := tx.ExecContext(ctx, `update feedback_sessions set revision = revision + $2 where session_id = $1`,
			session.ID, len(with)); err != nil {
			return err
		}
		if _, err := addUsage(ctx, tx, teacher, feedback.Usage{Segments: len(with)}, at); err != nil {
			return err
		}
		retried, err = lesson(ctx, tx, teacher, id)
		return err
	})
	return retried, err
}
