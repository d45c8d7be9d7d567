package queuetest

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/jobqueue"
	"lessonkit.example/jobqueue/driver"
)

var leaseTests = map[string]func(*testing.T, Harness){
	"FenceDecidesWhoCompletes":          fenceDecidesWhoCompletes,
	"ZombieClaimsNothing":               zombieClaimsNothing,
	"ZombieRecordsNothing":              zombieRecordsNothing,
	"HeartbeatKeepsTheLease":            heartbeatKeepsTheLease,
	"RescueKeepsErrorsAndExhaustedJobs": rescueKeepsErrorsAndExhaustedJobs,
	"RescueFindsOrphans":                rescueFindsOrphans,
	"ReleaseKeepsNamedLeases":           releaseKeepsNamedLeases,
	"ResultsOfEveryKind":                resultsOfEveryKind,
	"RescheduleTwiceCountsOnce":         rescheduleTwiceCountsOnce,
	"CursorSkipsOnlyThePast":            cursorSkipsOnlyThePast,
	"LargeJobsAreClaimedInParts":        largeJobsAreClaimedInParts,
	"JobsOfAClaimAreIndependent":        jobsOfAClaimAreIndependent,
	"TwoWorkersNeverClaimTheSameJob":    twoWorkersNeverClaimTheSameJob,
	"CompleteTxRequiresTheLease":        completeTxRequiresTheLease,
	"CompleteTxRolledBackLeavesTheJob":  completeTxRolledBackLeavesTheJob,
	"ErrorHistoryIsBounded":             errorHistoryIsBounded,
}

// die expires the lease of a worker, as if it had died.
func die(t *testing.T, s driver.Store, worker int64) {
	t.Helper()
	_, alive, err := s.Heartbeat(t.Context(), worker, 0)
	require.NoError(t, err)
	require.True(t, alive)
}

// rescue rescues jobs until it has found want of them.
func rescue(t *testing.T, s driver.Store, want int) {
	t.Helper()
	total := 0
	poll(t, "rescue", func() bool {
		n, err := s.Rescue(t.Context(), false)
		require.NoError(t, err)
		total += n
		return total >= want
	})
	require.Equal(t, want, total)
}

// The jobs of one claim have nothing of one another, also where some have no value. Results of lost
// and current leases may come together.
func jobsOfAClaimAreIndependent(t *testing.T, h Harness) {
	client := jobqueue.NewClient(h.Store)
	var ids []int64
	for i := range 12 {
		p := jobqueue.Params{Queue: "a", Kind: "work", Args: args{i}}
		if i%3 != 0 {
			name := strings.Repeat("x", i)
			p.Queue, p.Kind, p.Priority, p.MaxAttempts = "b", "kind "+name, 1+i%4, i
			p.SerialKey, p.Group, p.Meta = name, "group "+name, map[string]string{"name": name}
		}
		result, err := client.Enqueue(t.Context(), p)
		require.NoError(t, err)
		ids = append(ids, result.ID)
	}
	claims := []driver.ClaimRequest{{Queue: "a", Limit: 100}, {Queue: "b", Limit: 100}}
	w := register(t, h.Store, never)
	var first []driver.Result
	for range 2 { // the second claim finds what was saved during the first
		res, err := h.Store.Exchange(t.Context(), driver.ExchangeRequest{Worker: w, Claims: claims})
		require.NoError(t, err)
		require.Len(t, res.Jobs, len(ids))
		for _, j := range portable(res) {
			want := get(t, h.Store, j.ID)
			want.Errors = nil // only Get returns them
			require.Equal(t, want, j)
		}
		if first != nil {
			break
		}
		var states []driver.Saved
		for i, j := range portable(res) {
			first = append(first, result(j, driver.Complete))
			if i%2 == 0 {
				state := json.RawMessage(`"` + strings.Repeat("s", i) + `"`)
				states = append(states, driver.Saved{Lease: first[i].Lease, State: state})
			}
		}
		require.NoError(t, h.Store.Save(t.Context(), w, states))
		_, err = h.Store.Release(t.Context(), w, []driver.Lease{}, false)
		require.NoError(t, err)
	}
	second := result(get(t, h.Store, ids[0]), driver.Complete)
	lost := record(t, h.Store, w, first[1], second, first[2])
	require.ElementsMatch(t, []int64{first[1].ID, first[2].ID}, lost)
}

