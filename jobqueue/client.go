package jobqueue

import (
	"context"
	"fmt"

	"lessonkit.example/jobqueue/driver"
)

// Store is a queue in a database, as pgqueue.New, sqlitequeue.New and sqlitequeue.Open return it.
type Store = driver.Store

// Client enqueues jobs; the client of package admin inspects and manages them. It is safe for
// concurrent use and has nothing to close.
type Client struct {
	store Store
}

// NewClient returns a client of the queue in store. All methods of a client whose store is nil
// return an error.
func NewClient(store Store) *Client { return &Client{store: store} }

func (c *Client) usable() error {
	if c == nil {
		return driver.Usable(nil)
	}
	return driver.Usable(c.store)
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
