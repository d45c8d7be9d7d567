//go:build unix

package pgqueue_test

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/internal/pgtest"
	"lessonkit.example/jobqueue/internal/queuetest"
	"lessonkit.example/jobqueue/pgqueue"
)

// Worker processes are killed and suspended in the middle of ten thousand jobs: none is lost,
// none completed twice, and only what they had leased runs again.
func TestProcessesKilledAndStopped(t *testing.T) {
	const n = 10_000
	url := pgtest.Start(t, pgtest.Options{TCP: true}).URL() // whose time limits end exchanges
	pool := connect(t, url)
	store := pgqueue.New(pool, pgqueue.Config{})
	require.NoError(t, store.Migrate(t.Context()))
	// The processes hold the slow ones when they die.
	load(t, store, n, 400, 300*time.Millisecond)

	var children []*child
	for range 3 {
		children = append(children, startChild(t, url))
	}
	victim, suspended, survivor := children[0], children[1], children[2]
	workerOf := func(c *child) int {
		return number(t, pool, `select coalesce(min(id), 0) from jobqueue_worker where name like '%/' || $1`,
			fmt.Sprint(c.cmd.Process.Pid))
	}
	held := func(worker int) int {
		return number(t, pool, `select count(*) from jobqueue_job where worker = $1`, worker)
	}
	eventually(t, "all work", func() bool {
		return workerOf(victim) > 0 && workerOf(suspended) > 0 &&
			number(t, pool, `select count(*) from jobqueue_done`) > n/20
	})
	v, z := workerOf(victim), workerOf(suspended)
	eventually(t, "both hold jobs", func() bool { return held(v) > 0 && held(z) > 0 })

	victim.signal(syscall.SIGKILL)
	suspended.signal(syscall.SIGSTOP)
	died := time.Now()
	orphans, stopped := 0, 0 // a transaction in progress may commit after the death
	eventually(t, "recovery", func() bool {
		a, b := held(v), held(z)
		orphans, stopped = max(orphans, a), max(stopped, b)
		return a == 0 && b == 0
	})
	recovery := time.Since(died)
	require.Less(t, recovery, promised(t))
	require.Zero(t, workerOf(suspended), "its worker is gone")
	suspended.signal(syscall.SIGCONT)

	eventually(t, "all done", func() bool {
		return number(t, pool, `select count(*) from jobqueue_job`) == 0
	})
	require.Equal(t, n, number(t, pool, `select count(*) from jobqueue_done where state = 4`))
	again := number(t, pool, `select count(*) from jobqueue_done where fence > 1`)
	lost := suspended.finish()
	require.Positive(t, lost, "its results did not count")
	require.LessOrEqual(t, again, orphans+stopped)
	require.Equal(t, again,
		number(t, pool, `select count(*) from jobqueue_done where errors->0->>'error' = 'lease expired'`))
	require.Zero(t, survivor.finish())
	t.Logf("%d jobs; recovery after %v; %d run again, of %d that the killed process held and %d of the stopped one, "+
		"which lost %d", n, recovery, again, orphans, stopped, lost)
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

// childLease is long enough that processes that live keep theirs on a busy machine.
const childLease = 5 * time.Second

// child is a worker process under test.
type child struct {
	t   *testing.T
	cmd *exec.Cmd
	out strings.Builder
}

func startChild(t *testing.T, url string) *child {
	t.Helper()
	c := &child{t: t, cmd: exec.Command(os.Args[0])}
	c.cmd.Env = queuetest.WorkerEnv(url, childLease)
	c.cmd.Stdout, c.cmd.Stderr = &c.out, os.Stderr
	require.NoError(t, c.cmd.Start())
	t.Cleanup(func() {
		if c.cmd.ProcessState == nil {
			_ = c.cmd.Process.Kill()
			_ = c.cmd.Wait()
		}
	})
	return c
}

func (c *child) signal(s syscall.Signal) {
	c.t.Helper()
	require.NoError(c.t, c.cmd.Process.Signal(s))
}

// finish interrupts the process and returns how many of its results were lost.
func (c *child) finish() (lost int) {
	c.t.Helper()
	c.signal(syscall.SIGINT)
	require.NoError(c.t, c.cmd.Wait())
	_, err := fmt.Sscanf(c.out.String(), "lost %d", &lost)
	require.NoError(c.t, err, c.out.String())
	return lost
}
