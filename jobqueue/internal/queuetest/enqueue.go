package queuetest

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/jobqueue"
	"lessonkit.example/jobqueue/driver"
)

var enqueueTests = map[string]func(*testing.T, Harness){
	"EnqueueKeepsEveryField":           enqueueKeepsEveryField,
	"EnqueueManyReturnsResultsInOrder": enqueueManyReturnsResultsInOrder,
	"UniqueUntilDone":                  uniqueUntilDone,
	"UniqueUntilStarted":               uniqueUntilStarted,
	"UniqueWithinOneCall":              uniqueWithinOneCall,
	"UniqueUnderConcurrency":           uniqueUnderConcurrency,
	"TransactionCommitsOrNot":          transactionCommitsOrNot,
	"ConcurrentSinglesAllArrive":       concurrentSinglesAllArrive,
	"PriorityThenTimeThenId":           priorityThenTimeThenID,
	"ScheduledJobsAreNotClaimedEarly":  scheduledJobsAreNotClaimedEarly,
	"FarTimesKeepTheirPlace":           farTimesKeepTheirPlace,
	"MetaStaysWithTheJob":              metaStaysWithTheJob,
}

func enqueueKeepsEveryField(t *testing.T, h Harness) {
	c := jobqueue.NewClient(h.Store)
	at := time.Now().Add(time.Hour).UTC().Truncate(time.Microsecond)
	r, err := c.Enqueue(t.Context(), jobqueue.Params{
		Kind: "mail", Args: map[string]any{"to": "Zoë <z@example.org>", "big": json.Number("12345678901234567890"),
			"nul": "a\x00b"},
		Queue: "mails", Priority: 3, RunAt: at, MaxAttempts: jobqueue.Unlimited, UniqueKey: "z/1",
	})
	require.NoError(t, err)
	require.False(t, r.Duplicate)
	j := get(t, h.Store, r.ID)
	require.Equal(t, "mail", j.Kind)
	require.Equal(t, "mails", j.Queue)
	require.Equal(t, 3, j.Priority)
	require.Equal(t, at, j.RunAt)
	require.Equal(t, jobqueue.Unlimited, j.MaxAttempts)
	require.Equal(t, "z/1", j.UniqueKey)
	require.Equal(t, jobqueue.StateScheduled, j.State)
	require.Zero(t, j.Attempt)
	require.Empty(t, j.Errors)
	require.WithinDuration(t, time.Now(), j.CreatedAt, time.Minute)
	require.True(t, j.ClaimedAt.IsZero())
	require.True(t, j.FinishedAt.IsZero())
	require.JSONEq(t, `{"to":"Zoë <z@example.org>","big":12345678901234567890,"nul":"a\u0000b"}`, string(j.Args))

	r, err = c.Enqueue(t.Context(), jobqueue.Params{Kind: "mail"})
	require.NoError(t, err)
	j = get(t, h.Store, r.ID)
	require.Equal(t, jobqueue.StateWaiting, j.State)
	require.Equal(t, jobqueue.DefaultQueue, j.Queue)
	require.Equal(t, 2, j.Priority)
	require.Equal(t, 10, j.MaxAttempts)
	require.Equal(t, "null", string(j.Args))

	_, err = jobqueue.NewClient(h.Store).Get(t.Context(), r.ID+1000)
	require.ErrorIs(t, err, jobqueue.ErrNotFound)
}

func enqueueManyReturnsResultsInOrder(t *testing.T, h Harness) {
	ids := fill(t, h.Store, 1500, func(p *jobqueue.Params) {
		if p.Args.(args).N%3 == 0 {
			p.UniqueKey = fmt.Sprint("key ", p.Args.(args).N)
		}
	})
	for _, i := range []int{0, 1, 2, 3, 700, 1498, 1499} {
		require.JSONEq(t, fmt.Sprintf(`{"n":%d}`, i), string(get(t, h.Store, ids[i]).Args))
	}
	_, err := jobqueue.NewClient(h.Store).EnqueueMany(t.Context(),
		[]jobqueue.Params{{Kind: "work"}, {Kind: "work", Priority: 9}})
	require.ErrorContains(t, err, "job 2 of 2: jobqueue: priority 9")
	none, err := jobqueue.NewClient(h.Store).EnqueueMany(t.Context(), nil)
	require.NoError(t, err)
	require.Empty(t, none)
}

