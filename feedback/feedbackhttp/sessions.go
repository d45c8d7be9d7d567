package feedbackhttp

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"lessonkit.example/feedback"
	"lessonkit.example/feedback/feedbackhttp/internal/wire"
)

const sessionsTag = "Voice sessions"

type sessionOutput struct {
	Status int
	ETag   string `header:"ETag" doc:"The version of the teacher's text and date, for If-Match."`
	Body   wire.FeedbackSession
}

func sessionAnswer(status int, s feedback.Session, err error) (*sessionOutput, error) {
	return &sessionOutput{Status: status, ETag: etag(s.Version), Body: wire.SessionOf(s)}, problem("body", err)
}

func etag(version int64) string { return strconv.Quote(strconv.FormatInt(version, 10)) }

// versions parses an If-Match header. It returns nil without a condition; a tag of another form
// matches nothing.
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

type sessionPath struct {
	ID wire.ID `path:"session_id"`
}

type sessionOpening struct {
	ProfileID    wire.ID `json:"profile_id"`
	FeedbackDate *string `json:"feedback_date,omitempty" format:"date" example:"2026-05-31"`
}

// TransformSchema implements [huma.SchemaTransformer].
func (sessionOpening) TransformSchema(_ huma.Registry, s *huma.Schema) *huma.Schema {
	return wire.Describe(s, map[string]string{
		"feedback_date": "The day where the teacher is; by default where the server is. " +
			"Ignored if a session is resumed.",
	})
}

type sessionEdit struct {
	FeedbackText *string `json:"feedback_text,omitempty" maxLength:"20000" example:"Ming mixed her own greens today."`
	FeedbackDate *string `json:"feedback_date,omitempty" format:"date" example:"2026-05-31"`

	SessionID     *string `json:"session_id,omitempty" readOnly:"true" doc:"Read-only."`
	ProfileID     *string `json:"profile_id,omitempty" readOnly:"true" doc:"Read-only."`
	State         *string `json:"state,omitempty" readOnly:"true" doc:"Read-only."`
	GeneratedText *string `json:"generated_text,omitempty" readOnly:"true" doc:"Read-only."`
	CreatedAt     *string `json:"created_at,omitempty" readOnly:"true" doc:"Read-only."`

	// The service itself changes these at any time, so they are not compared.
	UpdatedAt *string               `json:"updated_at,omitempty" readOnly:"true" doc:"Ignored."`
	Lessons   []wire.FeedbackLesson `json:"lessons,omitempty" readOnly:"true" doc:"Ignored."`
}

