package pgqueue_test

import (
	"context"
	"fmt"
	"log"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"lessonkit.example/jobqueue"
	"lessonkit.example/jobqueue/pgqueue"
)

type Welcome struct{ Address string }

func Example() {
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, "postgres://localhost/app")
	if err != nil {
		log.Fatal(err)
	}
	store := pgqueue.New(pool, pgqueue.Config{})
	if err := store.Migrate(ctx); err != nil {
		log.Fatal(err)
	}
	worker := jobqueue.NewWorker(store, jobqueue.WorkerConfig{})
	jobqueue.Handle(worker, "welcome", func(ctx context.Context, job *jobqueue.Job, w Welcome) error {
		fmt.Println("welcome", w.Address)
		return nil
	})
	go worker.Run(ctx)

	client := jobqueue.NewClient(store)
	_, err = client.Enqueue(ctx, jobqueue.Params{Kind: "welcome", Args: Welcome{"ann@example.org"}})
	fmt.Println(err)
}

// One pool serves the queue and, by database/sql, the other stores of a program on one database.
func ExamplePoolConfig() {
	ctx := context.Background()
	config, err := pgqueue.PoolConfig("postgres://localhost/app", nil)
	if err != nil {
		log.Fatal(err)
	}
	config.MaxConns = 20
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		log.Fatal(err)
	}
	store := pgqueue.New(pool, pgqueue.Config{})
	db := stdlib.OpenDBFromPool(pool) // for sqlstore.NewPostgres of packages feedback and auth
	err = store.Migrate(ctx)
	if err != nil {
		log.Fatal(err)
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer tx.Rollback() // without effect after the commit
	_, err = store.EnqueueTx(ctx, tx, jobqueue.Params{Kind: "welcome", Args: Welcome{"ann@example.org"}})
	fmt.Println(err, tx.Commit())
}

// The user and the job are committed together or not at all.
func ExampleStore_EnqueuePgx() {
	ctx := context.Background()
	pool, _ := pgxpool.New(ctx, "postgres://localhost/app")
	store := pgqueue.New(pool, pgqueue.Config{})
	err := pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "insert into users (address) values ($1)", "ann@example.org"); err != nil {
			return err
		}
		_, err := store.EnqueuePgx(ctx, tx, jobqueue.Params{Kind: "welcome", Args: Welcome{"ann@example.org"}})
		return err
	})
	fmt.Println(err)
}

// What the job writes and its completion are committed together: it is written once, even if the
// worker loses its lease or stops before it has reported the success.
func ExampleStore_CompletePgx() {
	ctx := context.Background()
	pool, _ := pgxpool.New(ctx, "postgres://localhost/app")
	store := pgqueue.New(pool, pgqueue.Config{})
	worker := jobqueue.NewWorker(store, jobqueue.WorkerConfig{})
	jobqueue.Handle(worker, "charge", func(ctx context.Context, job *jobqueue.Job, w Welcome) error {
		return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, "insert into charges (address, cents) values ($1, 500)", w.Address); err != nil {
				return err
			}
			return store.CompletePgx(ctx, tx, job)
		})
	})
	fmt.Println(worker.Run(ctx))
}

// Behind a connection pooler in transaction mode, prepared statements may not work, and LISTEN
// needs a direct connection. Without one, Config.PollOnly makes workers poll.
func ExampleNew_connectionPooler() {
	ctx := context.Background()
	pooled, err := pgxpool.ParseConfig("postgres://pooler:6432/app")
	if err != nil {
		log.Fatal(err)
	}
	pooled.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec
	pool, err := pgxpool.NewWithConfig(ctx, pooled)
	if err != nil {
		log.Fatal(err)
	}
	direct, err := pgx.ParseConfig("postgres://database:5432/app")
	if err != nil {
		log.Fatal(err)
	}
	store := pgqueue.New(pool, pgqueue.Config{ListenConn: direct})
	fmt.Println(store.Migrate(ctx))
}
