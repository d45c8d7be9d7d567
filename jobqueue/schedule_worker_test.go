package jobqueue_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/jobqueue"
	"lessonkit.example/jobqueue/driver"
)

// times collects the RunAt of jobs.
type times struct {
	mu sync.Mutex
	at map[int64]time.Time // by the ids of the jobs: after the end of a lease one runs again
}

func (c *times) handle(w *jobqueue.Worker) {
	c.at = map[int64]time.Time{}
	jobqueue.Handle(w, "work", func(_ context.Context, job *jobqueue.Job, _ any) error {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.at[job.ID] = job.RunAt
		return nil
	})
}

func (c *times) sorted() []time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.SortedFunc(maps.Values(c.at), time.Time.Compare)
}

func (c *times) wait(t *testing.T, n int) {
	t.Helper()
	poll(t, "jobs of the schedule", func() bool { return len(c.sorted()) >= n })
}

// poll waits until ok returns true.
func poll(t *testing.T, what string, ok func() bool) {
	t.Helper()
	require.Eventually(t, ok, waitLimit, 5*time.Millisecond, what)
}

// scheduled returns a worker's configuration with one schedule of jobs of kind "work".
func scheduled(when jobqueue.When, change ...func(*jobqueue.Schedule)) jobqueue.WorkerConfig {
	s := jobqueue.Schedule{Name: "s", When: when, Params: jobqueue.Params{Kind: "work"}, Overlap: true}
	for _, f := range change {
		f(&s)
	}
	return jobqueue.WorkerConfig{Schedules: []jobqueue.Schedule{s}}
}

const interval = 20 * time.Millisecond

// often has its next time soon, seldom in the year 2069: not during a test, on whatever day it
// runs.
var often, seldom = jobqueue.Every(interval), jobqueue.Every(100 * 365 * 24 * time.Hour)

// stored returns the only schedule.
func stored(t *testing.T, c *jobqueue.Client) jobqueue.ScheduleInfo {
	t.Helper()
	all, err := c.Schedules(t.Context())
	require.NoError(t, err)
	require.Len(t, all, 1)
	return all[0]
}

// now returns the time as stores keep it.
func now() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }

// Ten times were missed while no process was running.
func TestScheduleCatchesUp(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		catchUp, want int
		overlap       bool
	}{{0, 1, true}, {3, 3, true}, {100, 10, true}, {-1, 0, true}, {3, 1, false}, {-1, 0, false}} {
		catchUp, want := x.catchUp, x.want
		store, c := newQueue(t, nil)
		// The next time is in half a day.
		daily, err := jobqueue.Cron(fmt.Sprintf("0 %d * * *", now().Add(12*time.Hour).Hour()), time.UTC)
		require.NoError(t, err)
		missed := daily.Next(now().AddDate(0, 0, -10))
		old := driver.Schedule{Name: "s", Spec: daily.String(), NextAt: missed}
		require.NoError(t, store.PutSchedule(t.Context(), old))
		var got times
		runWorker(t, store, scheduled(daily, func(s *jobqueue.Schedule) {
			s.CatchUp, s.Overlap = catchUp, x.overlap
		}), got.handle)
		poll(t, "the next time", func() bool { return stored(t, c).NextAt.After(time.Now()) })
		got.wait(t, want)
		s := jobqueue.ScheduleInfo{Name: "s", Spec: daily.String(), NextAt: missed.AddDate(0, 0, 10),
			Skipped: int64(10 - want)}
		var newest []time.Time
		for i := range want {
			s.LastAt = missed.AddDate(0, 0, 10-want+i)
			newest = append(newest, s.LastAt)
		}
		require.Equal(t, s, stored(t, c))
		require.Equal(t, newest, got.sorted(), "%+v", x)
	}
}

func TestScheduleDoesNotOverlap(t *testing.T) {
	t.Parallel()
	store, c := newQueue(t, nil)
	const pass = 10 * interval
	started, finish := make(chan time.Time, 10), make(chan struct{})
	runWorker(t, store, scheduled(often, func(s *jobqueue.Schedule) { s.Overlap = false }), func(w *jobqueue.Worker) {
		jobqueue.Handle(w, "work", func(_ context.Context, job *jobqueue.Job, _ any) error {
			started <- job.RunAt
			<-finish
			return nil
		})
	})
	first := <-started
	poll(t, "other times pass", func() bool { return stored(t, c).NextAt.Sub(first) > pass })
	require.Empty(t, started)
	during := stored(t, c)
	require.True(t, first.Equal(during.LastAt), "the only job")
	require.Greater(t, during.Skipped, int64(pass/interval-3))
	finish <- struct{}{}
	require.Greater(t, (<-started).Sub(first), pass)
	close(finish)
}

