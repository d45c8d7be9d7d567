package queuetest

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/jobqueue"
	"lessonkit.example/jobqueue/driver"
)

var cancelledTests = map[string]func(*testing.T, Harness){
	"OnFailedOfCancelledJobs": onFailedOfCancelledJobs,
	"CallbackIsDueUntilDone":  callbackIsDueUntilDone,
}

// A cancelled job calls its callback, whether or not it had started, also where the history keeps
// none.
func onFailedOfCancelledJobs(t *testing.T, h Harness) {
	c := jobqueue.NewClient(h.Again())
	waiting := fill(t, h.Store, 3)
	require.NoError(t, c.Cancel(t.Context(), waiting[0]))
	_, _, err := c.CancelMany(t.Context(), jobqueue.Filter{State: jobqueue.StateWaiting})
	require.NoError(t, err)

	started, cancelled := make(chan struct{}, 1), make(chan int64, 10)
	r := start(t, h.Store, jobqueue.WorkerConfig{
		Lease:  3 * time.Second,
		Queues: map[string]jobqueue.QueueConfig{"default": {RetentionFailed: jobqueue.KeepNone}},
	}, handle(
		func(ctx context.Context, _ *jobqueue.Job, _ args) error {
			started <- struct{}{}
			<-ctx.Done()
			return ctx.Err()
		},
		jobqueue.OnFailed(func(_ context.Context, job *jobqueue.Job, cause error) error {
			if cause != jobqueue.ErrCancelled || job.State != jobqueue.StateCancelled {
				t.Errorf("callback of a job that is %v, with %v", job.State, cause)
			}
			cancelled <- job.ID
			return nil
		})))
	var ids []int64
	for range waiting {
		ids = append(ids, receive(t, cancelled))
	}
	require.ElementsMatch(t, waiting, ids)

	running := fill(t, h.Store, 1)[0]
	receive(t, started)
	require.NoError(t, c.Cancel(t.Context(), running))
	require.Equal(t, running, receive(t, cancelled))
	r.wait()
	require.Empty(t, cancelled)
	for _, id := range append(waiting, running) {
		require.Equal(t, driver.StateCancelled, get(t, h.Store, id).State)
	}
}

func callbackIsDueUntilDone(t *testing.T, h Harness) {
	c := jobqueue.NewClient(h.Store)
	next := func(kind string, again time.Duration) int64 {
		t.Helper()
		id, err := h.Store.NextCancelled(t.Context(), []string{kind}, again)
		require.NoError(t, err)
		return id
	}
	ids := fill(t, h.Store, 2)
	require.Zero(t, next("work", 0))
	require.NoError(t, c.Cancel(t.Context(), ids[0]))
	require.Zero(t, next("other", 0))
	require.Equal(t, ids[0], next("work", 0))
	require.Equal(t, ids[0], next("work", time.Hour), "it was not done")
	require.Zero(t, next("work", 0), "it is being called")

	require.NoError(t, c.Cancel(t.Context(), ids[1]))
	require.Equal(t, ids[1], next("work", 0))
	require.NoError(t, h.Store.CallbackDone(t.Context(), ids[1]))
	require.Zero(t, next("work", 0))

	require.NoError(t, c.Retry(t.Context(), ids[1]))
	require.Zero(t, next("work", 0))
	require.NoError(t, c.Cancel(t.Context(), ids[1]))
	require.Equal(t, ids[1], next("work", 0), "it was cancelled again")
}
