// Package tasks keeps the tasks of an image gateway in a job queue on SQLite.
package tasks

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"log/slog"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"lessonkit.example/imagegen/gateway"
	"lessonkit.example/jobqueue"
	"lessonkit.example/jobqueue/sqlitequeue"
)

const (
	kindImages       = "images"
	kindClean        = "clean"
	maxTasks         = 256 // unfinished
	maxTasksOfCaller = 16  // unfinished
	retention        = 24 * time.Hour
)

// ShutdownTimeout is how long generations may take to finish when the program stops: what has been
// sent to a service is paid.
const ShutdownTimeout = 5 * time.Minute

// args are the arguments of a job. Unique makes the id of the task one that is not used again:
// another file has a job with the same number.
type args struct {
	gateway.Params
	Unique string `json:"unique"`
}

// Tasks is a gateway.Tasks on a job queue in an SQLite file: a task is a job, its Params are the
// arguments and its Progress is what the job has saved. So tasks survive a crash.
type Tasks struct {
	performer gateway.Performer
	queue     *sqlitequeue.Store
	jobs      *jobqueue.Client
	worker    *jobqueue.Worker
	stopped   chan struct{} // closed when the worker has stopped

	mu    sync.Mutex
	event chan struct{} // closed when something happens to a job
}

// Open opens the tasks in dir, of which p performs the given number at a time.
func Open(
	ctx context.Context, dir string, p gateway.Performer, workers int, logger *slog.Logger,
) (*Tasks, error) {
	queue, err := sqlitequeue.Open(filepath.Join(dir, "tasks.db"), sqlitequeue.Config{})
	if err != nil {
		return nil, err
	}
	write, _ := queue.DB()
	err = queue.Migrate(ctx)
	if err == nil {
		_, err = write.ExecContext(ctx, `create table if not exists image_key (
  key text primary key, -- identifies a request with an Idempotency-Key
  task text not null,
  created integer not null -- Unix seconds
)`)
	}
	if err != nil {
		return nil, errors.Join(err, queue.Close())
	}
	t := &Tasks{performer: p, queue: queue, jobs: jobqueue.NewClient(queue), stopped: make(chan struct{}),
		event: make(chan struct{})}
	t.worker = jobqueue.NewWorker(queue, jobqueue.WorkerConfig{
		Queues: map[string]jobqueue.QueueConfig{
			jobqueue.DefaultQueue: {MaxWorkers: workers, Retention: retention, RetentionFailed: retention},
		},
		Schedules: []jobqueue.Schedule{
			{Name: kindClean, When: jobqueue.Every(time.Hour), Params: jobqueue.Params{Kind: kindClean}},
		},
		Lease:           10 * time.Second, // after a crash, tasks continue within 15 s
		Prefetch:        -1,
		ShutdownTimeout: ShutdownTimeout,
		OnEvent:         t.notify,
		Logger:          logger,
	})
	jobqueue.Handle(t.worker, kindImages, t.perform)
	jobqueue.Handle(t.worker, kindClean, t.clean)
	return t, nil
}

// Close closes the queue.
func (t *Tasks) Close() error { return t.queue.Close() }

// Run performs tasks until ctx ends. Those under way have ShutdownTimeout to finish.
func (t *Tasks) Run(ctx context.Context) error {
	defer close(t.stopped)
	return t.worker.Run(ctx)
}

func (t *Tasks) perform(ctx context.Context, job *jobqueue.Job, _ args) error {
	task, err := taskOf(job)
	if err != nil {
		return jobqueue.Permanent(err)
	}
	save := func(p gateway.Progress) error {
		return t.inTx(context.WithoutCancel(ctx), func(ctx context.Context, tx *sql.Tx) error {
			return t.queue.SaveTx(ctx, tx, job, p)
		})
	}
	err = t.performer.Perform(ctx, &task, job.Attempt, save)
	if err == nil && task.Failure != nil {
		err = jobqueue.Permanent(errors.New(task.Failure.Code))
	}
	return err
}

// clean deletes what tasks that the queue has forgotten have left.
func (t *Tasks) clean(ctx context.Context, _ *jobqueue.Job, _ any) error {
	old := time.Now().Add(-2 * retention)
	write, _ := t.queue.DB()
	_, err := write.ExecContext(ctx, `delete from image_key where created < ?`, old.Unix())
	return errors.Join(err, t.performer.Files.DeleteBefore(old))
}

