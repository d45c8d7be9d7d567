package admin

import (
	"context"
	"time"

	"lessonkit.example/jobqueue/driver"
)

// Stats is a summary of all Queues, by name, and Workers, by id: see [Client.Stats]. Its Queue
// method returns the entry of a queue, and adds one with zeros if there is none.
type Stats = driver.Stats

// QueueStats is how many jobs of a Queue are Waiting, Scheduled, Running and Held, each up to
// StatsLimit+1, and how many of the newest StatsLimit+1 Failed and Cancelled jobs of all queues are
// its own. Oldest is how long the job that has waited longest could have started already.
// PausedUntil is zero unless the queue is paused, and in the year 9999 if the pause has no end.
type QueueStats = driver.QueueStats

// WorkerInfo is the ID of a worker, the Name of its configuration, StartedAt, ExpiresAt, which is
// when its lease ends unless it is renewed, and the Queues that it serves.
type WorkerInfo = driver.WorkerInfo

// GroupStats is how many jobs of a group are Unfinished, Succeeded, Failed and Cancelled, each up
// to StatsLimit+1: see [Client.GroupStats].
type GroupStats = driver.GroupStats

// StatsLimit is where [Client.Stats] stops counting: StatsLimit+1 means "more".
const StatsLimit = driver.StatsLimit

// Stats counts the jobs of every queue, each count up to StatsLimit+1. Counting the running jobs
// reads all unfinished ones, as in List.
func (c *Client) Stats(ctx context.Context) (Stats, error) {
	if err := c.usable(); err != nil {
		return Stats{}, err
	}
	return c.store.Stats(ctx)
}

// GroupStats counts the jobs of a group (see Group of [jobqueue.Params]), those in the history as
// long as that keeps them. Jobs of queues that keep no history are counted until they end.
func (c *Client) GroupStats(ctx context.Context, group string) (GroupStats, error) {
	if err := c.usableFor("group", group); err != nil {
		return GroupStats{}, err
	}
	return c.store.GroupStats(ctx, group)
}

// Pause makes workers claim no jobs of a queue until a time, by the clock of the database, or until
// [Client.Resume] if it is zero. No claim that begins after Pause has returned takes a job; jobs
// that run already are not affected. [Client.Stats] shows the pause.
func (c *Client) Pause(ctx context.Context, queue string, until time.Time) error {
	if err := c.usableFor("queue", queue); err != nil {
		return err
	}
	if until.IsZero() {
		until = driver.FarFuture()
	}
	return c.store.Pause(ctx, queue, until.UTC().Truncate(time.Microsecond))
}

// Resume ends the pause of a queue. It does nothing if there is none.
func (c *Client) Resume(ctx context.Context, queue string) error {
	if err := c.usableFor("queue", queue); err != nil {
		return err
	}
	return c.store.Pause(ctx, queue, time.Time{})
}
