package queuetest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/jobqueue"
	"lessonkit.example/jobqueue/driver"
)

var leaseTests = map[string]func(*testing.T, Harness){
	"FenceDecidesWhoFinishes":          fenceDecidesWhoFinishes,
	"ZombieClaimsNothing":              zombieClaimsNothing,
	"ZombieFinishesNothing":            zombieFinishesNothing,
	"BeatKeepsTheLease":                beatKeepsTheLease,
	"SweepKeepsErrorsAndSpentJobs":     sweepKeepsErrorsAndSpentJobs,
	"AuditFindsOrphans":                auditFindsOrphans,
	"ReleaseKeepsWhatIsNamed":          releaseKeepsWhatIsNamed,
	"OutcomesOfEverySort":              outcomesOfEverySort,
	"PostponeTwiceCountsOnce":          postponeTwiceCountsOnce,
	"WatermarkHidesNothingButThePast":  watermarkHidesNothingButThePast,
	"TwoWorkersNeverTakeTheSameJob":    twoWorkersNeverTakeTheSameJob,
	"CompleteTxRequiresTheLease":       completeTxRequiresTheLease,
	"CompleteTxRolledBackLeavesTheJob": completeTxRolledBackLeavesTheJob,
	"ErrorHistoryIsBounded":            errorHistoryIsBounded,
}

// die ends the lease of a worker, as its death does in time.
func die(t *testing.T, s driver.Store, worker int64) {
	t.Helper()
	_, alive, err := s.Heartbeat(t.Context(), worker, 0)
	require.NoError(t, err)
	require.True(t, alive)
}

// sweep waits until the lease of a dead worker is over and swept.
func sweep(t *testing.T, s driver.Store, want int) {
	t.Helper()
	total := 0
	poll(t, "sweep", func() bool {
		n, err := s.Rescue(t.Context(), false)
		require.NoError(t, err)
		total += n
		return total >= want
	})
	require.Equal(t, want, total)
}

func fenceDecidesWhoFinishes(t *testing.T, h Harness) {
	fill(t, h.Store, 1)
	w := register(t, h.Store, time.Minute)
	j := take(t, h.Store, w, "default", 1)[0]
	require.Equal(t, 1, j.Fence)
	require.Equal(t, 1, j.Attempt)
	wrong := outcome(j, driver.Complete)
	wrong.Fence++
	require.Equal(t, []int64{j.ID}, say(t, h.Store, w, wrong))
	require.Equal(t, []int64{j.ID}, say(t, h.Store, w+1, outcome(j, driver.Complete)), "another worker")
	require.Equal(t, jobqueue.StateRunning, get(t, h.Store, j.ID).State)
	require.Empty(t, say(t, h.Store, w, outcome(j, driver.Complete)))
	require.Equal(t, []int64{j.ID}, say(t, h.Store, w, outcome(j, driver.Complete)), "twice")
	done := get(t, h.Store, j.ID)
	require.Equal(t, jobqueue.StateSucceeded, done.State)
	require.Equal(t, 1, done.Attempt)
	require.False(t, done.FinishedAt.IsZero())
}

// A process may be stopped for so long that others remove its worker, and then go on claiming.
func zombieClaimsNothing(t *testing.T, h Harness) {
	fill(t, h.Store, 2)
	zombie := register(t, h.Store, time.Minute)
	die(t, h.Store, zombie)
	poll(t, "the worker's row is gone", func() bool {
		_, err := h.Store.Rescue(t.Context(), false)
		require.NoError(t, err)
		stats, err := h.Store.Stats(t.Context())
		require.NoError(t, err)
		return len(stats.Workers) == 0
	})
	require.Empty(t, take(t, h.Store, zombie, "default", 2))
	require.Len(t, take(t, h.Store, register(t, h.Store, time.Minute), "default", 2), 2)
}

