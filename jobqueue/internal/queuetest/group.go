package queuetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/jobqueue"
	"lessonkit.example/jobqueue/driver"
)

var groupTests = map[string]func(*testing.T, Harness){
	"GroupStartsWhatWaitsForIt":       groupStartsWhatWaitsForIt,
	"GroupStartsOnceAfterAllMembers":  groupStartsOnceAfterAllMembers,
	"GroupGrowsAndContinues":          groupGrowsAndContinues,
	"GroupByHand":                     groupByHand,
	"GroupInTransactions":             groupInTransactions,
	"GroupIsRepairedByRescue":         groupIsRepairedByRescue,
	"GroupWithoutMembersStartsAtOnce": groupWithoutMembersStartsAtOnce,
	"GroupStartsManyJobsInParts":      groupStartsManyJobsInParts,
}

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

// However the members end, the job starts, and can find out how.
func groupStartsWhatWaitsForIt(t *testing.T, h Harness) {
	members := fill(t, h.Store, 3, group("g"), maxAttempts(2))
	fill(t, h.Store, 1, group("other"), runAt(time.Now().Add(time.Hour)))
	last := enqueue(t, h.Store, jobqueue.Params{Kind: "work", Args: args{3}, AfterGroup: "g"})
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
	r.succeed(2)
	r.wait()
	require.Equal(t, "g", get(t, h.Store, last).AfterGroup, "in the history")
	require.Equal(t, "g", get(t, h.Store, members[0]).Group)
	require.Equal(t, driver.StateHeld, get(t, h.Store, unrelated).State)
	require.Empty(t, found)
}

// Several workers end the last members of groups at the same time; jobs fail and are snoozed on the
// way, and queues keep no history.
func groupStartsOnceAfterAllMembers(t *testing.T, h Harness) {
	const groups, members = 30, 6
	var ended, started [groups]atomic.Int32
	var total atomic.Int32
	handler := func(_ context.Context, job *jobqueue.Job, a args) error {
		time.Sleep(time.Duration(job.ID%1000) * time.Microsecond)
		switch {
		case job.AfterGroup != "":
			if n := ended[a.N].Load(); n != members {
				t.Errorf("%s started after %d of %d members", job.AfterGroup, n, members)
			}
			started[a.N].Add(1)
			total.Add(1)
			return nil
		case job.Attempt == 1 && job.ID%7 == 3:
			return errTest
		case job.Fence == 1 && job.ID%7 == 5:
			return jobqueue.Snooze(time.Millisecond)
		}
		ended[a.N].Add(1)
		return nil
	}
	var ps []jobqueue.Params
	for g := range groups {
		name := fmt.Sprint("group ", g)
		for range members {
			ps = append(ps, jobqueue.Params{Kind: "work", Args: args{g}, Group: name})
		}
		ps = append(ps, jobqueue.Params{Kind: "work", Args: args{g}, AfterGroup: name, Priority: 1})
	}
	_, err := jobqueue.NewClient(h.Store).EnqueueMany(t.Context(), ps)
	require.NoError(t, err)
	cfg := jobqueue.WorkerConfig{Queues: map[string]jobqueue.QueueConfig{"default": {
		MaxWorkers: 5, Retention: jobqueue.KeepNone}}}
	var workers []*running
	for range 3 {
		workers = append(workers, start(t, h.Again(), cfg, handle(handler)))
	}
	poll(t, "all groups", func() bool { return total.Load() >= groups })
	for _, w := range workers {
		w.wait()
	}
	for g := range started {
		require.EqualValues(t, 1, started[g].Load(), "group %d", g)
	}
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

// A running member adds members, and the job after the group is a member of the next one.
func groupGrowsAndContinues(t *testing.T, h Harness) {
	c := jobqueue.NewClient(h.Store)
	var mu sync.Mutex
	var order []string
	r := start(t, h.Store, jobqueue.WorkerConfig{}, func(w *jobqueue.Worker) {
		jobqueue.Handle(w, "step", func(ctx context.Context, job *jobqueue.Job, name string) error {
			mu.Lock()
			order = append(order, name)
			mu.Unlock()
			if name != "first" {
				return nil
			}
			_, err := c.Enqueue(ctx, jobqueue.Params{Kind: "step", Args: "second", Group: job.Group})
			return err
		})
	})
	_, err := c.EnqueueMany(t.Context(), []jobqueue.Params{
		{Kind: "step", Args: "end", AfterGroup: "b"},
		{Kind: "step", Args: "middle", AfterGroup: "a", Group: "b"},
		{Kind: "step", Args: "first", Group: "a"},
	})
	require.NoError(t, err)
	r.succeed(4)
	r.wait()
	require.Equal(t, []string{"first", "second", "middle", "end"}, order)
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
		require.ErrorIs(t, inTx(t.Context(), func(tx Tx) error {
			return errors.Join(insert(member)(tx), errTest)
		}), errTest)
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
	_, err := h.Store.Rescue(t.Context(), false)
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
