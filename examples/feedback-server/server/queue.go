package server

import (
	"context"
	"database/sql"
	"encoding/json"

	"lessonkit.example/feedback"
	"lessonkit.example/internal/migrate"
	"lessonkit.example/internal/sqldb"
	"lessonkit.example/jobqueue"
	"lessonkit.example/jobqueue/pgqueue"
	"lessonkit.example/jobqueue/sqlitequeue"
)

// queue is the job queue on the server's database.
type queue struct {
	jobqueue.Store
	Migrate  func(context.Context) error
	Migrated func(context.Context) (bool, error)

	// enqueue adds jobs within a transaction of the server's database.
	enqueue func(ctx context.Context, tx *sql.Tx, ps ...jobqueue.Params) ([]jobqueue.InsertResult, error)
}

func newQueue(db *sqldb.DB) queue {
	if db.Engine == migrate.SQLite {
		q := sqlitequeue.New(db.W, db.R, sqlitequeue.Config{})
		return queue{Store: q, Migrate: q.Migrate, Migrated: q.Migrated, enqueue: q.EnqueueTx}
	}
	q := pgqueue.New(db.Pool, pgqueue.Config{})
	return queue{Store: q, Migrate: q.Migrate, Migrated: q.Migrated, enqueue: q.EnqueueSQL}
}

// The queues. Deleting a file must not wait behind an hour of speech.
const (
	speechQueue = "speech"
	filesQueue  = "files"
)

// transcribeAttempts is how often audio that the recogniser chokes on is
// tried. A recogniser that is away costs no attempt.
const transcribeAttempts = 5

// jobOf makes a job of a task.
func jobOf(t feedback.Task) jobqueue.Params {
	if t.Kind == feedback.TaskTranscribe {
		return jobqueue.Params{Queue: speechQueue, Kind: string(t.Kind), Args: t, MaxAttempts: transcribeAttempts}
	}
	return jobqueue.Params{Queue: filesQueue, Kind: string(t.Kind), Args: t, MaxAttempts: jobqueue.Unlimited}
}

// work works off the queue until ctx ends.
func (s *Server) work(ctx context.Context) error {
	w := jobqueue.NewWorker(s.queue, jobqueue.WorkerConfig{
		Queues: map[string]jobqueue.QueueConfig{
			speechQueue: {MaxWorkers: s.config.ASRWorkerConcurrency},
			filesQueue:  {MaxWorkers: 2},
		},
		Timeout:         s.config.ASRJobLease(),
		ShutdownTimeout: stopGrace / 2, // a long transcription is given back rather than waited for
		Prefetch:        -1,            // a segment is held only while it is worked on
		OnEvent:         s.metrics.observeJob,
		Logger:          s.log,
	})
	for _, kind := range []feedback.TaskKind{feedback.TaskTranscribe, feedback.TaskDeleteAudio} {
		jobqueue.Handle(w, string(kind), s.perform, jobqueue.WithDead(s.abandon))
	}
	return w.Run(ctx)
}

func (s *Server) perform(ctx context.Context, job *jobqueue.Job, t feedback.Task) error {
	return s.feedback.RunTask(ctx, t, feedback.Attempt{LeaseToken: job.Token(), Number: job.Attempt, MaxAttempts: max(job.MaxAttempts, 0)})
}

// abandon tells the feedback service that the queue gave a job up, also when
// its last worker died and could not say so.
func (s *Server) abandon(ctx context.Context, job *jobqueue.Job, _ error) error {
	var t feedback.Task
	if err := json.Unmarshal(job.Args, &t); err != nil {
		return nil // nobody can be told: the arguments are no task
	}
	return s.feedback.FailTask(ctx, t)
}
