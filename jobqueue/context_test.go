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
				if job.Attempt == 1 {
					return nil // changes nothing
				}
				return context.WithValue(ctx, contextKey{}, job.ID)
			},
			Backoff: func(int) time.Duration { return time.Millisecond },
		}
		stop := run(t, m, cfg, func(ctx context.Context, job *Job) error {
			handled = append(handled, ctx.Value(contextKey{}))
			if len(handled) < 3 {
				return errors.New("another attempt, please")
			}
			return Permanent(errors.New("never"))
		}, OnFailed(func(ctx context.Context, _ *Job, _ error) error {
			dead = append(dead, ctx.Value(contextKey{}))
			return nil
		}))
		time.Sleep(5 * time.Second)
		stop()
		id := handled[1]
		require.NotNil(t, id)
		require.Equal(t, []any{nil, id, id}, handled)
		require.Equal(t, []any{id}, dead)
		require.Equal(t, id, log.lines["attempt failed"])
		require.Equal(t, id, log.lines["job failed"])
	})
}

// panicIn is an error of which the method of that name panics.
type panicIn string

func (e panicIn) called(method string) {
	if method == string(e) {
		panic("no " + method)
	}
}

func (e panicIn) Error() string             { e.called("Error"); return "error" }
func (e panicIn) Permanent() bool           { e.called("Permanent"); return false }
func (e panicIn) RetryAfter() time.Duration { e.called("RetryAfter"); return 0 }

// Functions of the program and methods of its errors that panic fail the attempt like a handler
// that panics. They do not end the process.
func TestPanicsFailTheAttempt(t *testing.T) {
	t.Parallel()
	returns := func(err error) HandlerFunc { return func(context.Context, *Job) error { return err } }
	backoff := func(int) time.Duration { panic("no patience") }
	for name, c := range map[string]struct {
		cfg     WorkerConfig
		handler HandlerFunc
		want    string
	}{
		"Context": {WorkerConfig{Context: func(context.Context, *Job) context.Context { panic("no context") }},
			succeed, "no context"},
		"Backoff": {WorkerConfig{Backoff: backoff}, returns(errAway), "(and the backoff: panic: no patience)"},
		"Backoff of a stuck handler": {WorkerConfig{Backoff: backoff, Timeout: time.Second},
			func(context.Context, *Job) error { time.Sleep(2 * time.Minute); return nil },
			"(and the backoff: panic: no patience)"},
		"Error":      {WorkerConfig{}, returns(panicIn("Error")), "panic: no Error"},
		"Permanent":  {WorkerConfig{}, returns(panicIn("Permanent")), "panic: no Permanent"},
		"RetryAfter": {WorkerConfig{}, returns(panicIn("RetryAfter")), "panic: no RetryAfter"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				m := newModel()
				m.add(time.Now(), time.Now(), 2)
				var mu sync.Mutex
				var ends []EventType
				c.cfg.OnEvent = func(e Event) {
					mu.Lock()
					defer mu.Unlock()
					if e.Type != EventClaimed {
						ends = append(ends, e.Type)
						if len(ends) == 1 {
							require.ErrorContains(t, e.Err, c.want)
						}
					}
				}
				dead := 0
				stop := run(t, m, c.cfg, c.handler, OnFailed(func(ctx context.Context, _ *Job, _ error) error {
					require.NoError(t, ctx.Err())
					if dead++; dead == 1 {
						return panicIn("Error")
					}
					return nil
				}))
				time.Sleep(time.Hour)
				stop()
				require.Len(t, m.done, 1)
				require.Equal(t, 2, dead)
				require.GreaterOrEqual(t, len(ends), 4, "three attempts, and the OnFailed callback once more")
				require.Equal(t, EventFailed, ends[len(ends)-1])
			})
		})
	}
}
