package pgqueue_test

import (
	"flag"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/internal/pgtest"
	"lessonkit.example/jobqueue"
	"lessonkit.example/jobqueue/driver"
	"lessonkit.example/jobqueue/pgqueue"
	"lessonkit.example/jobqueue/queuetest"
)

var floors = flag.Bool("floors", false, "run the tests of figures, which take minutes and an idle machine")

func needFloors(t *testing.T) {
	t.Helper()
	if !*floors {
		t.Skip("needs -floors")
	}
}

func TestFloors(t *testing.T) {
	needFloors(t)
	queuetest.Floors{Late: 50 * time.Millisecond, Open: func(t *testing.T) (driver.Store, string) {
		url := pgtest.URL(t)
		store := pgqueue.New(connect(t, url), pgqueue.Config{})
		require.NoError(t, store.Migrate(t.Context()))
		return store, url
	}}.Run(t)
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
