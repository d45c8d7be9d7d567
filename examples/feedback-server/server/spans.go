package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"lessonkit.example/asr"
	"lessonkit.example/feedback"
)

// The spans follow the semantic conventions of OpenTelemetry. None of them, nor those of package
// queuetrace, has a text, a word, a name or a message of an error in its attributes, since that
// could repeat what a teacher has said.

// request returns what starts the span of a request: see feedbackhttp.WrapOptions.Trace. Clients do
// not decide which traces are sampled: a trace of theirs is linked, not continued. Requests of
// monitors have no span.
func (t *tracing) request() func(r *http.Request) (context.Context, func(route string, status int)) {
	if t == nil {
		return nil
	}
	return func(r *http.Request) (context.Context, func(route string, status int)) {
		switch r.URL.Path {
		case "/health", "/readyz", "/metrics":
			return r.Context(), func(string, int) {}
		}
		options := []trace.SpanStartOption{
			trace.WithSpanKind(trace.SpanKindServer), trace.WithNewRoot(),
			trace.WithAttributes(attribute.String("http.request.method", r.Method)),
		}
		client := propagation.TraceContext{}.Extract(context.Background(), propagation.HeaderCarrier(r.Header))
		if from := trace.SpanContextFromContext(client); from.IsValid() {
			options = append(options, trace.WithLinks(trace.Link{SpanContext: from}))
		}
		ctx, span := t.tracer.Start(r.Context(), r.Method, options...)
		return ctx, func(route string, status int) {
			if route != "" {
				span.SetName(route) // as "GET /api/v1/profiles"
				_, path, _ := strings.Cut(route, " ")
				span.SetAttributes(attribute.String("http.route", path))
			}
			endHTTP(span, "aborted", status, http.StatusInternalServerError)
		}
	}
}

// endHTTP ends a span of a request. Statuses from failed on are errors; without a status, the type
// of the error is reason.
func endHTTP(span trace.Span, reason string, status, failed int) {
	if status != 0 {
		span.SetAttributes(attribute.Int("http.response.status_code", status))
		reason = fmt.Sprint(status)
	}
	if status == 0 || status >= failed {
		fail(span, reason)
	}
	span.End()
}

func fail(span trace.Span, errorType string) {
	span.SetAttributes(attribute.String("error.type", errorType))
	span.SetStatus(codes.Error, "")
}

// statementTrace is called before each statement; see pgqueue.PoolConfig.
type statementTrace func(ctx context.Context, statement string) (context.Context, func(error))

// statements returns what starts the span of a statement of a database system. Statements outside
// of a trace have none: an idle worker polls its queues every second.
func (t *tracing) statements(system string) statementTrace {
	if t == nil {
		return nil
	}
	return func(ctx context.Context, statement string) (context.Context, func(error)) {
		if !trace.SpanFromContext(ctx).IsRecording() {
			return ctx, nil
		}
		statement = strings.Join(strings.Fields(statement), " ")
		ctx, span := t.tracer.Start(ctx, nameOfStatement(statement), trace.WithSpanKind(trace.SpanKindClient),
			trace.WithAttributes(attribute.String("db.system.name", system),
				attribute.String("db.query.text", statement[:min(len(statement), maxStatement)])))
		return ctx, func(err error) {
			if err != nil {
				fail(span, typeOfDatabaseError(err))
			}
			span.End()
		}
	}
}

// maxStatement limits the text of a statement, in bytes. Statements that insert many rows are long.
const maxStatement = 4 << 10

var mainTable = regexp.MustCompile(`(?i)\b(?:from|into|update) ([a-z_]+)`)

// nameOfStatement returns the first word of a statement and the first table in it.
func nameOfStatement(statement string) string {
	name, _, _ := strings.Cut(strings.ToLower(statement), " ")
	if table := mainTable.FindStringSubmatch(statement); table != nil {
		name += " " + table[1]
	}
	return name
}

