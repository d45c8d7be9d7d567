package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"lessonkit.example/jobqueue"
	"lessonkit.example/jobqueue/driver"
)

// State is the state of a job. Its String method returns "waiting" and so on, Finished reports
// whether the job has left the queue for the history, and Valid whether it is one of the states
// below.
type State = driver.State

// The states of a job. The first three and the last are unfinished; a failed or cancelled job can
// be retried: see [Client.Retry].
const (
	StateWaiting   = driver.StateWaiting   // may start now
	StateScheduled = driver.StateScheduled // may start at RunAt: delayed, snoozed, or due for another attempt
	StateRunning   = driver.StateRunning   // leased by a worker
	StateSucceeded = driver.StateSucceeded
	StateFailed    = driver.StateFailed // permanently: no attempts left, or a permanent error
	StateCancelled = driver.StateCancelled
	StateHeld      = driver.StateHeld // unfinished: waits for a job of its SerialKey, or for a group
)

// Filter selects jobs. State is required; Queue and Kind select all when empty. Before and Limit
// are for [Client.List]: Before, when not 0, continues after a page whose last job had this id;
// Limit defaults to 50 and is at most 1000.
type Filter = driver.Filter

// SearchWindow is how many jobs one [Client.Search] reads at most.
const SearchWindow = driver.SearchWindow

// Get returns a job, unfinished or from the history, or ErrNotFound.
func (c *Client) Get(ctx context.Context, id int64) (*jobqueue.Job, error) {
	if err := c.usable(); err != nil {
		return nil, err
	}
	return c.store.Get(ctx, id)
}

// List returns a page of jobs, the newest first. They are complete, so a small Limit of f saves
// memory if arguments are long. Running jobs have no index, because every claim would pay for it:
// listing them reads all unfinished jobs when few of them run.
func (c *Client) List(ctx context.Context, f Filter) ([]*jobqueue.Job, error) {
	if err := c.usableWith(f); err != nil {
		return nil, err
	}
	if !f.State.Valid() {
		return nil, fmt.Errorf("jobqueue: list: unknown %v", f.State)
	}
	if f.Limit <= 0 {
		f.Limit = 50
	}
	f.Limit = min(f.Limit, 1000)
	return c.store.List(ctx, f)
}

// maxFound is the number of jobs that one Search returns at most.
const maxFound = 50

// Search returns jobs in any state, the newest first, whose arguments contain text: a string that
// they contain or a part of it, or a number. It reads only the [SearchWindow] jobs before the one
// whose id is before, or the newest ones if before is 0, so that its cost does not grow with the
// history. Call it again with next as before to read on; next is 0 after the oldest job. An empty
// page may have a next one.
func (c *Client) Search(
	ctx context.Context, text string, before int64,
) (jobs []*jobqueue.Job, next int64, err error) {
	if err := c.usable(); err != nil {
		return nil, 0, err
	}
	if text == "" {
		return nil, 0, errors.New("jobqueue: search: the text is empty")
	}
	encoded, err := json.Marshal(text)
	if err != nil {
		return nil, 0, fmt.Errorf("jobqueue: search: %w", err)
	}
	jobs, from, err := c.store.Search(ctx, string(encoded[1:len(encoded)-1]), before, maxFound)
	switch {
	case err != nil:
		return nil, 0, err
	case len(jobs) == maxFound:
		return jobs, jobs[maxFound-1].ID, nil
	case from > 1:
		return jobs, from, nil
	}
	return jobs, 0, nil
}

// Retry makes a failed or cancelled job wait to run again, with the same id and all its attempts,
// and a scheduled one run now. It returns ErrNotFound, ErrState, or ErrDuplicate when another job
// holds its unique key.
func (c *Client) Retry(ctx context.Context, id int64) error {
	if err := c.usable(); err != nil {
		return err
	}
	return c.store.Retry(ctx, id)
}

// Cancel ends a job that has not started. The context of a running one ends with cause
// [jobqueue.ErrCancelled]; if its handler succeeds regardless, the job counts as succeeded. It
// returns ErrNotFound or ErrState.
func (c *Client) Cancel(ctx context.Context, id int64) error {
	if err := c.usable(); err != nil {
		return err
	}
	return c.store.Cancel(ctx, id)
}

// RetryMany retries the failed, cancelled or scheduled jobs that f selects, as [Client.Retry] does,
// and returns how many. It skips those whose unique key another job holds. It works in transactions
// of up to 1000 jobs, so when it returns an error, part of the jobs may have been retried. Before
// and Limit of f are ignored.
func (c *Client) RetryMany(ctx context.Context, f Filter) (retried, skipped int, err error) {
	if err := c.usableWith(f); err != nil {
		return 0, 0, err
	}
	switch f.State {
	case StateFailed, StateCancelled, StateScheduled:
		return allPages(ctx, f, c.store.RetryMany)
	}
	return 0, 0, fmt.Errorf("jobqueue: retry jobs that are %v: %w", f.State, jobqueue.ErrState)
}

// CancelMany cancels the unfinished jobs that f selects, as [Client.Cancel] does, and returns how
// many. It skips those that start or stop at the same moment, and works like RetryMany otherwise.
func (c *Client) CancelMany(ctx context.Context, f Filter) (cancelled, skipped int, err error) {
	if err := c.usableWith(f); err != nil {
		return 0, 0, err
	}
	if !f.State.Valid() || f.State.Finished() {
		return 0, 0, fmt.Errorf("jobqueue: cancel jobs that are %v: %w", f.State, jobqueue.ErrState)
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
