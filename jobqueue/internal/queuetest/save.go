package queuetest

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lessonkit.example/jobqueue"
	"lessonkit.example/jobqueue/driver"
)

// A worker that has lost the job changes nothing.
func saveIsFenced(t *testing.T, h Harness) {
	id := fill(t, h.Store, 1)[0]
	dead, alive := register(t, h.Store, never), register(t, h.Store, never)
	old := claim(t, h.Store, dead, "default", 1)[0]
	save := func(worker int64, fence int, state, want string) {
		t.Helper()
		require.NoError(t, h.Store.Save(t.Context(), worker, []driver.Saved{
			{Lease: driver.Lease{ID: id, Fence: fence}, State: json.RawMessage(state)},
			{Lease: driver.Lease{ID: 1 << 40, Fence: 1}, State: json.RawMessage(state)},
		}))
		require.Equal(t, want, string(get(t, h.Store, id).Saved))
	}
	save(dead, old.Fence, `"old"`, `"old"`)
	die(t, h.Store, dead)
	rescue(t, h.Store, 1)
	j := claim(t, h.Store, alive, "default", 1)[0]
	require.Equal(t, `"old"`, string(j.Saved))
	save(dead, old.Fence, `"late"`, `"old"`)
	save(dead, j.Fence, `"late"`, `"old"`)
	save(alive, old.Fence, `"late"`, `"old"`)
	late := result(old, driver.Reschedule)
	late.Saved = json.RawMessage(`"late"`)
	require.Equal(t, []int64{id}, record(t, h.Store, dead, late))
	for _, inTx := range h.InTx {
		err := inTx(t.Context(), func(tx Tx) error { return tx.Save(leased(old), "late") })
		require.ErrorIs(t, err, jobqueue.ErrLeaseLost)
		err = inTx(t.Context(), func(tx Tx) error { return tx.Complete(leased(old)) })
		require.ErrorIs(t, err, jobqueue.ErrLeaseLost)
	}
	save(alive, j.Fence, `"new"`, `"new"`)
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
				return inTx(ctx, func(tx Tx) error {
					err := tx.Complete(job)
					if late := job.Save("after CompleteTx"); !errors.Is(late, jobqueue.ErrLeaseLost) {
						t.Errorf("%s: %v", name, late)
					}
					return err
				})
			}))
		r.succeed(1)
		r.wait()
		j := get(t, h.Store, id)
		require.Equal(t, `"with CompleteTx"`, string(j.Saved), name)
		require.Len(t, j.Errors, 2, name)
	}
}
