package feedbackhttp

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
)

const segmentsTag = "Audio segments"

type segmentPath struct {
	ID identifier `path:"segment_id"`
}

func (s *server) registerSegments(api huma.API) {
	huma.Register(api, s.operation(huma.Operation{
		Method: http.MethodGet, Path: "/audio-segments/{segment_id}", OperationID: "get-segment",
		Tags: []string{segmentsTag}, Summary: "Read a segment",
		Description: "Its state, and its text once it is transcribed.",
		Errors:      []int{http.StatusNotFound},
	}), func(ctx context.Context, in *segmentPath) (*output[audioSegment], error) {
		segment, err := s.svc.Segment(ctx, teacher(ctx), in.ID.UUID)
		return &output[audioSegment]{segmentOut(segment)}, problem("path", err)
	})

	huma.Register(api, s.operation(huma.Operation{
		Method: http.MethodPost, Path: "/audio-segments/{segment_id}/retry", OperationID: "retry-segment",
		Tags: []string{segmentsTag}, Summary: "Transcribe a failed segment again",
		Description:   "Any other state is 409.",
		DefaultStatus: http.StatusAccepted,
		Errors:        []int{http.StatusNotFound, http.StatusConflict, http.StatusNotImplemented},
	}), func(ctx context.Context, in *segmentPath) (*output[audioSegment], error) {
		segment, err := s.svc.RetrySegment(ctx, teacher(ctx), in.ID.UUID)
		return &output[audioSegment]{segmentOut(segment)}, problem("path", err)
	})
}
