package jobqueue_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/jobqueue"
	"lessonkit.example/jobqueue/sqlitequeue"
)

// waitLimit bounds every wait for something that happens at once on an idle machine.
const waitLimit = 3 * time.Minute

// newQueue returns a new queue, whose hook may be nil, and a client of it.
func newQueue(t *testing.T, hook jobqueue.EnqueueHook) (*sqlitequeue.Store, *jobqueue.Client) {
	t.Helper()
	store, err := sqlitequeue.Open(filepath.Join(t.TempDir(), "queue.db"), sqlitequeue.Config{OnEnqueue: hook})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	require.NoError(t, store.Migrate(t.Context()))
	return store, jobqueue.NewClient(store)
}

func enqueue(t *testing.T, c *jobqueue.Client, p jobqueue.Params) int64 {
	t.Helper()
	r, err := c.Enqueue(t.Context(), p)
	require.NoError(t, err)
	return r.ID
}

func get(t *testing.T, c *jobqueue.Client, id int64) *jobqueue.Job {
	t.Helper()
	j, err := c.Get(t.Context(), id)
	require.NoError(t, err)
	return j
}

// runWorker runs a worker until the end of the test. stop has it return sooner, and waits until it
// does; ended waits until n more jobs have ended.
func runWorker(
	t *testing.T, s jobqueue.Store, cfg jobqueue.WorkerConfig, set func(w *jobqueue.Worker),
) (stop func(), ended func(n int)) {
	t.Helper()
	ends := make(chan jobqueue.Event, 10_000)
	cfg.OnEvent = func(e jobqueue.Event) {
		switch e.Type {
		case jobqueue.EventSucceeded, jobqueue.EventFailed, jobqueue.EventCancelled:
			ends <- e
		}
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.NewTextHandler(t.Output(), nil))
	}
	cfg.Backoff = func(int) time.Duration { return time.Millisecond }
	w := jobqueue.NewWorker(s, cfg)
	set(w)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	stop = sync.OnceFunc(func() { cancel(); require.NoError(t, <-done) })
	t.Cleanup(stop)
	return stop, func(n int) {
		t.Helper()
		for range n {
			receive(t, "a job ends", ends)
		}
	}
}

// receive waits for a value of what is named.
func receive[T any](t *testing.T, what string, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(waitLimit):
		require.FailNow(t, "not within the limit: "+what)
		panic("unreachable")
	}
}

func oneAtATime() jobqueue.WorkerConfig {
	return jobqueue.WorkerConfig{Queues: map[string]jobqueue.QueueConfig{"default": {MaxWorkers: 1}}}
}

// permanent and away are classified by their methods, as errors of other packages are.
type permanent struct{}

func (permanent) Error() string   { return "never" }
func (permanent) Permanent() bool { return true }

type away struct{}

func (away) Error() string             { return "away" }
func (away) RetryAfter() time.Duration { return time.Millisecond }