func uniqueUntilDone(t *testing.T, h Harness) {
	c := jobqueue.NewClient(h.Store)
	p := jobqueue.Params{Kind: "work", Args: args{1}, UniqueKey: "k"}
	first, err := c.Enqueue(t.Context(), p)
	require.NoError(t, err)
	again, err := c.Enqueue(t.Context(), p)
	require.NoError(t, err)
	require.Equal(t, jobqueue.InsertResult{ID: first.ID, Duplicate: true}, again)

	other, err := c.Enqueue(t.Context(), jobqueue.Params{Kind: "other", UniqueKey: "k"})
	require.NoError(t, err)
	require.False(t, other.Duplicate, "a key belongs to its kind")
	require.NoError(t, jobqueue.NewClient(h.Store).Cancel(t.Context(), other.ID))

	w := register(t, h.Store, never)
	jobs := claim(t, h.Store, w, "default", 10)
	require.Len(t, jobs, 1)
	again, err = c.Enqueue(t.Context(), p)
	require.NoError(t, err)
	require.True(t, again.Duplicate, "the key is held while the job runs")

	require.Empty(t, record(t, h.Store, w, result(jobs[0], driver.Complete)))
	again, err = c.Enqueue(t.Context(), p)
	require.NoError(t, err)
	require.False(t, again.Duplicate, "the key is free when the job is done")
}

func uniqueUntilStarted(t *testing.T, h Harness) {
	c := jobqueue.NewClient(h.Store)
	p := jobqueue.Params{Kind: "work", Args: args{1}, UniqueKey: "k", UniqueUntilStarted: true}
	first, err := c.Enqueue(t.Context(), p)
	require.NoError(t, err)
	again, err := c.Enqueue(t.Context(), p)
	require.NoError(t, err)
	require.Equal(t, jobqueue.InsertResult{ID: first.ID, Duplicate: true}, again)

	w := register(t, h.Store, never)
	jobs := claim(t, h.Store, w, "default", 10)
	require.Len(t, jobs, 1)
	again, err = c.Enqueue(t.Context(), p)
	require.NoError(t, err)
	require.False(t, again.Duplicate, "the key is free when the job has started")

	// The first one can still return to the queue.
	require.Empty(t, record(t, h.Store, w, result(jobs[0], driver.Reschedule)))
	require.Len(t, claim(t, h.Store, w, "default", 10), 2)
}

func uniqueWithinOneCall(t *testing.T, h Harness) {
	c := jobqueue.NewClient(h.Store)
	held, err := c.Enqueue(t.Context(), jobqueue.Params{Kind: "work", UniqueKey: "held"})
	require.NoError(t, err)
	rs, err := c.EnqueueMany(t.Context(), []jobqueue.Params{
		{Kind: "work", UniqueKey: "a"}, {Kind: "work"}, {Kind: "work", UniqueKey: "held"},
		{Kind: "work", UniqueKey: "a"},
	})
	require.NoError(t, err)
	require.False(t, rs[0].Duplicate)
	require.False(t, rs[1].Duplicate)
	require.Equal(t, jobqueue.InsertResult{ID: held.ID, Duplicate: true}, rs[2])
	require.Equal(t, jobqueue.InsertResult{ID: rs[0].ID, Duplicate: true}, rs[3])
	require.NotEqual(t, rs[0].ID, rs[1].ID)
}

