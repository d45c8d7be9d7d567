package jobqueue

import (
	"context"
	"errors"
	"fmt"
	"time"

	"lessonkit.example/jobqueue/driver"
)

// Schedule enqueues a job periodically: see WorkerConfig.Schedules. The database keeps its state,
// so any number of workers may have the same schedule: each time becomes one job, whichever process
// is running, and a crash neither loses nor repeats one.
type Schedule struct {
	// Name identifies the schedule in the database, at most 200 bytes of UTF-8 without NUL.
	Name string
	// When returns the times: see [Cron] and [Every]. When another rule is deployed, the schedule
	// starts anew with the next time of the rule that was started last, or of any other when no
	// worker has enqueued what is due by that one for five minutes, as when those have ended.
	When When
	// Params of the jobs. RunAt is the time of each; it and UniqueKey must be empty. Params may
	// differ between workers: the one that is first enqueues its own.
	Params Params
	// CatchUp is how many times that passed without a running worker still become jobs, the newest.
	// Defaults to 1; at most 1000. Without Overlap, more than 1 have the same effect as 1. Negative
	// means none, except the newest time if it has passed by no more than a minute.
	CatchUp int
	// Overlap allows a job while the previous one is unfinished, running or waiting for another
	// attempt. By default there is none then: the schedule's name is the unique key of its jobs.
	Overlap bool
}

const (
	maxCatchUp       = 1000
	scheduleInterval = 30 * time.Second    // for changes made by other processes
	scheduleExpiry   = 30 * 24 * time.Hour // overdue for so long, no worker has it any more
	ruleExpiry       = 5 * time.Minute     // … while it was read, no worker has its rule any more
)

// checkSchedules returns an error if a schedule cannot work.
func checkSchedules(schedules []Schedule) error {
	names := map[string]bool{}
	for _, s := range schedules {
		if err := driver.CheckName("schedule name", s.Name); err != nil {
			return err
		}
		err := error(nil)
		switch {
		case names[s.Name]:
			err = errors.New("there are two of this name")
		case s.When == nil:
			err = errors.New("When is nil")
		case s.CatchUp > maxCatchUp:
			err = fmt.Errorf("CatchUp %d is more than %d", s.CatchUp, maxCatchUp)
		case !s.Params.RunAt.IsZero() || s.Params.UniqueKey != "":
			err = errors.New("Params have a RunAt or UniqueKey")
		default:
			_, err = s.Params.record()
		}
		if err != nil {
			return fmt.Errorf("jobqueue: schedule %q: %w", s.Name, err)
		}
		names[s.Name] = true
	}
	return nil
}

// scheduleLoop enqueues the jobs of the schedules. Every process does it: the one that moves
// a schedule to its next time enqueues the job of this time, in the same transaction.
func (w *Worker) scheduleLoop(ctx context.Context) {
	if len(w.cfg.Schedules) == 0 {
		return
	}
	for starting := true; ; {
		pause, err := w.runSchedules(ctx, starting)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			w.warn("schedules, trying again", "", err)
			pause = time.Second
		default:
			starting = false
		}
		if !wait(ctx, pause, w.wake.schedules) {
			return
		}
	}
}

// runSchedules enqueues what is due and returns the time until something may be due again. With
// starting it stores new and changed schedules first. A schedule whose jobs are refused, by the
// EnqueueHook or the store, stops no other.
func (w *Worker) runSchedules(ctx context.Context, starting bool) (pause time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, longIOTimeout)
	defer cancel()
	stored, now, err := w.store.Schedules(ctx)
	if err != nil {
		return 0, err
	}
	begin := time.Now()
	byName := map[string]driver.Schedule{}
	for _, s := range stored {
		if now.Sub(s.NextAt) < scheduleExpiry {
			byName[s.Name] = s
		} else if err := w.store.ChangeSchedule(ctx, s.Name, driver.DeleteSchedule); !errors.Is(err, ErrNotFound) &&
			err != nil {
			return 0, err
		}
	}
	next := now.Add(scheduleInterval)
	var refused []error
	for _, s := range w.cfg.Schedules {
		row, ok := byName[s.Name]
		if !ok || row.Spec != s.When.String() && (starting || w.isAbandoned(row, now)) {
			row = driver.Schedule{Name: s.Name, Spec: s.When.String(), NextAt: nextTime(s.When, now)}
			if err := w.store.PutSchedule(ctx, row); err != nil {
				return 0, err
			}
		}
		if row.Spec != s.When.String() { // another version of the program has changed it
			continue
		}
		if !row.NextAt.After(now) {
			tick, err := s.tick(ctx, hookOf(w.store), row, now)
			if err == nil {
				err = w.store.Tick(ctx, tick)
			}
			if err != nil {
				refused = append(refused, fmt.Errorf("schedule %q: %w", s.Name, err))
				continue
			}
			row.NextAt = tick.Next
		}
		if row.NextAt.Before(next) {
			next = row.NextAt
		}
	}
	if len(refused) > 0 {
		w.warn("schedules, trying again", "", errors.Join(refused...))
		if again := now.Add(time.Second); again.Before(next) {
			next = again
		}
	}
	return next.Sub(now) - time.Since(begin), nil
}

