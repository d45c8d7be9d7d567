package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"

	"lessonkit.example/feedback"
	"lessonkit.example/internal/db"
)

const sessionColumns = `session_id, teacher_id, profile_id, state, feedback_date, feedback_text, generated_text,
	version, revision, created_at, updated_at`

func scanSession(r row) (feedback.Session, error) {
	var f feedback.Session
	err := r.Scan(&f.ID, &f.TeacherID, &f.ProfileID, &f.State, (*db.Date)(&f.Date),
		&f.FeedbackText, &f.GeneratedText,
		&f.Version, &f.Revision, (*db.Time)(&f.CreatedAt), (*db.Time)(&f.UpdatedAt))
	return f, err
}

var errSession = feedback.NotFound("session")

// lockSession increases a session's revision, which locks its row until the transaction ends:
// changes of one session are serialized on both engines.
func lockSession(ctx context.Context, tx *sql.Tx, teacher, id uuid.UUID, at time.Time) (feedback.Session, error) {
	return one(ctx, tx, errSession, scanSession, `
		update feedback_sessions set revision = revision + 1, updated_at = $3
		where session_id = $1 and teacher_id = $2 returning `+sessionColumns, id, teacher, db.Time(at))
}

// lockActive is lockSession for changes that are not possible in a completed session.
func lockActive(ctx context.Context, tx *sql.Tx, teacher, id uuid.UUID, at time.Time) (feedback.Session, error) {
	f, err := lockSession(ctx, tx, teacher, id, at)
	if err == nil {
		err = checkActive(f)
	}
	return f, err
}

func checkActive(f feedback.Session) error {
	if f.State != feedback.SessionCompleted {
		return nil
	}
	return &feedback.Error{Kind: feedback.ErrSessionCompleted,
		Message: "the session is completed and can no longer be changed"}
}

// withLessons returns f with its lessons and their segments.
func withLessons(ctx context.Context, q querier, f feedback.Session) (feedback.Session, error) {
	lessons, err := all(ctx, q, scanSizedLesson, selectLessons+`where l.session_id = $1 `+groupLessons, f.ID)
	if err != nil {
		return f, err
	}
	f.Lessons, err = withSegments(ctx, q, lessons)
	return f, err
}

// OpenSession returns the profile's active session with its lessons (created false) or inserts n
// and adds it to the teacher's usage. Concurrent calls return the same session. If the profile is
// not the teacher's, it fails with [feedback.ErrInvalid] on profile_id.
func (s *Store) OpenSession(
	ctx context.Context, n feedback.Session,
) (open feedback.Session, created bool, err error) {
	noProfile := feedback.Invalid("profile_id", "must be one of your profiles")
	err = s.update(ctx, "open session", func(ctx context.Context, tx *sql.Tx) (err error) {
		for range 2 { // the active session may be completed after the insert has met it
			if created, err = insertSession(ctx, tx, n, noProfile); err != nil {
				return err
			}
			open, err = active(ctx, tx, noProfile, n.TeacherID, n.ProfileID)
			if !errors.Is(err, noProfile) {
				break
			}
		}
		if err != nil || !created {
			return err
		}
		_, err = addUsage(ctx, tx, n.TeacherID, feedback.Usage{Sessions: 1}, n.CreatedAt)
		return err
	})
	return open, created, err
}

// insertSession reports false if the profile has an active session, or is not the teacher's. The
// unique index on active sessions makes concurrent callers agree.
func insertSession(ctx context.Context, tx *sql.Tx, n feedback.Session, noProfile error) (created bool, err error) {
	res, err := tx.ExecContext(ctx, `
		insert into feedback_sessions (`+sessionColumns+`)
		select $1, teacher_id, profile_id, 'active', $4, '', '', 1, 1, $5, $6 from feedback_profiles
		where profile_id = $2 and teacher_id = $3
		on conflict (profile_id) where state = 'active' do nothing`,
		n.ID, n.ProfileID, n.TeacherID, n.Date, db.Time(n.CreatedAt), db.Time(n.UpdatedAt))
	if db.IsForeignKey(err) { // the profile was deleted concurrently
		return false, noProfile
	}
	if err != nil {
		return false, err
	}
	rows, err := res.RowsAffected()
	return rows > 0, err
}

func active(ctx context.Context, q querier, notFound error, teacher, profile uuid.UUID) (feedback.Session, error) {
	f, err := one(ctx, q, notFound, scanSession, `
		select `+sessionColumns+` from feedback_sessions
		where profile_id = $1 and teacher_id = $2 and state = 'active'`, profile, teacher)
	if err != nil {
		return f, err
	}
	return withLessons(ctx, q, f)
}

// ActiveSession returns the profile's active session with its lessons, or
// [feedback.ErrNoActiveSession].
func (s *Store) ActiveSession(ctx context.Context, teacher, profile uuid.UUID) (feedback.Session, error) {
	f, err := active(ctx, s.db, &feedback.Error{Kind: feedback.ErrNoActiveSession,
		Message: "this student has no active session"}, teacher, profile)
	return f, wrap("read active session", err)
}

