package queuetest

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/jobqueue"
	"lessonkit.example/jobqueue/driver"
)

func enqueueKeepsEveryField(t *testing.T, h Harness) {
	at := time.Now().Add(time.Hour).UTC().Truncate(time.Microsecond)
	id := enqueue(t, h.Store, jobqueue.Params{
		Kind: "mail", Args: map[string]any{"to": "Zoë <z@example.org>", "big": json.Number("12345678901234567890"),
			"nul": "a\x00b"},
		Queue: "mails", Priority: 3, RunAt: at, MaxAttempts: jobqueue.Unlimited, UniqueKey: "z/1",
	})
	j := get(t, h.Store, id)
	require.JSONEq(t, `{"to":"Zoë <z@example.org>","big":12345678901234567890,"nul":"a\u0000b"}`, string(j.Args))
	require.WithinDuration(t, time.Now(), j.CreatedAt, time.Minute)
	require.Equal(t, &driver.Job{ID: id, Kind: "mail", Queue: "mails", Priority: 3, RunAt: at, UniqueKey: "z/1",
		MaxAttempts: jobqueue.Unlimited, State: driver.StateScheduled, Errors: []driver.AttemptError{},
		CreatedAt: j.CreatedAt, Args: j.Args}, j)
	_, err := jobqueue.NewClient(h.Store).Get(t.Context(), id+1000)
	require.ErrorIs(t, err, jobqueue.ErrNotFound)
}

func enqueueManyReturnsResultsInOrder(t *testing.T, h Harness) {
	metas := map[int]map[string]string{}
	ids := fill(t, h.Store, 1500, func(p *jobqueue.Params) {
		n := p.Args.(args).N
		switch n % 3 {
		case 0:
			p.UniqueKey = fmt.Sprint("key ", n)
		case 1:
			p.Meta = map[string]string{"n": fmt.Sprint(n)}
		}
		metas[n] = p.Meta
	})
	for _, i := range []int{0, 1, 2, 3, 700, 1498, 1499} {
		j := get(t, h.Store, ids[i])
		require.JSONEq(t, fmt.Sprintf(`{"n":%d}`, i), string(j.Args))
		require.Equal(t, metas[i], j.Meta)
	}
	none, err := jobqueue.NewClient(h.Store).EnqueueMany(t.Context(), nil)
	require.NoError(t, err)
	require.Empty(t, none)
}

func uniqueKeyIsHeldAndFreed(t *testing.T, h Harness) {
	c := jobqueue.NewClient(h.Store)
	p := jobqueue.Params{Kind: "work", UniqueKey: "k"}
	first := enqueue(t, h.Store, p)
	isDuplicate := func() {
		t.Helper()
		again, err := c.Enqueue(t.Context(), p)
		require.NoError(t, err)
		require.Equal(t, jobqueue.InsertResult{ID: first, Duplicate: true}, again)
	}
	isDuplicate()
	enqueue(t, h.Store, jobqueue.Params{Kind: "other", Queue: "other", UniqueKey: "k"}) // a key belongs to its kind
	w := register(t, h.Store, never)
	j := claim(t, h.Store, w, "default", 1)[0]
	isDuplicate() // while the job runs
	require.Empty(t, record(t, h.Store, w, result(j, driver.Complete)))
	enqueue(t, h.Store, p)
}

func uniqueWithinOneCall(t *testing.T, h Harness) {
	held := enqueue(t, h.Store, jobqueue.Params{Kind: "work", UniqueKey: "held"})
	rs, err := jobqueue.NewClient(h.Store).EnqueueMany(t.Context(), []jobqueue.Params{
		{Kind: "work", UniqueKey: "a"}, {Kind: "work"}, {Kind: "work", UniqueKey: "held"},
		{Kind: "work", UniqueKey: "a"},
	})
	require.NoError(t, err)
	require.Equal(t, []jobqueue.InsertResult{{ID: rs[0].ID}, {ID: rs[1].ID}, {ID: held, Duplicate: true},
		{ID: rs[0].ID, Duplicate: true}}, rs)
	require.NotEqual(t, rs[0].ID, rs[1].ID)
}

