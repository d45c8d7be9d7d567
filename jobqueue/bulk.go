package jobqueue

import (
	"context"
	"fmt"
	"time"

	"lessonkit.example/jobqueue/driver"
)

// Pause makes workers claim no jobs of a queue until a time, by the clock of the database, or until
// [Client.Resume] if it is zero. No claim that begins after Pause has returned takes a job; jobs
// that run already are not affected. [Client.Stats] shows the pause.
func (c *Client) Pause(ctx context.Context, queue string, until time.Time) error {
	if err := c.usable(); err != nil {
		return err
	}
	if err := checkName("queue", queue); err != nil {
		return err
	}
	if until.IsZero() {
		until = farFuture
	}
	return c.store.Pause(ctx, queue, until.UTC().Truncate(time.Microsecond))
}

// Resume ends the pause of a queue. It does nothing if there is none.
func (c *Client) Resume(ctx context.Context, queue string) error {
	if err := c.usable(); err != nil {
		return err
	}
	return c.store.Pause(ctx, queue, time.Time{})
}

// RetryMany retries the failed, cancelled or scheduled jobs that f selects, as [Client.Retry] does,
// and returns how many. It skips those whose unique key another job holds. It works in transactions
// of up to 1000 jobs, so when it returns an error, part of the jobs may have been retried. Before
// and Limit of f are ignored.
func (c *Client) RetryMany(ctx context.Context, f Filter) (retried, skipped int, err error) {
	if err := c.usable(); err != nil {
		return 0, 0, err
	}
	switch f.State {
	case StateFailed, StateCancelled, StateScheduled:
		return allPages(ctx, f, c.store.RetryMany)
	}
	return 0, 0, fmt.Errorf("jobqueue: retry jobs that are %v: %w", f.State, ErrState)
}

// CancelMany cancels the unfinished jobs that f selects, as [Client.Cancel] does, and returns how
// many. It skips those that start or stop at the same moment, and works like RetryMany otherwise.
func (c *Client) CancelMany(ctx context.Context, f Filter) (cancelled, skipped int, err error) {
	if err := c.usable(); err != nil {
		return 0, 0, err
	}
	if !f.State.Valid() || f.State.Finished() {
		return 0, 0, fmt.Errorf("jobqueue: cancel jobs that are %v: %w", f.State, ErrState)
	}
	return allPages(ctx, f, c.store.CancelMany)
}

// allPages calls change for every page of f, the newest jobs first.
func allPages(
	ctx context.Context, f Filter, change func(context.Context, Filter) (driver.Page, error),
) (changed, skipped int, err error) {
	for f.Before, f.Limit = 0, 1000; ; {
		page, err := change(ctx, f)
		changed, skipped = changed+page.Changed, skipped+page.Skipped
		if err != nil || page.Last == 0 {
			return changed, skipped, err
		}
		f.Before = page.Last
	}
}
