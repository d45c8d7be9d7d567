package feedbackhttp

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"lessonkit.example/feedback"
	"lessonkit.example/feedback/feedbackhttp/internal/wire"
)

const recordsTag = "Feedback records"

type feedbackRecord struct {
	RecordID          wire.ID  `json:"record_id"`
	ProfileID         wire.ID  `json:"profile_id"`
	FeedbackDate      string   `json:"feedback_date" format:"date" example:"2026-05-31"`
	Content           string   `json:"content" example:"Ming mixed her own greens today."`
	FeedbackSessionID *wire.ID `json:"feedback_session_id" nullable:"true"`

	AcademicYear int    `json:"academic_year" example:"2026" doc:"That of the student when the record was saved."`
	Term         string `json:"term" example:"spring" doc:"That of the student when the record was saved."`

	CreatedAt time.Time `json:"created_at" example:"2026-05-31T09:00:00Z"`
}

func recordOut(r feedback.Record) feedbackRecord {
	out := feedbackRecord{
		RecordID: wire.ID{UUID: r.ID}, ProfileID: wire.ID{UUID: r.ProfileID},
		FeedbackDate: r.Date, Content: r.Content, AcademicYear: r.AcademicYear, Term: r.Term, CreatedAt: r.CreatedAt,
	}
	if r.SessionID.Valid {
		out.FeedbackSessionID = &wire.ID{UUID: r.SessionID.UUID}
	}
	return out
}

type recordFields struct {
	ProfileID    wire.ID `json:"profile_id"`
	FeedbackDate string  `json:"feedback_date" format:"date" example:"2026-05-31"`

	Content string `json:"content" minLength:"1" maxLength:"20000" example:"Ming mixed her own greens today."`

	FeedbackSessionID *wire.OptionalID `json:"feedback_session_id,omitempty" nullable:"true"`
}

// TransformSchema implements [huma.SchemaTransformer].
func (recordFields) TransformSchema(_ huma.Registry, s *huma.Schema) *huma.Schema {
	return wire.Describe(s, map[string]string{
		"feedback_session_id": "The voice session that the text came from, which is completed.",
	})
}

type recordEdit struct {
	FeedbackDate string `json:"feedback_date" format:"date" example:"2026-05-31"`
	Content      string `json:"content" minLength:"1" maxLength:"20000" example:"Ming mixed her own greens today."`

	RecordID     *string `json:"record_id,omitempty" readOnly:"true" doc:"Read-only."`
	ProfileID    *string `json:"profile_id,omitempty" readOnly:"true" doc:"Read-only."`
	AcademicYear *int    `json:"academic_year,omitempty" readOnly:"true" doc:"Read-only."`
	Term         *string `json:"term,omitempty" readOnly:"true" doc:"Read-only."`
	CreatedAt    *string `json:"created_at,omitempty" readOnly:"true" doc:"Read-only."`

	FeedbackSessionID *string `json:"feedback_session_id,omitempty" readOnly:"true" nullable:"true" doc:"Read-only."`
}

type recordPath struct {
	ID wire.ID `path:"record_id"`
}

