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
	"ScheduleEveryTimeIsOneJob":      scheduleEveryTimeIsOneJob,
	"ScheduleCatchesUp":              scheduleCatchesUp,
	"ScheduleDoesNotOverlap":         scheduleDoesNotOverlap,
	"SchedulePausesResumesAndRuns":   schedulePausesResumesAndRuns,
	"ScheduleOfAnotherVersion":       scheduleOfAnotherVersion,
	"ScheduleDisappearsAfterAMonth":  scheduleDisappearsAfterAMonth,
	"ScheduleTickHasAnEffectOnce":    scheduleTickHasAnEffectOnce,
	"ScheduleErrorsAreFoundAtTheRun": scheduleErrorsAreFoundAtTheRun,
	"ScheduleRefusedStopsNoOther":    scheduleRefusedStopsNoOther,
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

// seldom has its next time in the year 2069: not during a test, on whatever day it runs.
var seldom = jobqueue.Every(100 * 365 * 24 * time.Hour)

// stored returns the only schedule.
func stored(t *testing.T, h Harness) jobqueue.ScheduleInfo {
	t.Helper()
	all, err := jobqueue.NewClient(h.Store).Schedules(t.Context())
	require.NoError(t, err)
	require.Len(t, all, 1)
	return all[0]
}

// Several workers, of which one after the other is replaced, have the same schedule.
func scheduleEveryTimeIsOneJob(t *testing.T, h Harness) {
	const interval = 50 * time.Millisecond
	var got times
	cfg := schedule(jobqueue.Every(interval))
	cfg.Schedules[0].CatchUp = 1000
	workers := make([]*running, 4)
	for i := range workers {
		workers[i] = start(t, h.Again(), cfg, handle(got.handle))
	}
	for i := range 8 {
		got.wait(t, 5*i)
		workers[i%4].wait()
		workers[i%4] = start(t, h.Again(), cfg, handle(got.handle))
	}
	got.wait(t, 50)
	for _, w := range workers {
		w.wait()
	}
	// A worker that stops releases what it has claimed, also when the others have stopped already.
	last := start(t, h.Again(), jobqueue.WorkerConfig{}, handle(got.handle))
	poll(t, "all jobs run", func() bool {
		stats, err := h.Store.Stats(t.Context())
		return err == nil && !slices.ContainsFunc(stats.Queues,
			func(q driver.QueueStats) bool { return q.Waiting+q.Running > 0 })
	})
	last.wait()
	at := got.sorted()
	for i := range at[1:] {
		require.Equal(t, interval, at[i+1].Sub(at[i]), "between %v and %v", at[i], at[i+1])
	}
	require.Zero(t, at[0].UnixMicro()%interval.Microseconds())
	require.Zero(t, stored(t, h).Skipped)
}

func scheduleCatchesUp(t *testing.T, h Harness) {
	// The last time was half an hour ago, so that it was missed for certain, and the next one does
	// not come during the test.
	now := time.Now().UTC()
	hourly, err := jobqueue.Cron(fmt.Sprint(now.Add(30*time.Minute).Minute(), " * * * *"), time.UTC)
	require.NoError(t, err)
	missed := hourly.Next(now.Add(-10 * time.Hour)) // of ten
	for catchUp, want := range map[int]int{0: 1, 3: 3, 100: 10, -1: 0} {
		if err := h.Store.ChangeSchedule(t.Context(), "s", driver.DeleteSchedule); err != nil {
			require.ErrorIs(t, err, jobqueue.ErrNotFound) // the first time
		}
		require.NoError(t, h.Store.PutSchedule(t.Context(),
			driver.Schedule{Name: "s", Spec: hourly.String(), NextAt: missed}))
		var got times
		r := start(t, h.Store, schedule(hourly, func(s *jobqueue.Schedule) { s.CatchUp = catchUp }),
			handle(got.handle))
		poll(t, "the next time", func() bool { return stored(t, h).NextAt.After(time.Now()) })
		got.wait(t, want)
		r.wait()
		s := stored(t, h)
		require.Equal(t, missed.Add(10*time.Hour), s.NextAt)
		require.EqualValues(t, 10-want, s.Skipped)
		at := got.sorted()
		require.Len(t, at, want, "CatchUp %d", catchUp)
		for i := range at {
			require.Equal(t, missed.Add(time.Duration(10-want+i)*time.Hour), at[i], "the newest")
		}
		if want > 0 {
			require.Equal(t, at[want-1], s.LastAt)
		} else {
			require.Zero(t, s.LastAt)
		}
	}
}

