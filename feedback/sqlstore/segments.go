package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/google/uuid"

	"lessonkit.example/feedback"
	"lessonkit.example/internal/sqldb"
)

const segmentColumns = `segment_id, lesson_id, session_id, teacher_id, sequence, state, text, error, attempts, audio_key, duration_ms, size_bytes, sha256, content_type, created_at, transcribed_at, revision`

func scanSegment(r row) (feedback.Segment, error) {
	var s feedback.Segment
	var duration int64
	var created, transcribed sqldb.Time
	err := r.Scan(&s.ID, &s.LessonID, &s.SessionID, &s.TeacherID, &s.Sequence, &s.State, &s.Text, &s.Error, &s.Attempts,
		&s.AudioKey, &duration, &s.Size, &s.SHA256, &s.ContentType, &created, &transcribed, &s.Revision)
	s.Duration = time.Duration(duration) * time.Millisecond
	s.CreatedAt, s.TranscribedAt = created.Time, transcribed.Time
	return s, err
}

var errSegment = feedback.NotFound("segment")

// errExists carries an existing segment out of a transaction that is to be rolled back.
var errExists = &feedback.Error{Message: "the segment exists"}

// InsertSegment implements [feedback.SegmentStore].
func (s *Store) InsertSegment(ctx context.Context, n feedback.Segment, next bool) (out feedback.Segment, created bool, err error) {
	err = s.update(ctx, "insert segment", func(ctx context.Context, tx *sql.Tx) error {
		session, err := touch(ctx, tx, n.TeacherID, n.SessionID, n.CreatedAt)
		if errors.Is(err, errSession) {
			return errLesson
		}
		if err != nil {
			return err
		}
		if _, err := sessionOf(ctx, tx, n.TeacherID, n.LessonID); err != nil {
			return err
		}
		out = n
		if err := place(ctx, tx, &out, next); err != nil {
			return err
		}
		out.State, out.Revision = feedback.SegmentQueued, session.Revision
		if _, err := tx.ExecContext(ctx, `
			insert into feedback_segments (`+segmentColumns+`, changed_at, token)
			values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19)`,
			out.ID, out.LessonID, out.SessionID, out.TeacherID, out.Sequence, string(out.State), out.Text, out.Error, out.Attempts,
			out.AudioKey, out.Duration.Milliseconds(), out.Size, out.SHA256, out.ContentType,
			sqldb.Time{Time: out.CreatedAt}, sqldb.Time{Time: out.TranscribedAt}, out.Revision, sqldb.Time{Time: out.CreatedAt},
			fence(out.Revision, "")); err != nil {
			return err
		}
		return s.hand(ctx, tx, feedback.Task{Kind: feedback.TaskTranscribe, SegmentID: out.ID, Round: out.Revision})
	})
	if errors.Is(err, errExists) {
		return out, false, nil
	}
	return out, err == nil, err
}

// place gives a segment its sequence, or replaces it by the one that is there
// already and returns errExists.
func place(ctx context.Context, tx *sql.Tx, n *feedback.Segment, next bool) error {
	const from = `select ` + segmentColumns + ` from feedback_segments where lesson_id = $1 and `
	var there feedback.Segment
	var err error
	if next {
		there, err = one(ctx, tx, errNoRow, scanSegment, from+`sha256 = $2 order by sequence limit 1`, n.LessonID, n.SHA256)
	} else {
		there, err = one(ctx, tx, errNoRow, scanSegment, from+`sequence = $2`, n.LessonID, n.Sequence)
	}
	switch {
	case err == nil && there.SHA256 != n.SHA256:
		return &feedback.Error{Kind: feedback.ErrSequenceTaken, Message: "the lesson has other audio under this sequence number"}
	case err == nil:
		*n = there
		return errExists
	case !errors.Is(err, errNoRow):
		return err
	case !next:
		return nil
	}
	n.Sequence, err = one(ctx, tx, errNoRow, func(r row) (n int, err error) { return n, r.Scan(&n) },
		`select coalesce(max(sequence), -1) + 1 from feedback_segments where lesson_id = $1`, n.LessonID)
	if err == nil && n.Sequence > feedback.MaxSequence {
		return feedback.Invalid("sequence", "has reached %d, the last one of a lesson", feedback.MaxSequence)
	}
	return err
}

// Segment implements [feedback.SegmentStore].
func (s *Store) Segment(ctx context.Context, teacher, id uuid.UUID) (feedback.Segment, error) {
	g, err := one(ctx, s.read(), errSegment, scanSegment,
		`select `+segmentColumns+` from feedback_segments where segment_id = $1 and teacher_id = $2`, id, teacher)
	return g, wrap("read segment", err)
}

// RetrySegment implements [feedback.SegmentStore].
func (s *Store) RetrySegment(ctx context.Context, teacher, id uuid.UUID, at time.Time) (feedback.Segment, error) {
	var g locked
	err := s.update(ctx, "retry segment", func(ctx context.Context, tx *sql.Tx) (err error) {
		if g, err = lockSegment(ctx, tx, id, at); err != nil {
			return err
		}
		if g.TeacherID != teacher {
			return errSegment
		}
		if g.State != feedback.SegmentFailed {
			return &feedback.Error{Kind: feedback.ErrNotFailed, Message: "only a failed segment can be retried; this one is " + string(g.State)}
		}
		return s.requeue(ctx, tx, &g, at)
	})
	return g.Segment, err
}

// requeue makes a segment wait for its first attempt, with a task for it.
func (s *Store) requeue(ctx context.Context, tx *sql.Tx, g *locked, at time.Time) error {
	g.State, g.Error, g.Attempts, g.token, g.round = feedback.SegmentQueued, "", 0, "", g.revision
	if err := g.save(ctx, tx, at); err != nil {
		return err
	}
	return s.hand(ctx, tx, feedback.Task{Kind: feedback.TaskTranscribe, SegmentID: g.ID, Round: g.round})
}