func TestSchedulePausesResumesAndRuns(t *testing.T) {
	t.Parallel()
	store, c := newQueue(t, nil)
	for _, change := range []func(context.Context, string) error{c.PauseSchedule, c.ResumeSchedule, c.RunSchedule} {
		require.ErrorIs(t, change(t.Context(), "s"), jobqueue.ErrNotFound)
	}
	var got times
	stop, _ := runWorker(t, store, scheduled(often), got.handle)
	got.wait(t, 2)
	require.NoError(t, c.PauseSchedule(t.Context(), "s"))
	paused := stored(t, c)
	require.True(t, paused.Paused)
	poll(t, "times pass", func() bool { return stored(t, c).NextAt.Sub(paused.NextAt) > 10*interval })
	late := stored(t, c) // in the pause
	require.Equal(t, paused.LastAt, late.LastAt)
	require.GreaterOrEqual(t, late.Skipped, int64(10))
	require.NoError(t, c.ResumeSchedule(t.Context(), "s"))
	poll(t, "runs again", func() bool { return stored(t, c).LastAt.After(late.NextAt) })
	stop()
	for _, at := range got.sorted() {
		require.True(t, at.Before(paused.NextAt) || !at.Before(late.NextAt), "%v in the pause", at)
	}

	// By hand, although the next time is far away. A worker of the same process starts it at once.
	var byHand times
	runWorker(t, store, scheduled(seldom), byHand.handle)
	poll(t, "the new rule", func() bool { return stored(t, c).Spec == seldom.String() })
	last := stored(t, c).LastAt
	require.NoError(t, c.RunSchedule(t.Context(), "s"))
	poll(t, "a job", func() bool { return stored(t, c).LastAt.After(last) })
	last = stored(t, c).LastAt
	poll(t, "it runs", func() bool { return slices.Contains(byHand.sorted(), last) })
	require.Equal(t, seldom.Next(last), stored(t, c).NextAt)
}

func TestScheduleDisappearsAfterAMonth(t *testing.T) {
	t.Parallel()
	store, _ := newQueue(t, nil)
	began := now()
	recent := driver.Schedule{Name: "recent", Spec: "x", NextAt: began.AddDate(0, 0, -29)}
	require.NoError(t, store.PutSchedule(t.Context(), recent))
	for _, name := range []string{"removed", "s"} {
		old := driver.Schedule{Name: name, Spec: "x", NextAt: began.AddDate(0, 0, -32)}
		require.NoError(t, store.PutSchedule(t.Context(), old))
	}
	var got times
	runWorker(t, store, scheduled(often), got.handle)
	got.wait(t, 2)
	all, _, err := store.Schedules(t.Context())
	require.NoError(t, err)
	require.Len(t, all, 2)
	require.Equal(t, recent, all[0])
	require.Equal(t, "s", all[1].Name)
	require.True(t, got.sorted()[0].After(began), "it started anew")
}

// The hook refuses the jobs of the first schedule; those of the second are enqueued, and the log
// names the first. A newer program's version of the second is not overwritten meanwhile.
func TestRefusedScheduleStopsNoOther(t *testing.T) {
	t.Parallel()
	var refused atomic.Int32
	hook := func(_ context.Context, ps []jobqueue.Params) error {
		if ps[0].Queue == "refused" {
			refused.Add(1)
			return away{}
		}
		return nil
	}
	store, _ := newQueue(t, hook)
	cfg := scheduled(often, func(s *jobqueue.Schedule) { s.Name, s.Params.Queue = "first", "refused" })
	cfg.Schedules = append(cfg.Schedules, scheduled(often).Schedules...)
	first := driver.Schedule{Name: "first", Spec: often.String(), NextAt: now()} // due at the start
	require.NoError(t, store.PutSchedule(t.Context(), first))
	var log bytes.Buffer
	cfg.Logger = slog.New(slog.NewTextHandler(&log, nil))
	var got times
	stop, _ := runWorker(t, store, cfg, got.handle)
	got.wait(t, 2)
	newer := driver.Schedule{Name: "s", Spec: "newer", NextAt: now().Add(time.Hour)}
	require.NoError(t, store.PutSchedule(t.Context(), newer))
	before := refused.Load()
	poll(t, "the refused schedule is tried again", func() bool { return refused.Load() >= before+2 })
	stop()
	require.Contains(t, log.String(), "first")
	schedules, _, err := store.Schedules(t.Context())
	require.NoError(t, err)
	require.Equal(t, "newer", schedules[1].Spec)
}
