// Command embedded is the feedback service with all of its parts connected by hand: teachers upload
// recordings, a queue has them transcribed in the background, and a summary becomes a feedback
// record. Everything is in one folder and one process.
package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"lessonkit.example/asr"
	"lessonkit.example/asr/command"
	"lessonkit.example/feedback"
	"lessonkit.example/feedback/audiodir"
	"lessonkit.example/feedback/feedbackhttp"
	"lessonkit.example/feedback/sqlstore"
	"lessonkit.example/feedback/summary"
	"lessonkit.example/jobqueue"
	"lessonkit.example/jobqueue/sqlitequeue"
)

func main() {
	address := flag.String("addr", "127.0.0.1:8080", "`address` to serve on")
	dir := flag.String("data", "embedded-data", "`directory` of the database and the recordings")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	listener, err := net.Listen("tcp", *address)
	if err != nil {
		log.Fatal(err)
	}
	if err := run(ctx, listener, *dir); err != nil {
		log.Fatal(err)
	}
}

// run serves on l, with all data in dir, until ctx is done.
func run(ctx context.Context, l net.Listener, dir string) error {
	// One SQLite file holds the jobs and the lessons.
	queue, err := sqlitequeue.Open(filepath.Join(dir, "lessons.db"), sqlitequeue.Config{})
	if err != nil {
		return err
	}
	defer queue.Close()
	// The outbox enqueues a job in the transaction that stores a recording: both commit or neither.
	outbox := func(ctx context.Context, tx *sql.Tx, task feedback.Task) error {
		_, err := queue.EnqueueTx(ctx, tx, jobqueue.Params{Kind: string(task.Kind), Args: task, RunAt: task.Turn})
		return err
	}
	write, read := queue.DB()
	store := sqlstore.NewSQLite(write, read, outbox)
	if err := errors.Join(queue.Migrate(ctx), store.Migrate(ctx)); err != nil {
		return err
	}

	// Recordings are files; a program on this machine turns them into text.
	audio, err := audiodir.New(filepath.Join(dir, "audio"))
	if err != nil {
		return err
	}
	recognizer, err := command.New(command.PocketSphinx())
	if err != nil {
		return err
	}
	lessons, err := feedback.New(feedback.Config{
		Store:       store,
		Audio:       audio,
		Transcriber: transcriber{recognizer},
		Summarizer:  summary.Local{},
		Logger:      slog.Default(),
	})
	if err != nil {
		return err
	}

	// The worker runs the tasks, and reports those that have failed permanently.
	worker := jobqueue.NewWorker(queue, jobqueue.WorkerConfig{Logger: slog.Default(), Schedules: []jobqueue.Schedule{
		{Name: "sweep", When: jobqueue.Every(time.Hour), Params: jobqueue.Params{Kind: "sweep"}},
	}})
	jobqueue.Handle(worker, "sweep", func(ctx context.Context, _ *jobqueue.Job, _ any) error {
		return lessons.Sweep(ctx)
	})
	runTask := func(ctx context.Context, job *jobqueue.Job, task feedback.Task) error {
		attempt := feedback.Attempt{LeaseToken: job.Token(), Number: job.Attempt, MaxAttempts: job.MaxAttempts}
		return lessons.RunTask(ctx, task, attempt)
	}
	failTask := func(ctx context.Context, job *jobqueue.Job, _ error) error {
		var task feedback.Task
		if err := json.Unmarshal(job.Args, &task); err != nil {
			return err
		}
		return lessons.FailTask(ctx, task)
	}
	for _, kind := range []feedback.TaskKind{
		feedback.TaskTranscribe, feedback.TaskDeleteAudio, feedback.TaskEraseTeacher, feedback.TaskLearn,
	} {
		jobqueue.Handle(worker, string(kind), runTask,
			jobqueue.OnFailed(failTask), jobqueue.WithBackoff(lessons.RetryDelay))
	}

	// There is one teacher. A real service identifies its users here, by authhttp.Authenticate;
	// without a sign-in, a web page of any site could send requests.
	teacher := func(context.Context, http.Header) (uuid.UUID, error) {
		return uuid.MustParse("0197a000-0000-7000-8000-000000000001"), nil
	}
	api := feedbackhttp.Handler(feedbackhttp.Config{Service: lessons, Authenticate: teacher, Logger: slog.Default()})
	server := http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: http.NewCrossOriginProtection().Handler(api)}

	slog.Info("serving", "address", "http://"+l.Addr().String())
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return worker.Run(ctx) })
	group.Go(func() error { return server.Serve(l) })
	context.AfterFunc(ctx, func() { server.Close() })
	if err := group.Wait(); !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// transcriber adapts a recognizer to package feedback. Neither package imports the other.
type transcriber struct{ asr.Recognizer }

func (t transcriber) Transcribe(ctx context.Context, a feedback.Audio) (feedback.Transcript, error) {
	transcript, err := t.Recognize(ctx, asr.Audio{
		Name: a.Name, ContentType: a.ContentType, Language: a.Language, Words: a.Words,
		Size: a.Size, Task: a.Task, SaveTask: a.SaveTask,
		Open: func() (io.ReadCloser, error) { return a.Open() },
	})
	out := feedback.Transcript{
		Text: transcript.Punctuated(), Duration: transcript.Duration, HeaderDuration: transcript.HeaderDuration,
	}
	for _, s := range transcript.Sentences() {
		out.Sentences = append(out.Sentences, feedback.Sentence(s))
	}
	return out, err
}
