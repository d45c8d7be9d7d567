package jobqueue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"lessonkit.example/jobqueue/driver"
)

// Store is a queue in a database, as pgqueue.New, sqlitequeue.New and sqlitequeue.Open return it.
type Store = driver.Store

// Client enqueues, inspects and manages jobs. It is safe for concurrent use and has nothing to
// close.
type Client struct {
	store Store
}

// NewClient returns a client of the queue in store. All methods of a client whose store is nil
// return an error.
func NewClient(store Store) *Client { return &Client{store: store} }

func (c *Client) usable() error {
	if c == nil {
		return errNoStore
	}
	return usable(c.store)
}

func usable(s Store) error {
	if s == nil {
		return errNoStore
	}
	return s.Usable()
}

// Enqueue adds a job in one round trip. To enqueue in a transaction of the caller, use EnqueueTx of
// the store.
func (c *Client) Enqueue(ctx context.Context, p Params) (InsertResult, error) {
	results, err := c.EnqueueMany(ctx, []Params{p})
	if err != nil {
		return InsertResult{}, err
	}
	return results[0], nil
}

// EnqueueMany adds all jobs or none, in one round trip, and returns a result for each in the same
// order.
func (c *Client) EnqueueMany(ctx context.Context, ps []Params) ([]InsertResult, error) {
	if err := c.usable(); err != nil {
		return nil, err
	}
	if len(ps) == 0 {
		return nil, nil
	}
	rs, err := Records(ctx, hookOf(c.store), ps)
	if err != nil {
		return nil, err
	}
	results, err := c.store.Insert(ctx, rs)
	if err != nil {
		return nil, fmt.Errorf("enqueue: %w", err)
	}
	return results, nil
}

// Get returns a job, unfinished or from the history, or ErrNotFound.
func (c *Client) Get(ctx context.Context, id int64) (*Job, error) {
	if err := c.usable(); err != nil {
		return nil, err
	}
	return c.store.Get(ctx, id)
}

// List returns a page of jobs, the newest first. Running jobs have no index, because every claim
// would pay for it: listing them reads all unfinished jobs when few of them run.
func (c *Client) List(ctx context.Context, f Filter) ([]*Job, error) {
	if err := c.usable(); err != nil {
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
// they contain or a part of it, or a number. It reads only the [SearchWindow] jobs before the
// one whose id is before, or the newest ones if before is 0, so that its cost does not grow with
// the history. Call it again with next as before to read on; next is 0 after the oldest job. An
// empty page may have a next one.
func (c *Client) Search(ctx context.Context, text string, before int64) (jobs []*Job, next int64, err error) {
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

// Stats counts the jobs of every queue, each count up to [StatsLimit]+1. Counting the running jobs
// reads all unfinished ones, as in List.
func (c *Client) Stats(ctx context.Context) (Stats, error) {
	if err := c.usable(); err != nil {
		return Stats{}, err
	}
	return c.store.Stats(ctx)
}

// GroupStats counts the jobs of a group (see Params.Group), those in the history as long as that
// keeps them. Jobs of queues that keep no history are counted until they end.
func (c *Client) GroupStats(ctx context.Context, group string) (GroupStats, error) {
	if err := c.usable(); err != nil {
		return GroupStats{}, err
	}
	return c.store.GroupStats(ctx, group)
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
// ErrCancelled; if its handler succeeds regardless, the job counts as succeeded. It returns
// ErrNotFound or ErrState.
func (c *Client) Cancel(ctx context.Context, id int64) error {
	if err := c.usable(); err != nil {
		return err
	}
	return c.store.Cancel(ctx, id)
}
