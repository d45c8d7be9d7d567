package queuetest

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/jobqueue"
	"lessonkit.example/jobqueue/driver"
)

// The jobs of one claim have nothing of one another, also where some have no value. Results of lost
// and current leases may come together.
func jobsOfAClaimAreIndependent(t *testing.T, h Harness) {
	var ids []int64
	kinds := []string{"work"}
	for i := range 12 {
		p := jobqueue.Params{Queue: "a", Kind: "work", Args: args{i}}
		if i%3 != 0 {
			name := strings.Repeat("x", i)
			p.Queue, p.Kind, p.Priority, p.MaxAttempts = "b", "kind "+name, 1+i%4, i
			p.LimitKey, p.Group, p.Meta = name, "group "+name, map[string]string{"name": name}
		}
		ids, kinds = append(ids, enqueue(t, h.Store, p)), append(kinds, p.Kind)
	}
	kinds = slices.Compact(slices.Sorted(slices.Values(kinds)))
	claims := []driver.ClaimRequest{{Queue: "a", Limit: 100}, {Queue: "b", Limit: 100}}
	w := register(t, h.Store, never)
	claimAll := func() []*driver.Job {
		res := exchange(t, h.Store, driver.ExchangeRequest{Worker: w, Kinds: kinds, Claims: claims})
		require.Len(t, res.Jobs, len(ids))
		for _, j := range res.Jobs {
			want := get(t, h.Store, j.ID)
			want.Errors = nil // only Get returns them
			want.Row = j.Row  // only Exchange does
			require.Equal(t, want, j)
		}
		return res.Jobs
	}
	var states []driver.Saved
	var first []driver.Result
	for i, j := range claimAll() {
		first = append(first, result(j, driver.Complete))
		if i%2 == 0 {
			state := json.RawMessage(`"` + strings.Repeat("s", i) + `"`)
			states = append(states, driver.Saved{Lease: first[i].Lease, State: state})
		}
	}
	require.NoError(t, h.Store.Save(t.Context(), w, states))
	_, err := h.Store.Release(t.Context(), w, []driver.Lease{}, false)
	require.NoError(t, err)
	claimAll() // finds what was saved
	second := result(get(t, h.Store, ids[0]), driver.Complete)
	lost := record(t, h.Store, w, first[1], second, first[2])
	require.ElementsMatch(t, []int64{first[1].ID, first[2].ID}, lost)
}

// A claim returns only as many jobs as fit into memory, and counts the others.
func largeJobsAreClaimedInParts(t *testing.T, h Harness) {
	const n, fit = 40, 32
	large := strings.Repeat("x", driver.MaxExchangeBytes/fit-2) // and two quotes
	for range n {
		// All in one statement take longer than one may on a busy machine.
		enqueue(t, h.Store, jobqueue.Params{Kind: "work", Args: large})
	}
	w := register(t, h.Store, never)
	res := exchange(t, h.Store, driver.ExchangeRequest{Worker: w, Kinds: kinds,
		Claims: []driver.ClaimRequest{{Queue: "default", Limit: n}}})
	require.Len(t, res.Jobs, fit)
	require.Equal(t, n-fit, res.Excess)
	released, err := h.Store.Release(t.Context(), w, nil, true)
	require.NoError(t, err)
	require.Equal(t, n, released)
}

func fenceDecidesWhoCompletes(t *testing.T, h Harness) {
	fill(t, h.Store, 1)
	w := register(t, h.Store, never)
	j := claim(t, h.Store, w, "default", 1)[0]
	require.Equal(t, 1, j.Fence)
	require.Equal(t, 1, j.Attempt)
	wrong := result(j, driver.Complete)
	wrong.Fence++
	require.Equal(t, []int64{j.ID}, record(t, h.Store, w, wrong))
	require.Equal(t, []int64{j.ID}, record(t, h.Store, w+1, result(j, driver.Complete)), "another worker")
	require.Equal(t, driver.StateRunning, get(t, h.Store, j.ID).State)
	require.Empty(t, record(t, h.Store, w, result(j, driver.Complete)))
	require.Equal(t, []int64{j.ID}, record(t, h.Store, w, result(j, driver.Complete)), "twice")
	done := get(t, h.Store, j.ID)
	require.Equal(t, driver.StateSucceeded, done.State)
	require.Equal(t, 1, done.Attempt)
	require.False(t, done.FinishedAt.IsZero())
}

