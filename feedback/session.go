package feedback

import (
	"context"
	"errors"
	"iter"
	"strings"
	"time"

	"github.com/google/uuid"
)

// SessionState is the state of a [Session].
type SessionState string

// The states of a session: active → completed, by a record of the session.
const (
	SessionActive    SessionState = "active"
	SessionCompleted SessionState = "completed"
)

// Session is a series of lessons that become one feedback text. A student has at most one active
// session.
type Session struct {
	ID        uuid.UUID
	TeacherID uuid.UUID
	ProfileID uuid.UUID
	State     SessionState

	Date          string // YYYY-MM-DD, the day that the feedback is for
	FeedbackText  string // the teacher's own
	GeneratedText string // the last summary

	// Version counts the teacher's edits of text and date, not the results of transcription.
	Version int64
	// Revision counts every change of the session, its lessons and segments.
	Revision int64

	CreatedAt time.Time
	UpdatedAt time.Time

	Lessons []Lesson // by number
}

// LessonState is the state of a [Lesson].
type LessonState string

// The states of a lesson: recording → finished.
const (
	LessonRecording LessonState = "recording"
	LessonFinished  LessonState = "finished"
)

// Lesson is one recorded lesson of a session.
type Lesson struct {
	ID        uuid.UUID
	SessionID uuid.UUID
	Number    int // from 1
	State     LessonState
	Applied   bool // the feedback contains its text already; summaries omit it

	StartedAt  time.Time
	FinishedAt time.Time // zero while recording

	Revision int64 // of the session, when this lesson last changed

	Counts   SegmentCounts // of all segments of the lesson
	Segments []Segment     // by sequence; none if Truncated

	// Truncated means that Segments has been left out: a session is read with at most
	// [MaxPageText] bytes of text and [MaxSessionSegments] segments, and those of its last
	// lessons come first. [Service.Segments] reads them in pages.
	Truncated bool
}

// Limits of what is read with a session or a lesson.
const (
	MaxSessionSegments = 1000
	MaxLessons         = 1000 // of a session
)

// Transcript returns what was said in the lesson's segments in the order of their sequence numbers,
// one line each. It is empty if the lesson is truncated.
func (l Lesson) Transcript() string { return l.lines(Segment.said) }

// lines returns the texts of the segments, without those that are empty.
func (l Lesson) lines(text func(Segment) string) string {
	var lines []string
	for _, s := range l.Segments {
		if t := text(s); t != "" {
			lines = append(lines, t)
		}
	}
	return strings.Join(lines, "\n")
}

// SessionInput holds the fields of a new session.
type SessionInput struct {
	ProfileID uuid.UUID
	// Date is the day where the teacher is, YYYY-MM-DD. Defaults to today in the location of
	// Config.Now. Ignored if a session is resumed.
	Date *string
}

// SessionEdit changes a session. A nil field is not changed.
type SessionEdit struct {
	FeedbackText *string // at most 20 000 characters
	Date         *string

	// IfVersion, if not nil, makes the edit fail with [ErrStale] unless the session has one of
	// these versions.
	IfVersion []int64
}

func (e SessionEdit) validate() error {
	var v validator
	v.text("feedback_text", orDefault(e.FeedbackText, ""), 0, maxContentLength)
	if e.Date != nil {
		v.date("feedback_date", *e.Date)
	}
	return v.err()
}

// OpenSession resumes the student's active session or creates one (created true). Errors:
// [ErrInvalid], also if the profile is not the teacher's; [ErrLimit], if there is none to resume.
func (s *Service) OpenSession(ctx context.Context, teacher uuid.UUID, in SessionInput) (_ Session, created bool,
	err error) {
	var v validator
	date := v.date("feedback_date", orDefault(in.Date, s.cfg.Now().Format(dateLayout)))
	if err := v.err(); err != nil {
		return Session{}, false, err
	}
	now := s.now()
	used, err := s.usage(ctx, teacher, now)
	if limit := s.cfg.Limits.Sessions; err == nil && limit >= 0 && used.Sessions >= limit {
		err = limitReached(now, "%d new sessions", limit)
	}
	if err != nil {
		active, noActive := s.store.ActiveSession(ctx, teacher, in.ProfileID)
		if errors.Is(noActive, ErrNoActiveSession) {
			return Session{}, false, err
		}
		return active, false, noActive
	}
	return s.store.OpenSession(ctx, Session{ID: uuid.Must(uuid.NewV7()), TeacherID: teacher, ProfileID: in.ProfileID,
		State: SessionActive, Date: date, Version: 1, Revision: 1, CreatedAt: now, UpdatedAt: now})
}