// overdue is a schedule of another rule whose time has passed.
type overdue struct {
	spec        string
	at          time.Time
	first, last time.Time // when it was read
}

// isAbandoned reports whether no worker seems to have the rule of row any more. Time in which this
// one could not read it does not count: the database may have been away for all.
func (w *Worker) isAbandoned(row driver.Schedule, now time.Time) bool {
	seen := w.overdue[row.Name]
	if row.NextAt.After(now) || seen.spec != row.Spec || !seen.at.Equal(row.NextAt) ||
		time.Since(seen.last) > 2*scheduleInterval {
		seen = overdue{spec: row.Spec, at: row.NextAt, first: time.Now()}
	}
	seen.last = time.Now()
	w.overdue[row.Name] = seen
	return seen.last.Sub(seen.first) > ruleExpiry
}

// tick returns what is due at now.
func (s Schedule) tick(
	ctx context.Context, hook EnqueueHook, row driver.Schedule, now time.Time,
) (t driver.Tick, err error) {
	catchUp := s.CatchUp
	if !s.Overlap {
		catchUp = min(catchUp, 1) // the others would be jobs beside the first
	}
	times, next, skipped := plan(row.NextAt, now, s.When, catchUp)
	t = driver.Tick{Name: s.Name, Spec: row.Spec, Due: row.NextAt, Next: next, Skipped: skipped}
	ps := make([]Params, len(times))
	for i, at := range times {
		ps[i] = s.Params
		ps[i].RunAt = at
		if !s.Overlap {
			ps[i].UniqueKey = s.Name
		}
	}
	if len(ps) > 0 {
		t.Jobs, err = records(ctx, hook, ps)
	}
	return t, err
}

// plan returns the newest catchUp of the times from due to now, at least that of now, how many
// older ones are skipped, and the first time after now.
func plan(due, now time.Time, when When, catchUp int) (times []time.Time, next time.Time, skipped int64) {
	keep := max(catchUp, 1)
	next = due
	if e, ok := when.(every); ok { // not one by one, there may be millions
		d := time.Duration(e).Microseconds()
		last := floorDiv(now.UnixMicro(), d)
		if n := last - floorDiv(due.UnixMicro(), d) + 1 - int64(keep); n > 0 {
			skipped, next = n, time.UnixMicro((last-int64(keep)+1)*d).UTC()
		}
	}
	for !next.After(now) {
		if len(times) == keep {
			times = append(times[:0], times[1:]...)
			skipped++
		}
		times = append(times, next)
		next = nextTime(when, next)
	}
	if catchUp < 0 && now.Sub(times[0]) > onTime {
		return nil, next, skipped + 1
	}
	return times, next, skipped
}

// onTime is how late a job may be enqueued without having been missed.
const onTime = time.Minute

// nextTime returns the first time of when after t, or FarFuture if there is none.
func nextTime(when When, t time.Time) time.Time {
	if next := when.Next(t); next.After(t) {
		return next.UTC().Truncate(time.Microsecond)
	}
	return driver.FarFuture()
}

// ScheduleInfo is the state of a [Schedule] in the database.
type ScheduleInfo struct {
	Name string
	// Spec identifies the rule that returns its times.
	Spec   string
	NextAt time.Time // when the next job is due, in the year 9999 if the rule has no further time
	LastAt time.Time // when the last job was due; zero: there was none
	// Skipped counts the times without a job: missed while no worker was running, or while the
	// schedule was paused, or, without Overlap, while the previous job was unfinished.
	Skipped int64
	Paused  bool // its times pass without jobs
}

// Schedules returns all schedules by name, including those that no worker has any more; they
// disappear 30 days after they should have run.
func (c *Client) Schedules(ctx context.Context) ([]ScheduleInfo, error) {
	stored, _, err := c.store.Schedules(ctx)
	schedules := make([]ScheduleInfo, len(stored))
	for i, s := range stored {
		schedules[i] = ScheduleInfo(s)
	}
	return schedules, failed(err, "schedules")
}

// PauseSchedule lets the times of a schedule pass without jobs until [Client.ResumeSchedule]. It
// returns ErrNotFound for an unknown name, as do ResumeSchedule and RunSchedule.
func (c *Client) PauseSchedule(ctx context.Context, name string) error {
	return c.changeSchedule(ctx, name, driver.PauseSchedule)
}

// ResumeSchedule ends the effect of PauseSchedule. What was missed is not repeated.
func (c *Client) ResumeSchedule(ctx context.Context, name string) error {
	return c.changeSchedule(ctx, name, driver.ResumeSchedule)
}

// RunSchedule makes a job of a schedule due now, besides its own times. That of a paused schedule
// passes without a job, like its own times, and counts as Skipped: resume the schedule first.
func (c *Client) RunSchedule(ctx context.Context, name string) error {
	return c.changeSchedule(ctx, name, driver.RunSchedule)
}

func (c *Client) changeSchedule(ctx context.Context, name string, change driver.ScheduleChange) error {
	if err := driver.CheckName("schedule name", name); err != nil {
		return err
	}
	return failed(c.store.ChangeSchedule(ctx, name, change), "schedule %q", name)
}
