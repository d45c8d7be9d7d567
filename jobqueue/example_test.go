package jobqueue_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	_ "modernc.org/sqlite"

	"lessonkit.example/jobqueue"
	"lessonkit.example/jobqueue/sqlitequeue"
)

// open returns a queue in a temporary file, and a function that removes it.
func open() (*sqlitequeue.Store, func()) {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	dsn := "file:" + filepath.Join(dir, "queue.db") + "?_pragma=busy_timeout(10000)&_pragma=journal_mode(wal)"
	write, _ := sql.Open("sqlite", dsn+"&_txlock=immediate")
	write.SetMaxOpenConns(1)
	read, _ := sql.Open("sqlite", dsn)
	store := sqlitequeue.New(write, read, sqlitequeue.Config{})
	if err := store.Migrate(context.Background()); err != nil {
		log.Fatal(err)
	}
	return store, func() { write.Close(); read.Close(); os.RemoveAll(dir) }
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

// Whoever enqueued a job hears that it has failed for good.
func ExampleWithDead() {
	store, remove := open()
	defer remove()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)

	worker := jobqueue.NewWorker(store, jobqueue.WorkerConfig{})
	jobqueue.Handle(worker, "resize", func(ctx context.Context, job *jobqueue.Job, r Resize) error {
		return jobqueue.Permanent(errors.New("not a picture"))
	}, jobqueue.WithDead(func(ctx context.Context, job *jobqueue.Job, cause error) error {
		fmt.Println("tell the owner:", cause)
		cancel()
		return nil
	}))
	_, _ = jobqueue.NewClient(store).Enqueue(ctx, jobqueue.Params{Kind: "resize", Args: Resize{"cat.txt", 640}})
	_ = worker.Run(ctx)
	// Output: tell the owner: not a picture
}

// A unique key keeps a second job out while the first one waits.
func ExampleClient_Enqueue_unique() {
	store, remove := open()
	defer remove()
	ctx := context.Background()
	client := jobqueue.NewClient(store)
	p := jobqueue.Params{Kind: "reindex", UniqueKey: "shop", UniqueUntilStarted: true}
	first, _ := client.Enqueue(ctx, p)
	second, _ := client.Enqueue(ctx, p)
	fmt.Println(first.Duplicate, second.Duplicate, first.ID == second.ID)
	// Output: false true true
}
