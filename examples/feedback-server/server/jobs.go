package server

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"lessonkit.example/asr"
	"lessonkit.example/auth"
	"lessonkit.example/examples/internal/program"
	"lessonkit.example/feedback"
	"lessonkit.example/feedback/feedbackhttp"
	"lessonkit.example/jobqueue"
)

// The queues. The deletion of a file must not wait behind an hour of speech.
const (
	speechQueue = "speech"
	filesQueue  = "files"
)

// transcribeAttempts limits the attempts at one recording, which Config.ASRRetryDelays spreads over
// hours. Attempts while the recogniser is unavailable do not count.
const transcribeAttempts = 6

// learnAttempts limits the attempts at what a record teaches: without it nothing is lost.
const learnAttempts = 3

// sweepKind is the kind of the hourly job that deletes what nothing refers to.
const sweepKind = "sweep"

// retentionKind is the kind of the hourly job that deletes the audio of recordings after
// Config.AudioRetentionDays.
const retentionKind = "retention"

// jobOf returns the job of a task. ctx is that of the request that has made it necessary, if there
// is one: the lines of the job in the log have its id.
func jobOf(ctx context.Context, t feedback.Task) jobqueue.Params {
	p := jobqueue.Params{Queue: filesQueue, Kind: string(t.Kind), Args: t, MaxAttempts: jobqueue.Unlimited,
		RunAt: t.Turn} // teachers take turns
	if id := feedbackhttp.RequestID(ctx); id != "" {
		p.Meta = map[string]string{requestIDKey: id}
	}
	switch t.Kind {
	case feedback.TaskTranscribe:
		p.Queue, p.MaxAttempts = speechQueue, transcribeAttempts
		p.Group = teacherGroup(t.TeacherID)
	case feedback.TaskLearn:
		p.MaxAttempts = learnAttempts
		p.Group = teacherGroup(t.TeacherID)
	}
	return p
}

// teacherGroup names the group of the jobs that are deleted with a teacher.
func teacherGroup(teacher uuid.UUID) string { return "teacher " + teacher.String() }

// eraseData returns a function that deletes the data of a teacher, with what the queue keeps about
// the recordings. The task of [feedback.Service.EraseTeacher] does both again.
func eraseData(lessons *feedback.Service, db *database) func(context.Context, uuid.UUID) error {
	return func(ctx context.Context, teacher uuid.UUID) error {
		if err := lessons.EraseTeacher(ctx, teacher); err != nil {
			return err
		}
		return db.client.DeleteGroup(ctx, teacherGroup(teacher))
	}
}

// holdTurn waits after a recording that has found the recogniser unavailable: during an outage
// thousands may wait, each of which asks it.
func holdTurn(ctx context.Context, t feedback.Task, err error, wait time.Duration) {
	if t.Kind == feedback.TaskTranscribe && errors.Is(err, asr.ErrUnavailable) {
		program.Pause(ctx, wait)
	}
}

// newWorker returns a worker that runs the tasks of lessons.
func newWorker(
	c Config, db *database, accounts *auth.Service, lessons *feedback.Service, traces *tracing,
	onEvent func(jobqueue.Event), log *slog.Logger,
) *jobqueue.Worker {
	hourly := func(kind string) jobqueue.Schedule {
		return jobqueue.Schedule{Name: kind, When: jobqueue.Every(time.Hour),
			Params: jobqueue.Params{Queue: filesQueue, Kind: kind, MaxAttempts: 1}} // the next one is soon
	}
	schedules := []jobqueue.Schedule{hourly(sweepKind)}
	if c.AudioRetentionDays > 0 {
		schedules = append(schedules, hourly(retentionKind))
	}
	w := jobqueue.NewWorker(db.jobs, jobqueue.WorkerConfig{
		Queues: map[string]jobqueue.QueueConfig{
			speechQueue: {MaxWorkers: c.ASRWorkerConcurrency},
			filesQueue:  {MaxWorkers: 2},
		},
		Timeout:         c.ASRJobLease,
		ShutdownTimeout: shutdownTimeout / 2, // then a transcription returns to the queue
		Prefetch:        -1,                  // claim a recording only when its work starts
		Schedules:       schedules,
		Context: func(ctx context.Context, job *jobqueue.Job) context.Context {
			return traces.ofJob(feedbackhttp.WithRequestID(ctx, job.Meta[requestIDKey]), job)
		},
		Middleware: traces.middleware(),
		OnEvent:    onEvent,
		Logger:     log,
	})
	runTask := func(ctx context.Context, job *jobqueue.Job, t feedback.Task) error {
		started := time.Now()
		err := lessons.RunTask(ctx, t, feedback.Attempt{
			LeaseToken: job.Token(), Number: job.Attempt, MaxAttempts: job.MaxAttempts,
			Logger: log.With("job", job.ID),
		})
		holdTurn(ctx, t, err, time.Second-time.Since(started))
		return err
	}
	// eraseTeacher runs only if the account is gone. Otherwise the request to delete it has failed
	// after it deleted the data, and the teacher may have recorded more since.
	eraseTeacher := func(ctx context.Context, job *jobqueue.Job, t feedback.Task) error {
		if _, err := accounts.Identity(ctx, t.TeacherID); !errors.Is(err, auth.ErrNoUser) {
			return err
		}
		return errors.Join(db.client.DeleteGroup(ctx, teacherGroup(t.TeacherID)), runTask(ctx, job, t))
	}
	// failTask runs for every job that has failed permanently, also for one whose last worker died,
	// and for every job that an operator has cancelled.
	failTask := func(ctx context.Context, job *jobqueue.Job, cause error) error {
		var t feedback.Task
		if err := json.Unmarshal(job.Args, &t); err != nil {
			return nil // not a task: there is no segment to mark as failed
		}
		if errors.Is(cause, jobqueue.ErrCancelled) {
			return lessons.CancelTask(ctx, t)
		}
		log.WarnContext(ctx, "job given up", "job", job.ID,
			"segment_id", t.SegmentID, "audio_key", t.AudioKey, "error", cause)
		return lessons.FailTask(ctx, t)
	}
	jobqueue.Handle(w, string(feedback.TaskTranscribe), runTask,
		jobqueue.OnFailed(failTask), jobqueue.WithBackoff(lessons.RetryDelay))
	jobqueue.Handle(w, string(feedback.TaskDeleteAudio), runTask, jobqueue.OnFailed(failTask))
	jobqueue.Handle(w, string(feedback.TaskEraseTeacher), eraseTeacher, jobqueue.OnFailed(failTask))
	jobqueue.Handle(w, string(feedback.TaskLearn), runTask, jobqueue.OnFailed(failTask))
	jobqueue.Handle(w, sweepKind, func(ctx context.Context, _ *jobqueue.Job, _ any) error {
		return lessons.Sweep(ctx)
	})
	jobqueue.Handle(w, retentionKind, func(ctx context.Context, _ *jobqueue.Job, _ any) error {
		if c.AudioRetentionDays == 0 {
			return nil // it has been switched off since
		}
		return lessons.ExpireAudio(ctx, time.Duration(c.AudioRetentionDays)*24*time.Hour)
	})
	return w
}