func zombieFinishesNothing(t *testing.T, h Harness) {
	ids := fill(t, h.Store, 3)
	zombie := register(t, h.Store, time.Minute)
	late := take(t, h.Store, zombie, "default", 3)
	require.Len(t, late, 3)
	die(t, h.Store, zombie)
	sweep(t, h.Store, 3)
	// Nobody has taken the jobs yet, and still the zombie's word does not count.
	require.Len(t, say(t, h.Store, zombie, outcome(late[0], driver.Complete), outcome(late[1], driver.Fail), outcome(late[2], driver.Reschedule)), 3)
	w := register(t, h.Store, time.Minute)
	again := take(t, h.Store, w, "default", 3)
	require.Len(t, again, 3)
	require.NotEqual(t, late[0].Token(), again[0].Token())
	require.Len(t, say(t, h.Store, zombie, outcome(late[0], driver.Complete)), 1)
	for _, j := range again {
		require.Empty(t, say(t, h.Store, w, outcome(j, driver.Complete)))
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

func beatKeepsTheLease(t *testing.T, h Harness) {
	fill(t, h.Store, 2)
	w := register(t, h.Store, time.Minute)
	jobs := take(t, h.Store, w, "default", 2)
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

func sweepKeepsErrorsAndSpentJobs(t *testing.T, h Harness) {
	id := fill(t, h.Store, 1, func(p *jobqueue.Params) { p.MaxAttempts = 1 })[0]
	dead := register(t, h.Store, time.Minute)
	take(t, h.Store, dead, "default", 1)
	die(t, h.Store, dead)
	sweep(t, h.Store, 1)
	w := register(t, h.Store, time.Minute)
	jobs := take(t, h.Store, w, "default", 1)
	require.Len(t, jobs, 1, "it is taken once more, so that its Dead callback can run")
	require.Equal(t, 2, jobs[0].Attempt)
	require.Empty(t, say(t, h.Store, w, outcome(jobs[0], driver.Fail)))
	j := get(t, h.Store, id)
	require.Equal(t, jobqueue.StateFailed, j.State)
	require.Equal(t, 1, j.Attempt, "the extra start is not counted")
	require.Len(t, j.Errors, 1)
}

func auditFindsOrphans(t *testing.T, h Harness) {
	fill(t, h.Store, 1)
	w := register(t, h.Store, time.Minute)
	j := take(t, h.Store, w, "default", 1)[0]
	// Forget the worker while its job is kept, as no code path should.
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

func releaseKeepsWhatIsNamed(t *testing.T, h Harness) {
	fill(t, h.Store, 4)
	w := register(t, h.Store, time.Minute)
	jobs := take(t, h.Store, w, "default", 3)
	n, err := h.Store.Release(t.Context(), w, []driver.Lease{{ID: jobs[0].ID, Fence: jobs[0].Fence}, {ID: jobs[1].ID, Fence: 99}}, false)
	require.NoError(t, err)
	require.Equal(t, 2, n)
	require.Equal(t, jobqueue.StateRunning, get(t, h.Store, jobs[0].ID).State)
	back := get(t, h.Store, jobs[1].ID)
	require.Equal(t, jobqueue.StateWaiting, back.State)
	require.Zero(t, back.Attempt, "the attempt is given back")
	require.Equal(t, jobs[1].RunAt, back.RunAt.UTC(), "and its place in the queue")
	require.Len(t, say(t, h.Store, w, outcome(jobs[1], driver.Complete)), 1)
	n, err = h.Store.Release(t.Context(), w, nil, true)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.Empty(t, take(t, h.Store, w, "default", 4), "the worker is forgotten")
}

func outcomesOfEverySort(t *testing.T, h Harness) {
	ids := fill(t, h.Store, 6)
	w := register(t, h.Store, time.Minute)
	byID := map[int64]*jobqueue.Job{}
	for _, j := range take(t, h.Store, w, "default", 6) {
		byID[j.ID] = j
	}
	failure := jobqueue.AttemptError{Attempt: 1, Error: "it's \"broken\" \u2028 \x01", Stack: "main.go:1"}
	o := make([]driver.Result, 6)
	for i, v := range []driver.Action{driver.Complete, driver.Fail, driver.Cancel, driver.Reschedule, driver.Reschedule, driver.Complete} {
		o[i] = outcome(byID[ids[i]], v)
	}
	o[1].Error, o[3].Error = failure, failure
	o[3].Delay = time.Hour
	o[4].Uncounted = true
	o[5].Discard = true
	require.Empty(t, say(t, h.Store, w, o...))

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

// An answer may be lost after the commit, so the worker says the same again.
func postponeTwiceCountsOnce(t *testing.T, h Harness) {
	id := fill(t, h.Store, 1)[0]
	w := register(t, h.Store, time.Minute)
	o := outcome(take(t, h.Store, w, "default", 1)[0], driver.Reschedule)
	o.Uncounted, o.Error = true, jobqueue.AttemptError{Attempt: 1, Error: "once"}
	require.Empty(t, say(t, h.Store, w, o))
	require.Len(t, say(t, h.Store, w, o), 1)
	j := get(t, h.Store, id)
	require.Zero(t, j.Attempt)
	require.Len(t, j.Errors, 1)
	require.Equal(t, o.Fence, j.Fence, "so that the worker can see that its word counted")
}

func watermarkHidesNothingButThePast(t *testing.T, h Harness) {
	at := time.Now().Add(-time.Hour).UTC().Truncate(time.Microsecond)
	ids := fill(t, h.Store, 3, func(p *jobqueue.Params) {
		p.RunAt = at
		if p.Args.(args).N == 2 {
			p.Priority = 3
		}
	})
	w := register(t, h.Store, time.Minute)
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

func twoWorkersNeverTakeTheSameJob(t *testing.T, h Harness) {
	const jobs, workers = 600, 4
	fill(t, h.Store, jobs)
	got := make(chan int64, jobs*2)
	done := make(chan error, workers)
	for range workers {
		s := h.Again()
		w := register(t, s, time.Minute)
		go func() {
			for {
				res, err := s.Exchange(t.Context(), driver.ExchangeRequest{Worker: w, Claims: []driver.ClaimRequest{{Queue: "default", Limit: 7}}})
				for _, j := range res.Jobs {
					got <- j.ID
				}
				// Rows that another claim has locked are skipped, so only an empty queue is the end.
				if stats, _ := s.Stats(t.Context()); err != nil || len(res.Jobs) == 0 && len(stats.Queues) == 1 && stats.Queues[0].Waiting == 0 {
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
		require.False(t, seen[id], "job %d was taken twice", id)
		seen[id] = true
	}
	require.Len(t, seen, jobs)
}

func completeTxRequiresTheLease(t *testing.T, h Harness) {
	for name, inTx := range h.InTx {
		id := fill(t, h.Store, 1)[0]
		w := register(t, h.Store, time.Minute)
		j := take(t, h.Store, w, "default", 1)[0]
		require.NoError(t, inTx(t.Context(), func(tx Tx) error { return tx.Complete(j) }), name)
		require.Equal(t, jobqueue.StateSucceeded, get(t, h.Store, id).State, name)
		require.ErrorIs(t, inTx(t.Context(), func(tx Tx) error { return tx.Complete(j) }), jobqueue.ErrLeaseLost, name)
	}
}

func completeTxRolledBackLeavesTheJob(t *testing.T, h Harness) {
	for name, inTx := range h.InTx {
		id := fill(t, h.Store, 1)[0]
		w := register(t, h.Store, time.Minute)
		j := take(t, h.Store, w, "default", 1)[0]
		err := inTx(t.Context(), func(tx Tx) error {
			require.NoError(t, tx.Complete(j), name)
			return errTest
		})
		require.ErrorIs(t, err, errTest)
		require.Equal(t, jobqueue.StateRunning, get(t, h.Store, id).State, name)
		require.Empty(t, say(t, h.Store, w, outcome(j, driver.Complete)), name)
	}
}

func errorHistoryIsBounded(t *testing.T, h Harness) {
	id := fill(t, h.Store, 1, func(p *jobqueue.Params) { p.MaxAttempts = jobqueue.Unlimited })[0]
	w := register(t, h.Store, time.Minute)
	for i := range 103 {
		jobs := take(t, h.Store, w, "default", 1)
		require.Len(t, jobs, 1)
		o := outcome(jobs[0], driver.Reschedule)
		o.Error = jobqueue.AttemptError{Attempt: i + 1, Error: "again"}
		require.Empty(t, say(t, h.Store, w, o))
	}
	j := get(t, h.Store, id)
	require.Len(t, j.Errors, 100)
	require.Equal(t, 4, j.Errors[0].Attempt)
	require.Equal(t, 103, j.Errors[99].Attempt)
}