// A process may be suspended for so long that others rescue its jobs, and then continue.
func suspendedWorkerIsIgnored(t *testing.T, h Harness) {
	ids := fill(t, h.Store, 3)
	suspended := register(t, h.Store, never)
	late := claim(t, h.Store, suspended, "default", 3)
	require.Len(t, late, 3)
	die(t, h.Store, suspended)
	rescue(t, h.Store, 3)
	require.Empty(t, stats(t, h.Store).Workers)
	require.Empty(t, claim(t, h.Store, suspended, "default", 3))
	// Nobody has claimed the jobs yet, and still its results are ignored.
	require.Len(t, record(t, h.Store, suspended, result(late[0], driver.Complete), result(late[1], driver.Fail),
		result(late[2], driver.Reschedule)), 3)
	w := register(t, h.Store, never)
	again := claim(t, h.Store, w, "default", 3)
	require.Len(t, again, 3)
	require.Len(t, record(t, h.Store, suspended, result(late[0], driver.Complete)), 1)
	for _, j := range again {
		require.Greater(t, j.Fence, late[0].Fence)
		require.Empty(t, record(t, h.Store, w, result(j, driver.Complete)))
	}
	for _, id := range ids {
		j := get(t, h.Store, id)
		require.Equal(t, driver.StateSucceeded, j.State)
		require.Equal(t, 2, j.Attempt)
		require.Len(t, j.Errors, 1)
		require.WithinDuration(t, time.Now(), j.Errors[0].At, time.Minute)
		require.Equal(t, driver.AttemptError{Attempt: 1, At: j.Errors[0].At, Error: driver.LeaseExpired}, j.Errors[0])
	}
}

func heartbeatKeepsTheLease(t *testing.T, h Harness) {
	fill(t, h.Store, 2)
	w := register(t, h.Store, never)
	jobs := claim(t, h.Store, w, "default", 2)
	n, err := h.Store.Rescue(t.Context(), true)
	require.NoError(t, err)
	require.Zero(t, n)
	require.NoError(t, h.Store.Cancel(t.Context(), jobs[1].ID))
	require.True(t, get(t, h.Store, jobs[1].ID).Cancelling)
	cancelled, alive, err := h.Store.Heartbeat(t.Context(), w, time.Minute)
	require.NoError(t, err)
	require.True(t, alive)
	require.Equal(t, []int64{jobs[1].ID}, cancelled)
	_, alive, err = h.Store.Heartbeat(t.Context(), w+1, time.Minute)
	require.NoError(t, err)
	require.False(t, alive)
}

func rescueFindsOrphans(t *testing.T, h Harness) {
	fill(t, h.Store, 1)
	w := register(t, h.Store, never)
	j := claim(t, h.Store, w, "default", 1)[0]
	// Unregister the worker but keep its job, which no code path should do.
	_, err := h.Store.Release(t.Context(), w, []driver.Lease{{ID: j.ID, Fence: j.Fence}}, true)
	require.NoError(t, err)
	require.Equal(t, driver.StateRunning, get(t, h.Store, j.ID).State)
	for want, orphans := range []bool{false, true} {
		n, err := h.Store.Rescue(t.Context(), orphans)
		require.NoError(t, err)
		require.Equal(t, want, n)
	}
	require.Equal(t, driver.StateWaiting, get(t, h.Store, j.ID).State)
}

func releaseKeepsNamedLeases(t *testing.T, h Harness) {
	fill(t, h.Store, 4)
	w := register(t, h.Store, never)
	jobs := claim(t, h.Store, w, "default", 3)
	n, err := h.Store.Release(t.Context(), w,
		[]driver.Lease{{ID: jobs[0].ID, Fence: jobs[0].Fence}, {ID: jobs[1].ID, Fence: 99}}, false)
	require.NoError(t, err)
	require.Equal(t, 2, n)
	require.Equal(t, driver.StateRunning, get(t, h.Store, jobs[0].ID).State)
	back := get(t, h.Store, jobs[1].ID)
	require.Equal(t, driver.StateWaiting, back.State)
	require.Zero(t, back.Attempt, "the attempt is not counted")
	require.Equal(t, jobs[1].RunAt, back.RunAt, "and it keeps its place in the queue")
	require.Len(t, record(t, h.Store, w, result(jobs[1], driver.Complete)), 1)
	n, err = h.Store.Release(t.Context(), w, nil, true)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.Empty(t, claim(t, h.Store, w, "default", 4), "the worker is unregistered")
}

func resultsOfEveryKind(t *testing.T, h Harness) {
	for _, saved := range []json.RawMessage{nil, json.RawMessage(`"state"`)} {
		resultsWith(t, h, saved)
	}
}

