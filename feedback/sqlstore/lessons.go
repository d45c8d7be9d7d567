package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"lessonkit.example/feedback"
	"lessonkit.example/internal/db"
)

const lessonColumns = `lesson_id, session_id, number, state, applied, started_at, finished_at, revision`

func scanLesson(r row) (feedback.Lesson, error) {
	var l feedback.Lesson
	err := r.Scan(&l.ID, &l.SessionID, &l.Number, &l.State, &l.Applied, (*db.Time)(&l.StartedAt),
		(*db.Time)(&l.FinishedAt), &l.Revision)
	return l, err
}

// A lesson is read with the counts and the size of its segments, to see which of them to read.
const (
	selectLessons = `
		select l.lesson_id, l.session_id, l.number, l.state, l.applied, l.started_at, l.finished_at, l.revision,
			count(g.segment_id), count(case g.state when 'queued' then 1 end),
			count(case g.state when 'transcribing' then 1 end), count(case g.state when 'transcribed' then 1 end),
			count(case g.state when 'failed' then 1 end),
			coalesce(sum(octet_length(g.text) + coalesce(octet_length(g.edited_text), 0) + octet_length(g.details)), 0)
		from feedback_lessons l left join feedback_segments g on g.lesson_id = l.lesson_id
		`
	groupLessons = `group by l.lesson_id order by l.number`
)

// sizedLesson is a lesson without its segments.
type sizedLesson struct {
	feedback.Lesson
	text int // bytes of its segments
}

func scanSizedLesson(r row) (l sizedLesson, err error) {
	err = r.Scan(&l.ID, &l.SessionID, &l.Number, &l.State, &l.Applied, (*db.Time)(&l.StartedAt),
		(*db.Time)(&l.FinishedAt), &l.Revision,
		&l.Counts.Total, &l.Counts.Queued, &l.Counts.Transcribing, &l.Counts.Transcribed, &l.Counts.Failed, &l.text)
	return l, err
}

// withSegments returns lessons with their segments, as far as these are not too many or too large.
func withSegments(ctx context.Context, q querier, sized []sizedLesson) ([]feedback.Lesson, error) {
	segments, text := 0, 0
	var read args
	var in []string
	for i, l := range slices.Backward(sized) {
		if l.Counts.Total == 0 {
			continue
		}
		if segments+l.Counts.Total > feedback.MaxSessionSegments || text+l.text > feedback.MaxPageText {
			sized[i].Truncated = true
			continue
		}
		segments, text = segments+l.Counts.Total, text+l.text
		in = append(in, read.add(l.ID))
	}
	segmentsOf := map[uuid.UUID][]feedback.Segment{}
	if len(in) > 0 {
		found, err := all(ctx, q, scanSegment, `select `+segmentColumns+` from feedback_segments
			where lesson_id in (`+strings.Join(in, ", ")+`) order by sequence`, read...)
		if err != nil {
			return nil, err
		}
		for _, s := range found {
			segmentsOf[s.LessonID] = append(segmentsOf[s.LessonID], s)
		}
	}
	var lessons []feedback.Lesson
	for _, l := range sized {
		l.Segments = segmentsOf[l.ID]
		lessons = append(lessons, l.Lesson)
	}
	return lessons, nil
}

var errLesson = feedback.NotFound("lesson")

