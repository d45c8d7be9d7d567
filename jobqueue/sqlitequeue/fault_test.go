package sqlitequeue_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"lessonkit.example/internal/db"
	"lessonkit.example/internal/longtest"
	"lessonkit.example/jobqueue"
	"lessonkit.example/jobqueue/driver"
	"lessonkit.example/jobqueue/internal/queuetest"
	"lessonkit.example/jobqueue/sqlitequeue"
)

// workerEnv makes the test program a worker process on this file.
const workerEnv = "JOBQUEUE_TEST_WORKER"

func TestMain(m *testing.M) {
	floor, err := queuetest.FloorWorker(func(_ context.Context, file string) (driver.Store, error) {
		return sqlitequeue.Open(file, sqlitequeue.Config{})
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if floor {
		return
	}
	if file := os.Getenv(workerEnv); file != "" {
		if err := workerProcess(file); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// childLease is long enough that processes that live keep theirs on a busy machine.
const childLease = 5 * time.Second

// waitLimit bounds every wait for something that happens within seconds on an idle machine.
const waitLimit = 3 * time.Minute

func workerProcess(file string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	db, err := db.OpenSQLite(file, nil)
	if err != nil {
		return err
	}
	defer db.Close()
	w := jobqueue.NewWorker(sqlitequeue.New(db.W, db.R, sqlitequeue.Config{}),
		jobqueue.WorkerConfig{Lease: childLease})
	jobqueue.Handle(w, "work", func(ctx context.Context, _ *jobqueue.Job, d time.Duration) error {
		select {
		case <-time.After(d):
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	})
	return w.Run(ctx)
}

// promised returns the longest time until the jobs of a dead process are rescued: one and a half
// leases, which the worker's tests prove in virtual time. The processes of a busy machine may have
// to wait for another lease, and the longer the more of them there are.
func promised(t *testing.T) time.Duration {
	t.Helper()
	slack := childLease
	if text, err := os.ReadFile("/proc/loadavg"); err == nil {
		var load float64
		_, err := fmt.Sscan(string(text), &load)
		require.NoError(t, err)
		slack = max(slack, time.Duration(load/float64(runtime.NumCPU())*float64(time.Second)))
	}
	return childLease*3/2 + slack
}

// Two processes share a file and one is killed: nothing is lost, nothing is completed twice, and
// what the dead process held runs again in time.
func TestProcessKilled(t *testing.T) {
	longtest.Only(t)
	// A job takes a moment: a process that writes without a pause can lock the file for a whole
	// lease.
	const n, took = 10_000, 20 * time.Millisecond
	file := filepath.Join(t.TempDir(), "queue.db")
	db, err := db.OpenSQLite(file, nil)
	require.NoError(t, err)
	defer db.Close()
	store := sqlitequeue.New(db.W, db.R, sqlitequeue.Config{})
	require.NoError(t, store.Migrate(t.Context()))
	ps := make([]jobqueue.Params, n)
	for i := range ps {
		ps[i] = jobqueue.Params{Kind: "work", Args: took}
		if i%(n/100) == 0 {
			ps[i].Args = 1500 * time.Millisecond // the process holds these when it dies
		}
	}
	_, err = jobqueue.NewClient(store).EnqueueMany(t.Context(), ps)
	require.NoError(t, err)

	number := func(query string, args ...any) (n int) {
		require.NoError(t, db.R.QueryRowContext(t.Context(), query, args...).Scan(&n))
		return n
	}
	children := make([]*exec.Cmd, 2)
	for i := range children {
		c := exec.Command(os.Args[0])
		c.Env, c.Stderr = append(os.Environ(), workerEnv+"="+file), os.Stderr
		require.NoError(t, c.Start())
		defer func() { _ = c.Process.Kill(); _ = c.Wait() }()
		children[i] = c
	}
	var victim int
	require.Eventually(t, func() bool {
		victim = number(`select coalesce(min(id), 0) from jobqueue_worker where name like '%/' || ?`,
			fmt.Sprint(children[0].Process.Pid))
		return victim > 0 && number(`select count(*) from jobqueue_done`) > 0 &&
			number(`select count(*) from jobqueue_job where worker = ?`, victim) > 0
	}, waitLimit, 5*time.Millisecond)
	require.NoError(t, children[0].Process.Kill())
	_ = children[0].Wait() // until then it may still commit
	died := time.Now()
	held := number(`select count(*) from jobqueue_job where worker = ?`, victim)
	require.Eventually(t, func() bool {
		return number(`select count(*) from jobqueue_job where worker = ?`, victim) == 0
	}, waitLimit, 20*time.Millisecond)
	recovery := time.Since(died)
	require.Less(t, recovery, promised(t))
	require.Eventually(t, func() bool { return number(`select count(*) from jobqueue_job`) == 0 }, waitLimit,
		20*time.Millisecond)
	require.Equal(t, n, number(`select count(*) from jobqueue_done where state = 4`))
	again := number(`select count(*) from jobqueue_done where fence > 1`)
	require.LessOrEqual(t, again, held)
	require.Equal(t, again, number(`select count(*) from jobqueue_done where errors like '%lease expired%'`))
	require.NoError(t, children[1].Process.Signal(os.Interrupt))
	require.NoError(t, children[1].Wait())
	t.Logf("%d jobs; recovery after %v; %d of %d held run again", n, recovery, again, held)
}