func TestHandlerDecidesTheResult(t *testing.T) {
	t.Parallel()
	store, c := newQueue(t, nil)
	snoozing := func(err error) func(*jobqueue.Job) error {
		return func(job *jobqueue.Job) error {
			if job.Fence < 4 {
				return err
			}
			return nil
		}
	}
	cases := []struct {
		name        string
		handler     func(job *jobqueue.Job) error // nil: the arguments do not fit
		maxAttempts int
		state       jobqueue.State
		errors      []string // of each attempt
	}{
		{"retry", func(job *jobqueue.Job) error { return fmt.Errorf("attempt %d: wrong", job.Attempt) }, 3,
			jobqueue.StateFailed, []string{"attempt 1: ", "attempt 2: ", "attempt 3: "}},
		{"permanent by method", func(*jobqueue.Job) error { return fmt.Errorf("wrapped: %w", permanent{}) }, 3,
			jobqueue.StateFailed, []string{"wrapped: never"}},
		{"Permanent", func(*jobqueue.Job) error { return jobqueue.Permanent(away{}) }, 3,
			jobqueue.StateFailed, []string{"away"}},
		{"Snooze", snoozing(jobqueue.Snooze(time.Millisecond)), 1, jobqueue.StateSucceeded, nil},
		{"RetryAfter by method", snoozing(fmt.Errorf("wrapped: %w", away{})), 1, jobqueue.StateSucceeded, nil},
		{"panic", func(*jobqueue.Job) error { panic("out of \x00 cheese") }, 1,
			jobqueue.StateFailed, []string{"panic: out of \uFFFD cheese"}},
		{"Goexit", func(*jobqueue.Job) error { runtime.Goexit(); return nil }, 2,
			jobqueue.StateFailed, []string{"Goexit", "Goexit"}},
		{"arguments", nil, 2, jobqueue.StateFailed, []string{"decode arguments", "decode arguments"}},
	}
	ids := make([]int64, len(cases))
	for i, x := range cases {
		p := jobqueue.Params{Kind: "work", Args: i, MaxAttempts: x.maxAttempts}
		if x.handler == nil {
			p.Args = "not a number"
		}
		ids[i] = enqueue(t, c, p)
	}
	var left context.Context
	slow := enqueue(t, c, jobqueue.Params{Kind: "slow", MaxAttempts: 1})
	_, ended := runWorker(t, store, oneAtATime(), func(w *jobqueue.Worker) {
		jobqueue.Handle(w, "work", func(_ context.Context, job *jobqueue.Job, i int) error {
			return cases[i].handler(job)
		})
		jobqueue.Handle(w, "slow", func(ctx context.Context, _ *jobqueue.Job, _ any) error {
			left = ctx
			time.Sleep(20 * time.Millisecond) // it does not look at its context
			return fmt.Errorf("late: %w", context.Cause(ctx))
		}, jobqueue.WithTimeout(10*time.Millisecond))
	})
	ended(len(ids) + 1)
	require.Error(t, left.Err(), "of the context that the handler leaves behind")
	for i, x := range cases {
		j := get(t, c, ids[i])
		require.Equal(t, x.state, j.State, x.name)
		require.Equal(t, max(1, len(x.errors)), j.Attempt, x.name)
		require.Len(t, j.Errors, len(x.errors), x.name)
		for n, want := range x.errors {
			require.Equal(t, n+1, j.Errors[n].Attempt, x.name)
			require.Contains(t, j.Errors[n].Error, want, x.name)
		}
		if x.name == "panic" {
			require.Contains(t, j.Errors[0].Stack, "TestHandlerDecidesTheResult")
		}
	}
	require.Equal(t, "late: jobqueue: job timed out", get(t, c, slow).Errors[0].Error)
}

// A callback that fails or panics is called again, with the cause of the failure of the job. The
// log says why it is.
func TestOnFailedRunsUntilItReturns(t *testing.T) {
	t.Parallel()
	store, c := newQueue(t, nil)
	id := enqueue(t, c, jobqueue.Params{Kind: "work", MaxAttempts: 1})
	var runs atomic.Int32
	causes := make(chan error, 10)
	var log bytes.Buffer
	cfg := oneAtATime()
	cfg.Logger = slog.New(slog.NewTextHandler(&log, nil))
	stop, ended := runWorker(t, store, cfg, func(w *jobqueue.Worker) {
		jobqueue.Handle(w, "work",
			func(context.Context, *jobqueue.Job, any) error { runs.Add(1); return permanent{} },
			jobqueue.OnFailed(func(_ context.Context, _ *jobqueue.Job, cause error) error {
				causes <- cause
				switch len(causes) {
				case 1:
					return away{}
				case 2:
					panic("second time")
				case 3:
					runtime.Goexit()
				}
				return nil
			}))
	})
	ended(1)
	stop()
	require.EqualValues(t, 1, runs.Load())
	require.Len(t, causes, 4)
	for range 4 {
		require.EqualError(t, <-causes, "never")
	}
	j := get(t, c, id)
	require.Equal(t, jobqueue.StateFailed, j.State)
	require.Len(t, j.Errors, 3)
	require.Contains(t, j.Errors[0].Error, "never")
	require.Contains(t, j.Errors[0].Error, "away")
	require.Contains(t, log.String(), `attempt=1 error="never (and OnFailed: away)"`)
	require.Contains(t, log.String(), `attempt=1 error="never (and OnFailed: panic: second time)"`)
	require.NotContains(t, log.String(), "attempt=2", "the job has one attempt")
}

// A worker that stops releases what it has prefetched at once, and itself when its handlers have
// ended.
func TestStopWaitsForHandlers(t *testing.T) {
	t.Parallel()
	store, c := newQueue(t, nil)
	for range 30 {
		enqueue(t, c, jobqueue.Params{Kind: "work"})
	}
	started, finish := make(chan struct{}, 30), make(chan struct{})
	cfg := oneAtATime()
	cfg.Prefetch = 20
	stop, ended := runWorker(t, store, cfg, func(w *jobqueue.Worker) {
		jobqueue.Handle(w, "work", func(ctx context.Context, _ *jobqueue.Job, _ any) error {
			started <- struct{}{}
			<-finish
			return ctx.Err()
		})
	})
	<-started
	go stop()
	poll(t, "the rest is released", func() bool {
		stats, err := c.Stats(t.Context())
		return err == nil && stats.Queue("default").Waiting == 29
	})
	close(finish)
	ended(1)
	stop()
	stats, err := c.Stats(t.Context())
	require.NoError(t, err)
	require.Empty(t, stats.Workers)
	require.Empty(t, started, "nothing else has run")
}

