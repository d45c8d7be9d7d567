package jobtest_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/jobqueue"
	"lessonkit.example/jobqueue/jobtest"
	"lessonkit.example/jobqueue/sqlitequeue"
)

type welcome struct{ Address string }

var errMail = errors.New("the mail server does not answer")

// handler registers h for jobs of the kind "welcome".
func handler(
	h func(ctx context.Context, job *jobqueue.Job, w welcome) error, opts ...jobqueue.HandleOption,
) func(*jobqueue.Worker) {
	return func(w *jobqueue.Worker) { jobqueue.Handle(w, "welcome", h, opts...) }
}

func open(t *testing.T) *sqlitequeue.Store {
	t.Helper()
	store, err := sqlitequeue.Open(filepath.Join(t.TempDir(), "queue.db"), sqlitequeue.Config{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	return store
}

func TestRunDecodesAndCallsTheMiddleware(t *testing.T) {
	t.Parallel()
	var calls []string
	layer := func(name string) func(jobqueue.HandlerFunc) jobqueue.HandlerFunc {
		return func(next jobqueue.HandlerFunc) jobqueue.HandlerFunc {
			return func(ctx context.Context, job *jobqueue.Job) error {
				calls = append(calls, name)
				defer func() { calls = append(calls, name+" end") }()
				return next(ctx, job)
			}
		}
	}
	cfg := jobqueue.WorkerConfig{
		Middleware: []func(jobqueue.HandlerFunc) jobqueue.HandlerFunc{layer("outer"), layer("inner")},
		// It may be the configuration of the program; schedules are ignored.
		Schedules: []jobqueue.Schedule{{
			Name: "daily", When: jobqueue.Every(24 * time.Hour), Params: jobqueue.Params{Kind: "welcome"}}}}
	p := jobqueue.Params{Kind: "welcome", Queue: "mail", Args: welcome{"ann@mail.example"}}
	job := jobtest.Run(t, open(t), p, cfg, handler(func(_ context.Context, _ *jobqueue.Job, w welcome) error {
		calls = append(calls, w.Address)
		return nil
	}))
	require.Equal(t, []string{"outer", "inner", "ann@mail.example", "inner end", "outer end"}, calls)
	require.Equal(t, jobqueue.StateSucceeded, job.State)
	require.Equal(t, 1, job.Attempt)
}

func TestRunInABubble(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		job := jobtest.Run(t, open(t), jobqueue.Params{Kind: "welcome", Args: welcome{}}, jobqueue.WorkerConfig{},
			handler(func(context.Context, *jobqueue.Job, welcome) error {
				time.Sleep(30 * time.Minute)
				return nil
			}))
		require.Equal(t, jobqueue.StateSucceeded, job.State)
		require.WithinDuration(t, began.Add(30*time.Minute), time.Now(), time.Minute)
	})
}

func TestRunRunsNoOtherJob(t *testing.T) {
	t.Parallel()
	store := open(t)
	client := jobqueue.NewClient(store)
	p := jobqueue.Params{Kind: "welcome", Args: welcome{"ann@mail.example"}}
	var ran, others []int64
	var events atomic.Int32
	cfg := jobqueue.WorkerConfig{Prefetch: 10, OnEvent: func(jobqueue.Event) { events.Add(1) }}
	job := jobtest.Run(t, store, p, cfg,
		handler(func(ctx context.Context, job *jobqueue.Job, _ welcome) error {
			ran = append(ran, job.ID)
			rs, err := client.EnqueueMany(ctx, []jobqueue.Params{p, p})
			if err != nil {
				return err
			}
			others = append(others, rs[0].ID, rs[1].ID)
			if job.Attempt < 3 {
				return errMail
			}
			return nil
		}))
	require.Equal(t, []int64{job.ID, job.ID, job.ID}, ran)
	require.EqualValues(t, 6, events.Load(), "each attempt begins and ends")
	require.Len(t, others, 6)
	for _, id := range others {
		job, err := client.Get(t.Context(), id)
		require.NoError(t, err)
		require.Equal(t, jobqueue.StateWaiting, job.State)
		require.Zero(t, job.Attempt)
	}
}

// failing is a test that can fail without failing this one.
type failing struct {
	testing.TB
	message string
}

func (f *failing) Fatal(args ...any)                 { f.fail(fmt.Sprint(args...)) }
func (f *failing) Fatalf(format string, args ...any) { f.fail(fmt.Sprintf(format, args...)) }
func (f *failing) fail(message string) {
	f.message = message
	panic(f)
}

