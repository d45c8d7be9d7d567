package feedbackhttp

import (
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"lessonkit.example/internal/httpapi"
)

// APIOptions configures [NewAPI].
type APIOptions struct {
	// Title, Version and Description appear in the OpenAPI document.
	Title, Version, Description string

	// BasePath is the path that the handler is mounted below, such as "/teach". It is the server in
	// the document. Defaults to the root.
	BasePath string
}

// NewAPI returns the API of a program that serves more than this interface: [Register] adds this
// interface to it, authhttp.Register the sign-in, and huma.Register operations of the program. It
// serves its OpenAPI 3.1 document at /openapi.json and answers every error as a problem document,
// which repeats names of fields that a client sent, but not their texts, nor that of an unexpected
// error. [Wrap] belongs around the mux.
func NewAPI(mux *http.ServeMux, o APIOptions) huma.API {
	return httpapi.New(mux, httpapi.Options(o))
}

// WrapOptions configures [Wrap]. The zero value is valid.
type WrapOptions struct {
	// Logger receives one line for each request. If nil, nothing is logged.
	Logger *slog.Logger

	// Observe is called after each request, for metrics. The route is the mux's pattern, or "" if
	// none matched. The status is the one that was sent, also if the connection was closed before
	// the end of the answer. If nil, it is not called.
	Observe func(method, route string, status int, took time.Duration)

	// Trace is called before each request; the request then has the context that it returns. The
	// function that it returns is called once: after the request, or when a stream of events
	// begins, which may last for hours. The route is that of Observe. The status is 0 if the
	// connection was closed before the end of the answer. If nil, it is not called.
	Trace func(r *http.Request) (context.Context, func(route string, status int))

	// TrustedProxies are the networks whose X-Forwarded-For header decides which address is logged
	// as the client.
	TrustedProxies []netip.Prefix

	// Probes are the routes of monitors, such as "GET /health", which ask every few seconds. Their
	// lines have the level debug unless they fail.
	Probes []string
}

// Wrap adds to a mux what [Handler] has around its own: a request id (the client's X-Request-Id if
// it is short and plain), panics and the mux's 404 and 405 as problems, deadlines for slow clients,
// and a line in the log for each request, without its query, headers and bodies. Middleware between
// Wrap and the mux must not copy the request, in which the mux records the route.
func Wrap(h http.Handler, o WrapOptions) http.Handler {
	return httpapi.Wrap(h, httpapi.WrapOptions(o))
}

// RequestID returns the id that [Wrap] gave the request, or that of [WithRequestID], or "".
func RequestID(ctx context.Context) string { return httpapi.RequestID(ctx) }

// WithRequestID returns a context of work that a request has caused, such as a job, with the id of
// the request.
func WithRequestID(ctx context.Context, id string) context.Context {
	return httpapi.WithRequestID(ctx, id)
}

// Error returns a problem with a status, a stable code for programs and a sentence for people, for
// operations that a program adds to [NewAPI]. If retryAfter is positive, the answer has a
// Retry-After header.
func Error(status int, code, detail string, retryAfter time.Duration) huma.StatusError {
	p := httpapi.Error(status, code, detail)
	if retryAfter > 0 {
		p.WithRetryAfter(retryAfter)
	}
	return p
}

// Problem returns the [Error] of an error of a [feedback.Service], for operations and handlers of a
// program that call it themselves: the one that the operations of this package answer with. in is
// where invalid fields are: "body", "path" or "query". It returns nil for nil.
func Problem(in string, err error) error { return problem(in, err) }

// WriteError answers a request outside of the API, such as in a middleware, with an [Error]. Any
// other error is logged by [Wrap] and answered 500.
func WriteError(w http.ResponseWriter, r *http.Request, err error) { httpapi.WriteError(w, r, err) }