// A claim returns only as many jobs as fit into memory, and the worker releases the others.
func largeJobsAreClaimedInParts(t *testing.T, h Harness) {
	const n, size = 40, driver.MaxExchangeBytes / 32
	argument := strings.Repeat("x", size-2) // and two quotes
	ids := fill(t, h.Store, n, func(p *jobqueue.Params) { p.Args = argument })
	w := register(t, h.Store, never)
	x := driver.ExchangeRequest{Worker: w, Claims: []driver.ClaimRequest{{Queue: "default", Limit: n}}}
	res, err := h.Store.Exchange(t.Context(), x)
	require.NoError(t, err)
	require.Len(t, res.Jobs, 32)
	require.Equal(t, n-32, res.Excess)
	released, err := h.Store.Release(t.Context(), w, nil, true)
	require.NoError(t, err)
	require.Equal(t, n, released)

	cfg := jobqueue.WorkerConfig{Queues: map[string]jobqueue.QueueConfig{"default": {MaxWorkers: n}}, Lease: never}
	r := start(t, h.Store, cfg, func(w *jobqueue.Worker) {
		jobqueue.Handle(w, "work", func(_ context.Context, _ *jobqueue.Job, a string) error {
			if a != argument {
				return errTest
			}
			return nil
		})
	})
	for range ids {
		r.next(jobqueue.EventSucceeded)
	}
	r.wait()
	for _, id := range ids {
		require.Equal(t, 1, get(t, h.Store, id).Attempt)
	}
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
	require.Equal(t, jobqueue.StateRunning, get(t, h.Store, j.ID).State)
	require.Empty(t, record(t, h.Store, w, result(j, driver.Complete)))
	require.Equal(t, []int64{j.ID}, record(t, h.Store, w, result(j, driver.Complete)), "twice")
	done := get(t, h.Store, j.ID)
	require.Equal(t, jobqueue.StateSucceeded, done.State)
	require.Equal(t, 1, done.Attempt)
	require.False(t, done.FinishedAt.IsZero())
}

// A process may be suspended for so long that others remove its worker, and then continue to claim.
func zombieClaimsNothing(t *testing.T, h Harness) {
	fill(t, h.Store, 2)
	zombie := register(t, h.Store, never)
	die(t, h.Store, zombie)
	poll(t, "the worker's row is gone", func() bool {
		_, err := h.Store.Rescue(t.Context(), false)
		require.NoError(t, err)
		stats, err := h.Store.Stats(t.Context())
		require.NoError(t, err)
		return len(stats.Workers) == 0
	})
	require.Empty(t, claim(t, h.Store, zombie, "default", 2))
	require.Len(t, claim(t, h.Store, register(t, h.Store, never), "default", 2), 2)
}