func (t *Tasks) inTx(ctx context.Context, f func(ctx context.Context, tx *sql.Tx) error) error {
	write, _ := t.queue.DB()
	tx, err := write.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if err := f(ctx, tx); err != nil {
		return err
	}
	return tx.Commit()
}

// Add implements gateway.Tasks. The key is stored in the transaction that enqueues the job.
func (t *Tasks) Add(ctx context.Context, p gateway.Params) (id string, added bool, err error) {
	err = t.inTx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if p.Key != "" {
			err := tx.QueryRowContext(ctx, `select task from image_key where key = ?`, p.Key).Scan(&id)
			if err != nil && !errors.Is(err, sql.ErrNoRows) {
				return err
			}
			task, err := t.Task(ctx, id)
			if err == nil && (task.Failure == nil || task.Failure.Code != gateway.CodeUnavailable) {
				return nil
			}
			if err != nil && !errors.Is(err, gateway.ErrNotFound) {
				return err // it may have been paid
			}
		}
		if err := t.checkLimits(ctx, p.Caller); err != nil {
			return err
		}
		unique := uuid.NewString()
		job, err := t.queue.EnqueueTx(ctx, tx, jobqueue.Params{
			Kind: kindImages, Args: args{p, unique}, Group: p.Caller, MaxAttempts: jobqueue.Unlimited,
		})
		if err != nil {
			return err
		}
		id, added = taskID(job.ID, unique), true
		if p.Key != "" {
			_, err = tx.ExecContext(ctx, `insert or replace into image_key (key, task, created) values (?, ?, ?)`,
				p.Key, id, time.Now().Unix())
		}
		return err
	})
	return id, added && err == nil, err
}

func (t *Tasks) checkLimits(ctx context.Context, caller string) error {
	own, err := t.jobs.GroupStats(ctx, caller)
	if err != nil {
		return err
	}
	if own.Unfinished >= maxTasksOfCaller {
		return gateway.ErrTooMany
	}
	stats, err := t.jobs.Stats(ctx)
	if err != nil {
		return err
	}
	if q := stats.Queue(jobqueue.DefaultQueue); q.Waiting+q.Scheduled+q.Running >= maxTasks {
		return gateway.ErrQueueFull
	}
	return nil
}

func taskID(job int64, unique string) string { return strconv.FormatInt(job, 10) + "-" + unique }

// Task implements gateway.Tasks.
func (t *Tasks) Task(ctx context.Context, id string) (gateway.Task, error) {
	digits, _, _ := strings.Cut(id, "-")
	number, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return gateway.Task{}, gateway.ErrNotFound
	}
	job, err := t.jobs.Get(ctx, number)
	if errors.Is(err, jobqueue.ErrNotFound) || err == nil && job.Kind != kindImages {
		return gateway.Task{}, gateway.ErrNotFound
	}
	if err != nil {
		return gateway.Task{}, err
	}
	task, err := taskOf(job)
	if err == nil && task.ID != id {
		return gateway.Task{}, gateway.ErrNotFound
	}
	return task, err
}

func taskOf(job *jobqueue.Job) (gateway.Task, error) {
	var a args
	err := json.Unmarshal(job.Args, &a)
	task := gateway.Task{ID: taskID(job.ID, a.Unique), Created: job.CreatedAt, Params: a.Params}
	if err == nil && job.Saved != nil {
		err = json.Unmarshal(job.Saved, &task.Progress)
	}
	if task.Ended.IsZero() && !job.FinishedAt.IsZero() {
		task.Progress = gateway.Failed(job.FinishedAt)
	}
	return task, err
}

// Wait implements gateway.Tasks.
func (t *Tasks) Wait(ctx context.Context, id string) (gateway.Task, error) {
	for {
		t.mu.Lock()
		event := t.event
		t.mu.Unlock()
		task, err := t.Task(context.WithoutCancel(ctx), id)
		if err != nil || !task.Ended.IsZero() {
			return task, err
		}
		select {
		case <-event:
		case <-t.stopped:
			return task, nil
		case <-ctx.Done():
			return task, nil
		}
	}
}

func (t *Tasks) notify(jobqueue.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	close(t.event)
	t.event = make(chan struct{})
}
