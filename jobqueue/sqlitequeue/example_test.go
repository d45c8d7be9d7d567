package sqlitequeue_test

import (
	"context"
	"database/sql"
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

// A job is enqueued with the row that it is about, and completed with the row that it writes: each
// pair is committed together or not at all.
func ExampleStore_CompleteTx() {
	ctx, cancel := context.WithCancel(context.Background())
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	store, err := sqlitequeue.Open(filepath.Join(dir, "shop.db"), sqlitequeue.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	if err := store.Migrate(ctx); err != nil {
		log.Fatal(err)
	}
	write, read := store.DB()
	const tables = "create table orders (id integer primary key); create table charges (cents integer)"
	if _, err := write.Exec(tables); err != nil {
		log.Fatal(err)
	}

	worker := jobqueue.NewWorker(store, jobqueue.WorkerConfig{})
	jobqueue.Handle(worker, "charge", func(ctx context.Context, job *jobqueue.Job, cents int) error {
		defer cancel() // one job is enough for an example
		return inTx(ctx, write, func(tx *sql.Tx) error {
			if _, err := tx.ExecContext(ctx, "insert into charges values ($1)", cents); err != nil {
				return err
			}
			return store.CompleteTx(ctx, tx, job)
		})
	})
	err = inTx(ctx, write, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, "insert into orders values (1)"); err != nil {
			return err
		}
		_, err := store.EnqueueTx(ctx, tx, jobqueue.Params{Kind: "charge", Args: 500})
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	if err := worker.Run(ctx); err != nil {
		log.Fatal(err)
	}
	var cents int
	err = read.QueryRow("select sum(cents) from charges").Scan(&cents)
	fmt.Println(cents, err)
	// Output: 500 <nil>
}

// inTx runs fn in a transaction.
func inTx(ctx context.Context, db *sql.DB, fn func(tx *sql.Tx) error) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // without effect after the commit
	if err := fn(tx); err != nil {
		return err
	}
	return tx.Commit()
}
