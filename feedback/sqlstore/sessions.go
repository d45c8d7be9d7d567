package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"

	"lessonkit.example/feedback"
	"lessonkit.example/internal/sqldb"
)

const sessionColumns = `session_id, teacher_id, profile_id, state, feedback_date, feedback_text, generated_text, version, revision, created_at, updated_at`

func scanSession(r row) (feedback.Session, error) {
	var f feedback.Session
	var created, updated sqldb.Time
	err := r.Scan(&f.ID, &f.TeacherID, &f.ProfileID, &f.State, &f.Date, &f.FeedbackText, &f.GeneratedText,
		&f.Version, &f.Revision, &created, &updated)
	f.CreatedAt, f.UpdatedAt = created.Time, updated.Time
	return f, err
}

var errSession = feedback.NotFound("session")

// touch raises a session's revision and so locks its row: changes of one
// session never overlap, on either engine.
func touch(ctx context.Context, tx *sql.Tx, teacher, id uuid.UUID, at time.Time) (feedback.Session, error) {
	return one(ctx, tx, errSession, scanSession, `
		update feedback_sessions set revision = revision + 1, updated_at = $3
		where session_id = $1 and teacher_id = $2 returning `+sessionColumns, id, teacher, sqldb.Time{Time: at})
}

// touchActive is touch for changes that a completed session refuses.
func touchActive(ctx context.Context, tx *sql.Tx, teacher, id uuid.UUID, at time.Time) (feedback.Session, error) {
	f, err := touch(ctx, tx, teacher, id, at)
	if err == nil && f.State == feedback.SessionCompleted {
		err = &feedback.Error{Kind: feedback.ErrSessionCompleted, Message: "the session is completed and changes no more"}
	}
	return f, err
}

// whole adds a session's lessons and their segments.
func whole(ctx context.Context, q querier, f feedback.Session) (feedback.Session, error) {
	lessons, err := all(ctx, q, scanLesson,
		`select `+lessonColumns+` from feedback_lessons where session_id = $1 order by number`, f.ID)
	if err != nil || len(lessons) == 0 {
		return f, err
	}
	segments, err := all(ctx, q, scanSegment,
		`select `+segmentColumns+` from feedback_segments where session_id = $1 order by sequence`, f.ID)
	if err != nil {
		return f, err
	}
	at := make(map[uuid.UUID]int, len(lessons))
	for i, l := range lessons {
		at[l.ID] = i
	}
	for _, s := range segments {
		if i, ok := at[s.LessonID]; ok { // not of a lesson started since
			lessons[i].Segments = append(lessons[i].Segments, s)
		}
	}
	f.Lessons = lessons
	return f, nil
}

// OpenSession implements [feedback.SessionStore].
func (s *Store) OpenSession(ctx context.Context, n feedback.Session) (out feedback.Session, created bool, err error) {
	noProfile := feedback.Invalid("profile_id", "must be one of your profiles")
	err = s.update(ctx, "open session", func(ctx context.Context, tx *sql.Tx) error {
		// The unique index on active sessions decides between concurrent callers.
		res, err := tx.ExecContext(ctx, `
			insert into feedback_sessions (`+sessionColumns+`)
			select $1, teacher_id, profile_id, 'active', $4, '', '', 1, 1, $5, $6 from feedback_profiles
			where profile_id = $2 and teacher_id = $3
			on conflict (profile_id) where state = 'active' do nothing`,
			n.ID, n.ProfileID, n.TeacherID, n.Date, sqldb.Time{Time: n.CreatedAt}, sqldb.Time{Time: n.UpdatedAt})
		if sqldb.IsForeignKey(err) { // the profile went away this moment
			return noProfile
		}
		if err != nil {
			return err
		}
		rows, err := res.RowsAffected()
		if err != nil {
			return err
		}
		created = rows > 0
		out, err = active(ctx, tx, noProfile, n.TeacherID, n.ProfileID)
		return err
	})
	return out, created, err
}

func active(ctx context.Context, q querier, none error, teacher, profile uuid.UUID) (feedback.Session, error) {
	f, err := one(ctx, q, none, scanSession, `
		select `+sessionColumns+` from feedback_sessions
		where profile_id = $1 and teacher_id = $2 and state = 'active'`, profile, teacher)
	if err != nil {
		return f, err
	}
	return whole(ctx, q, f)
}