// typeOfDatabaseError returns the code of a database's error.
func typeOfDatabaseError(err error) string {
	var postgres interface{ SQLState() string }
	var sqlite interface{ Code() int }
	switch {
	case errors.As(err, &postgres):
		return postgres.SQLState()
	case errors.As(err, &sqlite):
		return fmt.Sprint(sqlite.Code())
	}
	return typeOfError(err)
}

// typeOfError returns a type of error that says nothing else about it.
func typeOfError(err error) string {
	switch {
	case errors.Is(err, context.Canceled):
		return "canceled"
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	}
	return "_OTHER"
}

// transport returns a transport that traces requests to a service and sends it the context of the
// trace. Requests outside of a trace, such as checks of its health, have no span.
func (t *tracing) transport(base http.RoundTripper) http.RoundTripper {
	if t == nil {
		return base
	}
	return tracedTransport{base, t.tracer}
}

type tracedTransport struct {
	base   http.RoundTripper
	tracer trace.Tracer
}

// RoundTrip implements http.RoundTripper. The span has no address: its query may contain words that
// are expected, and any part of it a key.
func (t tracedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if !trace.SpanFromContext(r.Context()).IsRecording() {
		return t.base.RoundTrip(r)
	}
	ctx, span := t.tracer.Start(r.Context(), r.Method, trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(
		attribute.String("http.request.method", r.Method), attribute.String("server.address", r.URL.Hostname()),
	))
	r = r.Clone(ctx)
	propagation.TraceContext{}.Inject(ctx, propagation.HeaderCarrier(r.Header))
	resp, err := t.base.RoundTrip(r)
	if err != nil {
		endHTTP(span, typeOfError(err), 0, 0)
		return nil, err
	}
	resp.Body = tracedBody{resp.Body, func() { endHTTP(span, "", resp.StatusCode, http.StatusBadRequest) }}
	return resp, nil
}

// tracedBody ends the span of a request when the answer is closed.
type tracedBody struct {
	io.ReadCloser
	end func()
}

// Close implements io.Closer.
func (b tracedBody) Close() error {
	defer b.end()
	return b.ReadCloser.Close()
}

// recognizer returns a recognizer whose calls are traced.
func (t *tracing) recognizer(r asr.Recognizer, provider string) asr.Recognizer {
	if t == nil {
		return r
	}
	return tracedRecognizer{r, t.tracer, provider}
}

type tracedRecognizer struct {
	asr.Recognizer
	tracer   trace.Tracer
	provider string
}

// Recognize implements asr.Recognizer.
func (r tracedRecognizer) Recognize(ctx context.Context, a asr.Audio) (asr.Transcript, error) {
	ctx, span := r.tracer.Start(ctx, "recognize", trace.WithAttributes(
		attribute.String("speech.provider", r.provider), attribute.Int64("speech.audio.bytes", a.Size)))
	defer span.End()
	transcript, err := r.Recognizer.Recognize(ctx, a)
	if err != nil {
		class := typeOfError(err)
		if e, ok := errors.AsType[*asr.Error](err); ok && e.Class != nil {
			class = e.Class.Error()
		}
		fail(span, class)
	}
	span.SetAttributes(attribute.Int64("speech.audio.milliseconds", transcript.Duration.Milliseconds()))
	return transcript, err
}

// summarizer returns a summarizer whose calls are traced.
func (t *tracing) summarizer(s feedback.Summarizer) feedback.Summarizer {
	if t == nil {
		return s
	}
	return tracedSummarizer{s, t.tracer}
}

type tracedSummarizer struct {
	feedback.Summarizer
	tracer trace.Tracer
}

// Summarize implements feedback.Summarizer.
func (s tracedSummarizer) Summarize(ctx context.Context, in feedback.SummaryInput) (feedback.Summary, error) {
	ctx, span := s.tracer.Start(ctx, "summarize",
		trace.WithAttributes(attribute.Int("summary.lessons", len(in.Lessons))))
	defer span.End()
	summary, err := s.Summarizer.Summarize(ctx, in)
	if err != nil {
		fail(span, typeOfError(err))
	}
	span.SetAttributes(attribute.String("summary.source", string(summary.Source)))
	return summary, err
}
