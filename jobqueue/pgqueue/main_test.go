package pgqueue_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"go.uber.org/goleak"

	"lessonkit.example/jobqueue/driver"
	"lessonkit.example/jobqueue/internal/queuetest"
	"lessonkit.example/jobqueue/pgqueue"
)

func TestMain(m *testing.M) {
	worker, err := queuetest.WorkerProcess(func(ctx context.Context, url string) (driver.Store, error) {
		pool, err := pgxpool.New(ctx, url)
		return pgqueue.New(pool, pgqueue.Config{}), err
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if worker {
		return
	}
	supervise := "lessonkit.example/internal/pgtest.(*Server).supervise.func1"
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction(supervise))
}