// Calls that insert the same keys in opposite orders wait for one another, but not both. The ids of
// a call have its order. Of calls that insert one job each, with the same key, one does.
func uniqueKeysInOppositeOrders(t *testing.T, h Harness) {
	c := jobqueue.NewClient(h.Store)
	for round := range 4 {
		ps := make([]jobqueue.Params, 1000)
		for i := range ps {
			ps[i] = jobqueue.Params{Kind: "work", UniqueKey: fmt.Sprint(round, (i*7)%len(ps))}
		}
		var group sync.WaitGroup
		var inserted atomic.Int64
		for range 2 {
			call := slices.Clone(ps)
			slices.Reverse(ps)
			group.Go(func() {
				results, err := c.EnqueueMany(t.Context(), call)
				if err != nil {
					t.Error(err)
				}
				results = slices.DeleteFunc(results, func(r jobqueue.InsertResult) bool { return r.Duplicate })
				inserted.Add(int64(len(results)))
				if !slices.IsSortedFunc(results,
					func(a, b jobqueue.InsertResult) int { return cmp.Compare(a.ID, b.ID) }) {
					t.Error("the ids do not have the order of the call")
				}
			})
		}
		for range 16 {
			group.Go(func() {
				r, err := c.Enqueue(t.Context(), jobqueue.Params{Kind: "other", UniqueKey: fmt.Sprint(round)})
				if err != nil {
					t.Error(err)
				}
				if !r.Duplicate {
					inserted.Add(1)
				}
			})
		}
		group.Wait()
		require.EqualValues(t, len(ps)+1, inserted.Load())
	}
}

func transactionCommitsOrNot(t *testing.T, h Harness) {
	require.NotEmpty(t, h.InTx)
	for name, inTx := range h.InTx {
		var id int64
		both := func(tx Tx) error {
			rs, err := tx.Enqueue(jobqueue.Params{Kind: "work", UniqueKey: name}, jobqueue.Params{Kind: "work"})
			if err == nil {
				id = rs[0].ID
			}
			return err
		}
		err := inTx(t.Context(), func(tx Tx) error {
			require.NoError(t, both(tx), name)
			return errTest
		})
		require.ErrorIs(t, err, errTest, name)
		_, err = h.Store.Get(t.Context(), id)
		require.ErrorIs(t, err, jobqueue.ErrNotFound, name)

		require.NoError(t, inTx(t.Context(), both), name)
		require.Equal(t, driver.StateWaiting, get(t, h.Store, id).State)
		require.NoError(t, inTx(t.Context(), func(tx Tx) error {
			rs, err := tx.Enqueue(jobqueue.Params{Kind: "work", UniqueKey: name})
			require.Equal(t, []jobqueue.InsertResult{{ID: id, Duplicate: true}}, rs, name)
			return err
		}))
	}
}

func priorityThenTimeThenID(t *testing.T, h Harness) {
	past := time.Now().Add(-time.Hour)
	var want []int64
	for _, p := range []jobqueue.Params{
		{Kind: "work", Priority: 1, RunAt: past.Add(2 * time.Second)},
		{Kind: "work", Priority: 2, RunAt: past},
		{Kind: "work", Priority: 2, RunAt: past.Add(time.Second)},
		{Kind: "work", Priority: 2, RunAt: past.Add(time.Second)},
		{Kind: "work", Priority: 4, RunAt: past.Add(-time.Hour)},
	} {
		want = append(want, enqueue(t, h.Store, p))
	}
	enqueue(t, h.Store, jobqueue.Params{Kind: "work", Queue: "another", Priority: 1})
	enqueue(t, h.Store, jobqueue.Params{Kind: "work", Priority: 1, RunAt: time.Now().Add(time.Hour)})
	w := register(t, h.Store, never)
	for _, id := range want {
		jobs := claim(t, h.Store, w, "default", 1)
		require.Len(t, jobs, 1)
		require.Equal(t, id, jobs[0].ID)
	}
	require.Empty(t, claim(t, h.Store, w, "default", 1))
}

