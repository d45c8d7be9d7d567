package jobqueue

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"lessonkit.example/internal/bench/harness"
	"lessonkit.example/jobqueue"
	"lessonkit.example/jobqueue/pgqueue"
)

// system is a job queue on one database.
type system interface {
	migrate(ctx context.Context) error
	// tables lists the tables to truncate.
	tables() string
	insert(ctx context.Context, a Args) error
	insertMany(ctx context.Context, n int) error
	// insertFast inserts many jobs in the fastest way the system has.
	insertFast(ctx context.Context, n int) error
	// work runs jobs until ctx ends. It calls handle in the handler and done when a job is durably
	// completed.
	work(ctx context.Context, maxWorkers int, handle func(Args), done func()) error
}

func newSystem(name string, pool *pgxpool.Pool) system {
	if name == "ours" {
		return newOurs(pgqueue.New(pool, pgqueue.Config{}))
	}
	return newPeer(riverpgxv5.New(pool))
}

type ours struct {
	store  jobqueue.Store
	client *jobqueue.Client
	keys   int // of the jobs that insertMany inserts; 0: none
}

func newOurs(s jobqueue.Store) *ours { return &ours{store: s, client: jobqueue.NewClient(s)} }

func (o *ours) migrate(ctx context.Context) error { return o.store.Migrate(ctx) }
func (o *ours) tables() string                    { return "jobqueue_job, jobqueue_done, jobqueue_worker" }

func (o *ours) insert(ctx context.Context, a Args) error {
	_, err := o.client.Enqueue(ctx, jobqueue.Params{Kind: "bench", Args: a})
	return err
}

func (o *ours) insertMany(ctx context.Context, n int) error {
	ps := make([]jobqueue.Params, n)
	for i := range ps {
		ps[i] = jobqueue.Params{Kind: "bench", Args: argsOf(i)}
		if o.keys > 0 {
			ps[i].LimitKey, ps[i].KeyLimit = strconv.Itoa(i%o.keys), 10
		}
	}
	_, err := o.client.EnqueueMany(ctx, ps)
	return err
}

func (o *ours) insertFast(ctx context.Context, n int) error { return o.insertMany(ctx, n) }

func (o *ours) work(ctx context.Context, maxWorkers int, handle func(Args), done func()) error {
	w := jobqueue.NewWorker(o.store, jobqueue.WorkerConfig{
		Queues: map[string]jobqueue.QueueConfig{jobqueue.DefaultQueue: {MaxWorkers: maxWorkers}},
		OnEvent: func(e jobqueue.Event) {
			if e.Type == jobqueue.EventSucceeded {
				done()
			}
		},
	})
	jobqueue.Handle(w, "bench", func(_ context.Context, _ *jobqueue.Job, a Args) error {
		handle(a)
		return nil
	})
	return w.Run(ctx)
}

// peer is River on a database with transactions of type T.
type peer[T any] struct {
	driver riverdriver.Driver[T]
	client *river.Client[T]
}

func newPeer[T any](driver riverdriver.Driver[T]) *peer[T] {
	return &peer[T]{driver: driver, client: harness.Must(river.NewClient(driver, riverConfig()))}
}

func (p *peer[T]) migrate(ctx context.Context) error {
	m, err := rivermigrate.New(p.driver, nil)
	if err != nil {
		return err
	}
	_, err = m.Migrate(ctx, rivermigrate.DirectionUp, nil)
	return err
}

func (p *peer[T]) tables() string { return "river_job" }

func (p *peer[T]) insert(ctx context.Context, a Args) error {
	_, err := p.client.Insert(ctx, a, nil)
	return err
}

func insertParams(n int) []river.InsertManyParams {
	ps := make([]river.InsertManyParams, n)
	for i := range ps {
		ps[i] = river.InsertManyParams{Args: argsOf(i)}
	}
	return ps
}

func (p *peer[T]) insertMany(ctx context.Context, n int) error {
	_, err := p.client.InsertMany(ctx, insertParams(n))
	return err
}

func (p *peer[T]) insertFast(ctx context.Context, n int) error {
	_, err := p.client.InsertManyFast(ctx, insertParams(n))
	return err
}

type riverWorker struct {
	river.WorkerDefaults[Args]
	handle func(Args)
}

func (w *riverWorker) Work(_ context.Context, job *river.Job[Args]) error {
	w.handle(job.Args)
	return nil
}

// riverConfig returns the settings of River's own benchmark. FetchCooldown is also how often an
// inserting client notifies.
func riverConfig() *river.Config {
	return &river.Config{
		Logger:            slog.New(slog.DiscardHandler),
		FetchCooldown:     2 * time.Millisecond,
		FetchPollInterval: 20 * time.Millisecond,
	}
}

func (p *peer[T]) work(ctx context.Context, maxWorkers int, handle func(Args), done func()) error {
	workers := river.NewWorkers()
	river.AddWorker(workers, &riverWorker{handle: handle})
	config := riverConfig()
	config.Queues = map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: maxWorkers}}
	config.Workers = workers
	client, err := river.NewClient(p.driver, config)
	if err != nil {
		return err
	}
	events, unsubscribe := client.SubscribeConfig(&river.SubscribeConfig{
		ChanSize: 50_000, Kinds: []river.EventKind{river.EventKindJobCompleted},
	})
	defer unsubscribe()
	if err := client.Start(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	for {
		select {
		case <-events:
			done()
		case <-ctx.Done():
			stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
			defer cancel()
			if err := client.StopAndCancel(stop); err != nil && !errors.Is(err, context.Canceled) {
				return err
			}
			return nil
		}
	}
}
