package pgqueue_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/internal/pgtest"
	"lessonkit.example/jobqueue"
	"lessonkit.example/jobqueue/driver"
	"lessonkit.example/jobqueue/pgqueue"
)

var floors = flag.Bool("floors", false, "run the tests of figures, which take minutes and an idle machine")

func needFloors(t *testing.T) {
	t.Helper()
	if !*floors {
		t.Skip("needs -floors")
	}
}

// killSome kills and replaces one of the processes after the other for a time.
func killSome(t *testing.T, url string, n int, d time.Duration) (kills int) {
	t.Helper()
	seed := rand.Uint64()
	t.Log("seed", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	children := make([]*child, n)
	for i := range children {
		children[i] = startChild(t, url)
	}
	for end := time.Now().Add(d); time.Now().Before(end); kills++ {
		time.Sleep(time.Duration(100+r.IntN(300)) * time.Millisecond)
		i := r.IntN(n)
		children[i].signal(syscall.SIGKILL)
		_ = children[i].cmd.Wait()
		children[i] = startChild(t, url)
	}
	return kills
}

// Eight processes with 20 schedules are killed all the time: no time is lost or becomes two jobs.
func TestFloorSchedulesWithKills(t *testing.T) {
	needFloors(t)
	t.Setenv(schedulesEnv, "20")
	url := pgtest.URL(t)
	pool := connect(t, url)
	require.NoError(t, pgqueue.New(pool, pgqueue.Config{}).Migrate(t.Context()))
	kills := killSome(t, url, 8, 20*time.Second)
	_, err := pool.Exec(t.Context(), `create view ticks as
		select meta->>'schedule' as name, run_at, claimed_at, fence from jobqueue_done
		union all select meta->>'schedule', run_at, claimed_at, fence from jobqueue_job`)
	require.NoError(t, err)
	jobs := number(t, pool, `select count(*) from ticks`)
	require.Greater(t, jobs, 2000)
	require.Equal(t, jobs,
		number(t, pool, `select count(*) from (select distinct name, run_at from ticks) t`), "double")
	require.Equal(t, jobs, number(t, pool, `
		select sum(1 + extract(epoch from last - first) * 1000 / $1)::bigint from (
			select min(run_at) as first, max(run_at) as last from ticks group by name) t`,
		scheduleEvery.Milliseconds()), "missing")
	p99 := number(t, pool, `
		select (extract(epoch from percentile_disc(0.99) within group (order by claimed_at - run_at)) * 1e6)::bigint
		from ticks where fence = 1`)
	t.Logf("%d jobs, %d kills, from time to claim p99 %v", jobs, kills, time.Duration(p99)*time.Microsecond)
}

// Four processes are killed while they run jobs of serial keys: no two of a key overlap, and they
// run in order.
func TestFloorSerialKeysWithKills(t *testing.T) {
	needFloors(t)
	const jobs, keys = 20_000, 500
	url := pgtest.URL(t)
	pool := connect(t, url)
	store := pgqueue.New(pool, pgqueue.Config{})
	require.NoError(t, store.Migrate(t.Context()))
	client := jobqueue.NewClient(store)
	for i := range jobs / keys {
		ps := make([]jobqueue.Params, keys)
		for k := range ps {
			took := time.Duration(i%3) * time.Millisecond
			ps[k] = jobqueue.Params{Kind: "work", Args: took, SerialKey: fmt.Sprint(k)}
		}
		_, err := client.EnqueueMany(t.Context(), ps)
		require.NoError(t, err)
	}
	began := time.Now()
	kills := killSome(t, url, 4, 10*time.Second)
	eventually(t, 3*time.Minute, "all done", func() bool {
		return number(t, pool, `select count(*) from jobqueue_job`) == 0
	})
	require.Equal(t, jobs, number(t, pool, `select count(*) from jobqueue_done where state = 4`))
	require.Zero(t, number(t, pool, `
		select count(*) from (
			select claimed_at, lag(finished_at) over (partition by serial_key order by id) as before
			from jobqueue_done) t
		where claimed_at < before`), "overlaps and inversions")
	t.Logf("%d jobs of %d keys in %v, %d kills", jobs, keys, time.Since(began), kills)
}

// Held jobs do not slow down the claims of others.
func TestFloorClaimBehindHeldJobs(t *testing.T) {
	needFloors(t)
	_, store := migrated(t)
	client := jobqueue.NewClient(store)
	held := make([]jobqueue.Params, 10_000)
	for i := range held {
		held[i] = jobqueue.Params{Kind: "work", SerialKey: fmt.Sprint(i % 10)}
	}
	for range 10 {
		_, err := client.EnqueueMany(t.Context(), held)
		require.NoError(t, err)
	}
	worker, err := store.Register(t.Context(), "w", nil, time.Minute)
	require.NoError(t, err)
	best := time.Hour
	for range 20 {
		load(t, store, 50, 0, 0)
		began := time.Now()
		res, err := store.Exchange(t.Context(), driver.ExchangeRequest{Worker: worker,
			Claims: []driver.ClaimRequest{{Queue: "default", Limit: 50}}})
		require.NoError(t, err)
		require.Len(t, res.Jobs, 50)
		best = min(best, time.Since(began))
	}
	t.Logf("claim of 50 behind 100,000 held jobs: %v", best)
	require.Less(t, best, 2*time.Millisecond)
}

func TestFloorRetryMany(t *testing.T) {
	needFloors(t)
	pool, store := migrated(t)
	for range 10 {
		load(t, store, 10_000, 0, 0)
	}
	client := jobqueue.NewClient(store)
	began := time.Now()
	n, _, err := client.CancelMany(t.Context(), jobqueue.Filter{State: jobqueue.StateWaiting})
	require.NoError(t, err)
	require.Equal(t, 100_000, n)
	cancelled := time.Since(began)
	began = time.Now()
	n, _, err = client.RetryMany(t.Context(), jobqueue.Filter{State: jobqueue.StateCancelled})
	require.NoError(t, err)
	require.Equal(t, 100_000, n)
	took := time.Since(began)
	t.Logf("100,000 jobs cancelled in %v and retried in %v", cancelled, took)
	require.Less(t, took, 10*time.Second)
	require.Equal(t, 100_000, number(t, pool, `select count(*) from jobqueue_job`))
}
