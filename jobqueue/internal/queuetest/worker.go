package queuetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lessonkit.example/jobqueue"
	"lessonkit.example/jobqueue/driver"
)

func onFailedAfterProcessDeath(t *testing.T, h Harness) {
	id := fill(t, h.Store, 1, maxAttempts(1))[0]
	dead := register(t, h.Store, never)
	claim(t, h.Store, dead, "default", 1)
	die(t, h.Store, dead)
	rescue(t, h.Store, 1)
	causes := make(chan error, 10)
	r := start(t, h.Store, jobqueue.WorkerConfig{}, handle(
		func(context.Context, *jobqueue.Job, args) error { panic("the handler must not run again") },
		jobqueue.OnFailed(func(_ context.Context, _ *jobqueue.Job, cause error) error {
			causes <- cause
			return nil
		})))
	r.next(jobqueue.EventFailed)
	r.wait()
	require.ErrorIs(t, receive(t, causes), jobqueue.ErrExpired)
	require.Empty(t, causes)
	j := get(t, h.Store, id)
	require.Equal(t, driver.StateFailed, j.State)
	require.Equal(t, 1, j.Attempt, "the extra start, to fail, is not counted")
	require.Len(t, j.Errors, 1)
	require.Equal(t, "lease expired", j.Errors[0].Error)
}

// Jobs of a kind that a worker has no handler for keep nobody waiting, and wait for a worker that
// has one.
func otherKindsAreLeftToOthers(t *testing.T, h Harness) {
	other := fill(t, h.Store, 2000, func(p *jobqueue.Params) { p.Kind = "new" })
	fill(t, h.Store, 10)
	r := start(t, h.Store, jobqueue.WorkerConfig{Prefetch: 100}, handle(nothing))
	r.succeed(10)
	r.wait()
	start(t, h.Store, jobqueue.WorkerConfig{}, func(*jobqueue.Worker) {}).wait()
	require.Zero(t, get(t, h.Store, other[0]).Fence, "a worker without handlers claims nothing")

	r = start(t, h.Store, jobqueue.WorkerConfig{Queues: map[string]jobqueue.QueueConfig{"default": {MaxWorkers: 1}}},
		func(w *jobqueue.Worker) { jobqueue.Handle(w, "new", nothing) })
	require.Equal(t, other[0], r.next(jobqueue.EventSucceeded).Job.ID)
}

// The first job is completed by a transaction, and the handler panics after its commit. The second
// one's transaction is rolled back, which its handler does not report; the third one's handler
// does. The log alone has the panic.
func completeTxInAHandler(t *testing.T, h Harness) {
	const commits, forgets, fails = 0, 1, 2
	for name, inTx := range h.InTx {
		ids := fill(t, h.Store, 3, func(p *jobqueue.Params) {
			p.Queue = name
			p.MaxAttempts = map[int]int{commits: 1, forgets: 2, fails: 1}[p.Args.(args).N]
		})
		failed := make(chan int64, 10)
		var log bytes.Buffer
		r := start(t, h.Store, jobqueue.WorkerConfig{
			Queues: map[string]jobqueue.QueueConfig{name: {}}, Logger: slog.New(slog.NewTextHandler(&log, nil)),
		}, handle(
			func(ctx context.Context, job *jobqueue.Job, a args) error {
				err := inTx(ctx, func(tx Tx) error {
					err := tx.Complete(job)
					if a.N == commits || job.Attempt == 2 {
						return err
					}
					return errors.Join(err, errTest)
				})
				switch {
				case a.N == forgets:
					return nil
				case err == nil:
					panic("after the commit")
				}
				return err
			},
			jobqueue.OnFailed(func(_ context.Context, job *jobqueue.Job, _ error) error {
				failed <- job.ID
				return job.Save("rolled back")
			})))
		require.ErrorContains(t, r.next(jobqueue.EventRetried).Err, "not committed")
		succeeded := jobqueue.Filter{State: jobqueue.StateSucceeded, Queue: name}
		poll(t, "all end", func() bool { return count(t, h, succeeded) == 2 })
		require.Equal(t, ids[fails], receive(t, failed))
		r.wait()
		j := get(t, h.Store, ids[fails])
		require.Equal(t, driver.StateFailed, j.State)
		require.Equal(t, `"rolled back"`, string(j.Saved))
		require.Empty(t, failed)
		const line = "the job stays succeeded"
		require.Equal(t, 1, strings.Count(log.String(), line), log.String())
		require.Regexp(t, fmt.Sprintf(line+`.* job=%d .*error="panic: after the commit" stack=.`, ids[commits]),
			log.String())
	}
}

func runChecksTheSchema(t *testing.T, h Harness) {
	ok, err := h.Store.Migrated(t.Context())
	require.NoError(t, err)
	require.True(t, ok)
	err = jobqueue.NewWorker(h.Empty(), jobqueue.WorkerConfig{}).Run(t.Context())
	require.ErrorIs(t, err, jobqueue.ErrSchema)
	require.ErrorContains(t, err, "run Migrate")
}
