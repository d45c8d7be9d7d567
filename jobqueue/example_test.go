package jobqueue_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"lessonkit.example/jobqueue"
	"lessonkit.example/jobqueue/pgqueue"
	"lessonkit.example/jobqueue/sqlitequeue"
)

// open returns a queue in a temporary file, and a function that removes it.
func open() (*sqlitequeue.Store, func()) {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	store, err := sqlitequeue.Open(filepath.Join(dir, "queue.db"), sqlitequeue.Config{})
	if err != nil {
		log.Fatal(err)
	}
	if err := store.Migrate(context.Background()); err != nil {
		log.Fatal(err)
	}
	return store, func() { store.Close(); os.RemoveAll(dir) }
}

type Resize struct {
	Picture string
	Width   int
}

func Example() {
	store, remove := open()
	defer remove()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)

	worker := jobqueue.NewWorker(store, jobqueue.WorkerConfig{})
	jobqueue.Handle(worker, "resize", func(ctx context.Context, job *jobqueue.Job, r Resize) error {
		defer cancel() // one job is enough for an example
		fmt.Printf("%s to %d pixels, attempt %d of %d\n", r.Picture, r.Width, job.Attempt, job.MaxAttempts)
		return nil
	})
	client := jobqueue.NewClient(store)
	_, err := client.Enqueue(ctx, jobqueue.Params{Kind: "resize", Args: Resize{"cat.png", 640}})
	fmt.Println(err)
	fmt.Println(worker.Run(ctx))
	// Output:
	// <nil>
	// cat.png to 640 pixels, attempt 1 of 10
	// <nil>
}

// A kind of job can have its own timeout and backoff. The cause of the context is why the handler
// has to stop.
func ExampleHandle() {
	store, remove := open()
	defer remove()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)

	worker := jobqueue.NewWorker(store, jobqueue.WorkerConfig{})
	jobqueue.Handle(worker, "render", func(ctx context.Context, job *jobqueue.Job, _ any) error {
		<-ctx.Done()
		switch cause := context.Cause(ctx); {
		case errors.Is(cause, jobqueue.ErrTimeout), errors.Is(cause, jobqueue.ErrCancelled):
			fmt.Println("clean up:", cause)
			cancel()
		case errors.Is(cause, jobqueue.ErrStopped), errors.Is(cause, jobqueue.ErrLeaseLost):
			fmt.Println("the job will run again, here or elsewhere")
		}
		return jobqueue.Snooze(time.Hour) // try again in an hour, without counting this attempt
	},
		jobqueue.WithTimeout(10*time.Millisecond),
		jobqueue.WithBackoff(func(attempt int) time.Duration { return time.Duration(attempt) * time.Minute }))
	_, _ = jobqueue.NewClient(store).Enqueue(ctx, jobqueue.Params{Kind: "render"})
	_ = worker.Run(ctx)
	// Output: clean up: jobqueue: job timed out
}

// A callback runs when a job has failed permanently, even if the worker died during its last
// attempt.
func ExampleOnFailed() {
	store, remove := open()
	defer remove()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)

	worker := jobqueue.NewWorker(store, jobqueue.WorkerConfig{})
	jobqueue.Handle(worker, "resize", func(ctx context.Context, job *jobqueue.Job, r Resize) error {
		return jobqueue.Permanent(errors.New("not a picture"))
	}, jobqueue.OnFailed(func(ctx context.Context, job *jobqueue.Job, cause error) error {
		if errors.Is(cause, jobqueue.ErrExpired) {
			cause = errors.New("the server crashed")
		}
		fmt.Println("tell the owner:", cause)
		cancel()
		return nil
	}))
	_, _ = jobqueue.NewClient(store).Enqueue(ctx, jobqueue.Params{Kind: "resize", Args: Resize{"cat.txt", 640}})
	_ = worker.Run(ctx)
	// Output: tell the owner: not a picture
}

// Middleware wraps all handlers of a worker; queues differ in how many jobs run at a time, in this
// process and in all (Limit), in how many start in a time (Rate), and in how long the history keeps
// them.
func ExampleWorkerConfig() {
	store, remove := open()
	defer remove()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)

	worker := jobqueue.NewWorker(store, jobqueue.WorkerConfig{
		Queues: map[string]jobqueue.QueueConfig{
			jobqueue.DefaultQueue: {MaxWorkers: 4, Retention: jobqueue.KeepNone},
			"mails":               {Rate: jobqueue.Rate{N: 100, Per: time.Minute, Burst: 10}},
			"invoices":            {MaxWorkers: 2, Limit: 3, Retention: jobqueue.KeepForever},
		},
		Middleware: []func(jobqueue.HandlerFunc) jobqueue.HandlerFunc{
			func(next jobqueue.HandlerFunc) jobqueue.HandlerFunc {
				return func(ctx context.Context, job *jobqueue.Job) error {
					fmt.Println("start", job.Kind, "of request", job.Meta["request"])
					return next(ctx, job)
				}
			},
		},
	})
	jobqueue.Handle(worker, "bill", func(context.Context, *jobqueue.Job, string) error { cancel(); return nil })
	_, _ = jobqueue.NewClient(store).Enqueue(ctx, jobqueue.Params{Kind: "bill", Queue: "invoices", Args: "March",
		Meta: map[string]string{"request": "4711"}})
	_ = worker.Run(ctx)
	// Output: start bill of request 4711
}

