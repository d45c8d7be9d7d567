package pgqueue_test

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"lessonkit.example/jobqueue"
	"lessonkit.example/jobqueue/driver"
	"lessonkit.example/jobqueue/pgqueue"
)

var serial = jobqueue.Params{Kind: "work", LimitKey: "k"}

func claimIDs(t *testing.T, store *pgqueue.Store, x driver.ExchangeRequest) (ids []int64) {
	t.Helper()
	res, err := store.Exchange(t.Context(), x)
	require.NoError(t, err)
	for _, j := range res.Jobs {
		ids = append(ids, j.ID)
	}
	return ids
}

func enqueueSerial(t *testing.T, store *pgqueue.Store) int64 {
	t.Helper()
	r, err := jobqueue.NewClient(store).Enqueue(t.Context(), serial)
	require.NoError(t, err)
	return r.ID
}

// claiming is a claim of jobs with keys that is not committed yet.
func claiming(t *testing.T, pool *pgxpool.Pool, store *pgqueue.Store, worker int64) (tx pgx.Tx, changed int64) {
	t.Helper()
	tx, err := pool.Begin(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { _ = tx.Rollback(t.Context()) })
	execSQL(t, tx, pgqueue.ClaimLock(store))
	return tx, execSQL(t, tx, pgqueue.KeyedClaimSQL, claimArgs(worker, 10)...)
}

func ended(worker, id int64) driver.ExchangeRequest {
	return driver.ExchangeRequest{Worker: worker, Kinds: kinds, Results: []driver.Result{
		{Lease: driver.Lease{ID: id, Fence: 1}, Action: driver.Complete, LimitKey: "k"}}}
}

// A job becomes visible before another of its key, while a claim starts that one: it has to wait.
func TestLateJobDoesNotGetATurnThatIsTaken(t *testing.T) {
	t.Parallel()
	pool, store := migrated(t)
	one, two := register(t, store), register(t, store)
	inserting, err := pool.Begin(t.Context())
	require.NoError(t, err)
	defer inserting.Rollback(t.Context())
	late, err := store.EnqueuePgx(t.Context(), inserting, serial)
	require.NoError(t, err)
	started := enqueueSerial(t, store)
	require.Less(t, late.ID, started)
	tx, changed := claiming(t, pool, store, one)
	require.EqualValues(t, 1, changed)
	require.NoError(t, inserting.Commit(t.Context()))

	res := exchangeDuring(t, pool, tx, store, claimRequest(two, 10))
	require.Empty(t, res.Jobs)
	eventually(t, "it is held", func() bool { // the claim may have waited in vain
		require.Empty(t, claimIDs(t, store, claimRequest(two, 10)))
		job, err := store.Get(t.Context(), late.ID)
		require.NoError(t, err)
		return job.State == driver.StateHeld
	})
	x := ended(one, started)
	x.Claims = claimRequest(one, 1).Claims
	require.Equal(t, []int64{late.ID}, claimIDs(t, store, x), "in the exchange that ends the other")
}

// Thousands of jobs of a key without a turn do not delay a worker that needs a single job.
func TestJobsWithoutATurnDelayNobody(t *testing.T) {
	t.Parallel()
	_, store := migrated(t)
	one, two := register(t, store), register(t, store)
	ps := make([]jobqueue.Params, 3000)
	for i := range ps {
		ps[i] = serial
	}
	_, err := jobqueue.NewClient(store).EnqueueMany(t.Context(), ps)
	require.NoError(t, err)
	require.Len(t, claimIDs(t, store, claimRequest(one, 1)), 1)
	load(t, store, 1, 0, 0)
	claims := 1
	for ; len(claimIDs(t, store, claimRequest(two, 1))) == 0; claims++ {
		require.Less(t, claims, 10)
	}
	t.Log(claims, "claims")
}

// While a suspended process holds the lock of claims, jobs with keys wait, and others do not.
func TestJobsWithKeysWaitForTheLock(t *testing.T) {
	t.Parallel()
	pool, store := migrated(t)
	one, two := register(t, store), register(t, store)
	tx, _ := claiming(t, pool, store, one)
	keyed := enqueueSerial(t, store)
	load(t, store, 1, 0, 0)
	require.Equal(t, []int64{keyed + 1}, claimIDs(t, store, claimRequest(two, 10)))
	job, err := store.Get(t.Context(), keyed)
	require.NoError(t, err)
	require.Equal(t, driver.StateWaiting, job.State)
	require.NoError(t, tx.Rollback(t.Context()))
	eventually(t, "it starts", func() bool { return len(claimIDs(t, store, claimRequest(two, 10))) == 1 })
}

// The end of a job lets the next one of its key start, and those that wait for its group, without a
// look at what else is held, of which the planner knows nothing yet.
func TestPromotionLooksAtNoOtherHeldJobs(t *testing.T) {
	t.Parallel()
	pool, store, plans := explained(t)
	job := jobqueue.Params{Kind: "work", LimitKey: "7", Group: "7"}
	first, err := jobqueue.NewClient(store).Enqueue(t.Context(), job)
	require.NoError(t, err)
	worker := register(t, store)
	require.Len(t, claimIDs(t, store, claimRequest(worker, 1)), 1)
	execSQL(t, pool, `vacuum analyze jobqueue_job`)
	execSQL(t, pool, `
insert into jobqueue_job (queue, kind, priority, max_attempts, args, limit_key, after_group, worker)
select 'default', 'work', 2, 1, '1', case when n % 2 = 0 then n / 10 end, case when n % 2 = 1 then n / 10 end, 0
from generate_series(1, 5000) n`)
	plans()
	x := ended(worker, first.ID)
	x.Results[0].LimitKey, x.Results[0].Group = job.LimitKey, job.Group
	_, err = store.Exchange(t.Context(), x)
	require.NoError(t, err)
	require.LessOrEqual(t, rowsRead(t, plans()), 100.0)
	require.Len(t, claimIDs(t, store, claimRequest(worker, 10)), 1+5, "one of the key, five after the group")
}

// Turns of a key with many jobs are found without a look at older jobs of others.
func TestTurnsLookAtNoOtherJobs(t *testing.T) {
	t.Parallel()
	pool, store, plans := explained(t)
	execSQL(t, pool, `
insert into jobqueue_job (queue, kind, priority, max_attempts, args, limit_key, key_limit, run_at)
select 'default', 'work', 2, 1, '1', case when n > 18000 then 'k' end, 20,
  now() + case when n > 18000 then '-1 s' else '1 day' end::interval
from generate_series(1, 20000) n`)
	execSQL(t, pool, `vacuum analyze jobqueue_job`)
	worker := register(t, store)
	for range 2 { // the first claim finds out that there are keys
		plans()
		ids := claimIDs(t, store, claimRequest(worker, 10))
		require.NotEmpty(t, ids)
		require.LessOrEqual(t, rowsRead(t, plans()), 300.0)
	}
}
