// Package wire has the JSON forms of what several operations share. It is a package of its own
// because Huma ignores embedded types that are not exported.
package wire

import (
	"math"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"lessonkit.example/feedback"
)

// ExampleID is the example of an identifier.
const ExampleID = "01980f5e-7d1c-7c3a-9d53-2f6e1b7a4c10"

// ID is a UUID, documented with an example.
type ID struct{ uuid.UUID }

// IDOf returns the JSON form of an identifier.
func IDOf(id uuid.UUID) ID { return ID{id} }

// Schema implements [huma.SchemaProvider].
func (ID) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: "string", Format: "uuid", Examples: []any{ExampleID}}
}

// OptionalID is an identifier that may be absent.
type OptionalID struct{ uuid.NullUUID }

// Schema implements [huma.SchemaProvider]. It has no example, which tools would send.
func (OptionalID) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: "string", Format: "uuid"}
}

// Page is the query of every list.
type Page struct {
	Limit  int    `query:"limit" minimum:"1" maximum:"200" default:"50" doc:"How many; fewer if their texts are long."`
	Cursor string `query:"cursor" doc:"The next_cursor of the previous page. Empty or null: the first page."`
}

// Feedback returns the page as the service takes it.
func (p Page) Feedback() feedback.Page {
	if p.Cursor == "null" { // the last page's, as clients in JavaScript send it
		p.Cursor = ""
	}
	return feedback.Page{Limit: p.Limit, Cursor: p.Cursor}
}

// Describe adds descriptions to properties whose struct tags would be too long.
func Describe(s *huma.Schema, descriptions map[string]string) *huma.Schema {
	for name, text := range descriptions {
		s.Properties[name].Description = text
	}
	return s
}

