package queuetest

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/jobqueue"
	"lessonkit.example/jobqueue/driver"
)

var saveTests = map[string]func(*testing.T, Harness){
	"SaveContinuesWhereTheLastAttemptStopped": saveContinuesWhereTheLastAttemptStopped,
	"SaveIsStoredWhileTheHandlerRuns":         saveIsStoredWhileTheHandlerRuns,
	"SaveGoesWithEveryResult":                 saveGoesWithEveryResult,
	"SaveIsFenced":                            saveIsFenced,
	"SaveInTransactions":                      saveInTransactions,
	"SaveChecksWhatItIsGiven":                 saveChecksWhatItIsGiven,
}

type position struct {
	Line int `json:"line"`
}

func saveContinuesWhereTheLastAttemptStopped(t *testing.T, h Harness) {
	id := fill(t, h.Store, 1)[0]
	r := start(t, h.Store, jobqueue.WorkerConfig{}, handle(func(_ context.Context, job *jobqueue.Job, _ args) error {
		var at position
		if job.Saved != nil {
			if err := json.Unmarshal(job.Saved, &at); err != nil {
				return jobqueue.Permanent(err)
			}
		}
		if at.Line != job.Attempt-1 {
			t.Errorf("attempt %d continues at line %d", job.Attempt, at.Line)
		}
		if err := job.Save(position{-1}); err != nil {
			return err
		}
		if err := job.Save(position{at.Line + 1}); err != nil {
			return err
		}
		if job.Attempt < 4 {
			return errTest
		}
		return nil
	}))
	r.next(jobqueue.EventSucceeded)
	require.JSONEq(t, `{"line": 4}`, string(get(t, h.Store, id).Saved), "the newest value is in the history")
}

func saveIsStoredWhileTheHandlerRuns(t *testing.T, h Harness) {
	id := fill(t, h.Store, 1)[0]
	saved, end := make(chan struct{}), make(chan struct{})
	r := start(t, h.Store, jobqueue.WorkerConfig{}, handle(func(_ context.Context, job *jobqueue.Job, _ args) error {
		for n := range 1000 {
			if err := job.Save(position{n}); err != nil {
				return err
			}
		}
		close(saved)
		<-end
		return nil
	}))
	receive(t, saved)
	poll(t, "the newest value is stored", func() bool {
		j := get(t, h.Store, id)
		return j.State == jobqueue.StateRunning && string(j.Saved) == `{"line":999}`
	})
	close(end)
	r.next(jobqueue.EventSucceeded)
}

func saveGoesWithEveryResult(t *testing.T, h Harness) {
	ids := fill(t, h.Store, 4, func(p *jobqueue.Params) { p.MaxAttempts = 1 })
	var again bool
	r := start(t, h.Store, jobqueue.WorkerConfig{Queues: map[string]jobqueue.QueueConfig{"default": {MaxWorkers: 1}}},
		handle(func(ctx context.Context, job *jobqueue.Job, a args) error {
			if a.N == 1 && again {
				return job.Save("again after " + string(job.Saved))
			}
			if err := job.Save(a.N); err != nil {
				return err
			}
			switch a.N {
			case 1:
				again = true
				return jobqueue.Snooze(time.Millisecond)
			case 2:
				return errTest
			case 3:
				if err := h.Store.Cancel(ctx, job.ID); err != nil {
					return jobqueue.Permanent(err)
				}
				<-ctx.Done()
				return ctx.Err()
			}
			return nil
		}, jobqueue.OnFailed(func(_ context.Context, job *jobqueue.Job, _ error) error { return job.Save("failed") })))
	for range ids {
		r.next(jobqueue.EventSucceeded, jobqueue.EventFailed, jobqueue.EventCancelled)
	}
	r.wait()
	for i, want := range []string{`0`, `"again after 1"`, `"failed"`, `3`} {
		require.Equal(t, want, string(get(t, h.Store, ids[i]).Saved), "job %d", i)
	}
	require.NoError(t, h.Store.Retry(t.Context(), ids[2]))
	require.Equal(t, `"failed"`, string(get(t, h.Store, ids[2]).Saved))
	_, err := h.Store.RetryMany(t.Context(), driver.Filter{State: driver.StateCancelled, Limit: 10})
	require.NoError(t, err)
	require.Equal(t, `3`, string(get(t, h.Store, ids[3]).Saved))
}

