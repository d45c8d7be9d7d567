package queuetest

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

var scheduleTests = map[string]func(*testing.T, Harness){
	"ScheduleCatchesUp":             scheduleCatchesUp,
	"ScheduleDoesNotOverlap":        scheduleDoesNotOverlap,
	"SchedulePausesResumesAndRuns":  schedulePausesResumesAndRuns,
	"ScheduleOfAnotherVersion":      scheduleOfAnotherVersion,
	"ScheduleDisappearsAfterAMonth": scheduleDisappearsAfterAMonth,
	"ScheduleTickHasAnEffectOnce":   scheduleTickHasAnEffectOnce,
	"ScheduleRefusedStopsNoOther":   scheduleRefusedStopsNoOther,
}

// times collects the RunAt of jobs.
type times struct {
	mu sync.Mutex
	at map[int64]time.Time // by the ids of the jobs: after the end of a lease one runs again
}

func (c *times) handle(_ context.Context, job *jobqueue.Job, _ args) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.at == nil {
		c.at = map[int64]time.Time{}
	}
	c.at[job.ID] = job.RunAt
	return nil
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

// schedule returns a worker's configuration with one schedule of jobs of kind "work".
func schedule(when jobqueue.When, change ...func(*jobqueue.Schedule)) jobqueue.WorkerConfig {
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
func stored(t *testing.T, h Harness) jobqueue.ScheduleInfo {
	t.Helper()
	all, err := jobqueue.NewClient(h.Store).Schedules(t.Context())
	require.NoError(t, err)
	require.Len(t, all, 1)
	return all[0]
}

func put(t *testing.T, h Harness, s driver.Schedule) {
	t.Helper()
	require.NoError(t, h.Store.PutSchedule(t.Context(), s))
}

// now returns the time as stores keep it.
func now() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }

// Ten times were missed while no process was running.
func scheduleCatchesUp(t *testing.T, h Harness) {
	// The next time is in half a day.
	daily, err := jobqueue.Cron(fmt.Sprintf("0 %d * * *", now().Add(12*time.Hour).Hour()), time.UTC)
	require.NoError(t, err)
	missed := daily.Next(now().AddDate(0, 0, -10))
	for catchUp, want := range map[int]int{0: 1, 3: 3, 100: 10, -1: 0} {
		if err := h.Store.ChangeSchedule(t.Context(), "s", driver.DeleteSchedule); err != nil {
			require.ErrorIs(t, err, jobqueue.ErrNotFound) // the first time
		}
		put(t, h, driver.Schedule{Name: "s", Spec: daily.String(), NextAt: missed})
		var got times
		r := start(t, h.Store, schedule(daily, func(s *jobqueue.Schedule) { s.CatchUp = catchUp }),
			handle(got.handle))
		poll(t, "the next time", func() bool { return stored(t, h).NextAt.After(time.Now()) })
		got.wait(t, want)
		r.wait()
		s := jobqueue.ScheduleInfo{Name: "s", Spec: daily.String(), NextAt: missed.AddDate(0, 0, 10),
			Skipped: int64(10 - want)}
		var newest []time.Time
		for i := range want {
			s.LastAt = missed.AddDate(0, 0, 10-want+i)
			newest = append(newest, s.LastAt)
		}
		require.Equal(t, s, stored(t, h))
		require.Equal(t, newest, got.sorted(), "CatchUp %d", catchUp)
	}
}

func scheduleDoesNotOverlap(t *testing.T, h Harness) {
	const pass = 10 * interval
	started, finish := make(chan time.Time, 10), make(chan struct{})
	r := start(t, h.Store, schedule(often, func(s *jobqueue.Schedule) { s.Overlap = false }),
		handle(func(_ context.Context, job *jobqueue.Job, _ args) error {
			started <- job.RunAt
			<-finish
			return nil
		}))
	first := receive(t, started)
	poll(t, "other times pass", func() bool { return stored(t, h).NextAt.Sub(first) > pass })
	require.Empty(t, started)
	finish <- struct{}{}
	require.Greater(t, receive(t, started).Sub(first), pass)
	close(finish)
	r.wait()
}

func schedulePausesResumesAndRuns(t *testing.T, h Harness) {
	c := jobqueue.NewClient(h.Again())
	for _, change := range []func(context.Context, string) error{c.PauseSchedule, c.ResumeSchedule, c.RunSchedule} {
		require.ErrorIs(t, change(t.Context(), "s"), jobqueue.ErrNotFound)
	}
	var got times
	r := start(t, h.Store, schedule(often), handle(got.handle))
	got.wait(t, 2)
	require.NoError(t, c.PauseSchedule(t.Context(), "s"))
	paused := stored(t, h)
	require.True(t, paused.Paused)
	poll(t, "times pass", func() bool { return stored(t, h).NextAt.Sub(paused.NextAt) > 10*interval })
	late := stored(t, h) // in the pause
	require.Equal(t, paused.LastAt, late.LastAt)
	require.GreaterOrEqual(t, late.Skipped, int64(10))
	require.NoError(t, c.ResumeSchedule(t.Context(), "s"))
	poll(t, "runs again", func() bool { return stored(t, h).LastAt.After(late.NextAt) })
	r.wait()
	for _, at := range got.sorted() {
		require.True(t, at.Before(paused.NextAt) || !at.Before(late.NextAt), "%v in the pause", at)
	}

	// By hand, although the next time is far away. A worker of the same process starts it at once.
	r = start(t, h.Store, schedule(seldom), handle(got.handle))
	poll(t, "the new rule", func() bool { return stored(t, h).Spec == seldom.String() })
	last := stored(t, h).LastAt
	require.NoError(t, jobqueue.NewClient(h.Store).RunSchedule(t.Context(), "s"))
	poll(t, "a job", func() bool { return stored(t, h).LastAt.After(last) })
	last = stored(t, h).LastAt
	poll(t, "it runs", func() bool { return slices.Contains(got.sorted(), last) })
	r.wait()
	require.Equal(t, seldom.Next(last), stored(t, h).NextAt)
}

