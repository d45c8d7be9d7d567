package queuetest

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/jobqueue"
	"lessonkit.example/jobqueue/driver"
)

// schedules returns all schedules, whose clock agrees with that of the machine.
func schedules(t *testing.T, h Harness) []driver.Schedule {
	t.Helper()
	all, now, err := h.Store.Schedules(t.Context())
	require.NoError(t, err)
	require.WithinDuration(t, time.Now(), now, time.Minute)
	return all
}

func scheduleIsStoredAndChanged(t *testing.T, h Harness) {
	require.Empty(t, schedules(t, h))
	next := time.Now().Add(time.Hour).UTC().Truncate(time.Microsecond)
	s := driver.Schedule{Name: "s", Spec: "x", NextAt: next}
	put := func(spec string, at time.Time) {
		t.Helper()
		require.NoError(t, h.Store.PutSchedule(t.Context(), driver.Schedule{Name: "s", Spec: spec, NextAt: at}))
	}
	put("x", next)
	put("x", next.Add(time.Hour))
	require.Equal(t, []driver.Schedule{s}, schedules(t, h), "only another Spec replaces it")
	change := func(c driver.ScheduleChange) { require.NoError(t, h.Store.ChangeSchedule(t.Context(), "s", c)) }
	change(driver.PauseSchedule)
	s.Paused = true
	require.Equal(t, []driver.Schedule{s}, schedules(t, h))
	jobs := []driver.Record{tickRecord(next)}
	require.NoError(t, h.Store.Tick(t.Context(), driver.Tick{Name: "s", Spec: "x", Due: next,
		Next: next.Add(time.Hour), Jobs: jobs, Skipped: 2}))
	s.NextAt, s.Skipped = next.Add(time.Hour), 3
	require.Equal(t, []driver.Schedule{s}, schedules(t, h), "its time passes without a job")
	require.Empty(t, stats(t, h.Store).Queues)
	change(driver.ResumeSchedule)
	put("y", next)
	change(driver.RunSchedule)
	due := schedules(t, h)[0].NextAt
	require.WithinDuration(t, time.Now(), due, time.Minute)
	require.Equal(t, []driver.Schedule{{Name: "s", Spec: "y", NextAt: due, Skipped: 3}}, schedules(t, h))
	change(driver.DeleteSchedule)
	require.Empty(t, schedules(t, h))
	require.ErrorIs(t, h.Store.ChangeSchedule(t.Context(), "s", driver.DeleteSchedule), jobqueue.ErrNotFound)
}

func scheduleTickHasAnEffectOnce(t *testing.T, h Harness) {
	due := time.Now().UTC().Truncate(time.Microsecond)
	require.NoError(t, h.Store.PutSchedule(t.Context(), driver.Schedule{Name: "s", Spec: "x", NextAt: due}))
	before := due.Add(-time.Second)
	jobs := []driver.Record{tickRecord(before), tickRecord(before), tickRecord(due)}
	jobs[1].AfterGroup, jobs[2].UniqueKey = "without members", "taken"
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
	s := driver.Schedule{Name: "s", Spec: "x", NextAt: tick.Next, LastAt: before, Skipped: 4}
	require.Equal(t, []driver.Schedule{s}, schedules(t, h), "one has no job")
	s.NextAt, s.Skipped = due.Add(2*time.Second), 5
	require.NoError(t, h.Store.Tick(t.Context(),
		driver.Tick{Name: "s", Spec: "x", Due: tick.Next, Next: s.NextAt, Jobs: jobs[2:]}))
	require.Equal(t, []driver.Schedule{s}, schedules(t, h))
	require.Equal(t, 3, stats(t, h.Store).Queues[0].Waiting)
}

func tickRecord(at time.Time) driver.Record {
	return driver.Record{Queue: "default", Kind: "work", Priority: 2, MaxAttempts: 1, RunAt: at, Args: []byte("null")}
}
