package jobqueue

import (
	"context"
	"time"

	"lessonkit.example/jobqueue/driver"
)

// Stats is a summary of all queues and workers: see [Client.Stats].
type Stats struct {
	Queues  []QueueStats // by name
	Workers []WorkerInfo // by id
}

// Queue returns the numbers of a queue, all zero if it has no jobs and no worker serves it.
func (s Stats) Queue(name string) QueueStats {
	for _, q := range s.Queues {
		if q.Queue == name {
			return q
		}
	}
	return QueueStats{Queue: name}
}

// QueueStats counts the jobs of one queue. Every count is at most StatsLimit+1. Failed and
// Cancelled consider only the newest StatsLimit+1 jobs of all queues together.
type QueueStats struct {
	Queue     string
	Waiting   int
	Scheduled int
	Running   int
	Held      int // wait for other jobs of their LimitKey, or for a group
	Failed    int
	Cancelled int
	// Oldest is how long the job that has waited longest could have started already, since its
	// RunAt or since it was enqueued if that was later; 0 when none waits.
	Oldest time.Duration
	// PausedUntil is the end of the pause: zero when the queue is not paused, in the year 9999 when
	// the pause has no end.
	PausedUntil time.Time
}

// WorkerInfo describes a worker process.
type WorkerInfo struct {
	ID        int64
	Name      string // host name and process id
	StartedAt time.Time
	// ExpiresAt is when its lease ends unless it is renewed, or StartedAt if it has ended and a job
	// could not be rescued yet.
	ExpiresAt time.Time
	Queues    []string // that it serves
}

// GroupStats counts the jobs of a group, each count up to StatsLimit+1: see [Client.GroupStats].
type GroupStats struct {
	Unfinished, Succeeded, Failed, Cancelled int
}

// StatsLimit is where [Client.Stats] stops counting, 10,000: StatsLimit+1 means "more".
const StatsLimit = driver.StatsLimit

// Stats counts the jobs of every queue, each count up to StatsLimit+1.
func (c *Client) Stats(ctx context.Context) (Stats, error) {
	stats, err := c.store.Stats(ctx)
	var s Stats
	for _, q := range stats.Queues {
		s.Queues = append(s.Queues, QueueStats(q))
	}
	for _, w := range stats.Workers {
		s.Workers = append(s.Workers, WorkerInfo(w))
	}
	return s, failed(err, "stats")
}

// GroupStats counts the jobs of a group (see Group of [Params]), those in the history as
// long as that keeps them. Jobs of queues that keep no history are counted until they end.
func (c *Client) GroupStats(ctx context.Context, group string) (GroupStats, error) {
	if err := driver.CheckName("group", group); err != nil {
		return GroupStats{}, err
	}
	g, err := c.store.GroupStats(ctx, group)
	return GroupStats(g), failed(err, "group %q", group)
}

// Pause makes workers claim no jobs of a queue until a time, by the clock of the database, or until
// [Client.Resume] if it is zero. No claim that begins after Pause has returned takes a job; jobs
// that run already are not affected. [Client.Stats] shows the pause.
func (c *Client) Pause(ctx context.Context, queue string, until time.Time) error {
	if err := driver.CheckName("queue", queue); err != nil {
		return err
	}
	if until.IsZero() {
		until = driver.FarFuture()
	}
	return failed(c.store.Pause(ctx, queue, until.UTC().Truncate(time.Microsecond)), "pause queue %q", queue)
}

// Resume ends the pause of a queue. It does nothing if there is none.
func (c *Client) Resume(ctx context.Context, queue string) error {
	if err := driver.CheckName("queue", queue); err != nil {
		return err
	}
	return failed(c.store.Pause(ctx, queue, time.Time{}), "resume queue %q", queue)
}
