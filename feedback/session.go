package feedback

import (
	"strings"
	"time"

	"github.com/google/uuid"
)

// SessionState is the state of a [Session].
type SessionState string

// The states of a session: active → completed, by a record that names it.
const (
	SessionActive    SessionState = "active"
	SessionCompleted SessionState = "completed"
)

// Session is a batch of lessons that become one feedback text. A student has
// at most one active session.
type Session struct {
	ID        uuid.UUID
	TeacherID uuid.UUID
	ProfileID uuid.UUID
	State     SessionState

	Date          string // YYYY-MM-DD, the day that the feedback is for
	FeedbackText  string // the teacher's own
	GeneratedText string // the last summary

	// Version counts the teacher's edits of text and date. Background
	// transcription leaves it alone.
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
	Applied   bool // its text is already in the feedback; left out of summaries

	StartedAt  time.Time
	FinishedAt time.Time // zero while recording

	Revision int64 // of the session, when this lesson last changed

	Segments []Segment // by sequence
}

// Transcript joins the text of the lesson's transcribed segments, in the
// order of their sequence numbers, one line each.
func (l Lesson) Transcript() string {
	var parts []string
	for _, s := range l.Segments {
		if s.State == SegmentTranscribed && s.Text != "" {
			parts = append(parts, s.Text)
		}
	}
	return strings.Join(parts, "\n")
}

// Counts counts the lesson's segments by state.
func (l Lesson) Counts() SegmentCounts {
	var c SegmentCounts
	c.add(l.Segments)
	return c
}

// SessionInput opens a session.
type SessionInput struct {
	ProfileID uuid.UUID
	Date      *string // defaults to today; ignored when a session is resumed
}

// SessionEdit is an autosave. A nil field stays as it is.
type SessionEdit struct {
	FeedbackText *string // at most 20 000 characters
	Date         *string

	// IfVersion, where not nil, makes the edit fail with [ErrStale] unless the
	// session has one of these versions.
	IfVersion []int64
}

func (e SessionEdit) validate() error {
	var v validator
	if e.FeedbackText != nil {
		v.text("feedback_text", *e.FeedbackText, 0)
	}
	if e.Date != nil {
		v.date("feedback_date", *e.Date)
	}
	return v.err()
}
