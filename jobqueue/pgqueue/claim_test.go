package pgqueue_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"lessonkit.example/jobqueue"
	"lessonkit.example/jobqueue/driver"
	"lessonkit.example/jobqueue/pgqueue"
)

// A large claim waits for another, but not for long: the other's process may be suspended.
func TestLargeClaimWaitsForAnother(t *testing.T) {
	t.Parallel()
	pool, store := migrated(t)
	load(t, store, 600, 0, 0)
	worker := register(t, store)
	tx, err := pool.Begin(t.Context())
	require.NoError(t, err)
	defer tx.Rollback(t.Context())
	sameTables := pgqueue.New(pool, pgqueue.Config{Schema: "public"})
	execSQL(t, tx, pgqueue.ClaimLock(sameTables))
	began := time.Now()
	x := claimRequest(worker, 600)
	x.Results = []driver.Result{{Lease: driver.Lease{ID: -1}, Action: driver.Complete}}
	res, err := store.Exchange(t.Context(), x)
	require.NoError(t, err)
	require.Len(t, res.Jobs, 600)
	require.Len(t, res.Lost, 1, "results are recorded once")
	require.True(t, pgqueue.ExclusiveAgain(store).After(began.Add(10*time.Second)),
		"the next claims do not wait again for a while")
}

// An exchange that has waited in vain for the row of a rate returns no job that was claimed before,
// because that was rolled back.
func TestLargeClaimThatIsRolledBackReturnsNoJobs(t *testing.T) {
	t.Parallel()
	pool, store := migrated(t)
	load(t, store, 499, 0, 0)
	_, err := jobqueue.NewClient(store).Enqueue(t.Context(), jobqueue.Params{Queue: "rated", Kind: "work"})
	require.NoError(t, err)
	worker := register(t, store)
	execSQL(t, pool, `insert into jobqueue_rate (queue, at) values ('rated', now())`)
	tx, err := pool.Begin(t.Context())
	require.NoError(t, err)
	execSQL(t, tx, `select from jobqueue_rate for update`)
	x := claimRequest(worker, 499)
	require.False(t, pgqueue.ClaimsExclusively(store, x))
	x.Claims = append(x.Claims, driver.ClaimRequest{
		Queue: "rated", Limit: 1, Rate: driver.Rate{Every: time.Second, Burst: 1}})
	require.True(t, pgqueue.ClaimsExclusively(store, x), "500 jobs of all queues")
	var res driver.ExchangeResponse
	exchanged := make(chan error, 1)
	go func() {
		var err error
		res, err = store.Exchange(t.Context(), x)
		exchanged <- err
	}()
	eventually(t, "the first attempt is rolled back", func() bool { return !pgqueue.ClaimsExclusively(store, x) })
	require.NoError(t, tx.Commit(t.Context()))
	require.NoError(t, <-exchanged)
	require.Len(t, res.Jobs, 500)
	require.Equal(t, 500, number(t, pool, `select count(*) from jobqueue_job where worker = $1`, worker))
}

// A large claim does not lock the jobs that it finds. It waits for those that another claim takes
// at the same time, leaves them to that one, and makes its worker claim again: there may be more.
func TestLargeClaimLeavesWhatAnotherTakes(t *testing.T) {
	t.Parallel()
	pool, store := migrated(t)
	load(t, store, 1000, 0, 0)
	one, two := register(t, store), register(t, store)
	for {
		listening, stop := context.WithCancel(t.Context())
		store := pgqueue.New(pool, pgqueue.Config{PollOnly: true})
		signals, stopped := make(chan driver.Signal, 10), make(chan struct{})
		go func() {
			defer close(stopped)
			_ = store.Listen(listening, func() {}, func(s driver.Signal) bool { signals <- s; return true })
		}()
		require.Zero(t, <-signals, "it listens")

		tx, err := pool.Begin(t.Context())
		require.NoError(t, err)
		execSQL(t, tx, pgqueue.ClaimSQL, claimArgs(one, 100)...)
		res := exchangeDuring(t, pool, tx, store, claimRequest(two, 600))
		stop()
		<-stopped

		claimed := map[int64]bool{}
		for _, j := range res.Jobs {
			claimed[j.ID] = true
		}
		rows, err := pool.Query(t.Context(), `select id from jobqueue_job where worker = $1`, one)
		require.NoError(t, err)
		taken, err := pgx.CollectRows(rows, pgx.RowTo[int64])
		require.NoError(t, err)
		require.Len(t, taken, 100)
		for _, id := range taken {
			require.NotContains(t, claimed, id)
		}
		if !pgqueue.ClaimsExclusively(store, claimRequest(two, 600)) { // it has waited for too long, on a slow machine
			require.Len(t, claimed, 600)
			execSQL(t, pool, `update jobqueue_job set worker = null`)
			continue
		}
		require.Len(t, claimed, 500)
		require.Equal(t, driver.Signal{Queue: "default"}, <-signals)
		return
	}
}

// A job that is put off while a large claim waits for its row keeps its new time.
func TestLargeClaimLeavesWhatIsPutOff(t *testing.T) {
	t.Parallel()
	pool, store := migrated(t)
	load(t, store, 600, 0, 0)
	worker := register(t, store)
	tx, err := pool.Begin(t.Context())
	require.NoError(t, err)
	execSQL(t, tx, `update jobqueue_job set run_at = now() + interval '1 hour' where id % 2 = 0`)
	res := exchangeDuring(t, pool, tx, store, claimRequest(worker, 600))
	require.Len(t, res.Jobs, 300)
	for _, j := range res.Jobs {
		require.False(t, j.RunAt.After(time.Now()))
	}
}

