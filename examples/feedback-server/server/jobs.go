package server

import (
	"context"
	"encoding/json"
	"log/slog"

	"lessonkit.example/feedback"
	"lessonkit.example/jobqueue"
)

// The queues. The deletion of a file must not wait behind an hour of speech.
const (
	speechQueue = "speech"
	filesQueue  = "files"
)

// transcribeAttempts limits the attempts at one recording. Attempts while the recognizer is
// unavailable do not count.
const transcribeAttempts = 5

// jobOf returns the job of a task.
func jobOf(t feedback.Task) jobqueue.Params {
	if t.Kind == feedback.TaskTranscribe {
		return jobqueue.Params{Queue: speechQueue, Kind: string(t.Kind), Args: t, MaxAttempts: transcribeAttempts,
			RunAt: t.Turn} // teachers take turns
	}
	return jobqueue.Params{Queue: filesQueue, Kind: string(t.Kind), Args: t, MaxAttempts: jobqueue.Unlimited}
}

// newWorker returns a worker that runs the tasks of lessons.
func newWorker(
	c Config, store jobqueue.Store, lessons *feedback.Service, onEvent func(jobqueue.Event), log *slog.Logger,
) *jobqueue.Worker {
	w := jobqueue.NewWorker(store, jobqueue.WorkerConfig{
		Queues: map[string]jobqueue.QueueConfig{
			speechQueue: {MaxWorkers: c.ASRWorkerConcurrency},
			filesQueue:  {MaxWorkers: 2},
		},
		Timeout:         c.ASRJobLease,
		ShutdownTimeout: shutdownTimeout / 2, // then a transcription returns to the queue
		Prefetch:        -1,                  // claim a recording only when its work starts
		OnEvent:         onEvent,
		Logger:          log,
	})
	runTask := func(ctx context.Context, job *jobqueue.Job, t feedback.Task) error {
		attempt := feedback.Attempt{LeaseToken: job.Token(), Number: job.Attempt, MaxAttempts: max(job.MaxAttempts, 0)}
		return lessons.RunTask(ctx, t, attempt)
	}
	// failTask runs for every job that has failed permanently, also for one whose last worker died.
	failTask := func(ctx context.Context, job *jobqueue.Job, _ error) error {
		var t feedback.Task
		if err := json.Unmarshal(job.Args, &t); err != nil {
			return nil // not a task: there is no segment to mark as failed
		}
		return lessons.FailTask(ctx, t)
	}
	for _, kind := range []feedback.TaskKind{feedback.TaskTranscribe, feedback.TaskDeleteAudio} {
		jobqueue.Handle(w, string(kind), runTask, jobqueue.WithDead(failTask))
	}
	return w
}
