package feedbackhttp

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"lessonkit.example/feedback"
)

const recordsTag = "Feedback records"

type feedbackRecord struct {
	RecordID          uuid.UUID  `json:"record_id" format:"uuid" example:"01980f5e-7d1c-7c3a-9d53-2f6e1b7a4c10"`
	ProfileID         uuid.UUID  `json:"profile_id" format:"uuid" example:"01980f5e-7d1c-7c3a-9d53-2f6e1b7a4c10"`
	FeedbackDate      string     `json:"feedback_date" format:"date" example:"2026-05-31"`
	Content           string     `json:"content" example:"Ming mixed her own greens today."`
	FeedbackSessionID *uuid.UUID `json:"feedback_session_id" nullable:"true" format:"uuid" example:"01980f5e-7d1c-7c3a-9d53-2f6e1b7a4c10"`
	CreatedAt         time.Time  `json:"created_at" example:"2026-05-31T09:00:00Z"`
}

func recordOut(r feedback.Record) feedbackRecord {
	out := feedbackRecord{RecordID: r.ID, ProfileID: r.ProfileID, FeedbackDate: r.Date, Content: r.Content, CreatedAt: r.CreatedAt}
	if r.SessionID.Valid {
		out.FeedbackSessionID = &r.SessionID.UUID
	}
	return out
}

type recordFields struct {
	ProfileID         uuid.UUID  `json:"profile_id" format:"uuid" example:"01980f5e-7d1c-7c3a-9d53-2f6e1b7a4c10"`
	FeedbackDate      string     `json:"feedback_date" format:"date" example:"2026-05-31"`
	Content           string     `json:"content" minLength:"1" maxLength:"20000" example:"Ming mixed her own greens today."`
	FeedbackSessionID *uuid.UUID `json:"feedback_session_id,omitempty" format:"uuid" example:"01980f5e-7d1c-7c3a-9d53-2f6e1b7a4c10" nullable:"true" doc:"The voice session that the text came from, which it completes."`
}

type recordList struct {
	Items      []feedbackRecord `json:"items" nullable:"false"`
	NextCursor *string          `json:"next_cursor" example:"eyJsIjoi" doc:"Where the next page begins; null on the last one."`
}

func (s *server) registerRecords(api huma.API) {
	huma.Register(api, s.operation(http.MethodGet, "/feedback-records", "list-records", recordsTag, "List feedback records",
		"Newest date first, then newest created.", http.StatusOK),
		func(ctx context.Context, in *struct {
			Page
			ProfileID uuid.NullUUID `query:"profile_id" format:"uuid" example:"01980f5e-7d1c-7c3a-9d53-2f6e1b7a4c10" doc:"Only of this student."`
		}) (*struct{ Body recordList }, error) {
			f := feedback.RecordFilter{ProfileID: in.ProfileID}
			list, err := s.svc.Records(ctx, teacher(ctx), f, in.Page.page())
			return &struct{ Body recordList }{recordList{mapped(list.Items, recordOut), nextCursor(list.NextCursor)}}, problem("query", err)
		})
	huma.Register(api, s.operation(http.MethodPost, "/feedback-records", "create-record", recordsTag, "Create a feedback record",
		"Naming a voice session completes it.", http.StatusCreated, jsonBody...),
		func(ctx context.Context, in *struct{ Body recordFields }) (*struct{ Body feedbackRecord }, error) {
			r := feedback.RecordInput{ProfileID: in.Body.ProfileID, Date: in.Body.FeedbackDate, Content: in.Body.Content}
			if id := in.Body.FeedbackSessionID; id != nil {
				r.SessionID = uuid.NullUUID{UUID: *id, Valid: true}
			}
			out, err := s.svc.CreateRecord(ctx, teacher(ctx), r)
			return &struct{ Body feedbackRecord }{recordOut(out)}, problem("body", err)
		})
	huma.Register(api, s.operation(http.MethodDelete, "/feedback-records/{record_id}", "delete-record", recordsTag, "Delete a feedback record",
		"The session that its text came from stays.", http.StatusNoContent, http.StatusNotFound),
		func(ctx context.Context, in *struct {
			ID uuid.UUID `path:"record_id" format:"uuid" example:"01980f5e-7d1c-7c3a-9d53-2f6e1b7a4c10"`
		}) (*struct{}, error) {
			return nil, problem("path", s.svc.DeleteRecord(ctx, teacher(ctx), in.ID))
		})
}