func zombieRecordsNothing(t *testing.T, h Harness) {
	ids := fill(t, h.Store, 3)
	zombie := register(t, h.Store, never)
	late := claim(t, h.Store, zombie, "default", 3)
	require.Len(t, late, 3)
	die(t, h.Store, zombie)
	rescue(t, h.Store, 3)
	// Nobody has claimed the jobs yet, and still the zombie's results are ignored.
	require.Len(t, record(t, h.Store, zombie, result(late[0], driver.Complete), result(late[1], driver.Fail),
		result(late[2], driver.Reschedule)), 3)
	w := register(t, h.Store, never)
	again := claim(t, h.Store, w, "default", 3)
	require.Len(t, again, 3)
	require.NotEqual(t, late[0].Token(), again[0].Token())
	require.Len(t, record(t, h.Store, zombie, result(late[0], driver.Complete)), 1)
	for _, j := range again {
		require.Empty(t, record(t, h.Store, w, result(j, driver.Complete)))
	}
	for _, id := range ids {
		j := get(t, h.Store, id)
		require.Equal(t, jobqueue.StateSucceeded, j.State)
		require.Equal(t, 2, j.Attempt)
		require.Len(t, j.Errors, 1)
		require.Equal(t, "lease expired", j.Errors[0].Error)
		require.Equal(t, 1, j.Errors[0].Attempt)
		require.WithinDuration(t, time.Now(), j.Errors[0].At, time.Minute)
	}
}

func heartbeatKeepsTheLease(t *testing.T, h Harness) {
	fill(t, h.Store, 2)
	w := register(t, h.Store, never)
	jobs := claim(t, h.Store, w, "default", 2)
	n, err := h.Store.Rescue(t.Context(), true)
	require.NoError(t, err)
	require.Zero(t, n)
	cancelled, alive, err := h.Store.Heartbeat(t.Context(), w, time.Minute)
	require.NoError(t, err)
	require.True(t, alive)
	require.Empty(t, cancelled)
	require.NoError(t, h.Store.Cancel(t.Context(), jobs[1].ID))
	require.True(t, get(t, h.Store, jobs[1].ID).Cancelling)
	cancelled, alive, err = h.Store.Heartbeat(t.Context(), w, time.Minute)
	require.NoError(t, err)
	require.True(t, alive)
	require.Equal(t, []int64{jobs[1].ID}, cancelled)
	_, alive, err = h.Store.Heartbeat(t.Context(), w+1, time.Minute)
	require.NoError(t, err)
	require.False(t, alive)
}

func rescueKeepsErrorsAndExhaustedJobs(t *testing.T, h Harness) {
	id := fill(t, h.Store, 1, func(p *jobqueue.Params) { p.MaxAttempts = 1 })[0]
	dead := register(t, h.Store, never)
	claim(t, h.Store, dead, "default", 1)
	die(t, h.Store, dead)
	rescue(t, h.Store, 1)
	w := register(t, h.Store, never)
	jobs := claim(t, h.Store, w, "default", 1)
	require.Len(t, jobs, 1, "it is claimed once more, for its OnFailed callback")
	require.Equal(t, 2, jobs[0].Attempt)
	require.Empty(t, record(t, h.Store, w, result(jobs[0], driver.Fail)))
	j := get(t, h.Store, id)
	require.Equal(t, jobqueue.StateFailed, j.State)
	require.Equal(t, 1, j.Attempt, "the extra start is not counted")
	require.Len(t, j.Errors, 1)
}

func rescueFindsOrphans(t *testing.T, h Harness) {
	fill(t, h.Store, 1)
	w := register(t, h.Store, never)
	j := claim(t, h.Store, w, "default", 1)[0]
	// Unregister the worker but keep its job, which no code path should do.
	_, err := h.Store.Release(t.Context(), w, []driver.Lease{{ID: j.ID, Fence: j.Fence}}, true)
	require.NoError(t, err)
	require.Equal(t, jobqueue.StateRunning, get(t, h.Store, j.ID).State)
	n, err := h.Store.Rescue(t.Context(), false)
	require.NoError(t, err)
	require.Zero(t, n)
	n, err = h.Store.Rescue(t.Context(), true)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.Equal(t, jobqueue.StateWaiting, get(t, h.Store, j.ID).State)
}