func uniqueUnderConcurrency(t *testing.T, h Harness) {
	c := jobqueue.NewClient(h.Store)
	var mu sync.Mutex
	created := map[int64]int{}
	all := map[int64]bool{}
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 10 {
				r, err := c.Enqueue(t.Context(), jobqueue.Params{Kind: "work", UniqueKey: "the one"})
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				all[r.ID] = true
				if !r.Duplicate {
					created[r.ID]++
				}
				mu.Unlock()
			}
		})
	}
	group.Wait()
	require.Len(t, created, 1)
	require.Len(t, all, 1)
}

func transactionCommitsOrNot(t *testing.T, h Harness) {
	require.NotEmpty(t, h.InTx)
	for name, inTx := range h.InTx {
		var id int64
		enqueue := func(tx Tx) error {
			rs, err := tx.Enqueue(jobqueue.Params{Kind: "work", UniqueKey: name}, jobqueue.Params{Kind: "work"})
			if err != nil {
				return err
			}
			id = rs[0].ID
			return nil
		}
		err := inTx(t.Context(), func(tx Tx) error {
			if err := enqueue(tx); err != nil {
				return err
			}
			return errTest
		})
		require.ErrorIs(t, err, errTest, name)
		_, err = h.Store.Get(t.Context(), id)
		require.ErrorIs(t, err, jobqueue.ErrNotFound, name)

		require.NoError(t, inTx(t.Context(), enqueue), name)
		require.Equal(t, jobqueue.StateWaiting, get(t, h.Store, id).State)
		require.NoError(t, inTx(t.Context(), func(tx Tx) error {
			rs, err := tx.Enqueue(jobqueue.Params{Kind: "work", UniqueKey: name})
			require.Equal(t, []jobqueue.InsertResult{{ID: id, Duplicate: true}}, rs, name)
			return err
		}))
	}
}

