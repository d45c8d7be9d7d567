package queuetrace_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"lessonkit.example/jobqueue"
	"lessonkit.example/jobqueue/driver"
	"lessonkit.example/jobqueue/queuetrace"
)

// traced is a Tracing with the SDK's exporters in memory.
type traced struct {
	t       *testing.T
	spans   *tracetest.InMemoryExporter
	tracer  trace.Tracer
	reader  *metric.ManualReader
	tracing *queuetrace.Tracing
}

func newTraced(t *testing.T) *traced {
	t.Helper()
	x := &traced{t: t, spans: tracetest.NewInMemoryExporter(), reader: metric.NewManualReader()}
	provider := sdk.NewTracerProvider(sdk.WithSyncer(x.spans))
	x.tracer = provider.Tracer("test")
	var err error
	x.tracing, err = queuetrace.New(queuetrace.Config{
		TracerProvider: provider, MeterProvider: metric.NewMeterProvider(metric.WithReader(x.reader)),
	})
	require.NoError(t, err)
	return x
}

// enqueue calls the hook as a store does, and returns the jobs as a worker claims them first.
func (x *traced) enqueue(ctx context.Context, ps ...jobqueue.Params) (jobs []*jobqueue.Job) {
	x.t.Helper()
	insert := func(rs []driver.Record) ([]driver.InsertResult, error) {
		for i, r := range rs {
			jobs = append(jobs, &jobqueue.Job{ID: int64(i + 7), Queue: r.Queue, Kind: r.Kind, Attempt: 1,
				Meta: driver.DecodeMeta(r.Meta)})
		}
		return nil, nil
	}
	_, err := jobqueue.Insert(ctx, x.tracing.OnEnqueue, ps, insert)
	require.NoError(x.t, err)
	return jobs
}

// attempt runs the next attempt of a job.
func (x *traced) attempt(job *jobqueue.Job, h func(ctx context.Context) error) {
	_ = x.tracing.Middleware(func(ctx context.Context, _ *jobqueue.Job) error { return h(ctx) })(x.t.Context(), job)
	job.Attempt++
}

// named returns the spans of a name in the order of their ends.
func (x *traced) named(name string) (spans tracetest.SpanStubs) {
	for _, s := range x.spans.GetSpans() {
		if s.Name == name {
			spans = append(spans, s)
		}
	}
	return spans
}

func values(attributes []attribute.KeyValue) map[string]any {
	m := map[string]any{}
	for _, kv := range attributes {
		m[string(kv.Key)] = kv.Value.AsInterface()
	}
	return m
}

func TestAttemptsAreLinkedToTheSpanThatEnqueued(t *testing.T) {
	x := newTraced(t)
	ctx, request := x.tracer.Start(t.Context(), "request")
	job := x.enqueue(ctx, jobqueue.Params{Kind: "work", Meta: map[string]string{"a": "b"}})[0]
	request.End()
	for _, err := range []error{errors.New("try again"), nil} {
		x.attempt(job, func(ctx context.Context) error {
			_, inner := x.tracer.Start(ctx, "inner")
			inner.End()
			return err
		})
	}

	send := x.named("send default")[0]
	require.Equal(t, trace.SpanKindProducer, send.SpanKind)
	require.Equal(t, request.SpanContext().SpanID(), send.Parent.SpanID())
	require.Equal(t, map[string]any{"messaging.system": "jobqueue", "messaging.operation.name": "send",
		"messaging.operation.type": "send", "messaging.destination.name": "default", "jobqueue.kind": "work",
	}, values(send.Attributes))

	attempts := x.named("process default")
	require.Len(t, attempts, 2)
	for i, a := range attempts {
		require.Equal(t, trace.SpanKindConsumer, a.SpanKind)
		require.Len(t, a.Links, 1)
		require.Equal(t, send.SpanContext.SpanID(), a.Links[0].SpanContext.SpanID())
		require.Equal(t, send.SpanContext.TraceID(), a.Links[0].SpanContext.TraceID())
		sameTrace := a.SpanContext.TraceID() == send.SpanContext.TraceID()
		require.Equal(t, i == 0, sameTrace, "attempt %d", i+1)
		require.Equal(t, sameTrace, a.Parent.SpanID() == send.SpanContext.SpanID())
		require.Equal(t, a.SpanContext.SpanID(), x.named("inner")[i].Parent.SpanID(), "the handler's spans")
	}
	want := map[string]any{"messaging.system": "jobqueue", "messaging.operation.name": "process",
		"messaging.operation.type": "process", "messaging.destination.name": "default",
		"messaging.message.id": "7", "jobqueue.kind": "work", "jobqueue.attempt": int64(2)}
	require.Equal(t, want, values(attempts[1].Attributes))
	want["jobqueue.attempt"], want["error.type"] = int64(1), "*errors.errorString"
	require.Equal(t, want, values(attempts[0].Attributes))
	require.Equal(t, codes.Error, attempts[0].Status.Code)
	require.Empty(t, attempts[0].Events, "the text of the error may be private")
	require.Equal(t, codes.Unset, attempts[1].Status.Code)
}

