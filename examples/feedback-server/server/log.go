package server

import (
	"context"
	"log/slog"

	"go.opentelemetry.io/otel/trace"

	"lessonkit.example/internal/httpapi"
)

// requestIDKey is the key of a request's id in the lines of the log and in the Meta of jobs.
const requestIDKey = "request_id"

// contextHandler adds to each line of the log the ids of the request and of the trace in its
// context.
type contextHandler struct{ slog.Handler }

// Handle implements slog.Handler. The line of a request itself has its id already.
func (h contextHandler) Handle(ctx context.Context, line slog.Record) error {
	id, hasID := "", false
	line.Attrs(func(a slog.Attr) bool {
		hasID = a.Key == requestIDKey
		return !hasID
	})
	if !hasID {
		id = httpapi.RequestID(ctx)
	}
	span := trace.SpanContextFromContext(ctx)
	if id != "" || span.IsValid() {
		line = line.Clone()
	}
	if id != "" {
		line.AddAttrs(slog.String(requestIDKey, id))
	}
	if span.IsValid() {
		line.AddAttrs(slog.String("trace_id", span.TraceID().String()))
	}
	return h.Handler.Handle(ctx, line)
}

// WithAttrs implements slog.Handler.
func (h contextHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return contextHandler{h.Handler.WithAttrs(attrs)}
}

// WithGroup implements slog.Handler.
func (h contextHandler) WithGroup(name string) slog.Handler {
	return contextHandler{h.Handler.WithGroup(name)}
}
