package jobqueue_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/jobqueue"
)

// work adds h as the handler of kind "work".
func work(
	h func(ctx context.Context, job *jobqueue.Job, n int) error, opts ...jobqueue.HandleOption,
) func(*jobqueue.Worker) {
	return func(w *jobqueue.Worker) { jobqueue.Handle(w, "work", h, opts...) }
}

func TestFiguresCountWhatWorkersDid(t *testing.T) {
	t.Parallel()
	store, c := newQueue(t, nil)
	enqueue(t, c, jobqueue.Params{Kind: "work", Queue: "other", Args: 0, RunAt: time.Now().Add(-time.Hour)})
	for _, jobs := range []int{6, 5} {
		enqueueMany(t, c, 5)
		cfg := jobqueue.WorkerConfig{Queues: map[string]jobqueue.QueueConfig{"default": {}, "other": {}, "idle": {}}}
		stop, ended := runWorker(t, store, cfg, work(func(_ context.Context, _ *jobqueue.Job, n int) error {
			if n == 3 {
				return errWrong
			}
			return nil
		}))
		ended(jobs)
		stop()
	}
	figures, err := c.Figures(t.Context(), "", time.Hour, time.Minute)
	require.NoError(t, err)
	sum := map[string]jobqueue.Figure{} // of one minute or two
	for _, f := range figures {
		require.WithinDuration(t, time.Now(), f.Start, waitLimit)
		require.Less(t, f.WaitP95, waitLimit, "since it was enqueued")
		s := sum[f.Queue]
		sum[f.Queue] = jobqueue.Figure{Finished: s.Finished + f.Finished, Failed: s.Failed + f.Failed,
			Started: s.Started + f.Started}
	}
	require.Equal(t, map[string]jobqueue.Figure{"default": {Finished: 10, Failed: 2, Started: 12},
		"other": {Finished: 1, Started: 1}}, sum)
}

func TestWaitReturnsHowAJobHasEnded(t *testing.T) {
	t.Parallel()
	store, c := newQueue(t, nil)
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
	saved := enqueue(t, c, jobqueue.Params{Kind: "work", Args: 1})
	cancelled := enqueue(t, c, jobqueue.Params{Kind: "nobody's"})
	expect(saved, ended{state: jobqueue.StateSucceeded, saved: "7"})
	expect(enqueue(t, c, jobqueue.Params{Kind: "work", Args: 2, MaxAttempts: 1}), ended{state: jobqueue.StateFailed})
	expect(enqueue(t, c, jobqueue.Params{Kind: "work", Args: 1, Queue: "none"}), ended{err: jobqueue.ErrNotFound})
	expect(cancelled, ended{state: jobqueue.StateCancelled})
	expect(1<<40, ended{err: jobqueue.ErrNotFound})
	cfg := jobqueue.WorkerConfig{Queues: map[string]jobqueue.QueueConfig{
		"default": {}, "none": {Retention: jobqueue.KeepNone}}}
	runWorker(t, store, cfg, work(func(_ context.Context, job *jobqueue.Job, n int) error {
		if n == 2 {
			return errWrong
		}
		return job.Save(7)
	}))
	require.NoError(t, c.Cancel(t.Context(), cancelled))
	all.Wait()
	job, err := c.Wait(t.Context(), saved)
	require.NoError(t, err, "it has ended before")
	require.Equal(t, "7", string(job.Saved))
}

func TestManyCallsWaitTogether(t *testing.T) {
	t.Parallel()
	store, c := newQueue(t, nil)
	var all sync.WaitGroup
	for _, id := range enqueueMany(t, c, 100) {
		all.Go(func() {
			job, err := c.Wait(t.Context(), id)
			if err != nil || string(job.Args) != string(job.Saved) {
				t.Errorf("job %d: %+v, %v", id, job, err)
			}
		})
	}
	runWorker(t, store, jobqueue.WorkerConfig{}, work(func(_ context.Context, job *jobqueue.Job, n int) error {
		return job.Save(n)
	}))
	all.Wait()
}

func TestWaitEndsWithItsContext(t *testing.T) {
	t.Parallel()
	_, c := newQueue(t, nil)
	id := enqueueMany(t, c, 1)[0]
	ctx, cancel := context.WithCancelCause(t.Context())
	ended := make(chan error)
	go func() {
		_, err := c.Wait(ctx, id)
		ended <- err
	}()
	cancel(errWrong)
	require.ErrorIs(t, receive(t, "the wait ends", ended), errWrong)
}

// The newest value is stored while the handler runs, and the next attempt finds it.
func TestSaveStoresTheNewestValue(t *testing.T) {
	t.Parallel()
	store, c := newQueue(t, nil)
	id := enqueueMany(t, c, 1)[0]
	end := make(chan struct{})
	_, ended := runWorker(t, store, jobqueue.WorkerConfig{}, work(
		func(_ context.Context, job *jobqueue.Job, _ int) error {
			if job.Attempt == 2 {
				return job.Save("after " + string(job.Saved))
			}
			for n := range 1000 {
				if err := job.Save(n); err != nil {
					return err
				}
			}
			<-end
			return errWrong
		}))
	poll(t, "the newest value is stored", func() bool {
		j := get(t, c, id)
		return j.State == jobqueue.StateRunning && string(j.Saved) == `999`
	})
	close(end)
	ended(1)
	require.Equal(t, `"after 999"`, string(get(t, c, id).Saved))
}

// A cancelled job calls its callback, whether or not it had started, also where the history keeps
// none.
func TestOnFailedOfCancelledJobs(t *testing.T) {
	t.Parallel()
	store, c := newQueue(t, nil)
	waiting := enqueueMany(t, c, 3)
	require.NoError(t, c.Cancel(t.Context(), waiting[0]))
	_, _, err := c.CancelMany(t.Context(), jobqueue.Filter{State: jobqueue.StateWaiting})
	require.NoError(t, err)

	started, cancelled := make(chan struct{}), make(chan int64, 10)
	cfg := jobqueue.WorkerConfig{Queues: map[string]jobqueue.QueueConfig{"default": {
		RetentionFailed: jobqueue.KeepNone}}}
	stop, _ := runWorker(t, store, cfg, work(
		func(ctx context.Context, _ *jobqueue.Job, _ int) error {
			close(started)
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
		ids = append(ids, receive(t, "a callback", cancelled))
	}
	require.ElementsMatch(t, waiting, ids)

	running := enqueueMany(t, c, 1)[0]
	receive(t, "the job runs", started)
	require.NoError(t, c.Cancel(t.Context(), running))
	require.Equal(t, running, receive(t, "its callback", cancelled))
	stop()
	require.Empty(t, cancelled)
	for _, id := range append(waiting, running) {
		require.Equal(t, jobqueue.StateCancelled, get(t, c, id).State)
	}
}

// A worker that is idle returns its slots to one that has jobs.
func TestLimitGoesToBusyWorkers(t *testing.T) {
	t.Parallel()
	store, c := newQueue(t, nil)
	cfg := jobqueue.WorkerConfig{Queues: map[string]jobqueue.QueueConfig{"default": {Limit: 1}}}
	nothing := func(context.Context, *jobqueue.Job, int) error { return nil }
	enqueueMany(t, c, 1)
	_, ended := runWorker(t, store, cfg, work(nothing))
	ended(1)
	id := enqueue(t, c, jobqueue.Params{Kind: "other", Args: 1})
	_, ended = runWorker(t, store, cfg, func(w *jobqueue.Worker) { jobqueue.Handle(w, "other", nothing) })
	ended(1)
	require.Equal(t, jobqueue.StateSucceeded, get(t, c, id).State)
}