// Session returns a session with its lessons, or [feedback.ErrNotFound].
func (s *Store) Session(ctx context.Context, teacher, id uuid.UUID) (feedback.Session, error) {
	f, err := one(ctx, s.db, errSession, scanSession,
		`select `+sessionColumns+` from feedback_sessions where session_id = $1 and teacher_id = $2`, id, teacher)
	if err == nil {
		f, err = withLessons(ctx, s.db, f)
	}
	return f, wrap("read session", err)
}

// SessionIDs returns up to limit sessions of a student, ordered by identifier, after one.
func (s *Store) SessionIDs(ctx context.Context, teacher, profile, after uuid.UUID, limit int) ([]uuid.UUID, error) {
	ids, err := all(ctx, s.db, scanValue[uuid.UUID], `
		select session_id from feedback_sessions
		where profile_id = $1 and teacher_id = $2 and session_id > $3 order by session_id limit $4`,
		profile, teacher, after, limit)
	return ids, wrap("list sessions", err)
}

// EditSession applies an edit, increases the version and returns the session with its lessons. It
// changes nothing if it fails with [feedback.ErrSessionCompleted], [feedback.ErrStale] or
// [feedback.ErrNotFound].
func (s *Store) EditSession(
	ctx context.Context, teacher, id uuid.UUID, e feedback.SessionEdit, at time.Time,
) (edited feedback.Session, err error) {
	err = s.update(ctx, "edit session", func(ctx context.Context, tx *sql.Tx) error {
		f, err := lockActive(ctx, tx, teacher, id, at)
		if err != nil {
			return err
		}
		if e.IfVersion != nil && !slices.Contains(e.IfVersion, f.Version) {
			return &feedback.Error{Kind: feedback.ErrStale,
				Message: "the session has changed since it was read; read it again"}
		}
		var used feedback.Usage
		if e.FeedbackText != nil {
			used = growth(f.FeedbackText, *e.FeedbackText)
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
		if edited, err = withLessons(ctx, tx, f); err != nil || used.TextBytes == 0 {
			return err
		}
		_, err = addUsage(ctx, tx, teacher, used, at)
		return err
	})
	return edited, err
}

// SaveGenerated stores a summary, or fails with [feedback.ErrSessionCompleted].
func (s *Store) SaveGenerated(ctx context.Context, teacher, id uuid.UUID, text string, at time.Time) error {
	return s.update(ctx, "save generated text", func(ctx context.Context, tx *sql.Tx) error {
		f, err := lockActive(ctx, tx, teacher, id, at)
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx,
			`update feedback_sessions set generated_text = $2 where session_id = $1`, id, text); err != nil {
			return err
		}
		_, err = addUsage(ctx, tx, teacher, growth(f.GeneratedText, text), at)
		return err
	})
}

// Changes returns the lessons and segments that changed after the revision since, ordered by
// revision, and the revision up to which they are complete: the session's, or a smaller one if the
// segments have more than [feedback.MaxPageText] bytes of text. At least one is returned if there
// are any. What changes after the revision is read is left to the next call.
func (s *Store) Changes(
	ctx context.Context, teacher, session uuid.UUID, since int64,
) (_ []feedback.Event, revision int64, err error) {
	q := s.db
	revision, err = one(ctx, q, errSession, scanValue[int64],
		`select revision from feedback_sessions where session_id = $1 and teacher_id = $2`, session, teacher)
	if err != nil || revision <= since {
		return nil, revision, wrap("read changes", err)
	}
	const changed = ` where session_id = $1 and revision > $2 and revision <= $3`
	segments, more, err := upTo(ctx, q, feedback.MaxSessionSegments, scanSegment, textOfSegment,
		`select `+segmentColumns+` from feedback_segments`+changed+` order by revision`, session, since, revision)
	if err != nil {
		return nil, 0, wrap("read changes", err)
	}
	if more {
		revision = segments[len(segments)-1].Revision
	}
	lessons, err := all(ctx, q, scanLesson,
		`select `+lessonColumns+` from feedback_lessons`+changed, session, since, revision)
	if err != nil {
		return nil, 0, wrap("read changes", err)
	}
	var events []feedback.Event
	for _, l := range lessons {
		events = append(events, feedback.Event{Revision: l.Revision, Lesson: &l})
	}
	for _, g := range segments {
		events = append(events, feedback.Event{Revision: g.Revision, Segment: &g})
	}
	slices.SortFunc(events, func(a, b feedback.Event) int { return cmp.Compare(a.Revision, b.Revision) })
	return events, revision, nil
}

// Revisions returns the revisions of those sessions that exist, of any teacher.
func (s *Store) Revisions(ctx context.Context, sessions []uuid.UUID) (map[uuid.UUID]int64, error) {
	elements, list := s.elements(sessions, "uuid")
	found, err := all(ctx, s.db, func(r row) (f feedback.Session, err error) { return f, r.Scan(&f.ID, &f.Revision) },
		`select session_id, revision from feedback_sessions where session_id in (`+elements+`)`, list)
	revisions := make(map[uuid.UUID]int64, len(found))
	for _, f := range found {
		revisions[f.ID] = f.Revision
	}
	return revisions, wrap("read revisions", err)
}