func claimRequest(worker int64, n int) driver.ExchangeRequest {
	claims := []driver.ClaimRequest{{Queue: "default", Limit: n}}
	return driver.ExchangeRequest{Worker: worker, Kinds: kinds, Claims: claims}
}

// exchangeDuring returns the response of an exchange that may wait for tx, which is committed then.
func exchangeDuring(
	t *testing.T, pool *pgxpool.Pool, tx pgx.Tx, store *pgqueue.Store, x driver.ExchangeRequest,
) (res driver.ExchangeResponse) {
	t.Helper()
	during(t, pool, tx, func() (err error) {
		res, err = store.Exchange(t.Context(), x)
		return err
	})
	return res
}

// during calls f, which may wait for tx, and commits tx then.
func during(t *testing.T, pool *pgxpool.Pool, tx pgx.Tx, f func() error) {
	t.Helper()
	calling, called := context.WithCancel(t.Context())
	committed := make(chan error, 1)
	go func() {
		waitUntilBlocking(calling, t, pool, tx)
		committed <- tx.Commit(t.Context())
	}()
	err := f()
	called()
	require.NoError(t, err)
	require.NoError(t, <-committed)
}

// waitUntilBlocking waits until another transaction waits for tx or ctx ends.
func waitUntilBlocking(ctx context.Context, t *testing.T, pool *pgxpool.Pool, tx pgx.Tx) {
	t.Helper()
	for blocking := false; !blocking && ctx.Err() == nil; {
		err := pool.QueryRow(t.Context(), `
select exists (select from pg_stat_activity where $1::int = any (pg_blocking_pids(pid)))`,
			tx.Conn().PgConn().PID()).Scan(&blocking)
		if err != nil {
			t.Error(err)
			return
		}
	}
}

// claimArgs are the arguments of a statement that claims up to n jobs.
func claimArgs(worker int64, n int32) []any {
	first := make([]time.Time, 4) // year 1
	return []any{worker, []string{"default"}, []int32{n}, first, make([]int64, 4), kinds}
}

// A claim that finds no job writes nothing, so it neither waits for the disk nor fills the log. One
// that finds jobs checks the lease before it changes them.
func TestClaimsWriteOnlyWhatTheyClaim(t *testing.T) {
	t.Parallel()
	for name, query := range map[string]string{"small": pgqueue.ClaimSQL, "large": pgqueue.LargeClaimSQL} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool, store := migrated(t)
			worker := register(t, store)
			claim := func(worker int64) (jobs int64, wrote bool) {
				tx, err := pool.Begin(t.Context())
				require.NoError(t, err)
				defer tx.Rollback(t.Context())
				execSQL(t, tx, pgqueue.PlanSQL)
				changed := execSQL(t, tx, query, claimArgs(worker, 10)...)
				require.NoError(t, tx.QueryRow(t.Context(),
					`select txid_current_if_assigned() is not null`).Scan(&wrote))
				return changed, wrote
			}
			jobs, wrote := claim(worker)
			require.Zero(t, jobs)
			require.False(t, wrote)
			load(t, store, 5, 0, 0)
			jobs, _ = claim(worker)
			require.EqualValues(t, 5, jobs)
			jobs, _ = claim(worker + 1)
			require.Zero(t, jobs, "an unknown worker")
			_, _, err := store.Heartbeat(t.Context(), worker, -time.Second)
			require.NoError(t, err)
			jobs, _ = claim(worker)
			require.Zero(t, jobs, "its lease has expired")
		})
	}
}

// A result says where its job was when it was claimed. The job may have moved since, or move at the
// same time, and another of the same worker may be there.
func TestResultsFindJobsThatHaveMoved(t *testing.T) {
	t.Parallel()
	pool, store := migrated(t)
	load(t, store, 7, 0, 0)
	worker := register(t, store)
	res, err := store.Exchange(t.Context(), claimRequest(worker, 7))
	require.NoError(t, err)
	require.Len(t, res.Jobs, 7)
	x := driver.ExchangeRequest{Worker: worker}
	for _, j := range res.Jobs {
		x.Results = append(x.Results, driver.Result{Lease: driver.Lease{ID: j.ID, Fence: j.Fence}, Row: j.Row})
	}
	saved := driver.Saved{Lease: x.Results[0].Lease, State: []byte("1")}
	require.NoError(t, store.Save(t.Context(), worker, []driver.Saved{saved}))
	x.Results[1].Saved = []byte("2")
	x.Results[2].Row = res.Jobs[4].Row
	x.Results[3].Fence++
	x.Results = slices.Delete(x.Results, 4, 5) // its worker still runs it
	place := pgtype.TID{}
	last := res.Jobs[6] // is where it was
	require.NoError(t, pool.QueryRow(t.Context(), `select ctid from jobqueue_job where id = $1`, last.ID).Scan(&place))
	require.Equal(t, last.Row, uint64(place.BlockNumber)<<16|uint64(place.OffsetNumber))
	tx, err := pool.Begin(t.Context())
	require.NoError(t, err)
	execSQL(t, tx, `update jobqueue_job set cancel = true where id = any ($1)`,
		[]int64{res.Jobs[0].ID, res.Jobs[5].ID})
	require.Equal(t, []driver.Lease{x.Results[3].Lease}, exchangeDuring(t, pool, tx, store, x).Lost)
	for i, j := range res.Jobs {
		got, err := store.Get(t.Context(), j.ID)
		require.NoError(t, err)
		require.Equal(t, i != 3 && i != 4, got.State == driver.StateSucceeded, i)
		require.Equal(t, []string{"1", "2", "", "", "", "", ""}[i], string(got.Saved))
	}
}
