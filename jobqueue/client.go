package jobqueue

import (
	"context"
	"database/sql"
	"fmt"

	"lessonkit.example/jobqueue/driver"
)

// Store is a queue in a database, as pgqueue.New and sqlitequeue.Open return it. A program calls
// its method Migrate(ctx) error, which creates the tables; the others are for this package.
type Store interface{ driver.Store }

// TxStore is a Store whose methods take part in a transaction of database/sql on the same database,
// which the caller commits or rolls back. Both pgqueue.Store, with a pool of pgx's stdlib driver,
// and sqlitequeue.Store, with its write pool, implement it, so a program can run on either.
type TxStore interface {
	Store
	// EnqueueTx enqueues a job, which exists, and of which workers learn, when tx commits.
	EnqueueTx(ctx context.Context, tx *sql.Tx, p Params) (InsertResult, error)
	// EnqueueManyTx is EnqueueTx for any number of jobs; it returns a result for each in the same
	// order.
	EnqueueManyTx(ctx context.Context, tx *sql.Tx, ps []Params) ([]InsertResult, error)
	// CompleteTx completes the job as succeeded, if and when tx commits. A handler calls it for its
	// own job, commits, and returns nil: an error or a panic after the commit is only logged, and
	// the job stays succeeded. ErrLeaseLost means that the job is no longer the handler's: roll
	// back. The job goes to the history even when the worker's queue keeps none.
	CompleteTx(ctx context.Context, tx *sql.Tx, job *Job) error
	// SaveTx does what Save of the job does, if and when tx commits, for example together with the
	// rows that a part of the job has written. It returns ErrLeaseLost if the job is no longer the
	// handler's, and an error if the handler has called Save during the same attempt.
	SaveTx(ctx context.Context, tx *sql.Tx, job *Job, v any) error
}

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
