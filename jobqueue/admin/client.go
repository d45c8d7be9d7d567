// Package admin inspects and manages the jobs, queues and schedules of a jobqueue. It is for
// operators' tools and pages; package jobqueue enqueues jobs and runs them.
//
// A [Client] needs only the store, so it works in any process, also while no worker runs:
//
//	client := admin.NewClient(store)
//	failed := admin.Filter{State: admin.StateFailed, Kind: "welcome"}
//	jobs, err := client.List(ctx, failed)
//	retried, skipped, err := client.RetryMany(ctx, failed)
//
// Its errors wrap those of package jobqueue, such as [jobqueue.ErrNotFound], [jobqueue.ErrName],
// [jobqueue.ErrSchema] and [jobqueue.ErrUnavailable]. Package queueui has pages for the browser
// that use it.
package admin

import (
	"lessonkit.example/jobqueue"
	"lessonkit.example/jobqueue/driver"
)

// Client inspects and manages the jobs, queues and schedules of a store. It is safe for concurrent
// use and has nothing to close.
type Client struct {
	store jobqueue.Store
}

// NewClient returns a client of the queue in store. All methods of a client whose store is nil
// return an error.
func NewClient(store jobqueue.Store) *Client { return &Client{store: store} }

func (c *Client) usable() error {
	if c == nil {
		return driver.Usable(nil)
	}
	return driver.Usable(c.store)
}

// usableFor also checks a name that the store is to be asked for.
func (c *Client) usableFor(what, name string) error {
	if err := c.usable(); err != nil {
		return err
	}
	return driver.CheckName(what, name)
}

// usableWith also checks the names of a filter.
func (c *Client) usableWith(f Filter) error {
	err := c.usable()
	if err == nil && f.Queue != "" {
		err = driver.CheckName("queue", f.Queue)
	}
	if err == nil && f.Kind != "" {
		err = driver.CheckName("kind", f.Kind)
	}
	return err
}