func releaseKeepsNamedLeases(t *testing.T, h Harness) {
	fill(t, h.Store, 4)
	w := register(t, h.Store, never)
	jobs := claim(t, h.Store, w, "default", 3)
	n, err := h.Store.Release(t.Context(), w,
		[]driver.Lease{{ID: jobs[0].ID, Fence: jobs[0].Fence}, {ID: jobs[1].ID, Fence: 99}}, false)
	require.NoError(t, err)
	require.Equal(t, 2, n)
	require.Equal(t, jobqueue.StateRunning, get(t, h.Store, jobs[0].ID).State)
	back := get(t, h.Store, jobs[1].ID)
	require.Equal(t, jobqueue.StateWaiting, back.State)
	require.Zero(t, back.Attempt, "the attempt is not counted")
	require.Equal(t, jobs[1].RunAt, back.RunAt.UTC(), "and it keeps its place in the queue")
	require.Len(t, record(t, h.Store, w, result(jobs[1], driver.Complete)), 1)
	n, err = h.Store.Release(t.Context(), w, nil, true)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.Empty(t, claim(t, h.Store, w, "default", 4), "the worker is unregistered")
}

func resultsOfEveryKind(t *testing.T, h Harness) {
	ids := fill(t, h.Store, 6)
	w := register(t, h.Store, never)
	byID := map[int64]*jobqueue.Job{}
	for _, j := range claim(t, h.Store, w, "default", 6) {
		byID[j.ID] = j
	}
	failure := jobqueue.AttemptError{Attempt: 1, Error: "it's \"broken\" \u2028 \x01", Stack: "main.go:1"}
	o := make([]driver.Result, 6)
	for i, v := range []driver.Action{driver.Complete, driver.Fail, driver.Cancel, driver.Reschedule,
		driver.Reschedule, driver.Complete} {
		o[i] = result(byID[ids[i]], v)
	}
	o[1].Error, o[3].Error = driver.AttemptError(failure), driver.AttemptError(failure)
	o[3].Delay = time.Hour
	o[4].Uncounted = true
	o[5].Discard = true
	require.Empty(t, record(t, h.Store, w, o...))

	for i, want := range []struct {
		state   jobqueue.State
		attempt int
		errors  int
	}{
		{jobqueue.StateSucceeded, 1, 0}, {jobqueue.StateFailed, 1, 1}, {jobqueue.StateCancelled, 1, 0},
		{jobqueue.StateScheduled, 1, 1}, {jobqueue.StateWaiting, 0, 0},
	} {
		j := get(t, h.Store, ids[i])
		require.Equal(t, want.state, j.State, "job %d", i)
		require.Equal(t, want.attempt, j.Attempt, "job %d", i)
		require.Len(t, j.Errors, want.errors, "job %d", i)
		if want.errors > 0 {
			require.WithinDuration(t, time.Now(), j.Errors[0].At, time.Minute)
			j.Errors[0].At = time.Time{}
			require.Equal(t, failure, j.Errors[0])
		}
	}
	require.WithinDuration(t, time.Now().Add(time.Hour), get(t, h.Store, ids[3]).RunAt, time.Minute)
	_, err := h.Store.Get(t.Context(), ids[5])
	require.ErrorIs(t, err, jobqueue.ErrNotFound)
}

// The response may be lost after the commit, so the worker sends the results again.
func rescheduleTwiceCountsOnce(t *testing.T, h Harness) {
	id := fill(t, h.Store, 1)[0]
	w := register(t, h.Store, never)
	o := result(claim(t, h.Store, w, "default", 1)[0], driver.Reschedule)
	o.Uncounted, o.Error = true, driver.AttemptError{Attempt: 1, Error: "once"}
	require.Empty(t, record(t, h.Store, w, o))
	require.Len(t, record(t, h.Store, w, o), 1)
	j := get(t, h.Store, id)
	require.Zero(t, j.Attempt)
	require.Len(t, j.Errors, 1)
	require.Equal(t, o.Fence, j.Fence, "so that the worker can see that its result was recorded")
}

