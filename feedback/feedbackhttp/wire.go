package feedbackhttp

import (
	"time"

	"github.com/google/uuid"

	"lessonkit.example/feedback"
)

// Page is the query of every list. It is exported for Huma, which does not
// look into other embedded types.
type Page struct {
	Limit  int    `query:"limit" example:"50" minimum:"1" maximum:"200" default:"50" doc:"How many items to answer at most."`
	Cursor string `query:"cursor" example:"eyJsIjoi" doc:"The next_cursor of the page before."`
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
	SessionID     uuid.UUID        `json:"session_id" format:"uuid" example:"01980f5e-7d1c-7c3a-9d53-2f6e1b7a4c10"`
	ProfileID     uuid.UUID        `json:"profile_id" format:"uuid" example:"01980f5e-7d1c-7c3a-9d53-2f6e1b7a4c10"`
	State         string           `json:"state" enum:"active,completed"`
	FeedbackDate  string           `json:"feedback_date" format:"date" example:"2026-05-31"`
	FeedbackText  string           `json:"feedback_text" example:"Ming mixed her own greens today." doc:"The teacher's own text."`
	GeneratedText string           `json:"generated_text" example:"Ming mixed greens and painted a pond." doc:"The last summary."`
	CreatedAt     time.Time        `json:"created_at" example:"2026-05-31T09:00:00Z"`
	UpdatedAt     time.Time        `json:"updated_at" example:"2026-05-31T09:00:00Z"`
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
	LessonID   uuid.UUID      `json:"lesson_id" format:"uuid" example:"01980f5e-7d1c-7c3a-9d53-2f6e1b7a4c10"`
	Number     int            `json:"number" example:"1" minimum:"1" doc:"Counts the lessons of the session."`
	State      string         `json:"state" enum:"recording,finished"`
	Applied    bool           `json:"applied" doc:"The text is in the feedback already; left out of summaries."`
	StartedAt  time.Time      `json:"started_at" example:"2026-05-31T09:00:00Z"`
	FinishedAt *time.Time     `json:"finished_at" example:"2026-05-31T09:00:00Z" doc:"null while recording."`
	Transcript string         `json:"transcript" example:"Today we mixed greens." doc:"The text of the transcribed segments, in order, a line each."`
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
	SegmentID     uuid.UUID  `json:"segment_id" format:"uuid" example:"01980f5e-7d1c-7c3a-9d53-2f6e1b7a4c10"`
	Sequence      int        `json:"sequence" example:"0" minimum:"0" maximum:"9999"`
	State         string     `json:"state" enum:"queued,transcribing,transcribed,failed"`
	Text          string     `json:"text" example:"Today we mixed greens." doc:"What was said."`
	Error         *string    `json:"error" example:"the audio cannot be used" doc:"Why the last attempt failed; null when it did not."`
	Attempts      int        `json:"attempts" example:"1" doc:"Attempts that counted."`
	DurationMS    *int64     `json:"duration_ms" example:"60000" doc:"null when unknown."`
	SizeBytes     int64      `json:"size_bytes" example:"360000" doc:"As sent."`
	SHA256        string     `json:"sha256" doc:"Of the bytes as sent, in hex." example:"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"`
	ContentType   string     `json:"content_type" doc:"As recognised by content." example:"audio/mpeg"`
	CreatedAt     time.Time  `json:"created_at" example:"2026-05-31T09:00:00Z"`
	TranscribedAt *time.Time `json:"transcribed_at" example:"2026-05-31T09:00:00Z"`
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
	Total        int `json:"total" example:"3"`
	Queued       int `json:"queued" example:"1"`
	Transcribing int `json:"transcribing" example:"0"`
	Transcribed  int `json:"transcribed" example:"2"`
	Failed       int `json:"failed" example:"0"`
}

func countsOut(c feedback.SegmentCounts) segmentCounts {
	return segmentCounts(c)
}
