// Package jobqueue is a durable job queue: jobs are rows of your database, enqueued in your transactions, and run by
// workers in as many processes as you like. Package pgqueue keeps them in PostgreSQL, package sqlitequeue in an SQLite
// file.
//
// A kind of job is a name, a type for its arguments and a handler:
//
//	type Welcome struct{ Address string }
//
//	store := pgqueue.New(pool, pgqueue.Config{})
//	err := store.Migrate(ctx)
//
//	worker := jobqueue.NewWorker(store, jobqueue.WorkerConfig{})
//	jobqueue.Handle(worker, "welcome", func(ctx context.Context, job *jobqueue.Job, w Welcome) error {
//		return mail(ctx, w.Address)
//	})
//	go worker.Run(ctx)
//
//	client := jobqueue.NewClient(store)
//	_, err = client.Enqueue(ctx, jobqueue.Params{Kind: "welcome", Args: Welcome{"ann@example.org"}})
//
// # What is promised
//
// A job that was enqueued runs until it has succeeded, failed for good or been cancelled: at least once, and normally
// exactly once. It can run twice when a process dies, or is cut off from the database, after the handler has done its
// work and before that is recorded. A handler that writes to the same database avoids even this with CompleteTx of the
// store; one that writes elsewhere can write [Job.Token] with what it does.
//
// # Leases
//
// A worker holds its jobs by one row that it renews by a heartbeat. When its process dies, another worker takes the jobs
// back within one and a half leases (45 s by default). A worker that cannot renew its lease ends the contexts of its
// handlers with cause [ErrLeaseLost], and nothing it says about these jobs counts any more: every lease has a fence
// number, and whoever finishes a job must know the current one. How long a job may run has nothing to do with
// the lease: see WorkerConfig.Timeout.
//
// # Outcomes
//
// What a handler returns decides what becomes of its job: see [HandlerFunc]. Errors tell by method, so that a package
// whose errors have Permanent() bool or RetryAfter() time.Duration needs to know nothing of this one. The history keeps the
// error of every attempt, with the stack of a panic. [WithDead] tells whoever enqueued a job that it failed for good, even
// when its last attempt died with its process.
//
// # Compatibility
//
// Before version 1 anything may change, but Migrate of a store always brings older tables up to date.
package jobqueue
