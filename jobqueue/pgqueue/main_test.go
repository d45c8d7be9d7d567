package pgqueue_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
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
