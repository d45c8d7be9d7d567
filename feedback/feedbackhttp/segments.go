package feedbackhttp

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"
)

const segmentsTag = "Audio segments"

type segmentOutput struct{ Body audioSegment }

type segmentPath struct {
	ID uuid.UUID `path:"segment_id" format:"uuid" example:"01980f5e-7d1c-7c3a-9d53-2f6e1b7a4c10"`
}

func (s *server) registerSegments(api huma.API) {
	huma.Register(api, s.operation(http.MethodGet, "/audio-segments/{segment_id}", "get-segment", segmentsTag, "Read a segment",
		"Its state, and its text once it is transcribed.", http.StatusOK, http.StatusNotFound),
		func(ctx context.Context, in *segmentPath) (*segmentOutput, error) {
			seg, err := s.svc.Segment(ctx, teacher(ctx), in.ID)
			return &segmentOutput{segmentOut(seg)}, problem("path", err)
		})
	huma.Register(api, s.operation(http.MethodPost, "/audio-segments/{segment_id}/retry", "retry-segment", segmentsTag, "Transcribe a failed segment again",
		"Any other state is 409.", http.StatusAccepted, http.StatusNotFound, http.StatusConflict),
		func(ctx context.Context, in *segmentPath) (*segmentOutput, error) {
			seg, err := s.svc.RetrySegment(ctx, teacher(ctx), in.ID)
			return &segmentOutput{segmentOut(seg)}, problem("path", err)
		})
}
