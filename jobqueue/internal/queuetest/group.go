package queuetest

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/jobqueue"
	"lessonkit.example/jobqueue/driver"
)

func group(name string) func(*jobqueue.Params) {
	return func(p *jobqueue.Params) { p.Group = name }
}

func afterGroup(name string) func(*jobqueue.Params) {
	return func(p *jobqueue.Params) { p.AfterGroup = name }
}

func groupStats(t *testing.T, s driver.Store, name string) jobqueue.GroupStats {
	t.Helper()
	g, err := jobqueue.NewClient(s).GroupStats(t.Context(), name)
	require.NoError(t, err)
	return g
}

// However the members end, the job starts, and can find out how. It may be a member of the next
// group.
func groupStartsWhatWaitsForIt(t *testing.T, h Harness) {
	members := fill(t, h.Store, 3, group("g"), maxAttempts(2))
	fill(t, h.Store, 1, group("other"), runAt(time.Now().Add(time.Hour)))
	last := enqueue(t, h.Store, jobqueue.Params{Kind: "work", Args: args{3}, AfterGroup: "g", Group: "next"})
	next := fill(t, h.Store, 1, afterGroup("next"))[0]
	unrelated := fill(t, h.Store, 1, afterGroup("other"))[0]
	require.Equal(t, driver.StateHeld, get(t, h.Store, last).State)
	require.ErrorIs(t, h.Store.Retry(t.Context(), last), jobqueue.ErrState)
	require.Equal(t, jobqueue.GroupStats{Unfinished: 3}, groupStats(t, h.Store, "g"))
	require.NoError(t, h.Store.Cancel(t.Context(), members[2]))

	found := make(chan jobqueue.GroupStats, 10)
	r := start(t, h.Store, jobqueue.WorkerConfig{}, handle(func(_ context.Context, job *jobqueue.Job, a args) error {
		switch a.N {
		case 1:
			return errTest
		case 3:
			found <- groupStats(t, h.Store, job.AfterGroup)
		}
		return nil
	}))
	require.Equal(t, jobqueue.GroupStats{Succeeded: 1, Failed: 1, Cancelled: 1}, receive(t, found))
	for r.next(jobqueue.EventSucceeded).Job.ID != next {
	}
	r.wait()
	require.Equal(t, "g", get(t, h.Store, last).AfterGroup, "in the history")
	require.Equal(t, "g", get(t, h.Store, members[0]).Group)
	require.Equal(t, driver.StateHeld, get(t, h.Store, unrelated).State)
	require.Empty(t, found)
}

// More jobs wait for a group than one transaction lets start; all start, and no other.
func groupStartsManyJobsInParts(t *testing.T, h Harness) {
	const jobs = 2500
	member := fill(t, h.Store, 1, group("g"))[0]
	fill(t, h.Store, 1, group("other"))
	fill(t, h.Store, jobs, afterGroup("g"))
	unrelated := fill(t, h.Store, 1, afterGroup("other"))[0]
	require.NoError(t, h.Store.Cancel(t.Context(), member))
	poll(t, "all jobs wait for a worker", func() bool { return stats(t, h.Store).Queues[0].Waiting == jobs+1 })
	require.Equal(t, driver.StateHeld, get(t, h.Store, unrelated).State)
}

func groupByHand(t *testing.T, h Harness) {
	c := jobqueue.NewClient(h.Store)
	members := fill(t, h.Store, 5, group("g"))
	last := fill(t, h.Store, 2, afterGroup("g"))
	require.NoError(t, c.Cancel(t.Context(), last[0]), "it is held")
	require.NoError(t, c.Cancel(t.Context(), members[0]))
	require.Equal(t, driver.StateHeld, get(t, h.Store, last[1]).State)
	n, _, err := c.CancelMany(t.Context(), jobqueue.Filter{State: jobqueue.StateWaiting})
	require.NoError(t, err)
	require.Equal(t, 4, n)
	require.Equal(t, driver.StateWaiting, get(t, h.Store, last[1]).State, "all members are cancelled")
	require.Equal(t, jobqueue.GroupStats{Cancelled: 5}, groupStats(t, h.Store, "g"))
	require.NoError(t, c.Retry(t.Context(), last[0]))
	require.Equal(t, driver.StateWaiting, get(t, h.Store, last[0]).State)
	for _, id := range last {
		require.NoError(t, c.Cancel(t.Context(), id))
	}
	n, _, err = c.RetryMany(t.Context(), jobqueue.Filter{State: jobqueue.StateCancelled})
	require.NoError(t, err)
	require.Equal(t, 7, n)
	require.Equal(t, jobqueue.GroupStats{Unfinished: 5}, groupStats(t, h.Store, "g"))
	for _, id := range members {
		require.NoError(t, c.Cancel(t.Context(), id))
	}
	for _, id := range last {
		require.Equal(t, driver.StateWaiting, get(t, h.Store, id).State)
	}
}