// The database keeps the state of schedules: however many workers run, each time is one job.
func ExampleSchedule() {
	store, remove := open()
	defer remove()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)

	nightly, err := jobqueue.Cron("30 3 * * *", time.UTC)
	if err != nil {
		log.Fatal(err)
	}
	worker := jobqueue.NewWorker(store, jobqueue.WorkerConfig{Schedules: []jobqueue.Schedule{
		{Name: "clean", When: jobqueue.Every(50 * time.Millisecond), Params: jobqueue.Params{Kind: "clean"}},
		{Name: "report", When: nightly, Params: jobqueue.Params{Kind: "report"}},
	}})
	jobqueue.Handle(worker, "clean", func(_ context.Context, job *jobqueue.Job, _ any) error {
		fmt.Println("clean", job.RunAt.UnixMilli()%50)
		cancel()
		return nil
	})
	_ = worker.Run(ctx)
	// Output: clean 0
}

// Three pages are converted at the same time, and the book is bound when all have ended.
func ExampleClient_EnqueueMany_group() {
	store, remove := open()
	defer remove()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	client := jobqueue.NewClient(store)
	ps := []jobqueue.Params{{Kind: "bind", Args: "moby.pdf", AfterGroup: "book 7"}}
	for page := range 3 {
		ps = append(ps, jobqueue.Params{Kind: "convert", Args: page, Group: "book 7", MaxAttempts: 1})
	}
	_, err := client.EnqueueMany(ctx, ps)
	fmt.Println(err)

	worker := jobqueue.NewWorker(store, jobqueue.WorkerConfig{})
	jobqueue.Handle(worker, "convert", func(_ context.Context, _ *jobqueue.Job, page int) error {
		if page == 2 {
			return errors.New("the page is empty")
		}
		return nil
	})
	jobqueue.Handle(worker, "bind", func(ctx context.Context, job *jobqueue.Job, file string) error {
		defer cancel()
		pages, err := client.GroupStats(ctx, job.AfterGroup)
		fmt.Printf("%s has %d pages, %d failed\n", file, pages.Succeeded, pages.Failed)
		return err
	})
	_ = worker.Run(ctx)
	// Output:
	// <nil>
	// moby.pdf has 2 pages, 1 failed
}

// A job saves how far it is, so that another attempt continues there.
func ExampleJob() {
	store, remove := open()
	defer remove()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)

	worker := jobqueue.NewWorker(store, jobqueue.WorkerConfig{
		Backoff: func(attempt int) time.Duration { return time.Millisecond }})
	jobqueue.Handle(worker, "import", func(ctx context.Context, job *jobqueue.Job, lines int) error {
		var state struct {
			Line     int     `json:"line"`
			Progress float64 `json:"progress"` // package queueui shows it
		}
		if job.Saved != nil {
			if err := json.Unmarshal(job.Saved, &state); err != nil {
				return jobqueue.Permanent(err)
			}
		}
		fmt.Println("attempt", job.Attempt, "begins after line", state.Line)
		for state.Line < lines {
			state.Line++
			state.Progress = float64(state.Line) / float64(lines)
			if err := job.Save(state); err != nil {
				return err
			}
			if state.Line == 3 && job.Attempt == 1 {
				return errors.New("the network is down")
			}
		}
		cancel()
		return nil
	})
	result, _ := jobqueue.NewClient(store).Enqueue(ctx, jobqueue.Params{Kind: "import", Args: 5})
	_ = worker.Run(ctx)
	job, _ := jobqueue.NewClient(store).Get(context.Background(), result.ID)
	fmt.Println(string(job.Saved))
	// Output:
	// attempt 1 begins after line 0
	// attempt 2 begins after line 3
	// {"line":5,"progress":1}
}