func TestJobsOfACallHaveOneSpanForEachQueue(t *testing.T) {
	x := newTraced(t)
	own := map[string]string{"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}
	for _, job := range x.enqueue(t.Context(), jobqueue.Params{Kind: "work"},
		jobqueue.Params{Kind: "work", Queue: "default"}, jobqueue.Params{Kind: "work", Queue: "mails", Meta: own}) {
		x.attempt(job, func(context.Context) error { return nil })
	}
	require.Len(t, x.named("send default"), 1)
	require.Equal(t, int64(2), values(x.named("send default")[0].Attributes)["messaging.batch.message_count"])
	require.Len(t, x.named("send mails"), 1)
	require.Len(t, x.named("process default"), 2)
	link := x.named("process mails")[0].Links[0].SpanContext
	require.Equal(t, "0af7651916cd43dd8448eb211c80319c", link.TraceID().String(), "the caller's context is kept")
}

// The type of an error is that of the innermost one; a snooze is none, and a panic is recorded.
func TestOutcomes(t *testing.T) {
	for name, c := range map[string]struct {
		handler func() error
		want    any
	}{
		"success":   {func() error { return nil }, nil},
		"snooze":    {func() error { return fmt.Errorf("busy: %w", jobqueue.Snooze(time.Hour)) }, nil},
		"permanent": {func() error { return jobqueue.Permanent(context.Canceled) }, "*errors.errorString"},
		"wrapped":   {func() error { return fmt.Errorf("read: %w", &fs.PathError{}) }, "*fs.PathError"},
		"panic":     {func() error { panic("lost") }, "panic"},
	} {
		t.Run(name, func(t *testing.T) {
			x := newTraced(t)
			func() {
				defer func() { require.Equal(t, c.want == "panic", recover() != nil) }()
				x.attempt(&jobqueue.Job{Queue: "default"}, func(context.Context) error { return c.handler() })
			}()
			span := x.named("process default")[0]
			require.Equal(t, c.want, values(span.Attributes)["error.type"])
			require.Equal(t, c.want != nil, span.Status.Code == codes.Error)
		})
	}
}

func TestMetrics(t *testing.T) {
	x := newTraced(t)
	jobs := x.enqueue(t.Context(), slices.Repeat([]jobqueue.Params{{Kind: "work"}}, 4)...)
	x.attempt(jobs[0], func(context.Context) error { return errors.New("try again") })
	for _, job := range jobs {
		x.attempt(job, func(context.Context) error { return nil })
	}
	var all metricdata.ResourceMetrics
	require.NoError(t, x.reader.Collect(t.Context(), &all))
	got := map[string]int{}
	for _, m := range all.ScopeMetrics[0].Metrics {
		switch data := m.Data.(type) {
		case metricdata.Sum[int64]:
			for _, p := range data.DataPoints {
				queue, _ := values(p.Attributes.ToSlice())["messaging.destination.name"].(string)
				got[m.Name+" "+m.Unit+" "+queue] = int(p.Value)
			}
		case metricdata.Histogram[float64]:
			for _, p := range data.DataPoints {
				require.Less(t, p.Sum, 60.0, "seconds")
				failure, _ := values(p.Attributes.ToSlice())["error.type"].(string)
				got[m.Name+" "+m.Unit+" "+failure] = int(p.Count)
			}
		}
	}
	require.Equal(t, map[string]int{
		"messaging.client.sent.messages {message} default":     4,
		"messaging.client.consumed.messages {message} default": 5,
		"messaging.process.duration s ":                        4,
		"messaging.process.duration s *errors.errorString":     1,
	}, got)
}

// A client of the program may send a tracestate of any length: it never makes Enqueue fail.
func TestTracingNeverMakesMetaTooLong(t *testing.T) {
	x := newTraced(t)
	long := strings.Repeat("v", 250)
	for name, c := range map[string]struct {
		state string
		meta  int // length of what the caller attaches
		want  []string
	}{
		"short":           {"a=b", 10, []string{"own", "traceparent", "tracestate"}},
		"long tracestate": {"a=" + long + ",b=" + long + ",c=" + long, 10, []string{"own", "traceparent"}},
		"full Meta":       {"a=b", 8170, []string{"own"}},
	} {
		t.Run(name, func(t *testing.T) {
			state, err := trace.ParseTraceState(c.state)
			require.NoError(t, err)
			parent := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1},
				SpanID: trace.SpanID{1}, TraceFlags: trace.FlagsSampled, TraceState: state})
			ctx := trace.ContextWithRemoteSpanContext(t.Context(), parent)
			own := map[string]string{"own": strings.Repeat("x", c.meta)}
			job := x.enqueue(ctx, jobqueue.Params{Kind: "work", Meta: own})[0]
			require.Equal(t, c.want, slices.Sorted(maps.Keys(job.Meta)))
		})
	}
}
