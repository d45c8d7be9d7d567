package admin

import (
	"context"

	"lessonkit.example/jobqueue/driver"
)

// Schedule is the state of a [jobqueue.Schedule] in the database: its Name, the Spec of its rule,
// when its next job is due (NextAt, in the year 9999 if its rule has no further time) and the last
// one was (LastAt, zero if there was none), how many times were Skipped because no worker was
// running or it was Paused, and whether it is Paused.
type Schedule = driver.Schedule

// Schedules returns all schedules by name, including those that no worker has any more; they
// disappear 30 days after they should have run.
func (c *Client) Schedules(ctx context.Context) ([]Schedule, error) {
	if err := c.usable(); err != nil {
		return nil, err
	}
	schedules, _, err := c.store.Schedules(ctx)
	return schedules, err
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
	if err := c.usableFor("schedule name", name); err != nil {
		return err
	}
	return c.store.ChangeSchedule(ctx, name, change)
}
