package feedbackhttp

import (
	"errors"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"lessonkit.example/internal/httpapi"
)

func pathParam(name string) *huma.Param {
	return &huma.Param{Name: name, In: "path", Required: true, Schema: &huma.Schema{Type: "string", Format: "uuid"},
		Example: "01980f5e-7d1c-7c3a-9d53-2f6e1b7a4c10"}
}

// pathID reads an identifier where Huma does not.
func pathID(ctx huma.Context, name string) (uuid.UUID, error) {
	id, err := uuid.Parse(ctx.Param(name))
	if err != nil {
		return id, fieldProblem("path."+name, "must be a UUID")
	}
	return id, nil
}

// responseWriter is what net/http's adapters write to.
func responseWriter(ctx huma.Context) (http.ResponseWriter, error) {
	w, ok := ctx.BodyWriter().(http.ResponseWriter)
	if !ok {
		return nil, errors.New("feedbackhttp: the API's adapter is not one of net/http")
	}
	return w, nil
}

func (s *server) registerAudio(api huma.API) {
	op := s.operation(http.MethodGet, "/audio-segments/{segment_id}/audio", "get-segment-audio", segmentsTag, "Listen to a segment",
		"The recording as it was sent, or as a WAV file where raw samples were. Ranges are served.", http.StatusOK,
		http.StatusNotFound, http.StatusPreconditionFailed, http.StatusRequestedRangeNotSatisfiable)
	op.Parameters = []*huma.Param{pathParam("segment_id"),
		{Name: "Range", In: "header", Description: "Which bytes to answer.", Schema: &huma.Schema{Type: "string"}, Example: "bytes=0-1023"}}
	binary := &huma.MediaType{Schema: &huma.Schema{Type: "string", Format: "binary"}}
	audio := map[string]*huma.MediaType{"audio/*": binary}
	op.Responses = map[string]*huma.Response{
		"200": {Description: "The recording", Content: audio},
		"206": {Description: "A part of the recording, or several where several ranges were asked for",
			Content: map[string]*huma.MediaType{"audio/*": binary, "multipart/byteranges": binary}},
		"304": {Description: "Not changed"},
	}
	httpapi.Stream(api, op, func(ctx huma.Context) (int, any, error) {
		id, err := pathID(ctx, "segment_id")
		if err != nil {
			return 0, nil, err
		}
		w, err := responseWriter(ctx)
		if err != nil {
			return 0, nil, err
		}
		seg, f, err := s.svc.OpenAudio(ctx.Context(), teacher(ctx.Context()), id)
		if err != nil {
			return 0, nil, problem("path", err)
		}
		defer f.Close()
		r := &http.Request{Method: ctx.Method(), Header: httpapi.Header(ctx)}
		h := w.Header()
		h.Set("Content-Type", seg.ContentType)
		h.Set("ETag", `"`+seg.SHA256+`"`)
		h.Set("Cache-Control", "private, no-cache")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Content-Disposition", "inline")
		http.ServeContent(&rangeProblems{ResponseWriter: w, api: api, ctx: ctx}, r, "", time.Time{}, f)
		return 0, nil, nil
	})
}

// rangeProblems answers a range that cannot be served, or an If-Match that does
// not hold, as the problem document that everything else is; http.ServeContent
// answers in plain text, or with nothing.
type rangeProblems struct {
	http.ResponseWriter
	api      huma.API
	ctx      huma.Context
	answered bool
}

func (w *rangeProblems) WriteHeader(status int) {
	switch status {
	case http.StatusRequestedRangeNotSatisfiable:
		w.refuse(status, "range_not_satisfiable", "the recording has no such bytes")
	case http.StatusPreconditionFailed:
		w.refuse(status, "stale_version", "the recording is another than the one asked for")
	default:
		w.ResponseWriter.WriteHeader(status)
	}
}

func (w *rangeProblems) refuse(status int, code, detail string) {
	w.answered = true
	httpapi.Refuse(w.api, w.ctx, httpapi.Error(status, code, detail))
}

func (w *rangeProblems) Write(p []byte) (int, error) {
	if w.answered {
		return len(p), nil
	}
	return w.ResponseWriter.Write(p)
}