func (s *server) registerRecords(api huma.API) {
	huma.Register(api, s.operation(huma.Operation{
		Method: http.MethodGet, Path: "/feedback-records", OperationID: "list-records",
		Tags: []string{recordsTag}, Summary: "List feedback records",
		Description: "Newest date first, then newest created. A query that takes seconds to find is refused (422).",
	}), func(ctx context.Context, in *struct {
		wire.Page
		ProfileID    wire.OptionalID `query:"profile_id" doc:"Only of this student."`
		Query        string          `query:"query" maxLength:"100" doc:"Words, or parts of them, in the content."`
		From         string          `query:"from" doc:"The first day, such as 2026-05-31."`
		To           string          `query:"to" doc:"The last day, such as 2026-05-31."`
		AcademicYear int             `query:"academic_year" minimum:"1900" maximum:"2200" doc:"Only of this year."`
		Term         string          `query:"term" maxLength:"100" doc:"Only of this term."`
	}) (*output[recordList], error) {
		filter := feedback.RecordFilter{ProfileID: in.ProfileID.NullUUID, Query: in.Query, From: in.From, To: in.To,
			AcademicYear: in.AcademicYear, Term: in.Term}
		list, err := s.svc.Records(ctx, teacher(ctx), filter, in.Feedback())
		return &output[recordList]{recordList(listOut(list, recordOut))}, problem("query", err)
	})

	huma.Register(api, s.operation(huma.Operation{
		Method: http.MethodPost, Path: "/feedback-records", OperationID: "create-record",
		Tags: []string{recordsTag}, Summary: "Create a feedback record",
		Description: "Naming a voice session completes it; if the session has a record of this date and content, " +
			"that is the answer (200). A request that is repeated with the same Idempotency-Key is answered as the " +
			"first one was; another request with it is refused (409).",
		DefaultStatus: http.StatusCreated,
		Errors:        slices.Concat(jsonBody, []int{http.StatusConflict}),
		Responses: map[string]*huma.Response{"200": {
			Description: "The session has this record already",
			Headers:     map[string]*huma.Param{"ETag": textHeader("The version of the record, for If-Match.")},
			Content:     map[string]*huma.MediaType{"application/json": {Schema: schemaOf[feedbackRecord](api)}},
		}},
	}), func(ctx context.Context, in *struct {
		Key idempotencyKey `header:"Idempotency-Key" doc:"Names the request for a day: a UUID, for example."`

		Body recordFields
	}) (*recordOutput, error) {
		r := feedback.RecordInput{
			ProfileID: in.Body.ProfileID.UUID, Date: in.Body.FeedbackDate, Content: in.Body.Content,
			IdempotencyKey: string(in.Key),
		}
		if id := in.Body.FeedbackSessionID; id != nil {
			r.SessionID = id.NullUUID
		}
		record, created, err := s.svc.CreateRecord(ctx, teacher(ctx), r)
		annotate(ctx, "record_id", record.ID)
		return recordAnswer(statusOf(created), record), problem("body", err)
	})

	huma.Register(api, s.operation(huma.Operation{
		Method: http.MethodGet, Path: "/feedback-records/{record_id}", OperationID: "get-record",
		Tags: []string{recordsTag}, Summary: "Read a feedback record",
		Description: "With its version as ETag, for If-Match.",
		Errors:      []int{http.StatusNotFound},
	}), func(ctx context.Context, in *recordPath) (*recordOutput, error) {
		record, err := s.svc.Record(ctx, teacher(ctx), in.ID.UUID)
		return recordAnswer(http.StatusOK, record), problem("path", err)
	})

	huma.Register(api, s.operation(huma.Operation{
		Method: http.MethodPut, Path: "/feedback-records/{record_id}", OperationID: "save-record",
		Tags: []string{recordsTag}, Summary: "Change a feedback record",
		Description: "Replaces date and content. With If-Match, an edit of a version that has changed since is " +
			"refused (412). Read-only fields may be sent back as they were read.",
		Errors: slices.Concat(jsonBody, []int{http.StatusNotFound, http.StatusPreconditionFailed}),
	}), func(ctx context.Context, in *struct {
		ID      wire.ID `path:"record_id"`
		IfMatch string  `header:"If-Match" doc:"The ETag of the record as it was read."`
		Body    recordEdit
	}) (*recordOutput, error) {
		read := func() (feedbackRecord, error) {
			record, err := s.svc.Record(ctx, teacher(ctx), in.ID.UUID)
			return recordOut(record), err
		}
		err := checkReadOnly(in.Body, read, "record_id", "profile_id", "feedback_session_id", "academic_year", "term",
			"created_at")
		if err != nil {
			return nil, err
		}
		record, err := s.svc.EditRecord(ctx, teacher(ctx), in.ID.UUID, feedback.RecordEdit{
			Date: in.Body.FeedbackDate, Content: in.Body.Content, IfVersion: versions(in.IfMatch)})
		return recordAnswer(http.StatusOK, record), problem("body", err)
	})

	huma.Register(api, s.operation(huma.Operation{
		Method: http.MethodGet, Path: "/feedback-records/{record_id}/message", OperationID: "get-record-message",
		Tags: []string{recordsTag}, Summary: "Read a record as a message to the guardian",
		Description: messageDoc + "The date is that of the record.",
		Errors:      []int{http.StatusNotFound},
	}), func(ctx context.Context, in *recordPath) (*output[messageText], error) {
		text, err := s.svc.RecordMessage(ctx, teacher(ctx), in.ID.UUID)
		return &output[messageText]{messageText{text}}, problem("path", err)
	})

	huma.Register(api, s.operation(huma.Operation{
		Method: http.MethodDelete, Path: "/feedback-records/{record_id}", OperationID: "delete-record",
		Tags: []string{recordsTag}, Summary: "Delete a feedback record",
		Description:   "The session that its text came from is kept.",
		DefaultStatus: http.StatusNoContent,
		Errors:        []int{http.StatusNotFound},
	}), func(ctx context.Context, in *recordPath) (*struct{}, error) {
		return nil, problem("path", s.svc.DeleteRecord(ctx, teacher(ctx), in.ID.UUID))
	})
}

type messageText struct {
	Text string `json:"text" example:"Dear Ms Li, Ming mixed her own greens today."`
}

const messageDoc = "In the teacher's message_template, which the service itself fills in. "

// idempotencyKey is 1 to 255 visible ASCII characters, or "".
type idempotencyKey string

// Schema implements [huma.SchemaProvider].
func (idempotencyKey) Schema(huma.Registry) *huma.Schema {
	longest := 255
	return &huma.Schema{Type: "string", MaxLength: &longest, Pattern: "^[!-~]*$"}
}

type recordOutput struct {
	Status int
	ETag   string `header:"ETag" doc:"The version of the record, for If-Match."`
	Body   feedbackRecord
}

func recordAnswer(status int, r feedback.Record) *recordOutput {
	return &recordOutput{Status: status, ETag: etag(r.Version), Body: recordOut(r)}
}

type recordList list[feedbackRecord]