// Times before 1970 and at the end of year 9999 have their place, and the next one is found.
func farTimesKeepTheirPlace(t *testing.T, h Harness) {
	year := func(y int) time.Time { return time.Date(y, 1, 1, 0, 0, 1, 0, time.UTC) }
	past := []time.Time{year(1), year(1492), year(1969), time.Unix(0, 0).UTC(), year(1999)}
	for _, at := range past {
		fill(t, h.Store, 1, runAt(at))
	}
	end := time.Date(9999, 12, 31, 23, 59, 59, 999999000, time.UTC)
	last := fill(t, h.Store, 1, runAt(end), func(p *jobqueue.Params) { p.Priority = 3 })[0]
	require.Equal(t, end, get(t, h.Store, last).RunAt)
	q := stats(t, h.Store).Queues[0]
	require.Equal(t, len(past), q.Waiting)
	require.Less(t, q.Oldest, time.Minute, "a job does not wait before it is enqueued")

	w := register(t, h.Store, never)
	look := func() driver.ExchangeResponse {
		return exchange(t, h.Store, driver.ExchangeRequest{Worker: w, LookAhead: true, Kinds: kinds,
			Claims: []driver.ClaimRequest{{Queue: "default", Limit: 10}, {Queue: "empty", Limit: 10}}})
	}
	res := look()
	require.Greater(t, res.Next, 200*365*24*time.Hour)
	var got []time.Time
	for _, j := range res.Jobs {
		got = append(got, j.RunAt)
	}
	require.ElementsMatch(t, past, got)
	fill(t, h.Store, 1, runAt(time.Now().Add(time.Hour)))
	res = look()
	require.Empty(t, res.Jobs)
	require.InDelta(t, time.Hour, res.Next, float64(time.Minute), "not hidden by the later one")
}

type contextKey struct{}

// OnEnqueue is for the configuration of the stores.
func OnEnqueue(ctx context.Context, ps []jobqueue.Params) error {
	request, ok := ctx.Value(contextKey{}).(string)
	for i := 0; ok && i < len(ps); i++ {
		ps[i].Meta["request"] = request
	}
	if request == "refused" {
		return errTest
	}
	return nil
}

// The hook may attach Meta to copies of the caller's jobs, and its error prevents all.
func hookSeesEveryWayToEnqueue(t *testing.T, h Harness) {
	given := []jobqueue.Params{{Kind: "work"}, {Kind: "work", Meta: map[string]string{"own": "1"}}}
	ways := map[string]func(ctx context.Context) ([]jobqueue.InsertResult, error){
		"client": func(ctx context.Context) ([]jobqueue.InsertResult, error) {
			return jobqueue.NewClient(h.Store).EnqueueMany(ctx, given)
		},
	}
	for name, inTx := range h.InTx {
		ways[name] = func(ctx context.Context) (rs []jobqueue.InsertResult, err error) {
			err = inTx(ctx, func(tx Tx) (err error) { rs, err = tx.Enqueue(given...); return err })
			return rs, err
		}
	}
	for name, way := range ways {
		_, err := way(context.WithValue(t.Context(), contextKey{}, "refused"))
		require.ErrorIs(t, err, errTest, name)
		rs, err := way(context.WithValue(t.Context(), contextKey{}, name))
		require.NoError(t, err)
		require.Equal(t, map[string]string{"request": name}, get(t, h.Store, rs[0].ID).Meta)
		require.Equal(t, map[string]string{"request": name, "own": "1"}, get(t, h.Store, rs[1].ID).Meta)
	}
	require.Nil(t, given[0].Meta, "the caller's are not changed")
	require.Len(t, given[1].Meta, 1)
	require.Equal(t, 2*len(ways), count(t, h, jobqueue.Filter{State: jobqueue.StateWaiting}))
}
