package feedbackhttp

import (
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"lessonkit.example/feedback/feedbackhttp/internal/wire"
	"lessonkit.example/internal/httpapi"
)

func pathParam(name string) *huma.Param {
	schema := &huma.Schema{Type: "string", Format: "uuid"}
	return &huma.Param{Name: name, In: "path", Required: true, Schema: schema, Example: wire.ExampleID}
}

// pathID parses a path parameter of an operation that Huma does not parse the input of.
func pathID(ctx huma.Context, name string) (uuid.UUID, error) {
	id, err := uuid.Parse(ctx.Param(name))
	if err != nil {
		return id, fieldProblem("path."+name, "must be a UUID")
	}
	return id, nil
}

// maxRanges is how many ranges a request may have; one with more is answered with the whole
// recording. A bucket has a request for each.
const maxRanges = 10

func (s *server) registerAudio(api huma.API) {
	binary := &huma.MediaType{Schema: &huma.Schema{Type: "string", Format: "binary"}}
	op := s.operation(huma.Operation{
		Method: http.MethodGet, Path: "/audio-segments/{segment_id}/audio", OperationID: "get-segment-audio",
		Metadata: lasting,
		Tags:     []string{segmentsTag}, Summary: "Listen to a segment",
		Description: "The recording as it was sent, or as a WAV file if raw samples were. Ranges are supported.",
		Errors:      []int{http.StatusNotFound},
		Parameters: []*huma.Param{pathParam("segment_id"), {
			Name: "Range", In: "header", Description: "The bytes to answer, as in bytes=0-1023.",
			Schema: &huma.Schema{Type: "string"},
		}},
		Responses: map[string]*huma.Response{
			"200": {
				Description: "The recording", Headers: audioHeaders("Accept-Ranges", "Content-Disposition"),
				Content: map[string]*huma.MediaType{"audio/*": binary},
			},
			"206": {
				Description: "A part of the recording, or several if several ranges were requested",
				Headers:     audioHeaders("Accept-Ranges", "Content-Disposition", "Content-Range"),
				Content:     map[string]*huma.MediaType{"audio/*": binary, "multipart/byteranges": binary},
			},
			"304": {Description: "Not changed", Headers: audioHeaders("Content-Disposition")},
			"412": problemWith(api, "Not the recording of If-Match",
				audioHeaders("Accept-Ranges", "Content-Disposition")),
			"416": problemWith(api, "Not bytes of the recording",
				audioHeaders("Accept-Ranges", "Content-Disposition", "Content-Range")),
		},
	})
	httpapi.Stream(api, op, func(ctx huma.Context) (int, any, error) {
		id, err := pathID(ctx, "segment_id")
		if err != nil {
			return 0, nil, err
		}
		segment, f, err := s.svc.OpenAudio(ctx.Context(), teacher(ctx.Context()), id)
		if err != nil {
			return 0, nil, problem("path", err)
		}
		defer f.Close()
		header := httpapi.Header(ctx)
		if strings.Count(header.Get("Range"), ",") >= maxRanges {
			header.Del("Range")
		}
		r := &http.Request{Method: ctx.Method(), Header: header}
		ctx.SetHeader("Content-Type", segment.ContentType)
		ctx.SetHeader("ETag", `"`+segment.SHA256+`"`)
		ctx.SetHeader("Cache-Control", "private, no-cache")
		ctx.SetHeader("X-Content-Type-Options", "nosniff")
		ctx.SetHeader("Content-Disposition", "inline")
		w := ctx.BodyWriter().(http.ResponseWriter)
		http.ServeContent(&rangeProblems{ResponseWriter: w, api: api, ctx: ctx}, r, "", time.Time{}, f)
		return 0, nil, nil
	})
}

// audioHeaders documents the headers of an answer about a recording.
func audioHeaders(more ...string) map[string]*huma.Param {
	headers := map[string]*huma.Param{
		"ETag":          textHeader("The SHA-256 of the recording, for If-None-Match and If-Range."),
		"Cache-Control": textHeader("private, no-cache"),
	}
	for _, name := range more {
		headers[name] = textHeader("By RFC 9110 and RFC 6266.")
	}
	return headers
}

func textHeader(description string) *huma.Param {
	return &huma.Param{Description: description, Schema: &huma.Schema{Type: "string"}}
}

// problemWith documents a problem with headers of its own.
func problemWith(api huma.API, description string, headers map[string]*huma.Param) *huma.Response {
	return &huma.Response{
		Description: description, Headers: headers,
		Content: map[string]*huma.MediaType{"application/problem+json": {Schema: schemaOf[httpapi.Problem](api)}},
	}
}

// rangeProblems answers a range that cannot be served, or an If-Match that does not match, with a
// problem document; http.ServeContent answers in plain text or without a body.
type rangeProblems struct {
	http.ResponseWriter
	api      huma.API
	ctx      huma.Context
	answered bool
}

func (w *rangeProblems) WriteHeader(status int) {
	switch status {
	case http.StatusRequestedRangeNotSatisfiable:
		w.refuse(status, "range_not_satisfiable", "the recording does not have these bytes")
	case http.StatusPreconditionFailed:
		w.refuse(status, "stale_version", "the recording is not the one that If-Match names")
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