// Whoever has lost the job changes nothing.
func saveIsFenced(t *testing.T, h Harness) {
	id := fill(t, h.Store, 1)[0]
	dead, alive := register(t, h.Store, never), register(t, h.Store, never)
	old := claim(t, h.Store, dead, "default", 1)[0]
	save := func(worker int64, j *jobqueue.Job, state string) {
		require.NoError(t, h.Store.Save(t.Context(), worker, []driver.Saved{
			{Lease: driver.Lease{ID: j.ID, Fence: j.Fence}, State: json.RawMessage(state)},
			{Lease: driver.Lease{ID: 1 << 40, Fence: 1}, State: json.RawMessage(state)},
		}))
	}
	save(dead, old, `"old"`)
	require.Equal(t, `"old"`, string(get(t, h.Store, id).Saved))
	die(t, h.Store, dead)
	rescue(t, h.Store, 1)
	j := claim(t, h.Store, alive, "default", 1)[0]
	require.Equal(t, `"old"`, string(j.Saved))
	save(dead, old, `"zombie"`)
	save(dead, j, `"zombie"`)
	save(alive, old, `"zombie"`)
	late := result(old, driver.Reschedule)
	late.Saved = json.RawMessage(`"zombie"`)
	require.Equal(t, []int64{id}, record(t, h.Store, dead, late))
	require.Equal(t, `"old"`, string(get(t, h.Store, id).Saved))
	save(alive, j, `"new"`)
	require.Equal(t, `"new"`, string(get(t, h.Store, id).Saved))

	require.ErrorContains(t, j.Save(1), "not in its handler")
	for _, inTx := range h.InTx {
		err := inTx(t.Context(), func(tx Tx) error { return tx.Save(old, "zombie") })
		require.ErrorIs(t, err, jobqueue.ErrLeaseLost)
	}
	require.Equal(t, `"new"`, string(get(t, h.Store, id).Saved))

	// After its attempt has ended, a handler cannot save.
	kept := make(chan *jobqueue.Job, 1)
	fill(t, h.Store, 1)
	r := start(t, h.Store, jobqueue.WorkerConfig{}, handle(func(_ context.Context, job *jobqueue.Job, _ args) error {
		kept <- job
		return nil
	}))
	r.next(jobqueue.EventSucceeded)
	require.ErrorIs(t, receive(t, kept).Save(1), jobqueue.ErrLeaseLost)
}

func saveInTransactions(t *testing.T, h Harness) {
	for name, inTx := range h.InTx {
		id := fill(t, h.Store, 1)[0]
		r := start(t, h.Store, jobqueue.WorkerConfig{},
			handle(func(ctx context.Context, job *jobqueue.Job, _ args) error {
				switch job.Attempt {
				case 1:
					err := inTx(ctx, func(tx Tx) error { return tx.Save(job, "committed") })
					if err != nil {
						return jobqueue.Permanent(err)
					}
					return inTx(ctx, func(tx Tx) error { return errors.Join(tx.Save(job, "rolled back"), errTest) })
				case 2:
					if string(job.Saved) != `"committed"` {
						t.Errorf("%s: saved %s", name, job.Saved)
					}
					if err := job.Save(1); err != nil {
						return jobqueue.Permanent(err)
					}
					err := inTx(ctx, func(tx Tx) error { return tx.Save(job, 2) })
					if err == nil || !strings.Contains(err.Error(), "SaveTx after Save in the same attempt") {
						t.Errorf("%s: %v", name, err)
					}
					return errTest
				}
				if err := job.Save("with CompleteTx"); err != nil {
					return err
				}
				return inTx(ctx, func(tx Tx) error { return tx.Complete(job) })
			}))
		r.next(jobqueue.EventSucceeded)
		r.wait()
		require.Equal(t, `"with CompleteTx"`, string(get(t, h.Store, id).Saved), name)
		require.Len(t, get(t, h.Store, id).Errors, 2, name)
	}
}

func saveChecksWhatItIsGiven(t *testing.T, h Harness) {
	id := fill(t, h.Store, 1)[0]
	r := start(t, h.Store, jobqueue.WorkerConfig{}, handle(func(_ context.Context, job *jobqueue.Job, _ args) error {
		for want, v := range map[string]any{
			"unsupported value":               math.Inf(1),
			"65537 bytes are more than 65536": strings.Repeat("x", 65535),
			"not UTF-8":                       json.RawMessage("\"\xff\""),
			"unexpected end":                  json.RawMessage("{"),
		} {
			if err := job.Save(v); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v instead of %q", err, want)
			}
		}
		return job.Save("\x00 " + strings.Repeat("x", 60_000))
	}))
	r.next(jobqueue.EventSucceeded)
	var text string
	require.NoError(t, json.Unmarshal(get(t, h.Store, id).Saved, &text))
	require.Len(t, text, 60_002)
	require.Equal(t, "\x00", text[:1])
}