// A rule that is deployed later wins, and workers of an earlier version do not bring theirs back.
func scheduleOfAnotherVersion(t *testing.T, h Harness) {
	var old times
	r := start(t, h.Store, schedule(often), handle(old.handle))
	old.wait(t, 2)
	newer := start(t, h.Again(), schedule(seldom), func(*jobqueue.Worker) {})
	poll(t, "the newer rule", func() bool { return stored(t, h).Spec == seldom.String() })
	require.Equal(t, seldom.Next(time.Now()), stored(t, h).NextAt, "it starts with its next time")
	newer.wait()
	r.wait()
	require.Equal(t, seldom.String(), stored(t, h).Spec)
}

func scheduleDisappearsAfterAMonth(t *testing.T, h Harness) {
	began := now()
	recent := driver.Schedule{Name: "recent", Spec: "x", NextAt: began.AddDate(0, 0, -29)}
	put(t, h, recent)
	for _, name := range []string{"removed", "s"} {
		put(t, h, driver.Schedule{Name: name, Spec: "x", NextAt: began.AddDate(0, 0, -32)})
	}
	var got times
	r := start(t, h.Store, schedule(often), handle(got.handle))
	got.wait(t, 2)
	r.wait()
	all, _, err := h.Store.Schedules(t.Context())
	require.NoError(t, err)
	require.Len(t, all, 2)
	require.Equal(t, recent, all[0])
	require.Equal(t, "s", all[1].Name)
	require.True(t, got.sorted()[0].After(began), "it started anew")
}

func scheduleTickHasAnEffectOnce(t *testing.T, h Harness) {
	due := now()
	put(t, h, driver.Schedule{Name: "s", Spec: "x", NextAt: due})
	jobs := []driver.Record{tickRecord(due), tickRecord(due), tickRecord(due)}
	jobs[0].UniqueKey, jobs[1].AfterGroup = "taken", "without members"
	fill(t, h.Store, 1, func(p *jobqueue.Params) { p.UniqueKey = "taken" })
	tick := driver.Tick{Name: "s", Spec: "x", Due: due, Next: due.Add(time.Second), Jobs: jobs, Skipped: 3}
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			if err := h.Again().Tick(t.Context(), tick); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	require.NoError(t, h.Store.Tick(t.Context(), driver.Tick{Name: "s", Spec: "y", Due: tick.Next, Jobs: jobs}))
	all, _, err := h.Store.Schedules(t.Context())
	require.NoError(t, err)
	require.Equal(t, []driver.Schedule{{Name: "s", Spec: "x", NextAt: tick.Next, LastAt: due, Skipped: 3}}, all)
	require.Equal(t, 3, stats(t, h.Store).Queues[0].Waiting)
}

func tickRecord(at time.Time) driver.Record {
	return driver.Record{Queue: "default", Kind: "work", Priority: 2, MaxAttempts: 1, RunAt: at, Args: []byte("null")}
}

// The hook refuses the jobs of the first schedule; those of the second are enqueued, and the log
// names the first. A newer program's version of the second is not overwritten meanwhile.
func scheduleRefusedStopsNoOther(t *testing.T, h Harness) {
	var refused atomic.Int32
	h.SetHook(func(_ context.Context, ps []jobqueue.Params) error {
		if ps[0].Queue == "refused" {
			refused.Add(1)
			return errTest
		}
		return nil
	})
	cfg := schedule(often, func(s *jobqueue.Schedule) { s.Name, s.Params.Queue = "first", "refused" })
	cfg.Schedules = append(cfg.Schedules, schedule(often).Schedules...)
	put(t, h, driver.Schedule{Name: "first", Spec: often.String(), NextAt: now()}) // due at the start
	var log bytes.Buffer
	cfg.Logger = slog.New(slog.NewTextHandler(&log, nil))
	var got times
	r := start(t, h.Store, cfg, handle(got.handle))
	got.wait(t, 2)
	put(t, h, driver.Schedule{Name: "s", Spec: "newer", NextAt: now().Add(time.Hour)})
	before := refused.Load()
	poll(t, "the refused schedule is tried again", func() bool { return refused.Load() >= before+2 })
	r.wait()
	require.Contains(t, log.String(), "first")
	schedules, _, err := h.Store.Schedules(t.Context())
	require.NoError(t, err)
	require.Equal(t, "newer", schedules[1].Spec)
}