// A queue is paused while what its jobs need is not available. A list is read page by page, the
// newest jobs first.
func ExampleClient_List() {
	store, remove := open()
	defer remove()
	ctx := context.Background()
	client := jobqueue.NewClient(store)
	for _, name := range []string{"ann", "ben", "cleo"} {
		_, _ = client.Enqueue(ctx, jobqueue.Params{Kind: "mail", Queue: "mails", Args: name})
	}
	fmt.Println(client.Pause(ctx, "mails", time.Now().Add(time.Hour))) // without a time, until Resume
	page := jobqueue.Filter{State: jobqueue.StateWaiting, Queue: "mails", Limit: 2}
	for first := true; first || page.Before != 0; first = false {
		jobs, next, err := client.List(ctx, page)
		if err != nil {
			log.Fatal(err)
		}
		for _, job := range jobs {
			fmt.Println(job.Kind, string(job.Args))
		}
		page.Before = next
	}
	// Output:
	// <nil>
	// mail "cleo"
	// mail "ben"
	// mail "ann"
}

// Each customer has two jobs running at a time, and those who pay have five. The others of a
// customer wait, and those of other customers start before them.
func ExampleParams_limits() {
	store, remove := open()
	defer remove()
	client := jobqueue.NewClient(store)
	for customer, limit := range map[string]int{"free": 2, "paying": 5} {
		for range 10 {
			_, err := client.Enqueue(context.Background(), jobqueue.Params{
				Kind: "render", Queue: customer, LimitKey: customer, KeyLimit: limit,
			})
			if err != nil {
				log.Fatal(err)
			}
		}
	}
	stats, err := client.Stats(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	for _, q := range stats.Queues {
		fmt.Println(q.Queue, q.Waiting, "may start,", q.Held, "are held")
	}
	// Output:
	// free 2 may start, 8 are held
	// paying 5 may start, 5 are held
}

// The caller of a job waits for what it has produced.
func ExampleClient_Wait() {
	store, remove := open()
	defer remove()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	worker := jobqueue.NewWorker(store, jobqueue.WorkerConfig{})
	jobqueue.Handle(worker, "resize", func(ctx context.Context, job *jobqueue.Job, r Resize) error {
		return job.Save("small " + r.Picture)
	})
	stopped := make(chan error)
	go func() { stopped <- worker.Run(ctx) }()

	client := jobqueue.NewClient(store)
	enqueued, err := client.Enqueue(ctx, jobqueue.Params{Kind: "resize", Args: Resize{"cat.png", 640}})
	if err != nil {
		log.Fatal(err)
	}
	job, err := client.Wait(ctx, enqueued.ID)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(job.State, string(job.Saved))
	cancel()
	fmt.Println(<-stopped)
	// Output:
	// succeeded "small cat.png"
	// <nil>
}

// One call inserts many rows; a row that is refused fails its job alone.
func ExampleHandleMany() {
	store, remove := open()
	defer remove()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	worker := jobqueue.NewWorker(store, jobqueue.WorkerConfig{})
	jobqueue.HandleMany(worker, "index", 3, 100*time.Millisecond,
		func(ctx context.Context, jobs []*jobqueue.Job) []error {
			defer cancel()
			errs := make([]error, len(jobs))
			for i, job := range jobs {
				var page string
				if err := json.Unmarshal(job.Args, &page); err != nil {
					errs[i] = jobqueue.Permanent(err)
				}
			}
			fmt.Println(len(jobs), "pages in one call")
			return errs
		})
	var pages []jobqueue.Params
	for _, page := range []string{"a", "b", "c"} {
		pages = append(pages, jobqueue.Params{Kind: "index", Args: page})
	}
	if _, err := jobqueue.NewClient(store).EnqueueMany(ctx, pages); err != nil {
		log.Fatal(err)
	}
	fmt.Println(worker.Run(ctx))
	// Output:
	// 3 pages in one call
	// <nil>
}

// A program runs on PostgreSQL or on an SQLite file, as its configuration says: only this function
// differs.
func ExampleTxStore() {
	openAny := func(ctx context.Context, address string) (_ jobqueue.TxStore, db *sql.DB, stop func(), err error) {
		if strings.HasPrefix(address, "postgres://") {
			pool, err := pgxpool.New(ctx, address)
			if err != nil {
				return nil, nil, nil, err
			}
			db := stdlib.OpenDBFromPool(pool)
			return pgqueue.New(pool, pgqueue.Config{}), db, func() { db.Close(); pool.Close() }, nil
		}
		file, err := sqlitequeue.Open(address, sqlitequeue.Config{})
		if err != nil {
			return nil, nil, nil, err
		}
		write, _ := file.DB()
		return file, write, func() { file.Close() }, nil
	}
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	store, db, stop, err := openAny(ctx, filepath.Join(dir, "queue.db"))
	if err != nil {
		log.Fatal(err)
	}
	defer stop()
	if err := store.Migrate(ctx); err != nil {
		log.Fatal(err)
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer tx.Rollback() // without effect after the commit
	_, err = store.EnqueueTx(ctx, tx, jobqueue.Params{Kind: "resize", Args: Resize{"cat.png", 640}})
	fmt.Println(err, tx.Commit())
	// Output: <nil> <nil>
}