func resultsWith(t *testing.T, h Harness, saved json.RawMessage) {
	t.Helper()
	fill(t, h.Store, 6)
	w := register(t, h.Store, never)
	failure := driver.AttemptError{Attempt: 1, Error: "it's \"broken\" \u2028 \x01", Stack: "main.go:1"}
	cases := []struct {
		result  driver.Result
		state   driver.State // 0: the job is gone
		attempt int
	}{
		{driver.Result{Action: driver.Complete}, driver.StateSucceeded, 1},
		{driver.Result{Action: driver.Fail, Error: failure}, driver.StateFailed, 1},
		{driver.Result{Action: driver.Cancel}, driver.StateCancelled, 1},
		{driver.Result{Action: driver.Reschedule, Error: failure, Delay: time.Hour}, driver.StateScheduled, 1},
		{driver.Result{Action: driver.Reschedule, Uncounted: true}, driver.StateWaiting, 0},
		{driver.Result{Action: driver.Complete, Discard: true}, 0, 0},
	}
	var results []driver.Result
	for i, j := range claim(t, h.Store, w, "default", len(cases)) {
		cases[i].result.Lease, cases[i].result.Saved = driver.Lease{ID: j.ID, Fence: j.Fence}, saved
		results = append(results, cases[i].result)
	}
	require.Empty(t, record(t, h.Store, w, results...))
	for i, c := range cases {
		j, err := h.Store.Get(t.Context(), c.result.ID)
		if c.state == 0 {
			require.ErrorIs(t, err, jobqueue.ErrNotFound)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, c.state, j.State, "job %d", i)
		require.Equal(t, c.attempt, j.Attempt, "job %d", i)
		require.Equal(t, saved, j.Saved, "job %d", i)
		if c.result.Error.Error == "" {
			require.Empty(t, j.Errors, "job %d", i)
			continue
		}
		require.Len(t, j.Errors, 1, "job %d", i)
		require.WithinDuration(t, time.Now(), j.Errors[0].At, time.Minute)
		j.Errors[0].At = time.Time{}
		require.Equal(t, failure, j.Errors[0])
		if c.result.Delay > 0 {
			require.WithinDuration(t, time.Now().Add(c.result.Delay), j.RunAt, time.Minute)
		}
	}
}

// The response may be lost after the commit, so the worker sends the results again.
func rescheduleTwiceCountsOnce(t *testing.T, h Harness) {
	id := fill(t, h.Store, 1)[0]
	w := register(t, h.Store, never)
	r := result(claim(t, h.Store, w, "default", 1)[0], driver.Reschedule)
	r.Uncounted, r.Error = true, driver.AttemptError{Attempt: 1, Error: "once"}
	require.Empty(t, record(t, h.Store, w, r))
	require.Len(t, record(t, h.Store, w, r), 1)
	j := get(t, h.Store, id)
	require.Zero(t, j.Attempt)
	require.Len(t, j.Errors, 1)
	require.Equal(t, r.Fence, j.Fence, "so that the worker can see that its result was recorded")
}

func cursorSkipsOnlyThePast(t *testing.T, h Harness) {
	at := time.Now().Add(-time.Hour).UTC().Truncate(time.Microsecond)
	ids := fill(t, h.Store, 3, runAt(at), func(p *jobqueue.Params) {
		if p.Args.(args).N == 2 {
			p.Priority = 3
		}
	})
	w := register(t, h.Store, never)
	claim := func(marks [4]driver.Cursor) (got []int64) {
		res := exchange(t, h.Store, driver.ExchangeRequest{Worker: w, Kinds: kinds, Claims: []driver.ClaimRequest{
			{Queue: "other", Limit: 1}, {Queue: "default", Limit: 10, After: marks},
		}})
		for _, j := range res.Jobs {
			got = append(got, j.ID)
		}
		return got
	}
	var marks [4]driver.Cursor
	marks[1] = driver.Cursor{RunAt: at, ID: ids[0]}
	marks[2] = driver.Cursor{RunAt: at, ID: ids[2]}
	require.Equal(t, []int64{ids[1]}, claim(marks))
	require.ElementsMatch(t, []int64{ids[0], ids[2]}, claim([4]driver.Cursor{}))
}

func errorHistoryIsBounded(t *testing.T, h Harness) {
	id := fill(t, h.Store, 1, maxAttempts(jobqueue.Unlimited))[0]
	w := register(t, h.Store, never)
	for i := range 103 {
		r := result(claim(t, h.Store, w, "default", 1)[0], driver.Reschedule)
		r.Error = driver.AttemptError{Attempt: i + 1, Error: "again"}
		require.Empty(t, record(t, h.Store, w, r))
	}
	j := get(t, h.Store, id)
	require.Len(t, j.Errors, 100)
	require.Equal(t, 4, j.Errors[0].Attempt)
	require.Equal(t, 103, j.Errors[99].Attempt)
}

// Statements append to the array, and could not rescue any job if one had no array.
func errorsAreAlwaysAnArray(t *testing.T, h Harness) {
	fill(t, h.Store, 1)
	require.Error(t, h.Exec(t.Context(), `update jobqueue_job set errors = '{"not": "an array"}'`))
	require.NoError(t, h.Exec(t.Context(), `update jobqueue_job set errors = '[]'`))
}
