package feedbackhttp

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"lessonkit.example/feedback/feedbackhttp/internal/wire"
)

const segmentsTag = "Audio segments"

type segmentPath struct {
	ID wire.ID `path:"segment_id"`
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
		Description: "Its state, and once it is transcribed its text with its sentences.",
		Errors:      []int{http.StatusNotFound},
	}), func(ctx context.Context, in *segmentPath) (*output[wire.SegmentWithSentences], error) {
		segment, err := s.svc.Segment(ctx, teacher(ctx), in.ID.UUID)
		return &output[wire.SegmentWithSentences]{wire.SegmentWithSentencesOf(segment)}, problem("path", err)
	})

	huma.Register(api, s.operation(huma.Operation{
		Method: http.MethodPost, Path: "/audio-segments/{segment_id}/retry", OperationID: "retry-segment",
		Tags: []string{segmentsTag}, Summary: "Transcribe a failed segment again",
		Description:   "Any other state is 409.",
		DefaultStatus: http.StatusAccepted,
		Errors: []int{http.StatusNotFound, http.StatusConflict, http.StatusNotImplemented,
			http.StatusInsufficientStorage},
	}), func(ctx context.Context, in *segmentPath) (*output[wire.AudioSegment], error) {
		segment, err := s.svc.RetrySegment(ctx, teacher(ctx), in.ID.UUID)
		return &output[wire.AudioSegment]{wire.SegmentOf(segment)}, problem("path", err)
	})
}
