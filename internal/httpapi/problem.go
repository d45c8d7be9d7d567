package httpapi

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
)

// Problem is an RFC 9457 problem document. It is an error that Huma handlers can return.
type Problem struct {
	Type     string       `json:"type" default:"about:blank" doc:"The kind; about:blank: as the status says."`
	Title    string       `json:"title" example:"Not Found" doc:"The status in words."`
	Status   int          `json:"status" example:"404" doc:"The HTTP status."`
	Detail   string       `json:"detail,omitempty" doc:"What went wrong, for a person."`
	Code     string       `json:"code" example:"not_found" doc:"What went wrong, for a program: a stable word."`
	Instance string       `json:"instance,omitempty" doc:"The request id, as in the X-Request-Id header and the log."`
	Errors   []FieldError `json:"errors,omitempty" nullable:"false" doc:"The fields that are not valid."`

	// RetryAfterSeconds repeats the header for clients that cannot read headers.
	RetryAfterSeconds int `json:"retry_after_seconds,omitempty" doc:"As in the Retry-After header."`

	LessonID string `json:"lesson_id,omitempty" format:"uuid" doc:"The lesson that is still recording."`

	cause   error
	headers http.Header
}

// FieldError describes a field that is not valid.
type FieldError struct {
	Location string `json:"location" example:"body.name" doc:"Where the field is."`
	Message  string `json:"message" example:"expected length >= 1" doc:"What is wrong with it."`

	Code  string `json:"code,omitempty" example:"too_long" doc:"What is wrong, for a program: a stable word, if any."`
	Limit int    `json:"limit,omitempty" doc:"The greatest length or number, with too_long and too_many."`
	Line  int    `json:"line,omitempty" doc:"Which line of a text, or item of a list, from 1."`
}

// Error returns a problem with a status, a stable code and a sentence for people, which may be
// empty.
func Error(status int, code, detail string) *Problem {
	return &Problem{
		Type: "about:blank", Title: http.StatusText(status), Status: status, Code: code, Detail: detail,
	}
}

// Internal returns the problem of an error that is logged but not shown.
func Internal(cause error) *Problem {
	return Error(http.StatusInternalServerError, "internal_error", internalDetail).WithCause(cause)
}

const internalDetail = "something went wrong here; the log has it under the request id"

// WithField adds a field that is not valid.
func (p *Problem) WithField(location, message string) *Problem {
	p.Errors = append(p.Errors, FieldError{Location: location, Message: message})
	return p
}

// WithHeader adds a header to the answer.
func (p *Problem) WithHeader(key, value string) *Problem {
	if p.headers == nil {
		p.headers = http.Header{}
	}
	p.headers.Add(key, value)
	return p
}

// WithRetryAfter adds a Retry-After header of d, rounded up to whole seconds, at least one, and
// repeats it in the body.
func (p *Problem) WithRetryAfter(d time.Duration) *Problem {
	p.RetryAfterSeconds = max(1, int((d+time.Second-1)/time.Second))
	return p.WithHeader("Retry-After", strconv.Itoa(p.RetryAfterSeconds))
}

// WithCause adds the underlying error, which is logged but not shown.
func (p *Problem) WithCause(err error) *Problem {
	p.cause = err
	return p
}

// Error returns the code, the detail and the cause.
func (p *Problem) Error() string {
	text := p.Code
	if p.Detail != "" {
		text += ": " + p.Detail
	}
	if p.cause != nil {
		text += ": " + p.cause.Error()
	}
	return text
}

// Unwrap returns the cause.
func (p *Problem) Unwrap() error { return p.cause }

// Permanent reports whether sending the same request again cannot succeed.
func (p *Problem) Permanent() bool {
	return p.Status < http.StatusInternalServerError && p.Status != http.StatusTooManyRequests
}

// GetStatus implements huma.StatusError.
func (p *Problem) GetStatus() int { return p.Status }

// GetHeaders implements huma.HeadersError.
func (p *Problem) GetHeaders() http.Header { return p.headers }

// ContentType implements huma.ContentTypeFilter.
func (p *Problem) ContentType(string) string { return problemJSON }

const problemJSON = "application/problem+json"

// forRequest returns a copy with the request id. The request's line in the log gets the code and
// the cause.
func forRequest(ctx context.Context, p *Problem) *Problem {
	noteError(ctx, p.cause)
	Annotate(ctx, slog.String("code", p.Code))
	named := *p
	named.Instance = cmp.Or(p.Instance, RequestID(ctx))
	return &named
}

// Header returns a copy of the header of a request to Huma, with canonical keys.
func Header(ctx huma.Context) http.Header {
	h := http.Header{}
	ctx.EachHeader(h.Add)
	return h
}

// WriteError answers r with err outside of Huma: with the [Problem] that err wraps, else with 500.
func WriteError(w http.ResponseWriter, r *http.Request, err error) {
	p, ok := errors.AsType[*Problem](err)
	if !ok {
		p = Internal(err)
	}
	body, err := json.Marshal(forRequest(r.Context(), p))
	if err != nil {
		noteError(r.Context(), err)
	}
	h := w.Header()
	for k, v := range p.headers {
		h[k] = v
	}
	h.Del("Content-Length")
	h.Set("Content-Type", problemJSON)
	setCommonHeaders(h)
	w.WriteHeader(p.Status)
	w.Write(append(body, '\n'))
}

// Refuse answers a request with err from where Huma takes no error, as in a middleware: with its
// own status and headers if it is a [huma.StatusError], else with 500.
func Refuse(api huma.API, ctx huma.Context, err error) {
	if headers, ok := errors.AsType[huma.HeadersError](err); ok {
		for name, values := range headers.GetHeaders() {
			for _, v := range values {
				ctx.AppendHeader(name, v)
			}
		}
	}
	answer, ok := errors.AsType[huma.StatusError](err)
	if !ok {
		answer = Internal(err)
	}
	write(api, ctx, answer.GetStatus(), answer)
}

// write sends body in the format that the type of body prescribes, else as JSON.
func write(api huma.API, ctx huma.Context, status int, body any) {
	contentType := "application/json"
	if f, ok := body.(huma.ContentTypeFilter); ok {
		contentType = f.ContentType(contentType)
	}
	out, err := api.Transform(ctx, strconv.Itoa(status), body)
	if err != nil {
		noteError(ctx.Context(), err)
		out = body
	}
	ctx.SetHeader("Content-Type", contentType)
	ctx.SetStatus(status)
	if err := api.Marshal(ctx.BodyWriter(), contentType, out); err != nil {
		noteError(ctx.Context(), err)
	}
}

// codes are those of errors without one of their own.
var codes = map[int]string{
	http.StatusBadRequest:            "malformed_request",
	http.StatusUnauthorized:          "unauthorized",
	http.StatusForbidden:             "forbidden",
	http.StatusNotFound:              "not_found",
	http.StatusMethodNotAllowed:      "method_not_allowed",
	http.StatusNotAcceptable:         "not_acceptable",
	http.StatusRequestTimeout:        "request_timeout",
	http.StatusRequestEntityTooLarge: "too_large",
	http.StatusUnsupportedMediaType:  "unsupported_media_type",
	http.StatusUnprocessableEntity:   "invalid_fields",
	http.StatusServiceUnavailable:    "unavailable",
}

func codeOf(status int) string {
	other := "internal_error"
	if text := http.StatusText(status); text != "" && status < http.StatusInternalServerError {
		other = strings.ReplaceAll(strings.ToLower(text), " ", "_") // of a program's own operation
	}
	return cmp.Or(codes[status], other)
}