func (s *server) registerSessions(api huma.API) {
	huma.Register(api, s.operation(huma.Operation{
		Method: http.MethodPost, Path: "/feedback-sessions", OperationID: "open-session",
		Tags: []string{sessionsTag}, Summary: "Create or resume a session",
		Description: "A student has at most one active session: 201 if it is new, 200 if it is resumed. The new " +
			"sessions of a day are limited (429).",
		DefaultStatus: http.StatusCreated,
		Errors:        jsonBody,
		Responses: map[string]*huma.Response{"200": {
			Description: "Resumed",
			Headers: map[string]*huma.Param{
				"ETag": textHeader("The version of the teacher's text and date, for If-Match."),
			},
			Content: map[string]*huma.MediaType{"application/json": {Schema: schemaOf[wire.FeedbackSession](api)}},
		}},
	}), func(ctx context.Context, in *struct{ Body sessionOpening }) (*sessionOutput, error) {
		session, created, err := s.svc.OpenSession(ctx, teacher(ctx), feedback.SessionInput{
			ProfileID: in.Body.ProfileID.UUID, Date: in.Body.FeedbackDate,
		})
		annotate(ctx, "session_id", session.ID)
		return sessionAnswer(statusOf(created), session, err)
	})

	huma.Register(api, s.operation(huma.Operation{
		Method: http.MethodGet, Path: "/feedback-sessions/active", OperationID: "get-active-session",
		Tags: []string{sessionsTag}, Summary: "Read a student's session in progress",
		Description: "With its lessons and their segments.",
		Errors:      []int{http.StatusNotFound},
		Responses: map[string]*huma.Response{"204": {
			Description: "There is none, and optional is true",
			Headers:     map[string]*huma.Param{"Cache-Control": textHeader("no-store")},
		}},
	}), func(ctx context.Context, in *struct {
		ProfileID wire.ID `query:"profile_id" required:"true" doc:"The student."`

		Optional bool `query:"optional" doc:"Without a session the answer is 204, not 404, which browsers log."`
	}) (*sessionOutput, error) {
		session, err := s.svc.ActiveSession(ctx, teacher(ctx), in.ProfileID.UUID)
		if in.Optional && errors.Is(err, feedback.ErrNoActiveSession) {
			return &sessionOutput{Status: http.StatusNoContent}, nil
		}
		return sessionAnswer(http.StatusOK, session, err)
	})

	huma.Register(api, s.operation(huma.Operation{
		Method: http.MethodGet, Path: "/feedback-sessions/{session_id}", OperationID: "get-session",
		Tags: []string{sessionsTag}, Summary: "Read a session",
		Description: "In any state.",
		Errors:      []int{http.StatusNotFound},
	}), func(ctx context.Context, in *sessionPath) (*sessionOutput, error) {
		session, err := s.svc.Session(ctx, teacher(ctx), in.ID.UUID)
		return sessionAnswer(http.StatusOK, session, err)
	})

	huma.Register(api, s.operation(huma.Operation{
		Method: http.MethodGet, Path: "/feedback-sessions/{session_id}/message", OperationID: "get-session-message",
		Tags: []string{sessionsTag}, Summary: "Read the text being written as a message to the guardian",
		Description: messageDoc + "The text is feedback_text or, while that is empty, generated_text; " +
			"without either, the message is empty.",
		Errors: []int{http.StatusNotFound},
	}), func(ctx context.Context, in *sessionPath) (*output[messageText], error) {
		text, err := s.svc.SessionMessage(ctx, teacher(ctx), in.ID.UUID)
		return &output[messageText]{messageText{text}}, problem("path", err)
	})

	save := s.operation(huma.Operation{
		Method: http.MethodPut, Path: "/feedback-sessions/{session_id}", OperationID: "save-session",
		Tags: []string{sessionsTag}, Summary: "Save a session's text and date",
		Description: "Saves the fields that are sent. With If-Match, an edit of a version that has changed since is " +
			"refused (412). A completed session cannot be edited (409). Read-only fields may be sent back as they " +
			"were read.",
		Errors: slices.Concat(jsonBody,
			[]int{http.StatusNotFound, http.StatusConflict, http.StatusPreconditionFailed}),
	})
	save.MaxBodyBytes = 2 << 20 // the session may be sent back as it was read: see Config.MaxRequestsInAll
	huma.Register(api, save, func(ctx context.Context, in *struct {
		ID      wire.ID `path:"session_id"`
		IfMatch string  `header:"If-Match" doc:"The ETag of the session as it was read."`
		Body    sessionEdit
	}) (*sessionOutput, error) {
		read := func() (wire.FeedbackSession, error) {
			session, err := s.svc.Session(ctx, teacher(ctx), in.ID.UUID)
			if err == nil && session.State == feedback.SessionCompleted {
				err = feedback.ErrSessionCompleted
			}
			return wire.SessionOf(session), err
		}
		in.Body.Lessons = nil
		err := checkReadOnly(in.Body, read, "session_id", "profile_id", "state", "generated_text", "created_at")
		if err != nil {
			return nil, err
		}
		session, err := s.svc.EditSession(ctx, teacher(ctx), in.ID.UUID, feedback.SessionEdit{
			FeedbackText: in.Body.FeedbackText, Date: in.Body.FeedbackDate, IfVersion: versions(in.IfMatch),
		})
		return sessionAnswer(http.StatusOK, session, err)
	})
}
