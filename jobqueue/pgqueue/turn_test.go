package pgqueue_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/jobqueue/driver"
	"lessonkit.example/jobqueue/pgqueue"
)

// A claim of many jobs waits for the turn of another, but not for long: the other's process may be
// suspended.
func TestClaimWaitsForItsTurn(t *testing.T) {
	t.Parallel()
	pool, store := migrated(t)
	load(t, store, 1200, 0, 0)
	worker, err := store.Register(t.Context(), "w", nil, time.Minute)
	require.NoError(t, err)
	tx, err := pool.Begin(t.Context())
	require.NoError(t, err)
	defer tx.Rollback(t.Context())
	query, namespace := pgqueue.LockTurn(store)
	_, err = tx.Exec(t.Context(), query, namespace)
	require.NoError(t, err)
	began := time.Now()
	x := claimRequest(worker, 600)
	x.Results = []driver.Result{{Lease: driver.Lease{ID: -1}, Action: driver.Complete}}
	res, err := store.Exchange(t.Context(), x)
	require.NoError(t, err)
	require.Len(t, res.Jobs, 600)
	require.Len(t, res.Lost, 1, "results are recorded once")
	require.GreaterOrEqual(t, time.Since(began), 500*time.Millisecond)
	require.False(t, pgqueue.TakesTurn(store, x), "the next claims do not wait again")
	res, err = store.Exchange(t.Context(), claimRequest(worker, 600))
	require.NoError(t, err)
	require.Len(t, res.Jobs, 600)
}

func TestLargeClaimsTakeTurns(t *testing.T) {
	t.Parallel()
	store := pgqueue.New(nil, pgqueue.Config{})
	require.False(t, pgqueue.TakesTurn(store, claimRequest(1, 499)))
	require.True(t, pgqueue.TakesTurn(store, claimRequest(1, 500)))
	two := claimRequest(1, 250)
	two.Claims = append(two.Claims, driver.ClaimRequest{Queue: "other", Limit: 250})
	require.True(t, pgqueue.TakesTurn(store, two))
}
