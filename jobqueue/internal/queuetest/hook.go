package queuetest

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/jobqueue"
)

var hookTests = map[string]func(*testing.T, Harness){
	"HookSeesEveryWayToEnqueue": hookSeesEveryWayToEnqueue,
	"HookPreventsEnqueuing":     hookPreventsEnqueuing,
}

type contextKey struct{}

func hookSeesEveryWayToEnqueue(t *testing.T, h Harness) {
	h.SetHook(func(ctx context.Context, ps []jobqueue.Params) error {
		for i := range ps {
			ps[i].Meta["request"], _ = ctx.Value(contextKey{}).(string)
		}
		return nil
	})
	ctx := context.WithValue(t.Context(), contextKey{}, "client")
	given := []jobqueue.Params{
		{Kind: "work"}, {Kind: "work", Meta: map[string]string{"own": "1"}},
	}
	results, err := jobqueue.NewClient(h.Store).EnqueueMany(ctx, given)
	require.NoError(t, err)
	require.Equal(t, map[string]string{"request": "client"}, get(t, h.Store, results[0].ID).Meta)
	require.Equal(t, map[string]string{"request": "client", "own": "1"}, get(t, h.Store, results[1].ID).Meta)
	require.Nil(t, given[0].Meta, "the caller's are not changed")
	require.Len(t, given[1].Meta, 1)

	for name, inTx := range h.InTx {
		var id int64
		require.NoError(t, inTx(context.WithValue(t.Context(), contextKey{}, name), func(tx Tx) error {
			rs, err := tx.Enqueue(jobqueue.Params{Kind: "work"})
			if err == nil {
				id = rs[0].ID
			}
			return err
		}))
		require.Equal(t, map[string]string{"request": name}, get(t, h.Store, id).Meta)
	}

	metas := make(chan map[string]string, 10)
	start(t, h.Store, jobqueue.WorkerConfig{
		Schedules: []jobqueue.Schedule{{Name: "s", When: jobqueue.Every(50 * time.Millisecond),
			Params: jobqueue.Params{Kind: "scheduled"}}}},
		func(w *jobqueue.Worker) {
			jobqueue.Handle(w, "scheduled", func(_ context.Context, job *jobqueue.Job, _ any) error {
				select {
				case metas <- job.Meta:
				default:
				}
				return nil
			})
		})
	require.Equal(t, map[string]string{"request": ""}, receive(t, metas))
}

func hookPreventsEnqueuing(t *testing.T, h Harness) {
	var mu sync.Mutex
	calls := 0
	h.SetHook(func(context.Context, []jobqueue.Params) error {
		mu.Lock()
		defer mu.Unlock()
		calls++
		return errTest
	})
	_, err := jobqueue.NewClient(h.Store).EnqueueMany(t.Context(), []jobqueue.Params{{Kind: "work"}, {Kind: "work"}})
	require.ErrorIs(t, err, errTest)
	for _, inTx := range h.InTx {
		require.ErrorIs(t, inTx(t.Context(), func(tx Tx) error {
			_, err := tx.Enqueue(jobqueue.Params{Kind: "work"})
			return err
		}), errTest)
	}
	require.Equal(t, 1+len(h.InTx), calls, "once for all jobs of a call")
	jobs, err := jobqueue.NewClient(h.Store).List(t.Context(), jobqueue.Filter{State: jobqueue.StateWaiting})
	require.NoError(t, err)
	require.Empty(t, jobs)
}