func TestSaveChecksWhatItIsGiven(t *testing.T) {
	t.Parallel()
	store, c := newQueue(t, nil)
	id := enqueue(t, c, jobqueue.Params{Kind: "work"})
	kept := make(chan *jobqueue.Job, 1)
	_, ended := runWorker(t, store, jobqueue.WorkerConfig{}, func(w *jobqueue.Worker) {
		jobqueue.Handle(w, "work", func(_ context.Context, job *jobqueue.Job, _ any) error {
			for want, v := range map[string]any{
				"unsupported value":               math.Inf(1),
				"65537 bytes are more than 65536": strings.Repeat("x", 65535),
				"not UTF-8":                       json.RawMessage("\"\xff\""),
				"unexpected end":                  json.RawMessage("{"),
			} {
				if err := job.Save(v); err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%v instead of %q", err, want)
				}
			}
			kept <- job
			return job.Save("\x00")
		})
	})
	ended(1)
	require.Equal(t, `"\u0000"`, string(get(t, c, id).Saved))
	require.ErrorIs(t, (<-kept).Save(1), jobqueue.ErrLeaseLost, "after its attempt has ended")
	require.ErrorContains(t, get(t, c, id).Save(1), "not in its handler")
}

func TestRunChecksItsConfiguration(t *testing.T) {
	t.Parallel()
	store, _ := newQueue(t, nil)
	refused := func(want string, cfg jobqueue.WorkerConfig) {
		t.Helper()
		require.ErrorContains(t, jobqueue.NewWorker(store, cfg).Run(t.Context()), want)
	}
	for want, queues := range map[string][]jobqueue.QueueConfig{
		`queue "default" has MaxWorkers -1`: {{MaxWorkers: -1}},
		"Limit":                             {{Limit: -1}, {Limit: 10_001}},
		"invalid Rate": {{Rate: jobqueue.Rate{N: -1}}, {Rate: jobqueue.Rate{N: 1}},
			{Rate: jobqueue.Rate{N: 10, Per: time.Microsecond}}, {Rate: jobqueue.Rate{Per: time.Second}},
			{Rate: jobqueue.Rate{N: 1, Per: time.Second, Burst: -1}}},
	} {
		for _, q := range queues {
			refused(want, jobqueue.WorkerConfig{Queues: map[string]jobqueue.QueueConfig{"default": q}})
		}
	}
	good := jobqueue.Schedule{Name: "s", When: jobqueue.Every(time.Hour), Params: jobqueue.Params{Kind: "work"}}
	for want, change := range map[string]func(*jobqueue.Schedule){
		"schedule name is empty":   func(s *jobqueue.Schedule) { s.Name = "" },
		"When is nil":              func(s *jobqueue.Schedule) { s.When = nil },
		"CatchUp 1001":             func(s *jobqueue.Schedule) { s.CatchUp = 1001 },
		"kind is empty":            func(s *jobqueue.Schedule) { s.Params.Kind = "" },
		"have a RunAt":             func(s *jobqueue.Schedule) { s.Params.RunAt = time.Now() },
		"Params have a RunAt or U": func(s *jobqueue.Schedule) { s.Params.UniqueKey = "x" },
	} {
		bad := good
		change(&bad)
		refused(want, jobqueue.WorkerConfig{Schedules: []jobqueue.Schedule{bad}})
	}
	refused("two of this name", jobqueue.WorkerConfig{Schedules: []jobqueue.Schedule{good, good}})
}

func TestManyNeedsAFittingState(t *testing.T) {
	t.Parallel()
	_, c := newQueue(t, nil)
	for _, state := range []jobqueue.State{0, jobqueue.StateWaiting, jobqueue.StateRunning, jobqueue.StateSucceeded} {
		_, _, err := c.RetryMany(t.Context(), jobqueue.Filter{State: state})
		require.ErrorIs(t, err, jobqueue.ErrState)
	}
	for _, state := range []jobqueue.State{0, jobqueue.StateSucceeded, jobqueue.StateFailed, jobqueue.StateCancelled} {
		_, _, err := c.CancelMany(t.Context(), jobqueue.Filter{State: state})
		require.ErrorIs(t, err, jobqueue.ErrState)
	}
}
