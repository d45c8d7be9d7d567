// Package jobqueue is a durable job queue: jobs are rows of a database, enqueued in transactions of
// the caller, and run by workers in any number of processes. Package pgqueue stores them in
// PostgreSQL, package sqlitequeue in an SQLite file. A [Client] enqueues jobs, and inspects and
// manages them, their queues and schedules; package queueui does so in the browser.
//
// A kind of job is a name, a type for its arguments and a handler:
//
//	store := pgqueue.New(pool, pgqueue.Config{}) // or package sqlitequeue
//	if err := store.Migrate(ctx); err != nil {
//		return err
//	}
//	worker := jobqueue.NewWorker(store, jobqueue.WorkerConfig{})
//	jobqueue.Handle(worker, "welcome", func(ctx context.Context, job *jobqueue.Job, name string) error {
//		fmt.Println("hello", name)
//		return nil
//	})
//	client := jobqueue.NewClient(store)
//	if _, err := client.Enqueue(ctx, jobqueue.Params{Kind: "welcome", Args: "Ann"}); err != nil {
//		return err
//	}
//	return worker.Run(ctx)
//
// Package jobtest runs single jobs in tests.
//
// # Guarantees
//
// An enqueued job runs until it has succeeded, failed permanently or been cancelled: at least once,
// and normally exactly once. It can run twice when a process dies, or loses the database, after the
// handler has done its work and before that is recorded. A handler that writes to the same database
// prevents even this with CompleteTx of the store; one that writes elsewhere can store the Token of
// its [Job] with what it writes.
//
// # Leases
//
// A worker holds its jobs by one lease, which it renews by heartbeats. When its process dies,
// another worker rescues the jobs within one and a half leases (45 s by default). A worker that
// cannot renew its lease ends the contexts of its handlers with cause [ErrLeaseLost], and their
// results are ignored: every lease of a job has a fence number, and a result must name the current
// one. In both cases the attempts count, with the error "lease expired". How long a job may run
// does not depend on the lease: see WorkerConfig.Timeout.
//
// # Results
//
// The error of a handler decides what happens to its job: see [HandlerFunc]. Errors are classified
// by their methods Permanent() bool and RetryAfter() time.Duration, so the packages that return
// them need not import this one. The history keeps the error of every attempt, with the stack of a
// panic. [HandleMany] calls a handler for many jobs at once, each with its own result. [OnFailed]
// sets a callback for jobs that fail permanently or are cancelled, even if a process died during
// the last attempt or the job had not started.
//
// # Saved state
//
// The Save method of [Job] stores what the next attempt needs to continue, how far the job is, or
// what it has produced; SaveTx of the store does so in a transaction of the handler. The next
// attempt finds it in Saved, as does [Client.Get]. [Client.Wait] waits until a job has ended and
// returns its result.
//
// # Periodic jobs
//
// WorkerConfig.Schedules enqueue jobs by cron expressions ([Cron]) or at intervals ([Every]). The
// database keeps their state, so every time becomes one job, whichever processes run and whenever
// they crash. A [Client] lists and pauses them, and runs them by hand.
//
// # Order and limits
//
// Jobs start in the order of Priority, then RunAt. QueueConfig.Limit limits how many jobs of a
// queue run at a time in all processes together, QueueConfig.Rate how many start in a time.
// Params.LimitKey and KeyLimit limit the jobs of one key, such as a customer: by default they run
// one at a time, in the order in which enqueues commit. Unfinished jobs are all that counts, so the
// limit holds whatever dies. [Client.Pause] stops a queue. There are no rates for single keys.
//
// Params.Group and AfterGroup make a job start when the members of a group have ended: fan-out and
// fan-in, and chains of both. [Client.GroupStats] tells how they ended, [Client.DeleteGroup]
// deletes them. A handler that enqueues the next job with EnqueueTx, in the transaction of
// CompleteTx, makes a chain without a group.
//
// # Hooks
//
// OnEnqueue in the configuration of a store is called before jobs are enqueued, and may attach Meta
// to them; WorkerConfig.Middleware wraps every handler; WorkerConfig.OnEvent is called for
// everything that has happened to a job. Package queuetrace traces and measures jobs by these, with
// OpenTelemetry.
//
// # Figures
//
// [Client.Stats] counts the jobs that there are now: an autoscaler needs Waiting, Running and
// Oldest of a queue. [Client.Figures] returns what workers did in the last minutes, up to 7 days:
// how many jobs ended and failed, and how long they had waited.
//
// The README of this folder lists what it has and does not have of what comparable queues have.
package jobqueue
