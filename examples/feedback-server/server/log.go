package server

import (
	"context"
	"log/slog"

	"go.opentelemetry.io/otel/trace"

	"lessonkit.example/feedback/feedbackhttp"
)

// requestIDKey is the key of a request's id in the lines of the log and in the Meta of jobs.
const requestIDKey = "request_id"

// contextHandler adds an attribute to each line of the log whose context has a value for it.
type contextHandler struct {
	slog.Handler
	key   string
	value func(context.Context) string // "" if the context has none
}

// withRequestID returns a logger whose lines have the id of the request in their context.
func withRequestID(log *slog.Logger) *slog.Logger {
	return slog.New(contextHandler{log.Handler(), requestIDKey, feedbackhttp.RequestID})
}

// withTraceID returns a logger whose lines have the id of the trace in their context.
func (t *tracing) withTraceID(log *slog.Logger) *slog.Logger {
	if t == nil {
		return log
	}
	return slog.New(contextHandler{log.Handler(), "trace_id", traceID})
}

func traceID(ctx context.Context) string {
	if span := trace.SpanContextFromContext(ctx); span.IsValid() {
		return span.TraceID().String()
	}
	return ""
}

// Handle implements slog.Handler.
func (h contextHandler) Handle(ctx context.Context, line slog.Record) error {
	if value := h.value(ctx); value != "" {
		line = line.Clone()
		line.AddAttrs(slog.String(h.key, value))
	}
	return h.Handler.Handle(ctx, line)
}

// WithAttrs implements slog.Handler.
func (h contextHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return contextHandler{h.Handler.WithAttrs(attrs), h.key, h.value}
}

// WithGroup implements slog.Handler.
func (h contextHandler) WithGroup(name string) slog.Handler {
	return contextHandler{h.Handler.WithGroup(name), h.key, h.value}
}
