package feedback

import (
	"context"

	"github.com/google/uuid"
)

// OpenSession resumes the student's active session or makes one (created
// true). Errors: [ErrInvalid], also where the profile is not this teacher's.
func (s *Service) OpenSession(ctx context.Context, teacher uuid.UUID, in SessionInput) (_ Session, created bool, err error) {
	date := s.cfg.Now().In(s.cfg.Location).Format(dateLayout)
	var v validator
	date = v.date("feedback_date", orDefault(in.Date, date))
	if err := v.err(); err != nil {
		return Session{}, false, err
	}
	id, err := newID()
	if err != nil {
		return Session{}, false, err
	}
	now := s.now()
	return s.store.OpenSession(ctx, Session{ID: id, TeacherID: teacher, ProfileID: in.ProfileID,
		State: SessionActive, Date: date, Version: 1, Revision: 1, CreatedAt: now, UpdatedAt: now})
}

// ActiveSession reads the student's session in progress. Errors: [ErrNoActiveSession].
func (s *Service) ActiveSession(ctx context.Context, teacher, profile uuid.UUID) (Session, error) {
	return s.store.ActiveSession(ctx, teacher, profile)
}

// Session reads one session, whatever its state. Errors: [ErrNotFound].
func (s *Service) Session(ctx context.Context, teacher, id uuid.UUID) (Session, error) {
	return s.store.Session(ctx, teacher, id)
}

// EditSession saves what is given. Errors: [ErrInvalid], [ErrNotFound],
// [ErrSessionCompleted], [ErrStale].
func (s *Service) EditSession(ctx context.Context, teacher, id uuid.UUID, e SessionEdit) (Session, error) {
	if err := e.validate(); err != nil {
		return Session{}, err
	}
	return s.store.EditSession(ctx, teacher, id, e, s.now())
}

// StartLesson starts the next lesson. Errors: [ErrNotFound],
// [ErrSessionCompleted], [ErrLessonInProgress] with the lesson's identifier.
func (s *Service) StartLesson(ctx context.Context, teacher, session uuid.UUID) (Lesson, error) {
	id, err := newID()
	if err != nil {
		return Lesson{}, err
	}
	l, err := s.store.StartLesson(ctx, teacher, Lesson{ID: id, SessionID: session, State: LessonRecording, StartedAt: s.now()})
	if err != nil {
		return Lesson{}, err
	}
	s.events.publish(session, lessonEvent(l))
	return l, nil
}

// FinishLesson finishes a lesson; a finished one stays as it is. Errors: [ErrNotFound].
func (s *Service) FinishLesson(ctx context.Context, teacher, id uuid.UUID) (Lesson, error) {
	return s.editLesson(ctx, teacher, id, LessonEdit{Finish: true})
}

// MarkApplied marks that a lesson's text is in the feedback already, so that
// summaries leave it out. Errors: [ErrNotFound].
func (s *Service) MarkApplied(ctx context.Context, teacher, id uuid.UUID) (Lesson, error) {
	return s.editLesson(ctx, teacher, id, LessonEdit{Apply: true})
}

func (s *Service) editLesson(ctx context.Context, teacher, id uuid.UUID, e LessonEdit) (Lesson, error) {
	l, err := s.store.EditLesson(ctx, teacher, id, e, s.now())
	if err != nil {
		return Lesson{}, err
	}
	s.events.publish(l.SessionID, lessonEvent(l))
	return l, nil
}
