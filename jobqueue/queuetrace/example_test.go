package queuetrace_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"lessonkit.example/jobqueue"
	"lessonkit.example/jobqueue/queuetrace"
	"lessonkit.example/jobqueue/sqlitequeue"
)

// The request that enqueues a job and the first attempt of the job are in one trace.
func Example() {
	spans := tracetest.NewInMemoryExporter() // a program has an exporter to its collector
	provider := trace.NewTracerProvider(trace.WithSyncer(spans))
	tracing, err := queuetrace.New(queuetrace.Config{TracerProvider: provider})
	if err != nil {
		log.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	store, err := sqlitequeue.Open(filepath.Join(dir, "queue.db"), sqlitequeue.Config{OnEnqueue: tracing.OnEnqueue})
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	_ = store.Migrate(ctx)
	worker := jobqueue.NewWorker(store, jobqueue.WorkerConfig{
		Middleware: []func(jobqueue.HandlerFunc) jobqueue.HandlerFunc{tracing.Middleware},
	})
	jobqueue.Handle(worker, "welcome", func(context.Context, *jobqueue.Job, any) error { cancel(); return nil })

	request, span := provider.Tracer("shop").Start(ctx, "POST /customers")
	_, _ = jobqueue.NewClient(store).Enqueue(request, jobqueue.Params{Kind: "welcome"})
	span.End()
	_ = worker.Run(ctx)
	for _, s := range spans.GetSpans() {
		fmt.Println(s.Name, s.SpanContext.TraceID() == span.SpanContext().TraceID())
	}
	// Output:
	// send default true
	// POST /customers true
	// process default true
}
