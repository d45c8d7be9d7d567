package feedbackhttp

import (
	"time"

	"github.com/google/uuid"

	"lessonkit.example/feedback"
)

// Page is the query of every list. It is exported for Huma, which does not
// look into other embedded types.
type Page struct {
	Limit  int    `query:"limit" minimum:"1" maximum:"200" default:"50" doc:"How many items to answer at most."`
	Cursor string `query:"cursor" doc:"The next_cursor of the page before."`
}

func (p Page) page() feedback.Page { return feedback.Page{Limit: p.Limit, Cursor: p.Cursor} }

func nextCursor(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// mapped is never null in JSON.
func mapped[T, U any](items []T, f func(T) U) []U {
	out := make([]U, len(items))
	for i, item := range items {
		out[i] = f(item)
	}
	return out
}

func timeOrNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// feedbackSession is a voice session whole.
type feedbackSession struct {
	SessionID     uuid.UUID        `json:"session_id" format:"uuid"`
	ProfileID     uuid.UUID        `json:"profile_id" format:"uuid"`
	State         string           `json:"state" enum:"active,completed"`
	FeedbackDate  string           `json:"feedback_date" format:"date" example:"2026-05-31"`
	FeedbackText  string           `json:"feedback_text" doc:"The teacher's own text."`
	GeneratedText string           `json:"generated_text" doc:"The last summary."`
	CreatedAt     time.Time        `json:"created_at"`
	UpdatedAt     time.Time        `json:"updated_at"`
	Lessons       []FeedbackLesson `json:"lessons" nullable:"false" doc:"By number."`
}

func sessionOut(s feedback.Session) feedbackSession {
	return feedbackSession{
		SessionID: s.ID, ProfileID: s.ProfileID, State: string(s.State), FeedbackDate: s.Date,
		FeedbackText: s.FeedbackText, GeneratedText: s.GeneratedText, CreatedAt: s.CreatedAt, UpdatedAt: s.UpdatedAt,
		Lessons: mapped(s.Lessons, lessonOut),
	}
}

// FeedbackLesson is a lesson as it is answered. It is exported for Huma, which
// does not look into other embedded types.
type FeedbackLesson struct {
	LessonID   uuid.UUID      `json:"lesson_id" format:"uuid"`
	Number     int            `json:"number" minimum:"1" doc:"Counts the lessons of the session."`
	State      string         `json:"state" enum:"recording,finished"`
	Applied    bool           `json:"applied" doc:"The text is in the feedback already; left out of summaries."`
	StartedAt  time.Time      `json:"started_at"`
	FinishedAt *time.Time     `json:"finished_at" doc:"null while recording."`
	Transcript string         `json:"transcript" doc:"The text of the transcribed segments, in order, a line each."`
	Segments   []audioSegment `json:"segments" nullable:"false" doc:"By sequence."`
}

func lessonOut(l feedback.Lesson) FeedbackLesson {
	return FeedbackLesson{
		LessonID: l.ID, Number: l.Number, State: string(l.State), Applied: l.Applied,
		StartedAt: l.StartedAt, FinishedAt: timeOrNull(l.FinishedAt),
		Transcript: l.Transcript(), Segments: mapped(l.Segments, segmentOut),
	}
}

type audioSegment struct {
	SegmentID     uuid.UUID  `json:"segment_id" format:"uuid"`
	Sequence      int        `json:"sequence" minimum:"0" maximum:"9999"`
	State         string     `json:"state" enum:"queued,transcribing,transcribed,failed"`
	Text          string     `json:"text" doc:"What was said."`
	Error         *string    `json:"error" doc:"Why the last attempt failed; null when it did not."`
	Attempts      int        `json:"attempts" doc:"Attempts that counted."`
	DurationMS    *int64     `json:"duration_ms" doc:"null when unknown."`
	SizeBytes     int64      `json:"size_bytes" doc:"As sent."`
	SHA256        string     `json:"sha256" doc:"Of the bytes as sent, in hex." example:"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"`
	ContentType   string     `json:"content_type" doc:"As recognised by content." example:"audio/mpeg"`
	CreatedAt     time.Time  `json:"created_at"`
	TranscribedAt *time.Time `json:"transcribed_at"`
}

func segmentOut(s feedback.Segment) audioSegment {
	out := audioSegment{
		SegmentID: s.ID, Sequence: s.Sequence, State: string(s.State), Text: s.Text, Attempts: s.Attempts,
		SizeBytes: s.Size, SHA256: s.SHA256, ContentType: s.ContentType,
		CreatedAt: s.CreatedAt, TranscribedAt: timeOrNull(s.TranscribedAt),
	}
	if s.Error != "" {
		out.Error = &s.Error
	}
	if ms := s.Duration.Milliseconds(); ms > 0 {
		out.DurationMS = &ms
	}
	return out
}

type segmentCounts struct {
	Total        int `json:"total"`
	Queued       int `json:"queued"`
	Transcribing int `json:"transcribing"`
	Transcribed  int `json:"transcribed"`
	Failed       int `json:"failed"`
}

func countsOut(c feedback.SegmentCounts) segmentCounts {
	return segmentCounts(c)
}