// ActiveSession implements [feedback.SessionStore].
func (s *Store) ActiveSession(ctx context.Context, teacher, profile uuid.UUID) (feedback.Session, error) {
	f, err := active(ctx, s.read(), &feedback.Error{Kind: feedback.ErrNoActiveSession,
		Message: "this student has no session in progress"}, teacher, profile)
	return f, wrap("read active session", err)
}

// Session implements [feedback.SessionStore].
func (s *Store) Session(ctx context.Context, teacher, id uuid.UUID) (feedback.Session, error) {
	f, err := one(ctx, s.read(), errSession, scanSession,
		`select `+sessionColumns+` from feedback_sessions where session_id = $1 and teacher_id = $2`, id, teacher)
	if err == nil {
		f, err = whole(ctx, s.read(), f)
	}
	return f, wrap("read session", err)
}

// EditSession implements [feedback.SessionStore].
func (s *Store) EditSession(ctx context.Context, teacher, id uuid.UUID, e feedback.SessionEdit, at time.Time) (out feedback.Session, err error) {
	err = s.update(ctx, "edit session", func(ctx context.Context, tx *sql.Tx) error {
		f, err := touchActive(ctx, tx, teacher, id, at)
		if err != nil {
			return err
		}
		if e.IfVersion != nil && !slices.Contains(e.IfVersion, f.Version) {
			return &feedback.Error{Kind: feedback.ErrStale, Message: "the session was changed elsewhere; read it again"}
		}
		if e.FeedbackText != nil {
			f.FeedbackText = *e.FeedbackText
		}
		if e.Date != nil {
			f.Date = *e.Date
		}
		f.Version++
		if _, err := tx.ExecContext(ctx,
			`update feedback_sessions set feedback_text = $2, feedback_date = $3, version = $4 where session_id = $1`,
			id, f.FeedbackText, f.Date, f.Version); err != nil {
			return err
		}
		out, err = whole(ctx, tx, f)
		return err
	})
	return out, err
}

// SaveGenerated implements [feedback.SessionStore].
func (s *Store) SaveGenerated(ctx context.Context, teacher, id uuid.UUID, text string, at time.Time) error {
	return s.update(ctx, "save generated text", func(ctx context.Context, tx *sql.Tx) error {
		if _, err := touchActive(ctx, tx, teacher, id, at); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `update feedback_sessions set generated_text = $2 where session_id = $1`, id, text)
		return err
	})
}

// Changes implements [feedback.SessionStore]. The revision is read first: what
// is committed in between is at worst told twice.
func (s *Store) Changes(ctx context.Context, teacher, session uuid.UUID, since int64) ([]feedback.Event, int64, error) {
	q := s.read()
	revision, err := one(ctx, q, errSession, func(r row) (n int64, err error) { return n, r.Scan(&n) },
		`select revision from feedback_sessions where session_id = $1 and teacher_id = $2`, session, teacher)
	if err != nil || revision <= since {
		return nil, revision, wrap("read changes", err)
	}
	lessons, err := all(ctx, q, scanLesson,
		`select `+lessonColumns+` from feedback_lessons where session_id = $1 and revision > $2 order by revision`, session, since)
	if err != nil {
		return nil, 0, wrap("read changes", err)
	}
	segments, err := all(ctx, q, scanSegment,
		`select `+segmentColumns+` from feedback_segments where session_id = $1 and revision > $2 order by revision`, session, since)
	if err != nil {
		return nil, 0, wrap("read changes", err)
	}
	var events []feedback.Event
	for len(lessons)+len(segments) > 0 {
		if len(segments) == 0 || len(lessons) > 0 && lessons[0].Revision < segments[0].Revision {
			events = append(events, feedback.Event{Revision: lessons[0].Revision, Lesson: &lessons[0]})
			lessons = lessons[1:]
		} else {
			events = append(events, feedback.Event{Revision: segments[0].Revision, Segment: &segments[0]})
			segments = segments[1:]
		}
	}
	return events, revision, nil
}

// lessonInProgress names the lesson that is still recording.
func lessonInProgress(id uuid.UUID) error {
	return &feedback.Error{Kind: feedback.ErrLessonInProgress, LessonID: id,
		Message: "a lesson of this session is still recording; finish it first"}
}

var errNoRow = errors.New("no row")
