package jobqueue

import (
	"context"
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

// NewClient returns a client of the queue in store.
func NewClient(store Store) *Client { return &Client{store: store} }

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
	if len(ps) == 0 {
		return nil, nil
	}
	rs, err := Records(ps)
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
func (c *Client) Get(ctx context.Context, id int64) (*Job, error) { return c.store.Get(ctx, id) }

// List returns a page of jobs, the newest first. Running jobs have no index, because every claim
// would pay for it: listing them reads all unfinished jobs when few of them run.
func (c *Client) List(ctx context.Context, f Filter) ([]*Job, error) {
	if !f.State.Valid() {
		return nil, fmt.Errorf("jobqueue: list: unknown %v", f.State)
	}
	if f.Limit <= 0 {
		f.Limit = 50
	}
	f.Limit = min(f.Limit, 1000)
	return c.store.List(ctx, f)
}

// Stats counts the jobs of every queue, each count up to [StatsLimit]+1. Counting the running jobs
// reads all unfinished ones, as in List.
func (c *Client) Stats(ctx context.Context) (Stats, error) { return c.store.Stats(ctx) }

// Retry makes a failed or cancelled job wait to run again, with the same id and all its attempts,
// and a scheduled one run now. It returns ErrNotFound, ErrState, or ErrDuplicate when another job
// holds its unique key.
func (c *Client) Retry(ctx context.Context, id int64) error { return c.store.Retry(ctx, id) }

// Cancel ends a job that has not started. The context of a running one ends with cause
// ErrCancelled; if its handler succeeds regardless, the job counts as succeeded. It returns
// ErrNotFound or ErrState.
func (c *Client) Cancel(ctx context.Context, id int64) error { return c.store.Cancel(ctx, id) }
