package feedbackclient

import (
	"context"
	"net/http"
	"net/url"
	"time"
)

// Session is a voice session with its lessons.
type Session struct {
	ID            string    `json:"session_id"`
	ProfileID     string    `json:"profile_id"`
	State         string    `json:"state"`         // active or completed
	FeedbackDate  string    `json:"feedback_date"` // YYYY-MM-DD
	FeedbackText  string    `json:"feedback_text"` // the teacher's own
	GeneratedText string    `json:"generated_text"`
	CreatedAt     time.Time `json:"created_at"`
	UpdatedAt     time.Time `json:"updated_at"`
	Lessons       []Lesson  `json:"lessons"` // by number

	// ETag is the version of the teacher's text and date, for [SessionEdit].
	ETag string `json:"-"`
}

// Lesson is one lesson of a session.
type Lesson struct {
	ID         string     `json:"lesson_id"`
	Number     int        `json:"number"` // from 1
	State      string     `json:"state"`  // recording or finished
	Applied    bool       `json:"applied"`
	StartedAt  time.Time  `json:"started_at"`
	FinishedAt *time.Time `json:"finished_at"` // nil while recording
	Transcript string     `json:"transcript"`  // of the transcribed segments, a line each
	Segments   []Segment  `json:"segments"`    // by sequence; nil in events

	// Truncated means that Transcript and Segments have been left out, for size: Client.Segments
	// reads them.
	Truncated bool `json:"truncated"`

	Summary SegmentCounts `json:"summary"` // of FinishLesson and RetryLesson only
}

// SegmentCounts counts segments by state.
type SegmentCounts struct {
	Total        int `json:"total"`
	Queued       int `json:"queued"`
	Transcribing int `json:"transcribing"`
	Transcribed  int `json:"transcribed"`
	Failed       int `json:"failed"`
}

// SessionInput holds the fields of a new session.
type SessionInput struct {
	ProfileID    string `json:"profile_id"`
	FeedbackDate string `json:"feedback_date,omitempty"` // YYYY-MM-DD; defaults to the server's today
}

// SessionEdit changes a session. Nil fields are not changed.
type SessionEdit struct {
	FeedbackText *string `json:"feedback_text,omitempty"`
	FeedbackDate *string `json:"feedback_date,omitempty"`

	// IfMatch, if not "", is the ETag that the session must still have; else the edit is refused
	// with status 412.
	IfMatch string `json:"-"`
}

// Generated is a generated feedback text.
type Generated struct {
	Text     string        `json:"text"`
	Source   string        `json:"source"`  // remote or local
	Lessons  int           `json:"lessons"` // how many it summarizes
	Segments SegmentCounts `json:"segments"`
	Warning  string        `json:"warning"`

	WarningCodes []string `json:"warning_codes"` // Warning for programs

	Sentences []GeneratedSentence `json:"sentences"` // of Text, at most the first 500
}

// GeneratedSentence is a sentence of a generated text.
type GeneratedSentence struct {
	Text      string   `json:"text"`
	Segments  []string `json:"segments"`  // identifiers of the recordings that it comes from
	Supported bool     `json:"supported"` // false: it may be invented
	Unsure    bool     `json:"unsure"`    // a correction or an aside in it may be misunderstood
}

// OpenSession opens a voice session of today in the local zone, or resumes the profile's active
// one, whatever its date.
func (c Client) OpenSession(ctx context.Context, profileID string) (Session, error) {
	today := time.Now().Format(time.DateOnly)
	return c.OpenSessionWith(ctx, SessionInput{ProfileID: profileID, FeedbackDate: today})
}

// OpenSessionWith opens a voice session, or resumes the profile's active one, whatever its date.
func (c Client) OpenSessionWith(ctx context.Context, in SessionInput) (Session, error) {
	r := jsonRequest(http.MethodPost, path("/feedback-sessions"), in)
	r.repeatable = true
	return c.session(ctx, r)
}

// ActiveSession returns the profile's session in progress. The code of the [*Problem] is
// no_active_session if there is none.
func (c Client) ActiveSession(ctx context.Context, profileID string) (Session, error) {
	active := path("/feedback-sessions/active") + "?" + url.Values{"profile_id": {profileID}}.Encode()
	return c.session(ctx, request{method: http.MethodGet, path: active, repeatable: true})
}

// Session returns a session in any state.
func (c Client) Session(ctx context.Context, id string) (Session, error) {
	return c.session(ctx, request{method: http.MethodGet, path: path("/feedback-sessions/%s", id), repeatable: true})
}

// SaveSession changes a session's text or date.
func (c Client) SaveSession(ctx context.Context, id string, e SessionEdit) (Session, error) {
	return c.session(ctx, edit(path("/feedback-sessions/%s", id), e, e.IfMatch))
}

// edit returns a PUT that is refused unless the resource still has the ETag ifMatch, if that is not
// "".
func edit(path string, body any, ifMatch string) request {
	r := jsonRequest(http.MethodPut, path, body)
	if ifMatch != "" {
		r.header.Set("If-Match", ifMatch)
		r.repeatable = false // the first one may have changed the ETag
	}
	return r
}

func (c Client) session(ctx context.Context, r request) (s Session, err error) {
	s.ETag, err = c.decodeTagged(ctx, r, &s)
	return s, err
}

// Generate generates a feedback text from the transcripts of lessons, or of those that are not
// applied if there are none.
func (c Client) Generate(ctx context.Context, sessionID string, lessonIDs []string) (g Generated, err error) {
	var body any
	if len(lessonIDs) > 0 {
		body = map[string]any{"lesson_ids": lessonIDs}
	}
	return g, c.Call(ctx, http.MethodPost, path("/feedback-sessions/%s/generate", sessionID), body, &g)
}

// StartLesson starts the session's next lesson. If one is still recording, the LessonID of the
// [*Problem] is its identifier.
func (c Client) StartLesson(ctx context.Context, sessionID string) (l Lesson, err error) {
	return l, c.Call(ctx, http.MethodPost, path("/feedback-sessions/%s/lessons", sessionID), nil, &l)
}

// FinishLesson finishes a lesson.
func (c Client) FinishLesson(ctx context.Context, id string) (l Lesson, err error) {
	return l, c.post(ctx, path("/feedback-lessons/%s/finish", id), nil, &l)
}

// MarkApplied records that the feedback contains a lesson's text, so that summaries omit it.
func (c Client) MarkApplied(ctx context.Context, id string) (l Lesson, err error) {
	return l, c.post(ctx, path("/feedback-lessons/%s/mark-applied", id), nil, &l)
}
