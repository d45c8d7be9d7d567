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

const lessonColumns = `lesson_id, session_id, number, state, applied, started_at, finished_at, revision`

func scanLesson(r row) (feedback.Lesson, error) {
	var l feedback.Lesson
	var started, finished sqldb.Time
	err := r.Scan(&l.ID, &l.SessionID, &l.Number, &l.State, &l.Applied, &started, &finished, &l.Revision)
	l.StartedAt, l.FinishedAt = started.Time, finished.Time
	return l, err
}

var errLesson = feedback.NotFound("lesson")

// StartLesson implements [feedback.SessionStore].
func (s *Store) StartLesson(ctx context.Context, teacher uuid.UUID, n feedback.Lesson) (out feedback.Lesson, err error) {
	err = s.update(ctx, "start lesson", func(ctx context.Context, tx *sql.Tx) error {
		session, err := touchActive(ctx, tx, teacher, n.SessionID, n.StartedAt)
		if err != nil {
			return err
		}
		last, err := one(ctx, tx, errNoRow, scanLesson,
			`select `+lessonColumns+` from feedback_lessons where session_id = $1 order by number desc limit 1`, n.SessionID)
		switch {
		case err == nil && last.State == feedback.LessonRecording:
			return lessonInProgress(last.ID)
		case err != nil && !errors.Is(err, errNoRow):
			return err
		}
		out = n
		out.Number, out.Revision = last.Number+1, session.Revision
		_, err = tx.ExecContext(ctx, `
			insert into feedback_lessons (`+lessonColumns+`, teacher_id) values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
			out.ID, out.SessionID, out.Number, string(out.State), out.Applied, sqldb.Time{Time: out.StartedAt}, sqldb.Time{}, out.Revision, teacher)
		return err
	})
	return out, err
}

// Lesson implements [feedback.SessionStore].
func (s *Store) Lesson(ctx context.Context, teacher, id uuid.UUID) (feedback.Lesson, error) {
	l, err := lesson(ctx, s.read(), teacher, id)
	return l, wrap("read lesson", err)
}

func lesson(ctx context.Context, q querier, teacher, id uuid.UUID) (feedback.Lesson, error) {
	l, err := one(ctx, q, errLesson, scanLesson,
		`select `+lessonColumns+` from feedback_lessons where lesson_id = $1 and teacher_id = $2`, id, teacher)
	if err != nil {
		return l, err
	}
	l.Segments, err = all(ctx, q, scanSegment,
		`select `+segmentColumns+` from feedback_segments where lesson_id = $1 order by sequence`, id)
	return l, err
}

// SessionOf implements [feedback.SegmentStore].
func (s *Store) SessionOf(ctx context.Context, teacher, lesson uuid.UUID) (uuid.UUID, error) {
	id, err := sessionOf(ctx, s.read(), teacher, lesson)
	return id, wrap("find session", err)
}

// sessionOf finds the session whose row must be touched before the lesson is read for changing.
func sessionOf(ctx context.Context, q querier, teacher, lesson uuid.UUID) (uuid.UUID, error) {
	return one(ctx, q, errLesson, func(r row) (id uuid.UUID, err error) { return id, r.Scan(&id) },
		`select session_id from feedback_lessons where lesson_id = $1 and teacher_id = $2`, lesson, teacher)
}

// EditLesson implements [feedback.SessionStore].
func (s *Store) EditLesson(ctx context.Context, teacher, id uuid.UUID, e feedback.LessonEdit, at time.Time) (out feedback.Lesson, err error) {
	err = s.update(ctx, "edit lesson", func(ctx context.Context, tx *sql.Tx) error {
		sessionID, err := sessionOf(ctx, tx, teacher, id)
		if err != nil {
			return err
		}
		session, err := touch(ctx, tx, teacher, sessionID, at)
		if errors.Is(err, errSession) {
			return errLesson // deleted this moment
		}
		if err != nil {
			return err
		}
		if out, err = lesson(ctx, tx, teacher, id); err != nil {
			return err
		}
		before := out
		if e.Finish && out.State == feedback.LessonRecording {
			out.State, out.FinishedAt = feedback.LessonFinished, at
		}
		out.Applied = out.Applied || e.Apply
		if out.State == before.State && out.Applied == before.Applied {
			return nil
		}
		out.Revision = session.Revision
		_, err = tx.ExecContext(ctx,
			`update feedback_lessons set state = $2, applied = $3, finished_at = $4, revision = $5 where lesson_id = $1`,
			id, string(out.State), out.Applied, sqldb.Time{Time: out.FinishedAt}, out.Revision)
		return err
	})
	return out, err
}
