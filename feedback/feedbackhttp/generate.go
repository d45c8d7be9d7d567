package feedbackhttp

import (
	"context"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"lessonkit.example/feedback"
	"lessonkit.example/feedback/feedbackhttp/internal/wire"
)

type summaryChoice struct {
	LessonIDs []uuid.UUID `json:"lesson_ids,omitempty" nullable:"false" minItems:"1" maxItems:"1000"`
}

// TransformSchema implements [huma.SchemaTransformer].
func (summaryChoice) TransformSchema(_ huma.Registry, s *huma.Schema) *huma.Schema {
	return wire.Describe(s, map[string]string{"lesson_ids": "Defaults to the lessons that are not applied."})
}

type generatedSentence struct {
	Text      string    `json:"text" example:"Ming mixed greens."`
	Segments  []wire.ID `json:"segments" nullable:"false" doc:"The recordings that it comes from."`
	Supported bool      `json:"supported" example:"true" doc:"false: it may be invented."`
	Unsure    bool      `json:"unsure" doc:"A correction or an aside in it may be misunderstood: to be read again."`
}

type generated struct {
	Text     string             `json:"text" example:"Ming mixed greens and painted a pond."`
	Source   string             `json:"source" example:"local" enum:"remote,local" doc:"Where the summary was made."`
	Lessons  int                `json:"lessons" example:"2" doc:"How many lessons it summarizes."`
	Segments wire.SegmentCounts `json:"segments" doc:"Of these lessons."`

	Sentences []generatedSentence `json:"sentences" nullable:"false"`

	Warning string `json:"warning,omitempty" example:"The summary service did not answer; this text was made here."`

	WarningCodes []feedback.SummaryWarning `json:"warning_codes" nullable:"false"`
}

// TransformSchema implements [huma.SchemaTransformer].
func (generated) TransformSchema(_ huma.Registry, s *huma.Schema) *huma.Schema {
	return describeWarnings(s, map[string]string{
		"sentences": "Those of the text, with the recordings that they come from. A sentence of which these say too " +
			"little is not supported. At most 500; none if the text is in another script than what was said.",
	})
}

// describeWarnings adds descriptions, also those of the warnings.
func describeWarnings(s *huma.Schema, descriptions map[string]string) *huma.Schema {
	s.Properties["warning_codes"].Items.Enum = []any{feedback.WarningFallback, feedback.WarningShortened,
		feedback.WarningIncomplete, feedback.WarningUnknownName, feedback.WarningUnsupported,
		feedback.WarningLeftOut, feedback.WarningDoubtfulLeftOut}
	descriptions["warning"] = "What to know about how the text was made, for a person: a line for each of the " +
		"warning_codes, in their order, and after it what it names, in lines that begin with \"- \"."
	descriptions["warning_codes"] = "The same for programs: stable words."
	return wire.Describe(s, descriptions)
}

func (s *server) registerGenerate(api huma.API) {
	huma.Register(api, s.operation(huma.Operation{
		Method: http.MethodPost, Path: "/feedback-sessions/{session_id}/generate",
		OperationID: "generate-feedback", Tags: []string{sessionsTag}, Metadata: lasting,
		Summary: "Summarise the lessons into feedback text",
		Description: "Uses every transcribed segment of the lessons that are not applied, or of those named, and " +
			"saves the result as generated_text; feedback_text is not changed. Concurrent requests for the same " +
			"lessons share one summary, if nothing changed between them. The summaries of a day are limited (429).",
		Errors: slices.Concat(jsonBody, []int{http.StatusNotFound, http.StatusConflict, http.StatusBadGateway}),
	}), func(ctx context.Context, in *struct {
		ID   wire.ID        `path:"session_id"`
		Body *summaryChoice `required:"false"`
	}) (*output[generated], error) {
		var lessons []uuid.UUID
		if in.Body != nil {
			lessons = in.Body.LessonIDs
		}
		g, err := s.svc.Generate(ctx, teacher(ctx), in.ID.UUID, lessons)
		return &output[generated]{generated{
			Text: g.Text, Source: string(g.Source), Lessons: g.Lessons,
			Segments: wire.SegmentCounts(g.Segments), Warning: g.Warning,
			Sentences: wire.Map(g.Sentences, func(s feedback.SummarySentence) generatedSentence {
				return generatedSentence{s.Text, wire.Map(s.Sources, wire.IDOf), s.Supported, s.Unsure}
			}),
			WarningCodes: append([]feedback.SummaryWarning{}, g.WarningCodes...),
		}}, problem("body", err)
	})
}
