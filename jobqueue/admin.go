package jobqueue

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"lessonkit.example/jobqueue/driver"
)

// Filter selects jobs.
type Filter struct {
	State State  // required
	Queue string // empty: every queue
	Kind  string // empty: every kind
	// Before, when not 0, is the next that [Client.List] has returned with the page before.
	Before int64
	// Limit is how many jobs [Client.List] returns at most. Defaults to 50 and is at most 1000.
	Limit int
}

// ListWindow is how many jobs one [Client.List] reads at most: 25,000.
const ListWindow = driver.ListWindow

// SearchWindow is how many jobs one [Client.Search] reads at most: 100,000.
const SearchWindow = driver.SearchWindow

// check returns an error if a name is not valid.
func (f Filter) check() (err error) {
	if f.Queue != "" {
		err = driver.CheckName("queue", f.Queue)
	}
	if err == nil && f.Kind != "" {
		err = driver.CheckName("kind", f.Kind)
	}
	return err
}

func (f Filter) forDriver() driver.Filter {
	return driver.Filter{State: driver.State(f.State), Queue: f.Queue, Kind: f.Kind,
		Before: cmp.Or(f.Before, math.MaxInt64), Limit: f.Limit}
}

// Get returns a job, unfinished or from the history, or ErrNotFound.
func (c *Client) Get(ctx context.Context, id int64) (*Job, error) {
	d, err := c.store.Get(ctx, id)
	if err != nil {
		return nil, failed(err, "get job %d", id)
	}
	j := newJob(d)
	return &j, nil
}

// List returns a page of jobs, the newest first. They are complete, so a small Limit of f saves
// memory if arguments are long. To read on, call it again with next as Before of f; next is 0 after
// the last page. It reads only [ListWindow] jobs, so that its cost does not grow with the queue and
// the history: a page may have fewer jobs than Limit, or none, and a next one.
func (c *Client) List(ctx context.Context, f Filter) (jobs []*Job, next int64, err error) {
	if err := f.check(); err != nil {
		return nil, 0, err
	}
	if !f.State.valid() {
		return nil, 0, fmt.Errorf("jobqueue: list: unknown %v", f.State)
	}
	if f.Limit <= 0 {
		f.Limit = 50
	}
	f.Limit = min(f.Limit, 1000)
	found, next, err := c.store.List(ctx, f.forDriver())
	return newJobs(found), next, failed(err, "list jobs that are %v", f.State)
}

// maxFound is the number of jobs that one Search returns at most.
const maxFound = 50

// Search returns jobs in any state, the newest first, whose arguments contain text: a string that
// they contain or a part of it, or a number. It reads only the [SearchWindow] jobs before the one
// whose id is before, or the newest ones if before is 0, so that its cost does not grow with the
// history. Call it again with next as before to read on; next is 0 after the oldest job. An empty
// page may have a next one.
func (c *Client) Search(ctx context.Context, text string, before int64) (jobs []*Job, next int64, err error) {
	if text == "" {
		return nil, 0, errors.New("jobqueue: search: the text is empty")
	}
	encoded, _ := json.Marshal(text) // cannot fail
	found, from, err := c.store.Search(ctx, string(encoded[1:len(encoded)-1]), before, maxFound)
	switch {
	case err != nil:
		return nil, 0, failed(err, "search")
	case len(found) == maxFound:
		next = found[maxFound-1].ID
	case from > 1:
		next = from
	}
	return newJobs(found), next, nil
}

// Retry makes a failed or cancelled job wait to run again, with the same id and all its attempts,
// and a scheduled one run now. It returns ErrNotFound, ErrState, or ErrDuplicate when another job
// holds its unique key.
func (c *Client) Retry(ctx context.Context, id int64) error {
	return failed(c.store.Retry(ctx, id), "retry job %d", id)
}

// Cancel ends a job that has not started. The context of a running one ends with cause
// [ErrCancelled]; if its handler succeeds regardless, the job counts as succeeded. A worker calls
// the [OnFailed] callback of a job that has ended by cancelling. Cancel returns ErrNotFound or
// ErrState.
func (c *Client) Cancel(ctx context.Context, id int64) error {
	return failed(c.store.Cancel(ctx, id), "cancel job %d", id)
}

// RetryMany retries the failed, cancelled or scheduled jobs that f selects, as [Client.Retry] does,
// and returns how many. It skips those whose unique key another job holds. It works in transactions
// of up to 1000 jobs, so when it returns an error, part of the jobs may have been retried. Before
// and Limit of f are ignored.
func (c *Client) RetryMany(ctx context.Context, f Filter) (retried, skipped int, err error) {
	if err := f.check(); err != nil {
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
	if err := f.check(); err != nil {
		return 0, 0, err
	}
	if !f.State.valid() || f.State.Finished() {
		return 0, 0, fmt.Errorf("jobqueue: cancel jobs that are %v: %w", f.State, ErrState)
	}
	return allPages(ctx, f, c.store.CancelMany)
}

// DeleteGroup deletes the jobs of a group (see Group of [Params]) with their arguments, errors and
// saved states, in any state and from the history, for example when a user is forgotten whose data
// they have. No callback is called. A handler that runs ends as if its lease was lost: its result
// is ignored. It works in several transactions, so when it returns an error, part of the jobs may
// be gone.
func (c *Client) DeleteGroup(ctx context.Context, group string) error {
	err := driver.CheckName("group", group)
	for deleted := 1; deleted > 0 && err == nil; {
		deleted, err = c.store.DeleteGroup(ctx, group)
	}
	return failed(err, "delete group %q", group)
}

// allPages calls change for every page of f, the newest jobs first.
func allPages(
	ctx context.Context, f Filter, change func(context.Context, driver.Filter) (driver.Page, error),
) (changed, skipped int, err error) {
	for f.Before, f.Limit = 0, 1000; ; {
		page, err := change(ctx, f.forDriver())
		changed, skipped = changed+page.Changed, skipped+page.Skipped
		if err != nil || page.Last == 0 {
			return changed, skipped, failed(err, "change jobs that are %v", f.State)
		}
		f.Before = page.Last
	}
}
