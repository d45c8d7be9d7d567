package program_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"lessonkit.example/examples/internal/program"
)

func TestStatuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args           []string
		fails          error
		status         int
		stdout, stderr string
	}{
		{args: []string{"-n", "2"}},
		{args: []string{"-h"}, stdout: "usage: p\n  -n int\n    \tnumber\nend\n"},
		{args: []string{"-x"}, status: 2, stderr: "p: flag provided but not defined: -x; p -h shows the usage\n"},
		{args: []string{"x"}, status: 2, stderr: "p: unexpected argument \"x\"; p -h shows the usage\n"},
		{fails: errors.New("broken"), status: 1, stderr: "p: broken\n"},
		{fails: fmt.Errorf("all: %w", program.Usage{Err: errors.New("wrong")}), status: 2, stderr: "p: all: wrong\n"},
	} {
		var stdout, stderr bytes.Buffer
		flags := flag.NewFlagSet("p", flag.ContinueOnError)
		flags.Int("n", 0, "number")
		err := program.ParseAll(flags, c.args, &stdout, "usage: p\n", "end\n")
		if err == nil {
			err = c.fails
		}
		require.Equal(t, c.status, program.Status("p", err, &stderr), c.args)
		require.Equal(t, c.stdout, stdout.String())
		require.Equal(t, c.stderr, stderr.String())
	}
}

func TestASignalEndsTheContext(t *testing.T) {
	ctx := program.Context()
	require.NoError(t, ctx.Err())
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no such signal")
	}
	this, err := os.FindProcess(os.Getpid())
	require.NoError(t, err)
	require.NoError(t, this.Signal(syscall.SIGTERM))
	<-ctx.Done()
}
