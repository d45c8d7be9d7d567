// Package queuetrace traces and measures a job queue with OpenTelemetry, by the semantic
// conventions for messaging (https://opentelemetry.io/docs/specs/semconv/messaging/).
//
//	tracing, err := queuetrace.New(queuetrace.Config{})
//	if err != nil {
//		return err
//	}
//	store := pgqueue.New(pool, pgqueue.Config{OnEnqueue: tracing.OnEnqueue})
//	worker := jobqueue.NewWorker(store, jobqueue.WorkerConfig{
//		Middleware: []func(jobqueue.HandlerFunc) jobqueue.HandlerFunc{tracing.Middleware},
//	})
//
// [Tracing.OnEnqueue] of the store's configuration starts a span "send QUEUE" for the jobs of a
// call and attaches its context to their Meta, in the form of W3C Trace Context.
// [Tracing.Middleware] of the worker's configuration starts a span "process QUEUE" for every
// attempt, with a link to that context, and passes it to the handler. The first attempt of a job is
// a child of the span that enqueued it, so that both are in one trace, sampled or not together;
// further attempts begin a new trace each. Both count messages; the middleware measures how long
// handlers take.
//
// A failed attempt has the type of its error (error.type), but not its text, which may contain what
// a job works on.
//
// The name of the messaging system is "jobqueue". Two attributes are not of the conventions:
// jobqueue.kind and jobqueue.attempt.
package queuetrace

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/semconv/v1.43.0/messagingconv"
	"go.opentelemetry.io/otel/trace"

	"lessonkit.example/jobqueue"
)

// Config configures a [Tracing]. The zero value works.
type Config struct {
	// TracerProvider defaults to the global one.
	TracerProvider trace.TracerProvider
	// MeterProvider defaults to the global one.
	MeterProvider metric.MeterProvider
}

// Tracing traces and measures the jobs of a store and of its workers. It is safe for concurrent
// use.
type Tracing struct {
	tracer   trace.Tracer
	sent     messagingconv.ClientSentMessages
	consumed messagingconv.ClientConsumedMessages
	duration messagingconv.ProcessDuration
}

const scope = "lessonkit.example/jobqueue/queuetrace"

const system = messagingconv.SystemAttr("jobqueue")

const maxMeta = 8 << 10 // bytes of Meta as JSON that package jobqueue accepts

// propagator writes and reads the context of a span in the Meta of a job.
var propagator propagation.TraceContext

// New returns a Tracing. It returns an error if the meter provider refuses an instrument.
func New(cfg Config) (*Tracing, error) {
	if cfg.TracerProvider == nil {
		cfg.TracerProvider = otel.GetTracerProvider()
	}
	if cfg.MeterProvider == nil {
		cfg.MeterProvider = otel.GetMeterProvider()
	}
	meter := cfg.MeterProvider.Meter(scope)
	sent, sentErr := messagingconv.NewClientSentMessages(meter)
	consumed, consumedErr := messagingconv.NewClientConsumedMessages(meter)
	duration, durationErr := messagingconv.NewProcessDuration(meter,
		metric.WithExplicitBucketBoundaries(.005, .01, .025, .05, .075, .1, .25, .5, .75, 1, 2.5, 5, 7.5, 10))
	if err := errors.Join(sentErr, consumedErr, durationErr); err != nil {
		return nil, fmt.Errorf("queuetrace: %w", err)
	}
	return &Tracing{
		tracer: cfg.TracerProvider.Tracer(scope), sent: sent, consumed: consumed, duration: duration,
	}, nil
}

// OnEnqueue is a jobqueue.EnqueueHook for the configuration of a store. Its span is short, because
// it ends before the jobs are stored. It does not replace a trace context that Meta has already. A
// tracestate of more than 512 bytes is left out, and a context with which Meta would be too long.
// It returns no error.
func (t *Tracing) OnEnqueue(ctx context.Context, ps []jobqueue.Params) error {
	byQueue := map[string][]jobqueue.Params{}
	for _, p := range ps {
		queue := cmp.Or(p.Queue, jobqueue.DefaultQueue)
		byQueue[queue] = append(byQueue[queue], p)
	}
	for queue, ps := range byQueue {
		t.sent.Add(ctx, int64(len(ps)), "send", system, semconv.MessagingDestinationName(queue))
		attributes := spanAttributes("send", queue)
		if len(ps) > 1 {
			attributes = append(attributes, semconv.MessagingBatchMessageCount(len(ps)))
		} else {
			attributes = append(attributes, attribute.String("jobqueue.kind", ps[0].Kind))
		}
		spanCtx, span := t.tracer.Start(ctx, "send "+queue,
			trace.WithSpanKind(trace.SpanKindProducer), trace.WithAttributes(attributes...))
		for _, p := range ps {
			if !sender(p.Meta).IsValid() {
				inject(spanCtx, p.Meta)
			}
		}
		span.End()
	}
	return nil
}

