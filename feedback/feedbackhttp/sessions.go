package feedbackhttp

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"lessonkit.example/feedback"
)

const sessionsTag = "Voice sessions"

type sessionOutput struct {
	Status int
	ETag   string `header:"ETag" doc:"The version of the teacher's text and date, for If-Match."`
	Body   feedbackSession
}

func sessionAnswer(status int, s feedback.Session, err error) (*sessionOutput, error) {
	return &sessionOutput{Status: status, ETag: etag(s.Version), Body: sessionOut(s)}, problem("body", err)
}

func etag(version int64) string { return strconv.Quote(strconv.FormatInt(version, 10)) }

// versions reads an If-Match header: nil without a condition; a tag that is
// not one of ours matches nothing.
func versions(ifMatch string) []int64 {
	ifMatch = strings.TrimSpace(ifMatch)
	if ifMatch == "" || ifMatch == "*" {
		return nil
	}
	out := []int64{}
	for tag := range strings.SplitSeq(ifMatch, ",") {
		digits, err := strconv.Unquote(strings.TrimSpace(tag))
		if err != nil {
			continue
		}
		if v, err := strconv.ParseInt(digits, 10, 64); err == nil {
			out = append(out, v)
		}
	}
	return out
}

// SessionPath names a session in a path. It is exported for Huma, which does
// not look into other embedded types.
type SessionPath struct {
	ID uuid.UUID `path:"session_id" format:"uuid" example:"01980f5e-7d1c-7c3a-9d53-2f6e1b7a4c10"`
}

type sessionOpening struct {
	ProfileID    uuid.UUID `json:"profile_id" format:"uuid" example:"01980f5e-7d1c-7c3a-9d53-2f6e1b7a4c10"`
	FeedbackDate *string   `json:"feedback_date,omitempty" format:"date" doc:"Defaults to today; ignored when a session is resumed." example:"2026-05-31"`
}

type sessionEdit struct {
	FeedbackText *string `json:"feedback_text,omitempty" maxLength:"20000" example:"Ming mixed her own greens today."`
	FeedbackDate *string `json:"feedback_date,omitempty" format:"date" example:"2026-05-31"`
}

type summaryChoice struct {
	LessonIDs []uuid.UUID `json:"lesson_ids,omitempty" nullable:"false" minItems:"1" maxItems:"1000" doc:"Defaults to the lessons that are not applied."`
}

func (s *server) registerSessions(api huma.API) {
	huma.Register(api, s.operation(http.MethodGet, "/feedback-sessions/active", "get-active-session", sessionsTag, "Read a student's session in progress",
		"The session whole, with its lessons and their segments.", http.StatusOK, http.StatusNotFound),
		func(ctx context.Context, in *struct {
			ProfileID uuid.UUID `query:"profile_id" format:"uuid" example:"01980f5e-7d1c-7c3a-9d53-2f6e1b7a4c10" required:"true" doc:"The student."`
		}) (*sessionOutput, error) {
			out, err := s.svc.ActiveSession(ctx, teacher(ctx), in.ProfileID)
			return sessionAnswer(http.StatusOK, out, err)
		})
	open := s.operation(http.MethodPost, "/feedback-sessions", "open-session", sessionsTag, "Create or resume a session",
		"A student has at most one active session: 201 when it is new, 200 when it is resumed.", http.StatusCreated, jsonBody...)
	open.Responses = map[string]*huma.Response{"200": {Description: "Resumed", Content: map[string]*huma.MediaType{
		"application/json": {Schema: schemaOf[feedbackSession](api)}}}}
	huma.Register(api, open,
		func(ctx context.Context, in *struct{ Body sessionOpening }) (*sessionOutput, error) {
			out, created, err := s.svc.OpenSession(ctx, teacher(ctx), feedback.SessionInput{ProfileID: in.Body.ProfileID, Date: in.Body.FeedbackDate})
			status := http.StatusOK
			if created {
				status = http.StatusCreated
			}
			return sessionAnswer(status, out, err)
		})
	huma.Register(api, s.operation(http.MethodGet, "/feedback-sessions/{session_id}", "get-session", sessionsTag, "Read a session",
		"Whatever its state.", http.StatusOK, http.StatusNotFound),
		func(ctx context.Context, in *SessionPath) (*sessionOutput, error) {
			out, err := s.svc.Session(ctx, teacher(ctx), in.ID)
			return sessionAnswer(http.StatusOK, out, err)
		})
	huma.Register(api, s.operation(http.MethodPut, "/feedback-sessions/{session_id}", "save-session", sessionsTag, "Save a session's text and date",
		"Saves what is given. With If-Match, an edit of what has changed elsewhere is refused (412). A completed session changes no more (409).",
		http.StatusOK, slices.Concat(jsonBody, []int{http.StatusNotFound, http.StatusConflict, http.StatusPreconditionFailed})...),
		func(ctx context.Context, in *struct {
			SessionPath
			IfMatch string `header:"If-Match" doc:"The ETag of the session as it was read." example:"\"3\""`
			Body    sessionEdit
		}) (*sessionOutput, error) {
			out, err := s.svc.EditSession(ctx, teacher(ctx), in.ID, feedback.SessionEdit{
				FeedbackText: in.Body.FeedbackText, Date: in.Body.FeedbackDate, IfVersion: versions(in.IfMatch)})
			return sessionAnswer(http.StatusOK, out, err)
		})
	huma.Register(api, s.operation(http.MethodPost, "/feedback-sessions/{session_id}/generate", "generate-feedback", sessionsTag, "Summarise the lessons into feedback text",
		"Uses every transcribed segment of the unapplied lessons, or of those named, and saves the result as generated_text; feedback_text is not touched.",
		http.StatusOK, slices.Concat(jsonBody, []int{http.StatusNotFound, http.StatusConflict, http.StatusBadGateway})...),
		func(ctx context.Context, in *struct {
			SessionPath
			Body *summaryChoice `required:"false"`
		}) (*struct{ Body generated }, error) {
			var lessons []uuid.UUID
			if in.Body != nil {
				lessons = in.Body.LessonIDs
			}
			g, err := s.svc.Generate(ctx, teacher(ctx), in.ID, lessons)
			return &struct{ Body generated }{generated{Text: g.Text, Source: string(g.Source), Lessons: g.Lessons,
				Segments: countsOut(g.Segments), Warning: g.Warning}}, problem("body", err)
		})
}

type generated struct {
	Text     string        `json:"text" example:"Ming mixed greens and painted a pond."`
	Source   string        `json:"source" example:"local" enum:"remote,local" doc:"Where the summary was made."`
	Lessons  int           `json:"lessons" example:"2" doc:"How many lessons it is made of."`
	Segments segmentCounts `json:"segments" doc:"Of the lessons that were looked at."`
	Warning  string        `json:"warning,omitempty" example:"The summary service did not answer; this text was made here." doc:"What to know about how the text came about."`
}
