package server

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"lessonkit.example/jobqueue"
	"lessonkit.example/jobqueue/queuetrace"
)

// tracing exports a span for each request, each attempt of a job, each statement in them, and each
// call of the recognizer and the summarizer. An upload and the first attempt to transcribe it are
// in one trace. A nil *tracing traces nothing, and wraps nothing.
type tracing struct {
	log      *slog.Logger
	provider *sdk.TracerProvider
	tracer   trace.Tracer
	jobs     *queuetrace.Tracing
}

// newTracing returns nil if no collector is configured. It does not connect.
func newTracing(ctx context.Context, c Config, version string, log *slog.Logger) (*tracing, error) {
	endpoint := c.OTLPTracesEndpoint
	if endpoint == "" && c.OTLPEndpoint != "" {
		endpoint = strings.TrimRight(c.OTLPEndpoint, "/") + "/v1/traces"
	}
	if endpoint == "" || strings.EqualFold(os.Getenv("OTEL_SDK_DISABLED"), "true") {
		return nil, nil
	}
	exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(endpoint))
	if err != nil {
		return nil, fmt.Errorf("the address of the collector of traces: %w", err)
	}
	service, err := resource.New(ctx, resource.WithTelemetrySDK(), resource.WithAttributes(
		attribute.String("service.name", "feedback-server"), attribute.String("service.version", version),
	), resource.WithFromEnv()) // OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES
	if err != nil {
		return nil, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	provider := sdk.NewTracerProvider(
		sdk.WithBatcher(&loggedExporter{SpanExporter: exporter, log: log}), sdk.WithResource(service))
	jobs, err := queuetrace.New(queuetrace.Config{
		TracerProvider: provider,
		MeterProvider:  noop.NewMeterProvider(), // /metrics has figures of the queue
	})
	if err != nil {
		return nil, err
	}
	return &tracing{
		log: log, jobs: jobs,
		provider: provider, tracer: provider.Tracer("lessonkit.example/feedback-server"),
	}, nil
}

// loggedExporter logs what cannot be exported, instead of writing it to standard error. The SDK
// calls it from one goroutine, and drops the spans that its queue cannot hold.
type loggedExporter struct {
	sdk.SpanExporter
	log    *slog.Logger
	lost   int       // spans since the last line
	logged time.Time // when the last line was written
}

// lostInterval limits the lines about lost spans.
const lostInterval = time.Minute

// ExportSpans implements sdk.SpanExporter.
func (e *loggedExporter) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	err := e.SpanExporter.ExportSpans(ctx, spans)
	if err == nil {
		return nil
	}
	e.lost += len(spans)
	if time.Since(e.logged) >= lostInterval {
		e.log.Warn("traces are lost, because the collector cannot be reached or refuses them",
			"spans", e.lost, "error", err)
		e.lost, e.logged = 0, time.Now()
	}
	return nil
}

// flushTimeout is how long a stopping server tries to export its last spans.
const flushTimeout = 5 * time.Second

// Close exports the last spans. That it cannot is logged, since it is not a failure of the service.
func (t *tracing) Close() {
	if t == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), flushTimeout)
	defer cancel()
	if err := t.provider.Shutdown(ctx); err != nil {
		t.log.Warn("the last traces may be lost", "error", err)
	}
}

// onEnqueue returns the hook of the job store.
func (t *tracing) onEnqueue() jobqueue.EnqueueHook {
	if t == nil {
		return nil
	}
	return t.jobs.OnEnqueue
}

// ofJob returns a context with the trace in which a job was enqueued, for the log: the middleware
// decides which trace an attempt belongs to.
func (t *tracing) ofJob(ctx context.Context, job *jobqueue.Job) context.Context {
	if t == nil {
		return ctx
	}
	return propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier(job.Meta))
}

// middleware returns the middleware of the worker.
func (t *tracing) middleware() []func(jobqueue.HandlerFunc) jobqueue.HandlerFunc {
	if t == nil {
		return nil
	}
	return []func(jobqueue.HandlerFunc) jobqueue.HandlerFunc{t.jobs.Middleware}
}