func scheduleDoesNotOverlap(t *testing.T, h Harness) {
	started, finish := make(chan time.Time, 10), make(chan struct{})
	cfg := schedule(jobqueue.Every(20*time.Millisecond), func(s *jobqueue.Schedule) { s.Overlap = false })
	r := start(t, h.Store, cfg, handle(func(_ context.Context, job *jobqueue.Job, _ args) error {
		started <- job.RunAt
		<-finish
		return nil
	}))
	first := receive(t, started)
	poll(t, "other times pass", func() bool { return stored(t, h).NextAt.Sub(first) > 200*time.Millisecond })
	require.Empty(t, started)
	finish <- struct{}{}
	require.Greater(t, receive(t, started).Sub(first), 200*time.Millisecond)
	close(finish)
	r.wait()
}

func schedulePausesResumesAndRuns(t *testing.T, h Harness) {
	c := jobqueue.NewClient(h.Again())
	for _, change := range []func(context.Context, string) error{c.PauseSchedule, c.ResumeSchedule, c.RunSchedule} {
		require.ErrorIs(t, change(t.Context(), "s"), jobqueue.ErrNotFound)
	}
	var got times
	r := start(t, h.Store, schedule(jobqueue.Every(20*time.Millisecond)), handle(got.handle))
	got.wait(t, 2)
	require.NoError(t, c.PauseSchedule(t.Context(), "s"))
	paused := stored(t, h)
	require.True(t, paused.Paused)
	poll(t, "times pass", func() bool { return stored(t, h).NextAt.Sub(paused.NextAt) > 200*time.Millisecond })
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
	require.WithinDuration(t, time.Now(), last, time.Minute)
	require.Equal(t, seldom.Next(last), stored(t, h).NextAt)
}

// A rule that is deployed later wins, and workers of an earlier version do not bring theirs back.
func scheduleOfAnotherVersion(t *testing.T, h Harness) {
	var old, other times
	r := start(t, h.Store, schedule(jobqueue.Every(20*time.Millisecond)), handle(old.handle))
	old.wait(t, 2)
	newer := start(t, h.Again(), schedule(seldom), func(*jobqueue.Worker) {})
	poll(t, "the newer rule", func() bool { return stored(t, h).Spec == seldom.String() })
	next := stored(t, h).NextAt
	require.Equal(t, seldom.Next(time.Now()), next, "it starts with its next time")
	newer.wait()
	r.wait()
	require.Equal(t, seldom.String(), stored(t, h).Spec)
	require.Empty(t, other.sorted())
}

func scheduleDisappearsAfterAMonth(t *testing.T, h Harness) {
	day := 24 * time.Hour
	now := time.Now().UTC().Truncate(time.Microsecond)
	for name, at := range map[string]time.Time{
		"recent": now.Add(-29 * day), "removed": now.Add(-31 * day), "s": now.Add(-31 * day),
	} {
		require.NoError(t, h.Store.PutSchedule(t.Context(), driver.Schedule{Name: name, Spec: "x", NextAt: at}))
	}
	var got times
	r := start(t, h.Store, schedule(jobqueue.Every(20*time.Millisecond)), handle(got.handle))
	got.wait(t, 2)
	r.wait()
	all, err := jobqueue.NewClient(h.Store).Schedules(t.Context())
	require.NoError(t, err)
	require.Len(t, all, 2)
	require.Equal(t, jobqueue.ScheduleInfo{Name: "recent", Spec: "x", NextAt: now.Add(-29 * day)}, all[0])
	require.Equal(t, "s", all[1].Name)
	require.True(t, got.sorted()[0].After(now), "it started anew")
}

