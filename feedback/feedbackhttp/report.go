package feedbackhttp

import (
	"context"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"lessonkit.example/feedback"
	"lessonkit.example/feedback/feedbackhttp/internal/wire"
)

type reportRange struct {
	From         string `json:"from,omitempty" format:"date" example:"2026-03-01"`
	To           string `json:"to,omitempty" format:"date" example:"2026-06-30"`
	AcademicYear int    `json:"academic_year,omitempty" example:"2026" doc:"In place of from and to."`
	Term         string `json:"term,omitempty" example:"spring" doc:"Of that year; by default all of it."`
}

type reportSentence struct {
	Text      string    `json:"text" example:"Ming mixes her own greens now."`
	Records   []wire.ID `json:"records" nullable:"false" doc:"The records that it comes from."`
	Supported bool      `json:"supported" example:"true" doc:"false: it may be invented."`
}

type studentReport struct {
	Text    string `json:"text" example:"Dear Ms Li, ..." doc:"As a message to the guardian."`
	Lessons int    `json:"lessons" example:"15" doc:"Of the voice sessions of the records."`
	Records int    `json:"records" example:"14"`

	Sentences []reportSentence `json:"sentences" nullable:"false"`

	Source       string                    `json:"source" example:"local" enum:"remote,local"`
	Warning      string                    `json:"warning,omitempty" example:"The summary service did not answer."`
	WarningCodes []feedback.SummaryWarning `json:"warning_codes" nullable:"false"`
}

// TransformSchema implements [huma.SchemaTransformer].
func (studentReport) TransformSchema(_ huma.Registry, s *huma.Schema) *huma.Schema {
	return describeWarnings(s, map[string]string{
		"sentences": "Those of the text within the message, at most 500.", "source": "Where the text was made.",
	})
}

func (s *server) registerReport(api huma.API) {
	huma.Register(api, s.operation(huma.Operation{
		Method: http.MethodPost, Path: "/profiles/{profile_id}/report", OperationID: "report",
		Tags: []string{recordsTag}, Summary: "Report what changed over a term", Metadata: lasting,
		Description: "One text over the student's records of a range of days, or of an academic year or a term: " +
			"what was and what is, with the days, without homework and notices. Nothing is saved. It counts as " +
			"a generated text of the day (429). Without records: 422 nothing_to_report.",
		Errors: slices.Concat(jsonBody, []int{http.StatusNotFound, http.StatusBadGateway}),
	}), func(ctx context.Context, in *struct {
		ID   wire.ID `path:"profile_id"`
		Body reportRange
	}) (*output[studentReport], error) {
		r, err := s.svc.Report(ctx, teacher(ctx), in.ID.UUID, feedback.ReportRange(in.Body))
		return &output[studentReport]{studentReport{
			Text: r.Text, Lessons: r.Lessons, Records: r.Records, Source: string(r.Source), Warning: r.Warning,
			WarningCodes: append([]feedback.SummaryWarning{}, r.WarningCodes...),
			Sentences: wire.Map(r.Sentences, func(s feedback.SummarySentence) reportSentence {
				return reportSentence{s.Text, wire.Map(s.Sources, wire.IDOf), s.Supported}
			}),
		}}, problem("body", err)
	})
}
