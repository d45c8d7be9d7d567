package pgqueue_test

import (
	"flag"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/internal/pgtest"
	"lessonkit.example/jobqueue/driver"
	"lessonkit.example/jobqueue/internal/queuetest"
	"lessonkit.example/jobqueue/pgqueue"
)

var floors = flag.String("floors", "", "run the floors: ci, or full, on an idle machine")

func TestFloors(t *testing.T) {
	if *floors == "" {
		t.Skip("-floors=ci runs it")
	}
	const late = 50 * time.Millisecond
	queuetest.Floors{Full: *floors == "full", Late: late, Open: func(t *testing.T) (driver.Store, string) {
		url := pgtest.URL(t)
		store := pgqueue.New(connect(t, url), pgqueue.Config{})
		require.NoError(t, store.Migrate(t.Context()))
		return store, url
	}}.Run(t)
}
