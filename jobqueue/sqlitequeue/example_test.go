package sqlitequeue_test

import (
	"context"
	"database/sql"
	"fmt"
	"log"
	"os"
	"path/filepath"

	_ "modernc.org/sqlite"

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
	pragmas := "?_pragma=busy_timeout(10000)&_pragma=journal_mode(wal)&_pragma=synchronous(full)"
	file := "file:" + filepath.Join(dir, "queue.db") + pragmas
	write, _ := sql.Open("sqlite", file+"&_txlock=immediate")
	write.SetMaxOpenConns(1)
	defer write.Close()
	read, _ := sql.Open("sqlite", file)
	defer read.Close()

	store := sqlitequeue.New(write, read, sqlitequeue.Config{})
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
