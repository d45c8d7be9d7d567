package queuetest

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/jobqueue"
	"lessonkit.example/jobqueue/driver"
)

func listPagesByStateQueueAndKind(t *testing.T, h Harness) {
	c := jobqueue.NewClient(h.Store)
	a := fill(t, h.Store, 5)
	b := fill(t, h.Store, 5, func(p *jobqueue.Params) { p.Queue = "b"; p.Kind = "other" })
	fill(t, h.Store, 2, runAt(time.Now().Add(time.Hour)))
	list := func(f jobqueue.Filter) (ids []int64) {
		jobs, _, err := c.List(t.Context(), f)
		require.NoError(t, err)
		for _, j := range jobs {
			require.Equal(t, f.State, j.State)
			ids = append(ids, j.ID)
		}
		return ids
	}
	require.Equal(t, []int64{b[4], b[3], b[2]}, list(jobqueue.Filter{State: jobqueue.StateWaiting, Limit: 3}))
	require.Equal(t, []int64{b[1], b[0], a[4]},
		list(jobqueue.Filter{State: jobqueue.StateWaiting, Limit: 3, Before: b[2]}))
	require.Equal(t, []int64{a[4], a[3]},
		list(jobqueue.Filter{State: jobqueue.StateWaiting, Queue: "default", Limit: 2}))
	require.Len(t, list(jobqueue.Filter{State: jobqueue.StateWaiting, Kind: "other"}), 5)
	require.Len(t, list(jobqueue.Filter{State: jobqueue.StateScheduled}), 2)
	require.Empty(t, list(jobqueue.Filter{State: jobqueue.StateRunning}))

	w := register(t, h.Store, time.Minute)
	jobs := claim(t, h.Store, w, "b", 4)
	require.Len(t, list(jobqueue.Filter{State: jobqueue.StateRunning}), 4)
	require.Empty(t, record(t, h.Store, w, result(jobs[0], driver.Complete), result(jobs[1], driver.Fail),
		result(jobs[2], driver.Cancel)))
	filter := jobqueue.Filter{State: jobqueue.StateSucceeded, Queue: "b", Kind: "other"}
	require.Equal(t, []int64{jobs[0].ID}, list(filter))
	require.Equal(t, []int64{jobs[1].ID}, list(jobqueue.Filter{State: jobqueue.StateFailed}))
	require.Equal(t, []int64{jobs[2].ID}, list(jobqueue.Filter{State: jobqueue.StateCancelled, Queue: "b"}))
	_, _, err := c.List(t.Context(), jobqueue.Filter{})
	require.Error(t, err)
}

func searchByArguments(t *testing.T, h Harness) {
	ops := jobqueue.NewClient(h.Store)
	texts := []string{
		"0197a000-0000-7000-8000-000000000001", `a \ "quoted"`, "100% <b>&", "_%", "'; --", "画得很好", "line\nbreak",
	}
	ids := make([]int64, len(texts))
	for i, text := range texts {
		ids[i] = enqueue(t, h.Store, jobqueue.Params{Kind: "work", Args: map[string]any{"text": text, "n": 7000 + i}})
	}
	w := register(t, h.Store, time.Minute)
	jobs := claim(t, h.Store, w, "default", 4) // the others wait
	require.Empty(t, record(t, h.Store, w, result(jobs[0], driver.Complete), result(jobs[1], driver.Fail),
		result(jobs[2], driver.Cancel)))
	search := func(text string) (found []int64) {
		jobs, next, err := ops.Search(t.Context(), text, 0)
		require.NoError(t, err)
		require.Zero(t, next)
		for _, j := range jobs {
			found = append(found, j.ID)
		}
		return found
	}
	for i, text := range texts {
		require.Equal(t, ids[i:i+1], search(text), text)
	}
	require.Equal(t, ids[4:5], search("7004"))
	require.Empty(t, search("nowhere"))
	slices.Reverse(ids)
	require.Equal(t, ids, search("text"), "the newest first")
	_, _, err := ops.Search(t.Context(), "", 0)
	require.Error(t, err)
}

