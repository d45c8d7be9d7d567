package jobqueue

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"lessonkit.example/jobqueue/driver"
)

// shared is a store with one schedule, which this worker cannot reach until back.
type shared struct {
	*model
	row  *driver.Schedule
	back time.Time
	read []time.Time
}

func (s *shared) Schedules(context.Context) (rows []driver.Schedule, now time.Time, err error) {
	s.locked(func() { rows, now = []driver.Schedule{*s.row}, time.Now() })
	s.read = append(s.read, now)
	if lost := s.back.Add(-10 * time.Minute); now.After(lost) && now.Before(s.back) {
		err = errAway
	}
	return rows, now, err
}

func (s *shared) PutSchedule(_ context.Context, row driver.Schedule) error {
	s.locked(func() { s.row.Spec, s.row.NextAt = row.Spec, row.NextAt })
	return nil
}

func (s *shared) Tick(_ context.Context, t driver.Tick) error {
	s.locked(func() { s.row.LastAt, s.row.NextAt = t.Due, t.Next })
	return nil
}

// A worker whose rule is older takes the newer one's place when its workers have ended, not when
// the database was away for all of them.
func TestRuleOfWorkersThatHaveEnded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, began := newModel(), time.Now()
		row := driver.Schedule{Name: "s", NextAt: began}
		start := func(when When, back time.Duration) (stop func() time.Duration) {
			s := Schedule{Name: "s", When: when, Params: Params{Kind: "work"}}
			defer time.Sleep(time.Second)
			store := &shared{model: m, row: &row, back: began.Add(back)}
			return run(t, store, WorkerConfig{Schedules: []Schedule{s}}, succeed)
		}
		older, newer := Every(2*time.Hour), Every(time.Hour)
		defer start(older, 66*time.Minute)()
		stop := start(newer, 68*time.Minute)
		check := func(after time.Duration, when When, last time.Duration) {
			time.Sleep(time.Until(began.Add(after)))
			m.locked(func() {
				require.Equal(t, when.String(), row.Spec)
				require.WithinDuration(t, began.Add(last), row.LastAt, 0)
			})
		}
		check(70*time.Minute, newer, time.Hour)
		stop()
		check(124*time.Minute, newer, time.Hour)
		check(127*time.Minute, older, time.Hour)
	})
}

// While nothing is due, a worker reads the schedules once in 30 s, and nothing else on their
// account.
func TestIdleSchedulesAreReadSeldom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		yearly, err := Cron("@yearly", time.UTC)
		require.NoError(t, err)
		row := driver.Schedule{Name: "yearly", Spec: yearly.String(), NextAt: time.Now().AddDate(0, 0, 1)}
		store := &shared{model: newModel(), row: &row}
		stop := run(t, store, WorkerConfig{Schedules: []Schedule{
			{Name: "yearly", When: yearly, Params: Params{Kind: "work"}}}}, succeed)
		time.Sleep(time.Hour)
		stop()
		require.Greater(t, len(store.read), 100)
		for i := 1; i < len(store.read); i++ {
			require.GreaterOrEqual(t, store.read[i].Sub(store.read[i-1]), 30*time.Second)
		}
	})
}

// Whenever processes look at a schedule, and however late, every time is enqueued once or skipped,
// in order, and with enough CatchUp none is skipped.
func TestPlanLosesAndRepeatsNoTime(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		when := Every(time.Duration(rapid.IntRange(1, 500).Draw(rt, "seconds")) * time.Second)
		catchUp := rapid.IntRange(-1, 20).Draw(rt, "catchUp")
		begin := time.Unix(rapid.Int64Range(0, 1e9).Draw(rt, "begin"), 0).UTC()
		due, now := when.Next(begin), begin
		var enqueued []time.Time
		var skipped int64
		for range rapid.IntRange(1, 10).Draw(rt, "passes") {
			now = now.Add(time.Duration(rapid.IntRange(0, 5000).Draw(rt, "pause")) * time.Second)
			if due.After(now) {
				continue
			}
			times, next, n := plan(due, now, when, catchUp)
			require.LessOrEqual(rt, len(times), max(catchUp, 1))
			require.True(rt, n == 0 || len(times) >= catchUp, "%d times and %d skipped", len(times), n)
			require.Equal(rt, when.Next(now), next)
			for _, at := range times {
				require.WithinRange(rt, at, due, now)
			}
			enqueued, skipped, due = append(enqueued, times...), skipped+n, next
		}
		all := int64(0)
		for at := when.Next(begin); at.Before(due); at = when.Next(at) {
			all++
		}
		require.Equal(rt, all, int64(len(enqueued))+skipped)
		for i := 1; i < len(enqueued); i++ {
			require.True(rt, enqueued[i].After(enqueued[i-1]), "%v after %v", enqueued[i], enqueued[i-1])
		}
	})
}

// walked hides what a rule is, so that plan calls Next for each of its times.
type walked struct{ When }

// Missed times that are counted by division are those that Next returns one by one.
func TestPlanCountsAsNextDoes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		when := Every(time.Duration(rapid.Int64Range(10_000, 100_000).Draw(rt, "µs")) * time.Microsecond)
		due := time.UnixMicro(rapid.Int64Range(-1e15, 1e15).Draw(rt, "due")).UTC()
		if rapid.Bool().Draw(rt, "not by hand") {
			due = when.Next(due)
		}
		now := due.Add(time.Duration(rapid.Int64Range(0, 70_000_000).Draw(rt, "late")) * time.Microsecond)
		catchUp := rapid.IntRange(-1, 20).Draw(rt, "catchUp")
		times, next, skipped := plan(due, now, when, catchUp)
		wantTimes, wantNext, wantSkipped := plan(due, now, walked{when}, catchUp)
		require.Equal(rt, wantTimes, times)
		require.Equal(rt, wantNext, next)
		require.Equal(rt, wantSkipped, skipped)
	})
}

// One by one, so many times would take an hour.
func TestPlanOfManyMissedTimes(t *testing.T) {
	t.Parallel()
	due := time.Unix(0, 0).UTC()
	now := due.Add(1e9 * time.Second)
	times, next, skipped := plan(due, now, Every(10*time.Millisecond), 2)
	require.Equal(t, []time.Time{now.Add(-10 * time.Millisecond), now}, times)
	require.Equal(t, now.Add(10*time.Millisecond), next)
	require.Equal(t, int64(100*1_000_000_000-1), skipped)
}

// once is a rule with a single time.
type once time.Time

func (o once) String() string { return "once" }

func (o once) Next(after time.Time) time.Time {
	if at := time.Time(o); at.After(after) {
		return at
	}
	return time.Time{}
}

func TestPlanOfARuleThatEnds(t *testing.T) {
	t.Parallel()
	at := time.Unix(1000, 0).UTC()
	times, next, skipped := plan(at, at.Add(time.Hour), once(at), 5)
	require.Equal(t, []time.Time{at}, times)
	require.Equal(t, 9999, next.Year())
	require.Zero(t, skipped)
}
