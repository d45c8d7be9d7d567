package jobqueue

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/jobqueue/driver"
)

func TestRunReturnsInTime(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		handler     time.Duration
		ignores     bool
		shutdown    time.Duration
		away        bool
		least, most time.Duration
	}{
		"idle": {0, false, 10 * time.Second, false, 0, 10 * time.Millisecond},
		"waits for the handler": {3 * time.Second, false, 10 * time.Second, false, 2 * time.Second,
			4 * time.Second},
		"cancels after the timeout": {time.Hour, false, 10 * time.Second, false, 10 * time.Second, 11 * time.Second},
		"no timeout":                {time.Hour, false, -1, false, 0, time.Second},
		"handler ignores its context": {time.Minute, true, 10 * time.Second, false, 10 * time.Second,
			10*time.Second + 5*time.Second},
		"and no database": {time.Minute, true, 10 * time.Second, true, 10 * time.Second,
			10*time.Second + 5*time.Second},
		"finished, no database":      {time.Second, false, 5 * time.Second, true, 0, 5*time.Second + 5*time.Second},
		"handler stops, no database": {time.Hour, false, time.Second, true, time.Second, time.Second + 5*time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				m := newModel()
				if c.handler > 0 {
					m.add(time.Now(), time.Now(), 2)
				}
				stop := run(t, m, WorkerConfig{ShutdownTimeout: c.shutdown},
					func(ctx context.Context, _ *Job) error { return work(ctx, c.handler, c.ignores) })
				time.Sleep(500 * time.Millisecond)
				m.locked(func() { m.dead = c.away })
				took := stop()
				require.GreaterOrEqual(t, took, c.least)
				require.LessOrEqual(t, took, c.most)
				if !c.away {
					for _, j := range m.jobs {
						require.Zero(t, j.lease, "released")
						require.Zero(t, j.Attempt)
					}
					require.Empty(t, m.workers)
				}
				time.Sleep(2 * time.Minute) // handlers that ignore their context
			})
		})
	}
}

// work takes d, or until ctx ends, unless it ignores that.
func work(ctx context.Context, d time.Duration, ignores bool) error {
	if ignores {
		time.Sleep(d)
		return nil
	}
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
	return context.Cause(ctx)
}

// withCancelledJob returns a model with job 1, whose callback is due.
func withCancelledJob() *model {
	m := newModel()
	j := m.add(time.Now(), time.Now(), 2)
	delete(m.jobs, j.ID)
	j.action, m.done[j.ID], m.callbacks = driver.Cancel, j, []int64{j.ID}
	return m
}

// A callback of a cancelled job has as long as a handler when Run ends.
func TestRunWaitsForCallbacksOfCancelledJobs(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		callback time.Duration
		ignores  bool
		called   []int64
		cause    error
		took     time.Duration
	}{
		"in time":             {3 * time.Second, false, []int64{1}, nil, 2 * time.Second},
		"too late":            {40 * time.Second, false, nil, ErrStopped, 10 * time.Second},
		"ignores its context": {40 * time.Second, true, nil, nil, 10*time.Second + settleTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				m := withCancelledJob()
				var cause error
				callback := func(ctx context.Context, _ *Job, _ error) error {
					err := work(ctx, c.callback, c.ignores)
					if !c.ignores {
						cause = err
					}
					return err
				}
				stop := run(t, m, WorkerConfig{}, succeed, OnFailed(callback))
				time.Sleep(time.Second)
				took := stop()
				require.InDelta(t, c.took, took, float64(100*time.Millisecond))
				require.Equal(t, c.called, m.called)
				require.Equal(t, c.cause, cause)
				time.Sleep(time.Minute) // a callback that ignores its context
			})
		})
	}
}

// A callback of a cancelled job that fails for a moment is called again soon.
func TestCallbackIsTriedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := withCancelledJob()
		failures := 2
		stop := run(t, m, WorkerConfig{}, succeed, OnFailed(func(context.Context, *Job, error) error {
			if failures--; failures >= 0 {
				return errAway
			}
			return nil
		}))
		time.Sleep(5 * time.Second)
		stop()
		require.Equal(t, []int64{1}, m.called)
	})
}