func unfinishedLeavesOutWhatHasEnded(t *testing.T, h Harness) {
	ids := fill(t, h.Store, 5)
	w := register(t, h.Store, never)
	jobs := claim(t, h.Store, w, "default", 3) // the others wait
	require.Empty(t, record(t, h.Store, w, result(jobs[0], driver.Complete), result(jobs[1], driver.Fail)))
	unfinished, err := h.Store.Unfinished(t.Context(), append(ids, 1<<40))
	require.NoError(t, err)
	require.ElementsMatch(t, ids[2:], unfinished)
}

func searchReadsPartOfALongHistory(t *testing.T, h Harness) {
	c := jobqueue.NewClient(h.Store)
	ids := fill(t, h.Store, 60)
	// As if most of a long history were deleted.
	move := fmt.Sprintf("update jobqueue_job set id = id + 3 * %d where id > %d", driver.SearchWindow, ids[2])
	require.NoError(t, h.Exec(t.Context(), move))
	var found []int
	pages := 0
	for before := int64(0); ; pages++ {
		jobs, next, err := c.Search(t.Context(), `n`, before)
		require.NoError(t, err)
		for _, j := range jobs {
			found = append(found, int(j.ID%driver.SearchWindow))
		}
		if next == 0 {
			break
		}
		if before != 0 {
			require.Less(t, next, before)
		}
		before = next
	}
	require.Len(t, found, 60)
	require.IsDecreasing(t, found)
	require.Equal(t, 4, pages, "full, the rest of its window, empty, the oldest")
}

func statsCount(t *testing.T, h Harness) {
	c := jobqueue.NewClient(h.Store)
	stats, err := c.Stats(t.Context())
	require.NoError(t, err)
	require.Empty(t, stats.Queues)
	fill(t, h.Store, 4)
	fill(t, h.Store, 1, runAt(time.Now().Add(-time.Hour)), func(p *jobqueue.Params) { p.Priority = 4 })
	fill(t, h.Store, 2, runAt(time.Now().Add(time.Hour)))
	fill(t, h.Store, 3, func(p *jobqueue.Params) { p.Queue = "b" })
	fill(t, h.Store, 3, limitKey("k"), func(p *jobqueue.Params) { p.Queue = "serial" })
	settle(t, h.Store, "serial")
	w, err := h.Store.Register(t.Context(), "name", []string{"a", "b"}, time.Minute)
	require.NoError(t, err)
	jobs, bs := claim(t, h.Store, w, "default", 3), claim(t, h.Store, w, "b", 3)
	require.Empty(t, record(t, h.Store, w, result(jobs[0], driver.Fail), result(bs[0], driver.Cancel),
		result(bs[1], driver.Complete)))
	stats, err = c.Stats(t.Context())
	require.NoError(t, err)
	for i := range stats.Queues {
		q := &stats.Queues[i]
		require.Equal(t, q.Waiting > 0, q.Oldest > 0, q.Queue)
		require.Less(t, q.Oldest, time.Minute, "a job does not wait before it is enqueued")
		q.Oldest = 0
	}
	require.Equal(t, []jobqueue.QueueStats{
		{Queue: "a"}, {Queue: "b", Running: 1, Cancelled: 1},
		{Queue: "default", Waiting: 2, Scheduled: 2, Running: 2, Failed: 1},
		{Queue: "serial", Waiting: 1, Held: 2},
	}, stats.Queues)
	require.Len(t, stats.Workers, 1)
	worker := stats.Workers[0]
	require.WithinDuration(t, worker.StartedAt.Add(time.Minute), worker.ExpiresAt, time.Second)
	require.Equal(t, jobqueue.WorkerInfo{ID: w, Name: "name", StartedAt: worker.StartedAt, ExpiresAt: worker.ExpiresAt,
		Queues: []string{"a", "b"}}, worker)
}