// A job of the future that is completed in the transaction of its handler, after a failed attempt
// and a snooze.
func TestRunWithTransactions(t *testing.T) {
	t.Parallel()
	store := open(t)
	write, _ := store.DB()
	in := func(ctx context.Context, f func(tx *sql.Tx) error) error {
		tx, err := write.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer tx.Rollback()
		if err := f(tx); err != nil {
			return err
		}
		return tx.Commit()
	}
	cfg := jobqueue.WorkerConfig{Backoff: func(int) time.Duration { return time.Hour }}
	p := jobqueue.Params{Kind: "welcome", Queue: "mail", Args: welcome{}, RunAt: time.Now().Add(time.Hour)}
	job := jobtest.Run(t, store, p, cfg,
		handler(func(ctx context.Context, job *jobqueue.Job, _ welcome) error {
			switch job.Fence {
			case 1:
				if err := in(ctx, func(tx *sql.Tx) error { return store.SaveTx(ctx, tx, job, "half") }); err != nil {
					return err
				}
				return errMail
			case 2:
				return jobqueue.Snooze(time.Hour)
			case 3:
				panic("no template")
			}
			return in(ctx, func(tx *sql.Tx) error { return store.CompleteTx(ctx, tx, job) })
		}))
	require.Equal(t, jobqueue.StateSucceeded, job.State)
	require.Equal(t, 3, job.Attempt)
	require.Equal(t, `"half"`, string(job.Saved))
	require.Len(t, job.Errors, 2, "a snooze is not an error")
	require.Equal(t, errMail.Error(), job.Errors[0].Error)
	require.Contains(t, job.Errors[1].Stack, "jobtest_test.go")
}

func TestRunFailsTheTest(t *testing.T) {
	t.Parallel()
	store := open(t)
	f := &failing{TB: t}
	require.Panics(t, func() {
		jobtest.Run(f, store, jobqueue.Params{}, jobqueue.WorkerConfig{}, func(*jobqueue.Worker) {})
	})
	require.Contains(t, f.message, "kind is empty")
	require.Panics(t, func() {
		jobtest.Run(f, store, jobqueue.Params{Kind: "farewell"}, jobqueue.WorkerConfig{},
			handler(func(context.Context, *jobqueue.Job, welcome) error { return nil }))
	})
	require.Contains(t, f.message, `no handler for kind "farewell"`)
	require.Panics(t, func() {
		jobtest.Run(f, store, jobqueue.Params{Kind: "welcome", MaxAttempts: jobqueue.Unlimited},
			jobqueue.WorkerConfig{},
			handler(func(context.Context, *jobqueue.Job, welcome) error { return errMail }))
	})
	require.Contains(t, f.message, "1000 attempts, the last with: "+errMail.Error())
	member := jobqueue.Params{Kind: "farewell", Group: "g"}
	_, err := jobqueue.NewClient(store).Enqueue(t.Context(), member)
	require.NoError(t, err)
	p := jobqueue.Params{Kind: "welcome", AfterGroup: "g"}
	require.Panics(t, func() { jobtest.Run(f, store, p, jobqueue.WorkerConfig{}, func(*jobqueue.Worker) {}) })
	require.Contains(t, f.message, "AfterGroup")
}

func Example() {
	var t testing.TB = exampleTest{}        // of the test function
	dir, err := os.MkdirTemp("", "queue-*") // t.TempDir() in a test
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	store, err := sqlitequeue.Open(filepath.Join(dir, "queue.db"), sqlitequeue.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	params := jobqueue.Params{Kind: "welcome", Args: welcome{"ann@mail.example"}}
	job := jobtest.Run(t, store, params, jobqueue.WorkerConfig{},
		func(w *jobqueue.Worker) {
			jobqueue.Handle(w, "welcome", func(_ context.Context, job *jobqueue.Job, w welcome) error {
				if job.Attempt == 1 {
					return errMail
				}
				return nil
			})
		})
	fmt.Println(job.State, "after attempt", job.Attempt)
	fmt.Println(job.Errors[0].Error)
	// Output:
	// succeeded after attempt 2
	// the mail server does not answer
}

type exampleTest struct{ testing.TB }

func (exampleTest) Helper()                  {}
func (exampleTest) Context() context.Context { return context.Background() }
