package jobqueue

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

type contextKey struct{}

// contextLogger keeps the jobs in the contexts of the lines of a log.
type contextLogger struct {
	slog.Handler
	lines map[string]any
}

func (l contextLogger) Handle(ctx context.Context, line slog.Record) error {
	l.lines[line.Message] = ctx.Value(contextKey{})
	return nil
}

func TestContextOfAJob(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newModel()
		m.add(time.Now(), time.Now(), 2)
		log := contextLogger{slog.NewTextHandler(io.Discard, nil), map[string]any{}}
		var handled, dead []any
		cfg := WorkerConfig{
			Logger: slog.New(log),
			Context: func(ctx context.Context, job *Job) context.Context {
				return context.WithValue(ctx, contextKey{}, job.ID)
			},
			Backoff: func(int) time.Duration { return time.Millisecond },
		}
		_, stop := run(t, m, cfg, func(ctx context.Context, job *Job) error {
			handled = append(handled, ctx.Value(contextKey{}))
			if len(handled) == 1 {
				return errors.New("another attempt, please")
			}
			return Permanent(errors.New("never"))
		}, OnFailed(func(ctx context.Context, _ *Job, _ error) error {
			dead = append(dead, ctx.Value(contextKey{}))
			return nil
		}))
		time.Sleep(5 * time.Second)
		stop()
		id := handled[0]
		require.NotNil(t, id)
		require.Equal(t, []any{id, id}, handled)
		require.Equal(t, []any{id}, dead)
		require.Equal(t, id, log.lines["attempt failed"])
		require.Equal(t, id, log.lines["job failed"])
	})
}

// A Context function that panics fails the attempt like a handler that panics, and one that returns
// nil changes nothing. Neither ends the process.
func TestContextOfAJobThatPanicsOrIsNil(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newModel()
		for _, kind := range []string{"panics", "nil"} {
			m.addTo(kind, time.Now(), time.Now(), 2)
		}
		var mu sync.Mutex
		var ended []Event
		var dead []string
		cfg := WorkerConfig{
			Queues: map[string]QueueConfig{"panics": {}, "nil": {}},
			Context: func(_ context.Context, job *Job) context.Context {
				if job.Queue == "panics" {
					panic("no context")
				}
				return nil
			},
			Backoff: func(int) time.Duration { return time.Millisecond },
			OnEvent: func(e Event) {
				mu.Lock()
				defer mu.Unlock()
				if e.Type != EventClaimed {
					ended = append(ended, e)
				}
			},
		}
		var handled []string
		_, stop := run(t, m, cfg, func(_ context.Context, job *Job) error {
			handled = append(handled, job.Queue)
			return nil
		}, OnFailed(func(ctx context.Context, job *Job, cause error) error {
			require.NoError(t, ctx.Err())
			require.ErrorContains(t, cause, "no context")
			dead = append(dead, job.Queue)
			return nil
		}))
		time.Sleep(5 * time.Second)
		stop()
		require.Equal(t, []string{"nil"}, handled)
		require.Equal(t, []string{"panics"}, dead)
		var types []EventType
		for _, e := range ended {
			if e.Job.Queue == "panics" {
				types = append(types, e.Type)
				require.ErrorContains(t, e.Err, "no context")
			}
		}
		require.Equal(t, []EventType{EventRetried, EventRetried, EventFailed}, types)
		require.Len(t, m.done, 2)
	})
}

