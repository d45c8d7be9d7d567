package jobqueue

import (
	"context"
	"fmt"

	"lessonkit.example/jobqueue/driver"
)

// Store is a queue in a database, as pgqueue.New, sqlitequeue.New and sqlitequeue.Open return it.
type Store interface{ driver.Store }

// Client enqueues jobs, inspects and manages them, their queues and schedules. It needs only the
// store, so it works in any process, also while no worker runs. It is safe for concurrent use and
// has nothing to close.
type Client struct {
	store   Store
	waiters waiters
}

// NewClient returns a client of the queue in store.
func NewClient(store Store) *Client { return &Client{store: store} }

// failed adds to an error of the store, which may be nil, what it has failed to do.
func failed(err error, what string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("jobqueue: "+what+": %w", append(args, err)...)
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
	return Insert(ctx, hookOf(c.store), ps, func(rs []driver.Record) ([]driver.InsertResult, error) {
		return c.store.Insert(ctx, rs)
	})
}
