package queuetest

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"lessonkit.example/jobqueue"
)

func waitReturnsHowAJobHasEnded(t *testing.T, h Harness) {
	c := jobqueue.NewClient(h.Store)
	saved := enqueue(t, h.Store, jobqueue.Params{Kind: "work", Args: args{1}})
	failed := enqueue(t, h.Store, jobqueue.Params{Kind: "work", Args: args{2}, MaxAttempts: 1})
	kept := enqueue(t, h.Store, jobqueue.Params{Kind: "work", Queue: "none"})
	cancelled := enqueue(t, h.Store, jobqueue.Params{Kind: "nobody's"})
	type ended struct {
		state jobqueue.State
		saved string
		err   error
	}
	var all sync.WaitGroup
	expect := func(id int64, want ended) {
		all.Go(func() {
			var got ended
			job, err := c.Wait(t.Context(), id)
			if err == nil {
				got = ended{state: job.State, saved: string(job.Saved)}
			}
			if got.err = want.err; !errors.Is(err, want.err) || got != want {
				t.Errorf("job %d: %+v, %v instead of %+v", id, got, err, want)
			}
		})
	}
	expect(saved, ended{state: jobqueue.StateSucceeded, saved: "7"})
	expect(failed, ended{state: jobqueue.StateFailed})
	expect(kept, ended{err: jobqueue.ErrNotFound})
	expect(cancelled, ended{state: jobqueue.StateCancelled})
	expect(1<<40, ended{err: jobqueue.ErrNotFound})
	cfg := jobqueue.WorkerConfig{Queues: map[string]jobqueue.QueueConfig{
		"default": {}, "none": {Retention: jobqueue.KeepNone}}}
	start(t, h.Again(), cfg, handle(func(_ context.Context, job *jobqueue.Job, a args) error {
		if a.N == 2 {
			return errTest
		}
		return job.Save(7)
	}))
	require.NoError(t, c.Cancel(t.Context(), cancelled))
	all.Wait()
	job, err := c.Wait(t.Context(), saved)
	require.NoError(t, err, "it has ended before")
	require.Equal(t, "7", string(job.Saved))
}
