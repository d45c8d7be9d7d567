package queuetest

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"lessonkit.example/jobqueue"
)

var onFailedTests = map[string]func(*testing.T, Harness){
	"OnFailedRunsOnce":           onFailedRunsOnce,
	"OnFailedAfterProcessDeath":  onFailedAfterProcessDeath,
	"OnFailedIsRepeatedOnError":  onFailedIsRepeatedOnError,
	"OnFailedKeepsTheCause":      onFailedKeepsTheCause,
	"OnFailedNotAfterCompleteTx": onFailedNotAfterCompleteTx,
}

func onFailedRunsOnce(t *testing.T, h Harness) {
	fill(t, h.Store, 1, func(p *jobqueue.Params) { p.MaxAttempts = 2 })
	var dead atomic.Int32
	r := start(t, h.Store, jobqueue.WorkerConfig{}, handle(
		func(context.Context, *jobqueue.Job, args) error { return errTest },
		jobqueue.OnFailed(func(_ context.Context, job *jobqueue.Job, cause error) error {
			if job.Attempt == 2 && string(job.Args) != "" {
				dead.Add(1)
			}
			return nil
		})))
	require.ErrorIs(t, r.next(jobqueue.EventFailed).Err, errTest)
	r.wait()
	require.EqualValues(t, 1, dead.Load())
}

func onFailedAfterProcessDeath(t *testing.T, h Harness) {
	id := fill(t, h.Store, 1, func(p *jobqueue.Params) { p.MaxAttempts = 1 })[0]
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
	require.ErrorIs(t, receive(t, causes), jobqueue.ErrExpired)
	r.wait()
	require.Empty(t, causes)
	j := get(t, h.Store, id)
	require.Equal(t, jobqueue.StateFailed, j.State)
	require.Len(t, j.Errors, 1)
	require.Equal(t, "lease expired", j.Errors[0].Error)
}

func onFailedIsRepeatedOnError(t *testing.T, h Harness) {
	id := fill(t, h.Store, 1, func(p *jobqueue.Params) { p.MaxAttempts = 1 })[0]
	var runs, dead atomic.Int32
	r := start(t, h.Store, jobqueue.WorkerConfig{}, handle(
		func(context.Context, *jobqueue.Job, args) error { runs.Add(1); return errTest },
		jobqueue.OnFailed(func(context.Context, *jobqueue.Job, error) error {
			switch dead.Add(1) {
			case 1:
				return away{}
			case 2:
				panic("second time")
			}
			return nil
		})))
	r.next(jobqueue.EventFailed)
	r.wait()
	require.EqualValues(t, 1, runs.Load())
	require.EqualValues(t, 3, dead.Load())
	require.Equal(t, jobqueue.StateFailed, get(t, h.Store, id).State)
}

// An OnFailed callback that is called again receives why the job failed, not its own last error.
func onFailedKeepsTheCause(t *testing.T, h Harness) {
	id := fill(t, h.Store, 1, func(p *jobqueue.Params) { p.MaxAttempts = 1 })[0]
	causes := make(chan error, 10)
	r := start(t, h.Store, jobqueue.WorkerConfig{}, handle(
		func(context.Context, *jobqueue.Job, args) error { return errTest },
		jobqueue.OnFailed(func(_ context.Context, _ *jobqueue.Job, cause error) error {
			causes <- cause
			if len(causes) < 4 {
				return away{}
			}
			return nil
		})))
	require.EqualError(t, r.next(jobqueue.EventFailed).Err, errTest.Error())
	require.Len(t, causes, 4)
	for range 4 {
		require.EqualError(t, <-causes, errTest.Error())
	}
	j := get(t, h.Store, id)
	require.Len(t, j.Errors, 3)
	require.Equal(t, errTest.Error()+" (and OnFailed: away)", j.Errors[2].Error)
}

// A handler may fail after it has completed its job. The OnFailed callback is called only if the
// transaction was rolled back.
func onFailedNotAfterCompleteTx(t *testing.T, h Harness) {
	const commits, rollsBack = 0, 1
	for name, inTx := range h.InTx {
		t.Run(name, func(t *testing.T) {
			ids := fill(t, h.Store, 2, func(p *jobqueue.Params) { p.Queue = name; p.MaxAttempts = 1 })
			dead := make(chan int64, 10)
			r := start(t, h.Store, jobqueue.WorkerConfig{Queues: map[string]jobqueue.QueueConfig{name: {}}}, handle(
				func(ctx context.Context, job *jobqueue.Job, a args) error {
					err := inTx(ctx, func(tx Tx) error {
						if err := tx.Complete(job); err != nil || a.N == commits {
							return err
						}
						return errTest
					})
					if err != nil {
						return err
					}
					panic("after the commit")
				},
				jobqueue.OnFailed(func(_ context.Context, job *jobqueue.Job, _ error) error {
					dead <- job.ID
					return nil
				})))
			ends := map[int64]jobqueue.EventType{}
			for range ids {
				e := r.next(jobqueue.EventSucceeded, jobqueue.EventFailed)
				ends[e.Job.ID] = e.Type
			}
			r.wait()
			require.Equal(t, jobqueue.EventSucceeded, ends[ids[commits]])
			require.Equal(t, jobqueue.EventFailed, ends[ids[rollsBack]])
			require.Equal(t, jobqueue.StateSucceeded, get(t, h.Store, ids[commits]).State)
			require.Equal(t, jobqueue.StateFailed, get(t, h.Store, ids[rollsBack]).State)
			require.Equal(t, ids[rollsBack], receive(t, dead))
			require.Empty(t, dead)
		})
	}
}