func scheduleTickHasAnEffectOnce(t *testing.T, h Harness) {
	due := time.Now().UTC().Truncate(time.Microsecond)
	require.NoError(t, h.Store.PutSchedule(t.Context(), driver.Schedule{Name: "s", Spec: "x", NextAt: due}))
	jobs := records(t, jobqueue.Params{Kind: "work", RunAt: due, UniqueKey: "taken"},
		jobqueue.Params{Kind: "work", RunAt: due})
	fill(t, h.Store, 1, func(p *jobqueue.Params) { p.UniqueKey = "taken" })
	tick := driver.Tick{Name: "s", Spec: "x", Due: due, Next: due.Add(time.Second), Jobs: jobs, Skipped: 3}
	for _, err := range concurrently(8, func() error { return h.Again().Tick(t.Context(), tick) }) {
		require.NoError(t, err)
	}
	require.NoError(t, h.Store.Tick(t.Context(), driver.Tick{Name: "s", Spec: "y", Due: tick.Next, Jobs: jobs}))
	require.Equal(t, jobqueue.ScheduleInfo{Name: "s", Spec: "x", NextAt: tick.Next, LastAt: due, Skipped: 3}, stored(t, h))
	stats, err := h.Store.Stats(t.Context())
	require.NoError(t, err)
	require.Equal(t, 2, stats.Queues[0].Waiting)
}

func scheduleErrorsAreFoundAtTheRun(t *testing.T, h Harness) {
	for want, change := range map[string]func(*jobqueue.Schedule){
		"schedule name is empty":   func(s *jobqueue.Schedule) { s.Name = "" },
		"When is nil":              func(s *jobqueue.Schedule) { s.When = nil },
		"CatchUp 1001":             func(s *jobqueue.Schedule) { s.CatchUp = 1001 },
		"kind is empty":            func(s *jobqueue.Schedule) { s.Params.Kind = "" },
		"have a RunAt":             func(s *jobqueue.Schedule) { s.Params.RunAt = time.Now() },
		"Params have a RunAt or U": func(s *jobqueue.Schedule) { s.Params.UniqueKey = "x" },
	} {
		err := jobqueue.NewWorker(h.Store, schedule(jobqueue.Every(time.Hour), change)).Run(t.Context())
		require.ErrorContains(t, err, want)
	}
	twice := schedule(jobqueue.Every(time.Hour))
	twice.Schedules = append(twice.Schedules, twice.Schedules[0])
	require.ErrorContains(t, jobqueue.NewWorker(h.Store, twice).Run(t.Context()), "two of this name")
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
	cfg := schedule(jobqueue.Every(20*time.Millisecond), func(s *jobqueue.Schedule) {
		s.Name, s.Params.Queue = "first", "refused"
	})
	cfg.Schedules = append(cfg.Schedules, schedule(jobqueue.Every(20*time.Millisecond)).Schedules...)
	// The first is due already at the start.
	require.NoError(t, h.Store.PutSchedule(t.Context(),
		driver.Schedule{Name: "first", Spec: cfg.Schedules[0].When.String(), NextAt: time.Now().UTC()}))
	var log bytes.Buffer
	cfg.Logger = slog.New(slog.NewTextHandler(&log, nil))
	var got times
	r := start(t, h.Store, cfg, handle(got.handle))
	got.wait(t, 2)
	newer := driver.Schedule{Name: cfg.Schedules[1].Name, Spec: "newer", NextAt: time.Now().UTC().Add(time.Hour)}
	require.NoError(t, h.Store.PutSchedule(t.Context(), newer))
	before := refused.Load()
	poll(t, "the refused schedule is tried again", func() bool { return refused.Load() >= before+2 })
	r.wait()
	require.Contains(t, log.String(), "first")
	schedules, _, err := h.Store.Schedules(t.Context())
	require.NoError(t, err)
	require.Equal(t, "newer", schedules[slices.IndexFunc(schedules, func(s driver.Schedule) bool {
		return s.Name == newer.Name
	})].Spec)
}

// concurrently calls f n times at once and returns the errors.
func concurrently(n int, f func() error) []error {
	errs := make([]error, n)
	var group sync.WaitGroup
	for i := range errs {
		group.Go(func() { errs[i] = f() })
	}
	group.Wait()
	return errs
}
