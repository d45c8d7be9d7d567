package jobqueue

import (
	"context"
	"fmt"
	"time"
)

// Client enqueues jobs and looks after them. It is safe for concurrent use and holds nothing that must be closed.
type Client struct {
	store Store
}

// NewClient returns a client of the queue in store.
func NewClient(store Store) *Client { return &Client{store: store} }

// Enqueue adds a job in one round trip. To enqueue inside a transaction of your own, use EnqueueTx of the store.
func (c *Client) Enqueue(ctx context.Context, p Params) (Receipt, error) {
	r, err := p.Record()
	if err != nil {
		return Receipt{}, err
	}
	receipts, err := c.store.Insert(ctx, []Record{r})
	if err != nil {
		return Receipt{}, fmt.Errorf("enqueue: %w", err)
	}
	return receipts[0], nil
}

// EnqueueMany adds all jobs or none, in one round trip, and returns a receipt for each in the same order.
func (c *Client) EnqueueMany(ctx context.Context, ps []Params) ([]Receipt, error) {
	if len(ps) == 0 {
		return nil, nil
	}
	rs, err := Records(ps)
	if err != nil {
		return nil, err
	}
	receipts, err := c.store.Insert(ctx, rs)
	if err != nil {
		return nil, fmt.Errorf("enqueue %d jobs: %w", len(ps), err)
	}
	return receipts, nil
}

// Load adds all jobs or none in the fastest way the engine has (COPY on PostgreSQL) and returns no receipts. Jobs with
// a unique key make it as fast as EnqueueMany.
func (c *Client) Load(ctx context.Context, ps []Params) error {
	if len(ps) == 0 {
		return nil
	}
	rs, err := Records(ps)
	if err != nil {
		return err
	}
	loader, ok := c.store.(Loader)
	for _, r := range rs {
		ok = ok && r.UniqueKey == ""
	}
	if ok {
		err = loader.Load(ctx, rs)
	} else {
		_, err = c.store.Insert(ctx, rs)
	}
	if err != nil {
		return fmt.Errorf("load %d jobs: %w", len(ps), err)
	}
	return nil
}

// Get returns a job, unfinished or from the history, or ErrNotFound.
func (c *Client) Get(ctx context.Context, id int64) (*Job, error) { return c.store.Get(ctx, id) }

// List returns a page of jobs, those enqueued last first. A page of running jobs, which have no index because each claim
// would pay for it, costs a look at every unfinished job when few of them run.
func (c *Client) List(ctx context.Context, f Filter) ([]*Job, error) {
	if f.State == 0 || int(f.State) >= len(stateNames) {
		return nil, fmt.Errorf("jobqueue: list: unknown %v", f.State)
	}
	if f.Limit <= 0 {
		f.Limit = 50
	}
	f.Limit = min(f.Limit, 1000)
	return c.store.List(ctx, f)
}

// Stats counts the jobs of every queue without ever counting far: see [StatsLimit]. Finding the running ones costs a look
// at every unfinished job, as in List.
func (c *Client) Stats(ctx context.Context) (Stats, error) { return c.store.Stats(ctx) }

// Retry lets a failed or cancelled job run again, with the same id and all its attempts, and lets a scheduled one run
// now. It returns ErrNotFound, ErrNotRetryable, or ErrDuplicate when another job holds its unique key.
func (c *Client) Retry(ctx context.Context, id int64) error { return c.store.Retry(ctx, id) }

// Cancel ends a job that has not started. The context of a running one is cancelled with cause ErrCancelled; when its
// handler succeeds all the same, the job counts as succeeded. It returns ErrNotFound or ErrFinished.
func (c *Client) Cancel(ctx context.Context, id int64) error { return c.store.Cancel(ctx, id) }

// Purge deletes finished jobs from the history and returns how many. It deletes some thousands at a time, so a large
// purge does not hold locks for long; an error or the end of ctx leaves the rest.
func (c *Client) Purge(ctx context.Context, f PurgeFilter) (int, error) {
	if f.State != 0 && !f.State.Finished() {
		return 0, fmt.Errorf("jobqueue: purge: %v is not a finished state", f.State)
	}
	if f.Age < 0 {
		return 0, fmt.Errorf("jobqueue: purge: negative age %v", time.Duration(f.Age))
	}
	total := 0
	for {
		n, err := c.store.Purge(ctx, f)
		total += n
		if err != nil {
			return total, fmt.Errorf("purge: %w", err)
		}
		if n == 0 {
			return total, nil
		}
	}
}