// StartLesson inserts l with the next number. It fails with [feedback.ErrLessonInProgress] while
// another lesson is recording, with [feedback.ErrSessionCompleted], and with [feedback.ErrInvalid]
// on session_id if the number exceeds [feedback.MaxLessons].
func (s *Store) StartLesson(
	ctx context.Context, teacher uuid.UUID, l feedback.Lesson,
) (started feedback.Lesson, err error) {
	err = s.update(ctx, "start lesson", func(ctx context.Context, tx *sql.Tx) error {
		session, err := lockActive(ctx, tx, teacher, l.SessionID, l.StartedAt)
		if err != nil {
			return err
		}
		last, err := all(ctx, tx, scanLesson, `
			select `+lessonColumns+` from feedback_lessons where session_id = $1
			order by number desc limit 1`, l.SessionID)
		if err != nil {
			return err
		}
		started = l
		started.Number, started.Revision = 1, session.Revision
		if len(last) > 0 {
			if last[0].State == feedback.LessonRecording {
				return &feedback.Error{Kind: feedback.ErrLessonInProgress, LessonID: last[0].ID,
					Message: "a lesson of this session is still recording; finish it first"}
			}
			started.Number = last[0].Number + 1
		}
		if started.Number > feedback.MaxLessons {
			return feedback.Invalid("session_id", "has %d lessons, as many as a session can have", feedback.MaxLessons)
		}
		_, err = tx.ExecContext(ctx, `
			insert into feedback_lessons (`+lessonColumns+`, teacher_id)
			values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
			started.ID, started.SessionID, started.Number, string(started.State), started.Applied,
			db.Time(started.StartedAt), db.Time(time.Time{}), started.Revision, teacher)
		if err != nil {
			return err
		}
		_, err = addUsage(ctx, tx, teacher, feedback.Usage{TextRows: 1}, started.StartedAt)
		return err
	})
	return started, err
}

// Lesson returns a lesson with its segments, or [feedback.ErrNotFound].
func (s *Store) Lesson(ctx context.Context, teacher, id uuid.UUID) (feedback.Lesson, error) {
	l, err := lesson(ctx, s.db, teacher, id)
	return l, wrap("read lesson", err)
}

func lesson(ctx context.Context, q querier, teacher, id uuid.UUID) (feedback.Lesson, error) {
	l, err := one(ctx, q, errLesson, scanSizedLesson,
		selectLessons+`where l.lesson_id = $1 and l.teacher_id = $2 `+groupLessons, id, teacher)
	if err != nil {
		return feedback.Lesson{}, err
	}
	lessons, err := withSegments(ctx, q, []sizedLesson{l})
	if err != nil {
		return feedback.Lesson{}, err
	}
	return lessons[0], nil
}

// LessonSession returns the session of a lesson, or [feedback.ErrNotFound].
func (s *Store) LessonSession(ctx context.Context, teacher, lesson uuid.UUID) (uuid.UUID, error) {
	id, err := lessonSession(ctx, s.db, teacher, lesson)
	return id, wrap("find session", err)
}

func lessonSession(ctx context.Context, q querier, teacher, lesson uuid.UUID) (uuid.UUID, error) {
	return one(ctx, q, errLesson, scanValue[uuid.UUID],
		`select session_id from feedback_lessons where lesson_id = $1 and teacher_id = $2`, lesson, teacher)
}

// lockLesson begins a change of a lesson: it locks its session as lockSession does.
func lockLesson(ctx context.Context, tx *sql.Tx, teacher, lesson uuid.UUID, at time.Time) (feedback.Session, error) {
	id, err := lessonSession(ctx, tx, teacher, lesson)
	if err != nil {
		return feedback.Session{}, err
	}
	session, err := lockSession(ctx, tx, teacher, id, at)
	if errors.Is(err, errSession) {
		err = errLesson // deleted since
	}
	return session, err
}

// EditLesson finishes a lesson or marks it as applied. A lesson that is so already is not changed.
// It returns the lesson with its segments.
func (s *Store) EditLesson(
	ctx context.Context, teacher, id uuid.UUID, e feedback.LessonEdit, at time.Time,
) (edited feedback.Lesson, err error) {
	err = s.update(ctx, "edit lesson", func(ctx context.Context, tx *sql.Tx) error {
		session, err := lockLesson(ctx, tx, teacher, id, at)
		if err != nil {
			return err
		}
		l, err := lesson(ctx, tx, teacher, id)
		if err != nil {
			return err
		}
		edited = l
		if e.Finish && l.State == feedback.LessonRecording {
			edited.State, edited.FinishedAt = feedback.LessonFinished, at
		}
		edited.Applied = l.Applied || e.Apply
		if edited.State == l.State && edited.Applied == l.Applied {
			return nil
		}
		edited.Revision = session.Revision
		_, err = tx.ExecContext(ctx, `
			update feedback_lessons set state = $2, applied = $3, finished_at = $4, revision = $5
			where lesson_id = $1`,
			id, string(edited.State), edited.Applied, db.Time(edited.FinishedAt), edited.Revision)
		return err
	})
	return edited, err
}