// Members and what follows them exist when the transaction commits, and CompleteTx ends a member.
func groupInTransactions(t *testing.T, h Harness) {
	for name, inTx := range h.InTx {
		var ids []int64
		insert := func(ps ...jobqueue.Params) func(tx Tx) error {
			return func(tx Tx) error {
				rs, err := tx.Enqueue(ps...)
				for _, r := range rs {
					ids = append(ids, r.ID)
				}
				return err
			}
		}
		member, after := jobqueue.Params{Kind: "work", Group: name}, jobqueue.Params{Kind: "work", AfterGroup: name}
		require.NoError(t, inTx(t.Context(), insert(after, member, member)))
		var mu sync.Mutex
		var order []int64
		// Rescue and heartbeats, which would let the job start, come too late.
		r := start(t, h.Store, jobqueue.WorkerConfig{Lease: never},
			handle(func(ctx context.Context, job *jobqueue.Job, _ args) error {
				mu.Lock()
				order = append(order, job.ID)
				mu.Unlock()
				return inTx(ctx, func(tx Tx) error { return tx.Complete(job) })
			}))
		r.succeed(3)
		mu.Lock()
		require.Equal(t, ids[0], order[2], name)
		mu.Unlock()
		require.NoError(t, inTx(t.Context(), insert(after)))
		require.Equal(t, ids[3], r.next(jobqueue.EventSucceeded).Job.ID, "the group has ended")
		r.wait()
		require.Equal(t, jobqueue.GroupStats{Succeeded: 2}, groupStats(t, h.Store, name))
	}
}

// A process died after it had ended the last member.
func groupIsRepairedByRescue(t *testing.T, h Harness) {
	fill(t, h.Store, 2, group("g"))
	ended := fill(t, h.Store, 1, afterGroup("g"))[0]
	fill(t, h.Store, 1, group("h"))
	waits := fill(t, h.Store, 1, afterGroup("h"))[0]
	require.NoError(t, h.Exec(t.Context(), `delete from jobqueue_job where in_group = 'g'`))
	require.Equal(t, driver.StateHeld, get(t, h.Store, ended).State)
	_, err := h.Store.Rescue(t.Context(), true)
	require.NoError(t, err)
	require.Equal(t, driver.StateWaiting, get(t, h.Store, ended).State)
	require.Equal(t, driver.StateHeld, get(t, h.Store, waits).State)
}

func groupWithoutMembersStartsAtOnce(t *testing.T, h Harness) {
	now := fill(t, h.Store, 1, afterGroup("nobody"))[0]
	require.Equal(t, driver.StateWaiting, get(t, h.Store, now).State)
	later := fill(t, h.Store, 1, afterGroup("nobody"), runAt(time.Now().Add(time.Hour)))[0]
	require.Equal(t, driver.StateScheduled, get(t, h.Store, later).State)
	require.Zero(t, groupStats(t, h.Store, "nobody"))

	// A job that exists already does not join the group of its duplicate.
	unique := func(p *jobqueue.Params) { p.UniqueKey = "k" }
	fill(t, h.Store, 1, unique)
	fill(t, h.Store, 1, unique, group("g"))
	last := fill(t, h.Store, 1, afterGroup("g"))[0]
	require.Equal(t, driver.StateWaiting, get(t, h.Store, last).State)
}

// Members are gone whether they have ended, wait or run, and what waited for them goes on.
func groupIsDeleted(t *testing.T, h Harness) {
	ended := fill(t, h.Store, 1, group("g"), maxAttempts(1))[0]
	other := fill(t, h.Store, 1, group("h"), maxAttempts(1))[0]
	runs := enqueue(t, h.Store, jobqueue.Params{Kind: "work", Args: args{9}, Group: "g"})
	entered, leave := make(chan struct{}), make(chan struct{})
	r := start(t, h.Store, jobqueue.WorkerConfig{}, handle(func(_ context.Context, _ *jobqueue.Job, a args) error {
		if a.N == 9 {
			entered <- struct{}{}
			<-leave
		}
		return errTest
	}))
	receive(t, entered)
	poll(t, "the others have failed", func() bool {
		return groupStats(t, h.Store, "g").Failed == 1 && groupStats(t, h.Store, "h").Failed == 1
	})
	later, turn := runAt(time.Now().Add(time.Hour)), func(p *jobqueue.Params) { p.LimitKey = "one" }
	waits := fill(t, h.Store, 1, group("g"), later, turn)[0]
	second, after := fill(t, h.Store, 1, later, turn)[0], fill(t, h.Store, 1, later, afterGroup("g"))[0]

	require.NoError(t, jobqueue.NewClient(h.Store).DeleteGroup(t.Context(), "g"))
	require.Zero(t, groupStats(t, h.Store, "g"))
	close(leave)
	require.Equal(t, runs, r.next(jobqueue.EventLost).Job.ID)
	r.wait()
	for _, id := range []int64{ended, runs, waits} {
		_, err := h.Store.Get(t.Context(), id)
		require.ErrorIs(t, err, jobqueue.ErrNotFound)
	}
	for _, id := range []int64{second, after} {
		require.Equal(t, driver.StateScheduled, get(t, h.Store, id).State)
	}
	require.Equal(t, driver.StateFailed, get(t, h.Store, other).State)
}
