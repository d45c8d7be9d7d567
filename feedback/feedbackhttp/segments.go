package feedbackhttp

import (
	"context"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"lessonkit.example/feedback"
	"lessonkit.example/feedback/feedbackhttp/internal/wire"
)

const segmentsTag = "Audio segments"

type segmentPath struct {
	ID wire.ID `path:"segment_id"`
}

type segmentText struct {
	Text *string `json:"text" maxLength:"100000" nullable:"true" example:"Today we mixed greens."`
}

// maxTextBody is the size of the largest text of a segment, in bytes, unless most of it is escaped.
const maxTextBody = 512 << 10

type segmentOutput struct {
	ETag string `header:"ETag" doc:"The version of edited_text, for If-Match."`
	Body wire.SegmentWithSentences
}

func segmentAnswer(s feedback.Segment) *segmentOutput {
	return &segmentOutput{ETag: etag(s.Version), Body: wire.SegmentWithSentencesOf(s)}
}

type segmentList list[wire.AudioSegment]

func (s *server) registerSegments(api huma.API) {
	huma.Register(api, s.operation(huma.Operation{
		Method: http.MethodGet, Path: "/feedback-lessons/{lesson_id}/segments", OperationID: "list-segments",
		Tags: []string{segmentsTag}, Summary: "List the segments of a lesson",
		Description: "With their texts, by sequence. A page ends early if its texts are more than 256 KiB. Answers " +
			"with a session or a lesson leave out the segments of lessons that are truncated: those beyond 1000 " +
			"segments or 256 KiB of text, counted from the last lesson.",
		Errors: []int{http.StatusNotFound},
	}), func(ctx context.Context, in *struct {
		ID wire.ID `path:"lesson_id"`
		wire.Page
	}) (*output[segmentList], error) {
		list, err := s.svc.Segments(ctx, teacher(ctx), in.ID.UUID, in.Feedback())
		return &output[segmentList]{segmentList(listOut(list, wire.SegmentOf))}, problem("query", err)
	})

	huma.Register(api, s.operation(huma.Operation{
		Method: http.MethodGet, Path: "/audio-segments/{segment_id}", OperationID: "get-segment",
		Tags: []string{segmentsTag}, Summary: "Read a segment",
		Description: "Its state, and once it is transcribed its text with its sentences. The ETag is for If-Match.",
		Errors:      []int{http.StatusNotFound},
	}), func(ctx context.Context, in *segmentPath) (*segmentOutput, error) {
		segment, err := s.svc.Segment(ctx, teacher(ctx), in.ID.UUID)
		return segmentAnswer(segment), problem("path", err)
	})

	edit := s.operation(huma.Operation{
		Method: http.MethodPut, Path: "/audio-segments/{segment_id}/text", OperationID: "save-segment-text",
		Tags: []string{segmentsTag}, Summary: "Correct what was said",
		Description: "Saves edited_text beside the recogniser's text, whatever the state; transcripts and generated " +
			"texts use it, also after the recording is transcribed again. null gives the recogniser's text back. " +
			"With If-Match, an edit of a version that has changed since is refused (412).",
		Errors: slices.Concat(jsonBody, []int{http.StatusNotFound, http.StatusPreconditionFailed}),
	})
	edit.MaxBodyBytes = maxTextBody
	huma.Register(api, edit, func(ctx context.Context, in *struct {
		ID      wire.ID `path:"segment_id"`
		IfMatch string  `header:"If-Match" doc:"The ETag of the segment as it was read."`
		Body    segmentText
	}) (*segmentOutput, error) {
		segment, err := s.svc.EditSegment(ctx, teacher(ctx), in.ID.UUID, feedback.SegmentEdit{
			Text: in.Body.Text, IfVersion: versions(in.IfMatch)})
		return segmentAnswer(segment), problem("body", err)
	})

	huma.Register(api, s.operation(huma.Operation{
		Method: http.MethodPost, Path: "/audio-segments/{segment_id}/retry", OperationID: "retry-segment",
		Tags: []string{segmentsTag}, Summary: "Transcribe a segment again",
		Description: "Its text stays until there is another one, also if none is recognised. While the segment is " +
			"queued or transcribing, or if its recording was deleted: 409. " + retryDoc,
		DefaultStatus: http.StatusAccepted,
		Errors:        retryErrors,
	}), func(ctx context.Context, in *struct {
		ID   wire.ID    `path:"segment_id"`
		Body *retryBody `required:"false"`
	}) (*output[wire.AudioSegment], error) {
		segment, err := s.svc.RetrySegment(ctx, teacher(ctx), in.ID.UUID, in.Body.language())
		return &output[wire.AudioSegment]{wire.SegmentOf(segment)}, problem("body", err)
	})

	huma.Register(api, s.operation(huma.Operation{
		Method: http.MethodPost, Path: "/feedback-lessons/{lesson_id}/retry", OperationID: "retry-lesson",
		Tags: []string{lessonsTag}, Summary: "Transcribe a lesson again",
		Description: "All its segments that are transcribed or failed and have their recordings, or none; see " +
			"retry-segment. If all recordings were deleted: 409. " + retryDoc,
		DefaultStatus: http.StatusAccepted,
		Errors:        retryErrors,
	}), func(ctx context.Context, in *struct {
		ID   wire.ID    `path:"lesson_id"`
		Body *retryBody `required:"false"`
	}) (*output[finishedLesson], error) {
		l, err := s.svc.RetryLesson(ctx, teacher(ctx), in.ID.UUID, in.Body.language())
		return &output[finishedLesson]{finishedLessonOf(l)}, problem("body", err)
	})
}

const retryDoc = "Each segment counts as an uploaded one of the day (429)."

var retryErrors = slices.Concat(jsonBody, []int{http.StatusNotFound, http.StatusConflict, http.StatusNotImplemented})

type retryBody struct {
	Language string `json:"language,omitempty" example:"en" doc:"Of the speech; by default the teacher's."`
}

func (b *retryBody) language() string {
	if b == nil {
		return ""
	}
	return b.Language
}