func cursorSkipsOnlyThePast(t *testing.T, h Harness) {
	at := time.Now().Add(-time.Hour).UTC().Truncate(time.Microsecond)
	ids := fill(t, h.Store, 3, func(p *jobqueue.Params) {
		p.RunAt = at
		if p.Args.(args).N == 2 {
			p.Priority = 3
		}
	})
	w := register(t, h.Store, never)
	claim := func(marks [4]driver.Cursor) (got []int64) {
		res, err := h.Store.Exchange(t.Context(), driver.ExchangeRequest{Worker: w, Claims: []driver.ClaimRequest{
			{Queue: "other", Limit: 1}, {Queue: "default", Limit: 10, After: marks},
		}})
		require.NoError(t, err)
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

func twoWorkersNeverClaimTheSameJob(t *testing.T, h Harness) {
	const jobs, workers = 600, 4
	fill(t, h.Store, jobs)
	got := make(chan int64, jobs*2)
	done := make(chan error, workers)
	for range workers {
		s := h.Again()
		w := register(t, s, time.Minute)
		go func() {
			for {
				res, err := s.Exchange(t.Context(),
					driver.ExchangeRequest{Worker: w, Claims: []driver.ClaimRequest{{Queue: "default", Limit: 7}}})
				for _, j := range res.Jobs {
					got <- j.ID
				}
				// Rows that another claim has locked are skipped, so only an empty queue ends the
				// test.
				if stats, _ := s.Stats(t.Context()); err != nil || len(res.Jobs) == 0 && len(stats.Queues) == 1 &&
					stats.Queues[0].Waiting == 0 {
					done <- err
					return
				}
			}
		}()
	}
	for range workers {
		require.NoError(t, receive(t, done))
	}
	close(got)
	seen := map[int64]bool{}
	for id := range got {
		require.False(t, seen[id], "job %d was claimed twice", id)
		seen[id] = true
	}
	require.Len(t, seen, jobs)
}

func completeTxRequiresTheLease(t *testing.T, h Harness) {
	for name, inTx := range h.InTx {
		id := fill(t, h.Store, 1)[0]
		w := register(t, h.Store, never)
		j := claim(t, h.Store, w, "default", 1)[0]
		require.NoError(t, inTx(t.Context(), func(tx Tx) error { return tx.Complete(j) }), name)
		require.Equal(t, jobqueue.StateSucceeded, get(t, h.Store, id).State, name)
		require.ErrorIs(t, inTx(t.Context(), func(tx Tx) error { return tx.Complete(j) }), jobqueue.ErrLeaseLost, name)
	}
}

func completeTxRolledBackLeavesTheJob(t *testing.T, h Harness) {
	for name, inTx := range h.InTx {
		id := fill(t, h.Store, 1)[0]
		w := register(t, h.Store, never)
		j := claim(t, h.Store, w, "default", 1)[0]
		err := inTx(t.Context(), func(tx Tx) error {
			require.NoError(t, tx.Complete(j), name)
			return errTest
		})
		require.ErrorIs(t, err, errTest)
		require.Equal(t, jobqueue.StateRunning, get(t, h.Store, id).State, name)
		require.Empty(t, record(t, h.Store, w, result(j, driver.Complete)), name)
	}
}

func errorHistoryIsBounded(t *testing.T, h Harness) {
	id := fill(t, h.Store, 1, func(p *jobqueue.Params) { p.MaxAttempts = jobqueue.Unlimited })[0]
	w := register(t, h.Store, never)
	for i := range 103 {
		jobs := claim(t, h.Store, w, "default", 1)
		require.Len(t, jobs, 1)
		o := result(jobs[0], driver.Reschedule)
		o.Error = driver.AttemptError{Attempt: i + 1, Error: "again"}
		require.Empty(t, record(t, h.Store, w, o))
	}
	j := get(t, h.Store, id)
	require.Len(t, j.Errors, 100)
	require.Equal(t, 4, j.Errors[0].Attempt)
	require.Equal(t, 103, j.Errors[99].Attempt)
}
