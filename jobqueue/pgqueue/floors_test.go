package pgqueue_test

import (
	"flag"
	"testing"

	"github.com/stretchr/testify/require"

	"lessonkit.example/internal/pgtest"
	"lessonkit.example/jobqueue/driver"
	"lessonkit.example/jobqueue/internal/queuetest"
	"lessonkit.example/jobqueue/pgqueue"
)

var floors = flag.Bool("floors", false, "run the floors")

func TestFloors(t *testing.T) {
	if !*floors {
		t.Skip("-floors runs it")
	}
	queuetest.Floors{Open: func(t *testing.T) (driver.Store, string) {
		url := pgtest.URL(t)
		store := pgqueue.New(connect(t, url), pgqueue.Config{})
		require.NoError(t, store.Migrate(t.Context()))
		return store, url
	}}.Run(t)
}