// calls are all methods of a client, with arguments that it accepts; all of them need tables.
func calls(s driver.Store) map[string]func(ctx context.Context) error {
	params := jobqueue.Params{Kind: "work", UniqueKey: "k"}
	args := map[reflect.Type]reflect.Value{}
	for _, v := range []any{
		"x", int64(1), time.Hour, time.Now(), params, []jobqueue.Params{params, {Kind: "work"}},
		jobqueue.Filter{State: jobqueue.StateScheduled},
	} {
		args[reflect.TypeOf(v)] = reflect.ValueOf(v)
	}
	all := map[string]func(ctx context.Context) error{}
	for method, value := range reflect.ValueOf(jobqueue.NewClient(s)).Methods() {
		all[method.Name] = func(ctx context.Context) error {
			in := []reflect.Value{reflect.ValueOf(ctx)}
			for i := 1; i < value.Type().NumIn(); i++ {
				in = append(in, args[value.Type().In(i)])
			}
			out := value.Call(in)
			err, _ := out[len(out)-1].Interface().(error)
			return err
		}
	}
	return all
}

func errorsAreClassified(t *testing.T, h Harness) {
	require.ErrorIs(t, h.Broken().Migrate(t.Context()), jobqueue.ErrUnavailable)
	for name, call := range calls(h.Empty()) {
		err := call(t.Context())
		require.ErrorIs(t, err, jobqueue.ErrSchema, name)
		require.NotErrorIs(t, err, jobqueue.ErrUnavailable, name)
	}
	for name, call := range calls(h.Broken()) {
		if name == "Wait" {
			continue // it waits on
		}
		err := call(t.Context())
		require.ErrorIs(t, err, jobqueue.ErrUnavailable, name)
		require.NotErrorIs(t, err, jobqueue.ErrSchema, name)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, call := range calls(h.Store) {
		err := call(ctx)
		require.ErrorIs(t, err, context.Canceled, name)
		require.NotErrorIs(t, err, jobqueue.ErrUnavailable, name)
	}
}

func errorsInTxAreClassified(t *testing.T, h Harness) {
	require.NoError(t, h.Exec(t.Context(), "alter table jobqueue_job rename to moved"))
	for name, inTx := range h.InTx {
		for what, call := range map[string]func(tx Tx) error{
			"enqueue":  func(tx Tx) error { _, err := tx.Enqueue(jobqueue.Params{Kind: "work"}); return err },
			"complete": func(tx Tx) error { return tx.Complete(&jobqueue.Job{ID: 1, Worker: 1}) },
			"save":     func(tx Tx) error { return tx.Save(&jobqueue.Job{ID: 1, Worker: 1}, "state") },
		} {
			err := inTx(t.Context(), call)
			require.ErrorIs(t, err, jobqueue.ErrSchema, "%s by %s", what, name)
		}
	}
}

func retryByHand(t *testing.T, h Harness) {
	ops := jobqueue.NewClient(h.Store)
	meta := map[string]string{"trace": "00-1", "who": "Zoë \x00 <z>"}
	id := fill(t, h.Store, 1, func(p *jobqueue.Params) { p.UniqueKey, p.Meta = "k", meta })[0]
	w := register(t, h.Store, time.Minute)
	require.ErrorIs(t, ops.Retry(t.Context(), id), jobqueue.ErrState, "it is waiting")
	first := claim(t, h.Store, w, "default", 1)[0]
	require.ErrorIs(t, ops.Retry(t.Context(), id), jobqueue.ErrState, "it is running")
	failed := result(first, driver.Fail)
	failed.Error, failed.Saved = driver.AttemptError{Attempt: 1, Error: "first"}, json.RawMessage(`"state"`)
	require.Empty(t, record(t, h.Store, w, failed))

	other := enqueue(t, h.Store, jobqueue.Params{Kind: "work", UniqueKey: "k"}) // takes the key
	require.ErrorIs(t, ops.Retry(t.Context(), id), jobqueue.ErrDuplicate)
	require.Equal(t, driver.StateFailed, get(t, h.Store, id).State, "nothing is lost")
	require.Equal(t, meta, get(t, h.Store, id).Meta)
	require.NoError(t, ops.Cancel(t.Context(), other))

	require.NoError(t, ops.Retry(t.Context(), id))
	j := get(t, h.Store, id)
	require.Equal(t, driver.StateWaiting, j.State)
	require.Zero(t, j.Attempt)
	require.Len(t, j.Errors, 1, "the history is kept")
	require.Equal(t, `"state"`, string(j.Saved))
	require.Equal(t, meta, j.Meta)
	again := claim(t, h.Store, w, "default", 1)[0]
	require.Equal(t, id, again.ID)
	require.Greater(t, again.Fence, first.Fence)
	later := result(again, driver.Reschedule)
	later.Delay = time.Hour
	require.Empty(t, record(t, h.Store, w, later))
	require.NoError(t, ops.Retry(t.Context(), id), "a scheduled job runs now")
	again = claim(t, h.Store, w, "default", 1)[0]
	require.Empty(t, record(t, h.Store, w, result(again, driver.Complete)))
	require.ErrorIs(t, ops.Retry(t.Context(), id), jobqueue.ErrState)
	require.ErrorIs(t, ops.Retry(t.Context(), id+1000), jobqueue.ErrNotFound)
}

func cancelByHand(t *testing.T, h Harness) {
	c := jobqueue.NewClient(h.Store)
	ids := fill(t, h.Store, 2)
	require.NoError(t, c.Cancel(t.Context(), ids[0]))
	require.Equal(t, driver.StateCancelled, get(t, h.Store, ids[0]).State)
	require.ErrorIs(t, c.Cancel(t.Context(), ids[0]), jobqueue.ErrState)
	require.ErrorIs(t, c.Cancel(t.Context(), ids[1]+1000), jobqueue.ErrNotFound)

	// A running job is cancelled and its worker stops: it is claimed again, only to be cancelled.
	w := register(t, h.Store, time.Minute)
	j := claim(t, h.Store, w, "default", 2)[0]
	require.NoError(t, c.Cancel(t.Context(), j.ID))
	_, err := h.Store.Release(t.Context(), w, nil, false)
	require.NoError(t, err)
	again := claim(t, h.Store, w, "default", 1)
	require.Len(t, again, 1)
	require.True(t, again[0].Cancelling)
	require.Empty(t, record(t, h.Store, w, result(again[0], driver.Cancel)))
	require.NoError(t, c.Retry(t.Context(), ids[0]))
	require.NoError(t, c.Retry(t.Context(), ids[1]))
	for _, j := range claim(t, h.Store, w, "default", 2) {
		require.False(t, j.Cancelling)
	}
}

func purgeByAgeAndState(t *testing.T, h Harness) {
	fill(t, h.Store, 3, func(p *jobqueue.Params) { p.Queue = "a" })
	ids := fill(t, h.Store, 3, func(p *jobqueue.Params) { p.Queue = "b" })
	w := register(t, h.Store, time.Minute)
	for _, queue := range []string{"a", "b"} {
		jobs := claim(t, h.Store, w, queue, 3)
		require.Empty(t, record(t, h.Store, w, result(jobs[0], driver.Complete), result(jobs[1], driver.Fail),
			result(jobs[2], driver.Cancel)))
	}
	purge := func(f driver.PurgeFilter) (deleted int, last int64) {
		deleted, last, err := h.Store.Purge(t.Context(), f)
		require.NoError(t, err)
		return deleted, last
	}
	for _, state := range []driver.State{driver.StateSucceeded, driver.StateFailed, driver.StateCancelled} {
		for _, c := range []struct {
			f    driver.PurgeFilter
			want int
			goOn bool // jobs were looked at that were created long enough ago
		}{
			{driver.PurgeFilter{State: state, Queue: "b", Age: time.Hour}, 0, false},
			{driver.PurgeFilter{State: state, Queue: "b", After: ids[2]}, 0, false},
			{driver.PurgeFilter{State: state, Queue: "a"}, 1, true},
			{driver.PurgeFilter{State: state, Queue: "a"}, 0, true},
			{driver.PurgeFilter{State: state, Queue: "b", After: ids[0] - 1}, 1, true},
		} {
			deleted, last := purge(c.f)
			require.Equal(t, c.want, deleted, c)
			require.Equal(t, c.goOn, last > c.f.After, c)
		}
	}
}