// Map returns f of each item. It is never null in JSON.
func Map[T, U any](items []T, f func(T) U) []U {
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

// FeedbackSession is a voice session with its lessons and segments.
type FeedbackSession struct {
	SessionID    ID     `json:"session_id"`
	ProfileID    ID     `json:"profile_id"`
	State        string `json:"state" enum:"active,completed"`
	FeedbackDate string `json:"feedback_date" format:"date" example:"2026-05-31"`

	FeedbackText  string `json:"feedback_text" example:"Ming mixed her own greens today." doc:"The teacher's text."`
	GeneratedText string `json:"generated_text" example:"Ming mixed greens and painted a pond." doc:"By the service."`

	CreatedAt time.Time        `json:"created_at" example:"2026-05-31T09:00:00Z"`
	UpdatedAt time.Time        `json:"updated_at" example:"2026-05-31T09:00:00Z"`
	Lessons   []FeedbackLesson `json:"lessons" nullable:"false" doc:"By number."`
}

// SessionOf returns the JSON form of a session.
func SessionOf(s feedback.Session) FeedbackSession {
	return FeedbackSession{
		SessionID: ID{s.ID}, ProfileID: ID{s.ProfileID},
		State: string(s.State), FeedbackDate: s.Date,
		FeedbackText: s.FeedbackText, GeneratedText: s.GeneratedText,
		CreatedAt: s.CreatedAt, UpdatedAt: s.UpdatedAt,
		Lessons: Map(s.Lessons, LessonOf),
	}
}

// LessonRow is a lesson without its segments.
type LessonRow struct {
	LessonID   ID         `json:"lesson_id"`
	Number     int        `json:"number" example:"1" minimum:"1" doc:"Counts the lessons of the session."`
	State      string     `json:"state" enum:"recording,finished"`
	Applied    bool       `json:"applied" doc:"The text is in the feedback already; summaries omit it."`
	StartedAt  time.Time  `json:"started_at" example:"2026-05-31T09:00:00Z"`
	FinishedAt *time.Time `json:"finished_at" example:"2026-05-31T09:00:00Z" doc:"null while recording."`
}

// LessonRowOf returns the JSON form of a lesson without its segments.
func LessonRowOf(l feedback.Lesson) LessonRow {
	return LessonRow{
		LessonID: ID{l.ID}, Number: l.Number, State: string(l.State),
		Applied: l.Applied, StartedAt: l.StartedAt, FinishedAt: timeOrNull(l.FinishedAt),
	}
}

// FeedbackLesson is a lesson in answers.
type FeedbackLesson struct {
	LessonRow
	Transcript string         `json:"transcript" example:"Today we mixed greens." doc:"Of the segments, a line each."`
	Segments   []AudioSegment `json:"segments" nullable:"false" doc:"By sequence."`
	Truncated  bool           `json:"truncated" doc:"Segments and transcript are left out; list-segments has them."`
}

// LessonOf returns the JSON form of a lesson.
func LessonOf(l feedback.Lesson) FeedbackLesson {
	return FeedbackLesson{
		LessonRow: LessonRowOf(l), Transcript: l.Transcript(), Segments: Map(l.Segments, SegmentOf),
		Truncated: l.Truncated,
	}
}

// AudioSegment is a segment in answers.
type AudioSegment struct {
	SegmentID ID     `json:"segment_id"`
	Sequence  int    `json:"sequence" example:"0" minimum:"0" maximum:"9999"`
	State     string `json:"state" enum:"queued,transcribing,transcribed,failed"`
	Text      string `json:"text" example:"Today we mixed greens."`

	EditedText *string `json:"edited_text" example:"Today we mixed greens." doc:"The teacher's text, or null."`

	Error     *string `json:"error" example:"the audio cannot be used"`
	ErrorCode *string `json:"error_code" example:"audio_unusable" doc:"The same for programs: a stable word."`

	Warning *string `json:"warning" example:"no speech was recognised" doc:"What is doubtful about the text, or null."`

	WarningCode *string `json:"warning_code" example:"no_speech" doc:"The same for programs: a stable word."`

	Attempts int `json:"attempts" example:"1" doc:"Attempts that counted."`

	Ahead         *int   `json:"ahead" example:"2" minimum:"0" maximum:"1000"`
	EstimatedWait *int64 `json:"estimated_wait_seconds" example:"40" minimum:"1"`
	Paused        bool   `json:"paused" doc:"It waits until an operator resumes recognition."`

	DurationMS *int64 `json:"duration_ms" example:"60000" doc:"null if unknown."`
	SizeBytes  int64  `json:"size_bytes" example:"360000" doc:"As sent."`

	SHA256 string `json:"sha256" example:"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"`

	ContentType   string     `json:"content_type" doc:"As recognised by content." example:"audio/mpeg"`
	CreatedAt     time.Time  `json:"created_at" example:"2026-05-31T09:00:00Z"`
	TranscribedAt *time.Time `json:"transcribed_at" example:"2026-05-31T09:00:00Z"`

	AudioDeletedAt *time.Time `json:"audio_deleted_at" example:"2026-08-31T09:00:00Z"`
}

// TransformSchema implements [huma.SchemaTransformer].
func (AudioSegment) TransformSchema(_ huma.Registry, s *huma.Schema) *huma.Schema {
	codes := Map(feedback.FailureCodes(), func(code string) any { return code })
	s.Properties["error_code"].Enum = append(codes, nil)
	s.Properties["warning_code"].Enum = []any{feedback.WarningCutOff, feedback.WarningNoSpeech,
		feedback.WarningDoubtful, nil}
	return Describe(s, map[string]string{
		"sha256": "Of the bytes as sent, in hex.",
		"text": "What was said, punctuated, as the recogniser returned it. It stays while the recording is " +
			"transcribed again.",
		"error": "Why the last attempt failed, or null. A segment that was transcribed before keeps its text and is " +
			"transcribed, with the error.",
		"audio_deleted_at": "When the recording was deleted because of its age: there is nothing to listen to any " +
			"more. null while it is there.",
		"ahead": "How many recordings of all teachers are transcribed before this one; 1000: that many or more. " +
			"null unless the segment is queued or transcribing, and in answers to changes.",
		"estimated_wait_seconds": "About how long it takes until the text is there, from the recogniser's recent " +
			"speed. null where ahead is, while the speed is unknown or recognition paused, and after a failed " +
			"attempt.",
	})
}

// SegmentOf returns the JSON form of a segment.
func SegmentOf(s feedback.Segment) AudioSegment {
	out := AudioSegment{
		SegmentID: ID{s.ID}, Sequence: s.Sequence, State: string(s.State), Text: s.Text, EditedText: s.EditedText,
		Attempts: s.Attempts, SizeBytes: s.Size, SHA256: s.SHA256, ContentType: s.ContentType,
		CreatedAt: s.CreatedAt, TranscribedAt: timeOrNull(s.TranscribedAt),
		AudioDeletedAt: timeOrNull(s.AudioDeletedAt),
	}
	if s.Error != "" {
		out.Error = &s.Error
		if s.ErrorCode != "" {
			out.ErrorCode = &s.ErrorCode
		}
	}
	if p := s.Progress; p != nil {
		out.Ahead, out.Paused = &p.Ahead, p.Paused
		if p.Wait > 0 {
			seconds := int64(math.Ceil(p.Wait.Seconds()))
			out.EstimatedWait = &seconds
		}
	}
	if code := s.WarningCode(); code != "" {
		warning := s.Warning()
		out.Warning, out.WarningCode = &warning, &code
	}
	if ms := s.Duration.Milliseconds(); ms > 0 {
		out.DurationMS = &ms
	}
	return out
}

// Sentence is a sentence of a segment.
type Sentence struct {
	Text     string `json:"text" example:"We mixed greens."`
	StartMS  int64  `json:"start_ms" example:"1200" doc:"From the start of the recording."`
	EndMS    int64  `json:"end_ms" example:"3400" doc:"From the start of the recording."`
	Doubtful bool   `json:"doubtful" example:"false" doc:"It may not have been said: generated texts leave it out."`
}

// SegmentWithSentences is a segment that is read alone.
type SegmentWithSentences struct {
	AudioSegment
	Sentences []Sentence `json:"sentences" nullable:"false"`
}

// TransformSchema implements [huma.SchemaTransformer].
func (SegmentWithSentences) TransformSchema(r huma.Registry, s *huma.Schema) *huma.Schema {
	return Describe(AudioSegment{}.TransformSchema(r, s), map[string]string{
		"sentences": "Those whose times the recogniser tells, in order, as they are in edited_text or, if that is " +
			"null, in text; 2,000 at most.",
	})
}

// SegmentWithSentencesOf returns the JSON form of a segment with its sentences.
func SegmentWithSentencesOf(s feedback.Segment) SegmentWithSentences {
	return SegmentWithSentences{SegmentOf(s), Map(s.Sentences(), func(s feedback.Sentence) Sentence {
		return Sentence{s.Text, s.Start.Milliseconds(), s.End.Milliseconds(), s.Doubtful}
	})}
}

// SegmentCounts counts segments by state.
type SegmentCounts struct {
	Total        int `json:"total" example:"3"`
	Queued       int `json:"queued" example:"1"`
	Transcribing int `json:"transcribing" example:"0"`
	Transcribed  int `json:"transcribed" example:"2"`
	Failed       int `json:"failed" example:"0"`
}

// ProfileFields is a profile in requests.
type ProfileFields struct {
	Name          string     `json:"name" minLength:"1" doc:"1 to 100 characters after trimming." example:"Ming"`
	Grade         *string    `json:"grade,omitempty" maxLength:"100" example:"Art class"`
	Subject       *string    `json:"subject,omitempty" maxLength:"100" example:"Art"`
	AcademicYear  *int       `json:"academic_year,omitempty" minimum:"1900" maximum:"2200" example:"2026"`
	Term          string     `json:"term,omitempty" maxLength:"100" example:"spring"`
	GuardianTitle string     `json:"guardian_title,omitempty" maxLength:"100" example:"Ming's mother"`
	StartTime     ClockTime  `json:"start_time,omitempty" example:"09:00"`
	EndTime       *ClockTime `json:"end_time,omitempty" example:"10:30"`
}

// TransformSchema implements [huma.SchemaTransformer].
func (ProfileFields) TransformSchema(_ huma.Registry, s *huma.Schema) *huma.Schema {
	return Describe(s, map[string]string{
		"grade":          "Defaults to the teacher's default.",
		"subject":        "Defaults to the teacher's default.",
		"academic_year":  "Defaults to the current year.",
		"guardian_title": "How the guardian is addressed.",
		"start_time":     "HH:MM, or empty.",
		"end_time":       "HH:MM, or empty. Defaults to start_time plus the default lesson duration, on the same day.",
	})
}

// Input returns the fields as the service takes them.
func (p ProfileFields) Input() feedback.ProfileInput {
	return feedback.ProfileInput{
		Name: p.Name, Grade: p.Grade, Subject: p.Subject, AcademicYear: p.AcademicYear, Term: p.Term,
		GuardianTitle: p.GuardianTitle, StartTime: string(p.StartTime), EndTime: (*string)(p.EndTime),
	}
}

// ClockTime is a time of day, HH:MM, or "".
type ClockTime string

// Schema implements [huma.SchemaProvider].
func (ClockTime) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{
		Type: "string", Pattern: "^(([01][0-9]|2[0-3]):[0-5][0-9])?$",
	}
}