// spanAttributes returns those of every span of an operation.
func spanAttributes(operation, queue string) []attribute.KeyValue {
	return []attribute.KeyValue{
		semconv.MessagingSystemKey.String(string(system)), semconv.MessagingOperationName(operation),
		semconv.MessagingOperationTypeKey.String(operation), semconv.MessagingDestinationName(queue),
	}
}

// inject adds the trace context of ctx to meta, of which a client of the program may have chosen
// the tracestate. By W3C Trace Context, 512 bytes of it should be passed on; a longer one may be
// dropped.
func inject(ctx context.Context, meta map[string]string) {
	added := propagation.MapCarrier{}
	propagator.Inject(ctx, added)
	if len(added["tracestate"]) > 512 {
		delete(added, "tracestate")
	}
	with := maps.Clone(meta)
	maps.Copy(with, added)
	if text, err := json.Marshal(with); err == nil && len(text) <= maxMeta {
		maps.Copy(meta, added)
	}
}

// sender returns the context of the span that enqueued a job, from its Meta.
func sender(meta map[string]string) trace.SpanContext {
	ctx := propagator.Extract(context.Background(), propagation.MapCarrier(meta))
	return trace.SpanContextFromContext(ctx)
}

// Middleware is for WorkerConfig.Middleware. A handler that returns jobqueue.Snooze, or another
// error with RetryAfter, has not failed.
func (t *Tracing) Middleware(next jobqueue.HandlerFunc) jobqueue.HandlerFunc {
	return func(ctx context.Context, job *jobqueue.Job) (err error) {
		attributes := []attribute.KeyValue{semconv.MessagingDestinationName(job.Queue)}
		t.consumed.Add(ctx, 1, "process", system, attributes...)
		ctx, span := t.start(ctx, job)
		began := time.Now()
		failure := "panic" // unless next returns
		defer func() {
			if failure != "" {
				attributes = append(attributes, semconv.ErrorTypeKey.String(failure))
				span.SetAttributes(semconv.ErrorTypeKey.String(failure))
				span.SetStatus(codes.Error, "")
			}
			t.duration.Record(ctx, time.Since(began).Seconds(), "process", system, attributes...)
			span.End()
		}()
		err = next(ctx, job)
		failure = typeOf(err)
		return err
	}
}

// start starts the span of an attempt.
func (t *Tracing) start(ctx context.Context, job *jobqueue.Job) (context.Context, trace.Span) {
	options := []trace.SpanStartOption{
		trace.WithSpanKind(trace.SpanKindConsumer), trace.WithAttributes(spanAttributes("process", job.Queue)...),
		trace.WithAttributes(semconv.MessagingMessageID(strconv.FormatInt(job.ID, 10)),
			attribute.String("jobqueue.kind", job.Kind), attribute.Int("jobqueue.attempt", job.Attempt)),
	}
	from := sender(job.Meta)
	if from.IsValid() {
		options = append(options, trace.WithLinks(trace.Link{SpanContext: from}))
	}
	if from.IsValid() && job.Attempt == 1 {
		ctx = trace.ContextWithRemoteSpanContext(ctx, from)
	} else {
		options = append(options, trace.WithNewRoot())
	}
	return t.tracer.Start(ctx, "process "+job.Queue, options...)
}

// typeOf returns the type of the error of a failed attempt, "" if it has not failed. Errors of
// fmt.Errorf and of jobqueue.Permanent have the type of the error that they wrap.
func typeOf(err error) string {
	if err == nil {
		return ""
	}
	var permanent interface{ Permanent() bool }
	var later interface{ RetryAfter() time.Duration }
	if !(errors.As(err, &permanent) && permanent.Permanent()) && errors.As(err, &later) && later.RetryAfter() > 0 {
		return ""
	}
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return fmt.Sprintf("%T", err)
		}
		err = inner
	}
}
