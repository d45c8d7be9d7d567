package server

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"time"

	"lessonkit.example/feedback"
	"lessonkit.example/jobqueue"
)

const (
	cancelledInterval = 10 * time.Second
	cancelledPage     = 1000
)

// cancelledJobs tells the service about transcriptions that an operator has cancelled: the queue
// calls no handler for a job that had not started.
type cancelledJobs struct {
	client  *jobqueue.Client
	lessons *feedback.Service
	log     *slog.Logger
	seen    map[int64]time.Time // when the jobs that the service knows of were cancelled
}

// run looks for cancelled jobs until ctx is done.
func (c *cancelledJobs) run(ctx context.Context) error {
	ticker := time.NewTicker(cancelledInterval)
	defer ticker.Stop()
	for {
		if err := c.check(ctx); err != nil && ctx.Err() == nil {
			c.log.WarnContext(ctx, "not all cancelled jobs were handled; trying again", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

func (c *cancelledJobs) check(ctx context.Context) error {
	listed := map[int64]bool{}
	var failed error
	page := jobqueue.Filter{
		State: jobqueue.StateCancelled, Queue: speechQueue, Kind: string(feedback.TaskTranscribe), Limit: cancelledPage,
	}
	for {
		jobs, err := c.client.List(ctx, page)
		if err != nil {
			return err
		}
		for _, job := range jobs {
			var task feedback.Task
			if known := c.seen[job.ID].Equal(job.FinishedAt); !known && json.Unmarshal(job.Args, &task) == nil {
				if err := c.lessons.CancelTask(ctx, task); err == nil {
					c.seen[job.ID] = job.FinishedAt
				} else {
					failed = fmt.Errorf("job %d: %w", job.ID, err) // the others do not wait for it
				}
			}
			listed[job.ID] = true
			page.Before = job.ID
		}
		if len(jobs) < cancelledPage {
			maps.DeleteFunc(c.seen, func(id int64, _ time.Time) bool { return !listed[id] })
			return failed
		}
	}
}