// ActiveSession returns the student's active session. Errors: [ErrNoActiveSession].
func (s *Service) ActiveSession(ctx context.Context, teacher, profile uuid.UUID) (Session, error) {
	f, err := s.store.ActiveSession(ctx, teacher, profile)
	return s.sessionWithProgress(ctx, f, err)
}

// Session returns one session in any state. Errors: [ErrNotFound].
func (s *Service) Session(ctx context.Context, teacher, id uuid.UUID) (Session, error) {
	f, err := s.store.Session(ctx, teacher, id)
	return s.sessionWithProgress(ctx, f, err)
}

// EditSession changes a session's text or date. Errors: [ErrInvalid], [ErrNotFound],
// [ErrSessionCompleted], [ErrStale].
func (s *Service) EditSession(ctx context.Context, teacher, id uuid.UUID, e SessionEdit) (Session, error) {
	if err := e.validate(); err != nil {
		return Session{}, err
	}
	if err := s.checkText(ctx, teacher); err != nil {
		return Session{}, err
	}
	return s.store.EditSession(ctx, teacher, id, e, s.now())
}

// StartLesson starts the next lesson. A session has at most 1000. Errors: [ErrNotFound],
// [ErrInvalid], [ErrSessionCompleted], [ErrLessonInProgress].
func (s *Service) StartLesson(ctx context.Context, teacher, session uuid.UUID) (Lesson, error) {
	if err := s.checkText(ctx, teacher); err != nil {
		return Lesson{}, err
	}
	l := Lesson{ID: uuid.Must(uuid.NewV7()), SessionID: session, State: LessonRecording, StartedAt: s.now()}
	l, err := s.store.StartLesson(ctx, teacher, l)
	if err != nil {
		return Lesson{}, err
	}
	s.broker.notify(session)
	return l, nil
}

// FinishLesson finishes a lesson, unless it is finished already. Errors: [ErrNotFound].
func (s *Service) FinishLesson(ctx context.Context, teacher, id uuid.UUID) (Lesson, error) {
	return s.editLesson(ctx, teacher, id, LessonEdit{Finish: true})
}

// MarkApplied records that the feedback contains a lesson's text already, so that summaries omit
// it. Errors: [ErrNotFound].
func (s *Service) MarkApplied(ctx context.Context, teacher, id uuid.UUID) (Lesson, error) {
	return s.editLesson(ctx, teacher, id, LessonEdit{Apply: true})
}

func (s *Service) editLesson(ctx context.Context, teacher, id uuid.UUID, e LessonEdit) (Lesson, error) {
	l, err := s.store.EditLesson(ctx, teacher, id, e, s.now())
	if err != nil {
		return Lesson{}, err
	}
	s.broker.notify(l.SessionID)
	return l, nil
}

// SessionIDs yields the sessions of a student, the first one first. It ends after its first error.
func (s *Service) SessionIDs(ctx context.Context, teacher, profile uuid.UUID) iter.Seq2[uuid.UUID, error] {
	return func(yield func(uuid.UUID, error) bool) {
		for after, full := uuid.Nil, true; full; {
			ids, err := s.store.SessionIDs(ctx, teacher, profile, after, maxPageSize)
			if err != nil {
				yield(uuid.Nil, err)
				return
			}
			for _, after = range ids {
				if !yield(after, nil) {
					return
				}
			}
			full = len(ids) == maxPageSize
		}
	}
}
