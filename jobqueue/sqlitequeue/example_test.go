package sqlitequeue_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"lessonkit.example/jobqueue"
	"lessonkit.example/jobqueue/sqlitequeue"
)

func Example() {
	ctx, cancel := context.WithCancel(context.Background())
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	store, err := sqlitequeue.Open(filepath.Join(dir, "queue.db"), sqlitequeue.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	if err := store.Migrate(ctx); err != nil {
		log.Fatal(err)
	}
	worker := jobqueue.NewWorker(store, jobqueue.WorkerConfig{})
	jobqueue.Handle(worker, "greet", func(ctx context.Context, job *jobqueue.Job, name string) error {
		fmt.Println("hello", name)
		cancel()
		return nil
	})
	client := jobqueue.NewClient(store)
	if _, err := client.Enqueue(ctx, jobqueue.Params{Kind: "greet", Args: "Ann"}); err != nil {
		log.Fatal(err)
	}
	fmt.Println(worker.Run(ctx))
	// Output:
	// hello Ann
	// <nil>
}
