package jobqueue

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/jobqueue/driver"
)

// The attempt counts of the job that ran, not that of the one that had not started.
func TestLeaseIsLostWhenTheDatabaseIsUnavailableForALease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newModel()
		started, prefetched := m.add(time.Now(), time.Now(), 2), m.add(time.Now(), time.Now(), 2)
		type end struct {
			at    time.Time
			cause error
		}
		ends := make(chan end, 2)
		runs := 0
		cfg := WorkerConfig{Lease: 30 * time.Second, Prefetch: 1,
			Queues: map[string]QueueConfig{DefaultQueue: {MaxWorkers: 1}}}
		stop := run(t, m, cfg, func(ctx context.Context, _ *Job) error {
			if runs++; runs > 1 {
				return nil
			}
			<-ctx.Done()
			ends <- end{time.Now(), context.Cause(ctx)}
			return nil
		})
		time.Sleep(5 * time.Second)
		m.locked(func() { m.dead = true })
		cut := time.Now()
		e := <-ends
		require.ErrorIs(t, e.cause, ErrLeaseLost)
		require.Less(t, e.at.Sub(cut), 30*time.Second, "before anybody else may claim the job")
		require.Greater(t, e.at.Sub(cut), 15*time.Second)
		m.locked(func() { m.dead = false })
		time.Sleep(15 * time.Second)
		stop()
		require.Len(t, m.done, 2)
		require.Equal(t, 2, started.Attempt)
		require.Equal(t, 1, prefetched.Attempt)
		require.Empty(t, m.workers)
	})
}

func TestStuckHandlerOnlyOccupiesItsWorker(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newModel()
		j := m.add(time.Now(), time.Now(), 2)
		var starts []time.Time
		stop := run(t, m, WorkerConfig{Timeout: time.Minute},
			func(ctx context.Context, job *Job) error {
				m.locked(func() { starts = append(starts, time.Now()) })
				if job.Attempt == 1 {
					time.Sleep(time.Hour)
					return errors.New("much too late")
				}
				return nil
			})
		time.Sleep(4 * time.Minute)
		synctest.Wait()
		require.Len(t, starts, 2)
		require.InDelta(t, 126*time.Second, starts[1].Sub(starts[0]), float64(8*time.Second))
		require.Equal(t, driver.Complete, m.done[j.ID].action)
		time.Sleep(time.Hour)
		stop()
		require.Len(t, m.done, 1)
	})
}

// The callback of a job that has failed by its timeout has as much time again as the handler.
func TestCallbackIsNotStuckBeforeItsOwnTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newModel()
		j := m.add(time.Now(), time.Now(), 2)
		j.MaxAttempts = 1
		calls := 0
		stop := run(t, m, WorkerConfig{Timeout: 5 * time.Minute},
			func(ctx context.Context, _ *Job) error {
				<-ctx.Done()
				return context.Cause(ctx)
			},
			OnFailed(func(context.Context, *Job, error) error {
				calls++
				time.Sleep(4 * time.Minute)
				return nil
			}))
		time.Sleep(20 * time.Minute)
		stop()
		require.Equal(t, 1, calls)
		require.Equal(t, driver.Fail, m.done[j.ID].action)
	})
}

// The jobs of a worker that died are rescued within half a lease of the end of its own: within one
// and a half leases of its death.
func TestRescuesAreLessThanHalfALeaseApart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newModel()
		began := time.Now()
		stop := run(t, m, WorkerConfig{Lease: 30 * time.Second}, succeed)
		time.Sleep(time.Hour)
		stop()
		require.Less(t, m.rescues[0].Sub(began), 15*time.Second)
		require.Greater(t, m.rescues[len(m.rescues)-1].Sub(began), 59*time.Minute)
		for i, at := range m.rescues[1:] {
			require.Less(t, at.Sub(m.rescues[i]), 15*time.Second)
		}
	})
}