func concurrentSinglesAllArrive(t *testing.T, h Harness) {
	c := jobqueue.NewClient(h.Store)
	var group sync.WaitGroup
	for range 16 {
		group.Go(func() {
			for range 25 {
				if _, err := c.Enqueue(t.Context(), jobqueue.Params{Kind: "work"}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := c.Enqueue(ctx, jobqueue.Params{Kind: "work"})
	require.ErrorIs(t, err, context.Canceled)
	require.Len(t, claim(t, h.Store, register(t, h.Store, never), "default", 1000), 400)
}

func priorityThenTimeThenID(t *testing.T, h Harness) {
	c := jobqueue.NewClient(h.Store)
	past := time.Now().Add(-time.Hour)
	var want []int64
	for _, p := range []jobqueue.Params{
		{Kind: "work", Priority: 1, RunAt: past.Add(2 * time.Second)},
		{Kind: "work", Priority: 2, RunAt: past},
		{Kind: "work", Priority: 2, RunAt: past.Add(time.Second)},
		{Kind: "work", Priority: 2, RunAt: past.Add(time.Second)},
		{Kind: "work", Priority: 4, RunAt: past.Add(-time.Hour)},
	} {
		r, err := c.Enqueue(t.Context(), p)
		require.NoError(t, err)
		want = append(want, r.ID)
	}
	_, err := c.Enqueue(t.Context(), jobqueue.Params{Kind: "work", Queue: "another", Priority: 1})
	require.NoError(t, err)
	w := register(t, h.Store, never)
	var got []int64
	for range len(want) {
		jobs := claim(t, h.Store, w, "default", 1)
		require.Len(t, jobs, 1)
		got = append(got, jobs[0].ID)
	}
	require.Equal(t, want, got)
	require.Empty(t, claim(t, h.Store, w, "default", 1))
}

func scheduledJobsAreNotClaimedEarly(t *testing.T, h Harness) {
	w := register(t, h.Store, never)
	fill(t, h.Store, 3, func(p *jobqueue.Params) { p.RunAt = time.Now().Add(time.Hour); p.Priority = 1 })
	fill(t, h.Store, 1, func(p *jobqueue.Params) { p.RunAt = time.Now().Add(30 * time.Minute); p.Priority = 4 })
	res, err := h.Store.Exchange(t.Context(), driver.ExchangeRequest{
		Worker: w, LookAhead: true, Claims: []driver.ClaimRequest{{Queue: "default", Limit: 5},
			{Queue: "empty", Limit: 5}},
	})
	require.NoError(t, err)
	require.Empty(t, res.Jobs)
	require.InDelta(t, 30*time.Minute, res.Next, float64(time.Minute))
}

func farTimesKeepTheirPlace(t *testing.T, h Harness) {
	year := func(y int) time.Time { return time.Date(y, 1, 1, 0, 0, 1, 0, time.UTC) }
	past := []time.Time{year(1), year(1492), year(1969), time.Unix(0, 0).UTC(), year(1999)}
	for _, at := range past {
		fill(t, h.Store, 1, func(p *jobqueue.Params) { p.RunAt = at })
	}
	end := time.Date(9999, 12, 31, 23, 59, 59, 999999000, time.UTC)
	last := fill(t, h.Store, 1, func(p *jobqueue.Params) { p.RunAt = end; p.Priority = 3 })[0]
	require.Equal(t, end, get(t, h.Store, last).RunAt)
	stats, err := h.Store.Stats(t.Context())
	require.NoError(t, err)
	require.Len(t, stats.Queues, 1)
	require.Equal(t, len(past), stats.Queues[0].Waiting)
	require.Less(t, stats.Queues[0].Oldest, time.Minute, "a job does not wait before it is enqueued")

	w := register(t, h.Store, never)
	look := func() driver.ExchangeResponse {
		res, err := h.Store.Exchange(t.Context(),
			driver.ExchangeRequest{Worker: w, LookAhead: true,
				Claims: []driver.ClaimRequest{{Queue: "default", Limit: 10}}})
		require.NoError(t, err)
		return res
	}
	res := look()
	require.Greater(t, res.Next, 200*365*24*time.Hour)
	var got []time.Time
	for _, j := range res.Jobs {
		got = append(got, j.RunAt)
		require.Equal(t, j.RunAt, get(t, h.Store, j.ID).RunAt)
	}
	require.ElementsMatch(t, past, got)

	fill(t, h.Store, 1, func(p *jobqueue.Params) { p.RunAt = time.Now().Add(time.Hour); p.Priority = 2 })
	require.InDelta(t, time.Hour, look().Next, float64(time.Minute), "not hidden by the later one")
}

func metaStaysWithTheJob(t *testing.T, h Harness) {
	c := jobqueue.NewClient(h.Store)
	meta := map[string]string{"trace": "00-1", "who": "Zoë \x00 <z>"}
	ids := fill(t, h.Store, 3, func(p *jobqueue.Params) {
		if p.Args.(args).N > 0 {
			p.Meta = meta
		}
	})
	one, err := c.Enqueue(t.Context(), jobqueue.Params{Kind: "work", Meta: meta})
	require.NoError(t, err)
	require.Nil(t, get(t, h.Store, ids[0]).Meta)
	w := register(t, h.Store, never)
	for _, j := range claim(t, h.Store, w, "default", 10) {
		if j.ID == ids[0] {
			require.Nil(t, j.Meta)
			continue
		}
		require.Equal(t, meta, j.Meta)
		action := driver.Fail
		if j.ID == one.ID {
			action = driver.Complete
		}
		require.Empty(t, record(t, h.Store, w, result(j, action)))
		require.Equal(t, meta, get(t, h.Store, j.ID).Meta, "in the history")
	}
	require.NoError(t, c.Retry(t.Context(), ids[1]))
	n, _, err := c.RetryMany(t.Context(), jobqueue.Filter{State: jobqueue.StateFailed})
	require.NoError(t, err)
	require.Equal(t, 1, n)
	for _, id := range ids[1:] {
		require.Equal(t, meta, get(t, h.Store, id).Meta, "retried")
	}
	long := map[string]string{"x": strings.Repeat("x", 8192)}
	_, err = c.Enqueue(t.Context(), jobqueue.Params{Kind: "work", Meta: long})
	require.ErrorContains(t, err, "Meta of kind")
}