// A Backoff that panics, also for a handler that does not end, fails the attempt as if it had
// returned the default.
func TestBackoffThatPanics(t *testing.T) {
	t.Parallel()
	for name, handler := range map[string]HandlerFunc{
		"failed": func(context.Context, *Job) error { return errors.New("not today") },
		"stuck": func(ctx context.Context, _ *Job) error {
			<-ctx.Done()
			time.Sleep(2 * time.Minute)
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				m := newModel()
				m.add(time.Now(), time.Now(), 2)
				var mu sync.Mutex
				var failed []Event
				cfg := WorkerConfig{
					Timeout: time.Second,
					Backoff: func(int) time.Duration { panic("no patience") },
					OnEvent: func(e Event) {
						mu.Lock()
						defer mu.Unlock()
						if e.Type == EventRetried {
							failed = append(failed, e)
						}
					},
				}
				_, stop := run(t, m, cfg, handler)
				time.Sleep(3 * time.Minute)
				stop()
				time.Sleep(3 * time.Minute) // until the handlers have returned
				require.NotEmpty(t, failed)
				require.ErrorContains(t, failed[0].Err, "(and the backoff: panic: no patience)")
			})
		})
	}
}

// nilError is the type of a nil pointer in an error, of which every method panics.
type nilError struct {
	text      string
	permanent bool
	after     time.Duration
}

func (e *nilError) Error() string { return e.text }

// permanentNil has another method that panics.
type permanentNil struct{ *nilError }

func (permanentNil) Error() string     { return "permanent?" }
func (e permanentNil) Permanent() bool { return e.permanent }

// laterNil has another method that panics.
type laterNil struct{ *nilError }

func (laterNil) Error() string               { return "later?" }
func (e laterNil) RetryAfter() time.Duration { return e.after }

// An error whose methods panic fails the attempt like a handler that panics, and so does one of the
// OnFailed callback. It does not end the process.
func TestErrorThatPanics(t *testing.T) {
	t.Parallel()
	for name, bad := range map[string]error{
		"Error": (*nilError)(nil), "Permanent": permanentNil{}, "RetryAfter": laterNil{},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				m := newModel()
				m.add(time.Now(), time.Now(), 2)
				var mu sync.Mutex
				var errs []error
				cfg := WorkerConfig{OnEvent: func(e Event) {
					mu.Lock()
					defer mu.Unlock()
					if e.Type != EventClaimed {
						errs = append(errs, e.Err)
					}
				}}
				dead := 0
				_, stop := run(t, m, cfg, func(context.Context, *Job) error { return bad },
					OnFailed(func(context.Context, *Job, error) error {
						if dead++; dead == 1 {
							return bad
						}
						return nil
					}))
				time.Sleep(time.Minute)
				stop()
				require.Len(t, m.done, 1)
				require.Equal(t, 2, dead)
				require.Len(t, errs, 4, "three attempts, and the OnFailed callback once more")
				for _, err := range errs[:3] {
					require.ErrorContains(t, err, "panic: runtime error: invalid memory address")
				}
			})
		})
	}
}

// A handler that has not looked at its context fails for the reason for which that has ended, and
// what it has left behind finds the context ended, also one that was derived from it.
func TestContextThatNobodyLooksAtEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newModel()
		m.add(time.Now(), time.Now(), 2)
		var mu sync.Mutex
		var failed []error
		cfg := WorkerConfig{Timeout: time.Second, OnEvent: func(e Event) {
			mu.Lock()
			defer mu.Unlock()
			if e.Type == EventRetried {
				failed = append(failed, e.Err)
			}
		}}
		var left []context.Context
		derived := make(chan error, 1)
		_, stop := run(t, m, cfg, func(ctx context.Context, _ *Job) error {
			left = append(left, ctx)
			if len(left) == 1 {
				time.Sleep(2 * time.Second)
				return errors.New("late")
			}
			below, cancel := context.WithTimeout(ctx, time.Hour)
			go func() {
				defer cancel()
				<-below.Done()
				derived <- below.Err()
			}()
			return nil
		})
		time.Sleep(5 * time.Second)
		stop()
		require.Len(t, failed, 1)
		require.ErrorIs(t, failed[0], ErrTimeout)
		require.Len(t, left, 2)
		require.Error(t, left[0].Err())
		require.ErrorIs(t, left[1].Err(), context.Canceled)
		require.ErrorIs(t, <-derived, context.Canceled)
	})
}