func TestHistoryIsPurgedByTheRetentionOfEachQueue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newModel()
		stop := run(t, m, WorkerConfig{Queues: map[string]QueueConfig{
			"usual": {}, "none": {Retention: KeepNone, RetentionFailed: time.Hour},
			"ever": {Retention: KeepForever, RetentionFailed: KeepForever},
		}}, succeed)
		time.Sleep(90 * time.Second)
		stop()
		const day = 24 * time.Hour
		require.Equal(t, map[driver.PurgeFilter]int{
			{State: driver.StateSucceeded, Queue: "usual", Age: 7 * day}:  1,
			{State: driver.StateFailed, Queue: "usual", Age: 30 * day}:    1,
			{State: driver.StateCancelled, Queue: "usual", Age: 30 * day}: 1,
			{State: driver.StateSucceeded, Queue: "none", Age: 0}:         1,
			{State: driver.StateFailed, Queue: "none", Age: time.Hour}:    1,
			{State: driver.StateCancelled, Queue: "none", Age: time.Hour}: 1,
		}, m.purges)
	})
}

func TestPurgesAreRareUnlessARetentionIsShort(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		queue QueueConfig
		want  float64
	}{
		"usual":           {QueueConfig{}, 1 + 4*10},
		"none":            {QueueConfig{RetentionFailed: KeepNone}, 1 + 4*10},
		"five minutes":    {QueueConfig{RetentionFailed: 5 * time.Minute}, 1 + 12*10},
		"a single second": {QueueConfig{RetentionFailed: time.Second}, 1 + 60*10},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				m := newModel()
				stop := run(t, m, WorkerConfig{Queues: map[string]QueueConfig{DefaultQueue: c.queue}}, succeed)
				time.Sleep(10 * time.Hour)
				stop()
				f := driver.PurgeFilter{State: driver.StateSucceeded, Queue: DefaultQueue, Age: 7 * 24 * time.Hour}
				require.InEpsilon(t, c.want, m.purges[f], 0.05)
			})
		})
	}
}

// A purge goes on where the last one ended, and begins with the first job again after a day.
func TestPurgeGoesOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newModel()
		m.old = 12_000
		stop := run(t, m, WorkerConfig{}, succeed)
		time.Sleep(23 * time.Hour)
		m.mu.Lock()
		require.Equal(t, []int64{0, 5000, 10_000, 12_000, 12_000}, m.purged[:5])
		require.EqualValues(t, 12_000, slices.Min(m.purged[3:]))
		m.mu.Unlock()
		time.Sleep(2 * time.Hour)
		stop()
		require.Zero(t, slices.Min(m.purged[3:]))
	})
}

// A purge of a long history lets others write, and ends when the worker stops.
func TestLongPurgeLetsOthersWrite(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newModel()
		m.old = 1e9
		stop := run(t, m, WorkerConfig{}, succeed)
		time.Sleep(2 * time.Minute)
		left := func() (n int) {
			m.locked(func() { n = m.old })
			return n
		}
		before := left()
		time.Sleep(time.Second)
		require.InDelta(t, before-100*5000, left(), 5000)
		require.Less(t, stop(), time.Second)
	})
}

// A cancellation signal may come late or from other tables: it only triggers a heartbeat, whose
// response decides.
func TestCancelSignalTriggersAHeartbeat(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newModel()
		j := m.add(time.Now(), time.Now(), 2)
		ends := make(chan error, 1)
		stop := run(t, m, WorkerConfig{}, func(ctx context.Context, _ *Job) error {
			<-ctx.Done()
			ends <- context.Cause(ctx)
			return nil
		})
		time.Sleep(time.Second)
		m.signal(driver.Signal{Cancel: j.ID + 1})
		synctest.Wait()
		require.Zero(t, m.heartbeats, "another worker's job costs nothing")
		m.signal(driver.Signal{Cancel: j.ID})
		synctest.Wait()
		require.Equal(t, 1, m.heartbeats)
		require.Empty(t, ends, "it is not cancelled")

		m.locked(func() { j.cancel = true })
		m.signal(driver.Signal{Cancel: j.ID})
		synctest.Wait() // without any time passing
		require.Len(t, ends, 1)
		require.ErrorIs(t, <-ends, ErrCancelled)
		stop()
	})
}

