package pgqueue_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"lessonkit.example/internal/pgtest"
	"lessonkit.example/jobqueue/driver"
	"lessonkit.example/jobqueue/internal/queuetest"
	"lessonkit.example/jobqueue/pgqueue"
)

func TestMain(m *testing.M) {
	queuetest.WorkerProcess(func(ctx context.Context, url string) (driver.Store, error) {
		pool, err := pgxpool.New(ctx, url)
		return pgqueue.New(pool, pgqueue.Config{}), err
	})
	supervise := "lessonkit.example/internal/pgtest.(*Server).supervise.func1"
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction(supervise))
}

func TestFloors(t *testing.T) {
	queuetest.RunFloors(t, func(t *testing.T) (driver.Store, string) {
		url := pgtest.URL(t)
		store := pgqueue.New(connect(t, url), pgqueue.Config{})
		require.NoError(t, store.Migrate(t.Context()))
		return store, url
	})
}