// While heartbeats cannot find cancelled jobs, as in a table that is locked, they keep the lease
// and try again soon.
func TestHeartbeatThatFindsNoCancelledJobs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newModel()
		m.blind = true
		j := m.add(time.Now(), time.Now(), 2)
		ends := make(chan error, 1)
		var log strings.Builder
		cfg := WorkerConfig{Lease: 30 * time.Second, Logger: slog.New(slog.NewTextHandler(&log, nil))}
		stop := run(t, m, cfg, func(ctx context.Context, _ *Job) error {
			<-ctx.Done()
			ends <- context.Cause(ctx)
			return nil
		})
		time.Sleep(2 * time.Minute)
		require.Empty(t, ends)
		m.locked(func() { j.cancel, m.blind = true, false })
		time.Sleep(3 * time.Second)
		require.Len(t, ends, 1)
		require.ErrorIs(t, <-ends, ErrCancelled)
		stop()
		require.Contains(t, log.String(), errAway.Error())
	})
}

// During a heartbeat a cancelled job may end and be claimed again: the response does not apply to
// the new attempt.
func TestLateHeartbeatDoesNotCancelTheNextAttempt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newModel()
		m.slowHeartbeat = time.Second
		j := m.add(time.Now(), time.Now(), 2)
		stop := run(t, m, WorkerConfig{}, func(ctx context.Context, job *Job) error {
			if job.Attempt == 1 {
				time.Sleep(2500 * time.Millisecond)
				return errAway
			}
			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-time.After(20 * time.Second):
				return nil
			}
		}, WithBackoff(func(int) time.Duration { return time.Millisecond }))
		time.Sleep(2 * time.Second)
		m.locked(func() { j.cancel = true })
		m.signal(driver.Signal{Cancel: j.ID}) // the response arrives during the second attempt
		time.Sleep(10 * time.Millisecond)
		m.locked(func() { j.cancel = false }) // as Retry does
		time.Sleep(time.Minute)
		stop()
		require.Equal(t, driver.Complete, m.done[j.ID].action)
	})
}

// silent is a store of which the first call of each method gets no answer.
type silent struct {
	*model
	calls map[string][]time.Time
}

func (s *silent) call(ctx context.Context, method string) error {
	s.mu.Lock()
	s.calls[method] = append(s.calls[method], time.Now())
	first := len(s.calls[method]) == 1
	s.mu.Unlock()
	if !first {
		return nil
	}
	<-ctx.Done()
	return ctx.Err()
}

func (s *silent) Rescue(ctx context.Context, _ bool) (int, error) { return 0, s.call(ctx, "Rescue") }

func (s *silent) Purge(ctx context.Context, _ driver.PurgeFilter) (int, int64, error) {
	return 0, 0, s.call(ctx, "Purge")
}

func (s *silent) Schedules(ctx context.Context) ([]driver.Schedule, time.Time, error) {
	now := time.Now()
	due := driver.Schedule{Name: "s", Spec: Every(time.Hour).String(), NextAt: now}
	return []driver.Schedule{due}, now, s.call(ctx, "Schedules")
}

func (s *silent) Tick(ctx context.Context, _ driver.Tick) error { return s.call(ctx, "Tick") }

// A call without an answer, as over a half-open connection, ends, and its loop goes on.
func TestCallsHaveATimeLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &silent{newModel(), map[string][]time.Time{}}
		stop := run(t, s, WorkerConfig{Schedules: []Schedule{
			{Name: "s", When: Every(time.Hour), Params: Params{Kind: "work"}},
		}}, succeed)
		time.Sleep(5 * time.Minute)
		stop()
		for _, method := range []string{"Rescue", "Purge", "Schedules", "Tick"} {
			calls := s.calls[method]
			require.Greater(t, len(calls), 1, method)
			require.Less(t, calls[1].Sub(calls[0]), 20*time.Second, method)
		}
	})
}
