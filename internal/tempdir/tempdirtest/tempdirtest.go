// Package tempdirtest checks that a package deletes what killed processes have left in their
// temporary directories.
package tempdirtest

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Env is the environment variable with the directory in the process that [Swept] kills.
const Env = "LESSONKIT_TEST_TEMPDIR"

// Ready is called by the process that is to be killed when its file is there. It does not return.
func Ready() {
	fmt.Println("ready")
	time.Sleep(time.Hour)
}

// Swept starts the program of the test again, whose TestMain does what makes a file in a temporary
// directory below dir, and kills it. It then checks that sweep has deleted everything in dir, but
// nothing of the process while it lived.
func Swept(t *testing.T, dir, file string, sweep func()) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the directories of living processes cannot be told from those of dead ones")
	}
	other := exec.CommandContext(t.Context(), os.Args[0])
	other.Env = append(os.Environ(), Env+"="+dir)
	other.Stderr = os.Stderr
	output, err := other.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, other.Start())
	line, err := bufio.NewReader(output).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "ready\n", line)
	requireOne := func(when string) {
		found, err := filepath.Glob(filepath.Join(dir, "*", file))
		require.NoError(t, err)
		require.Len(t, found, 1, when)
	}
	requireOne("before")
	sweep()
	requireOne("the process lives")
	require.NoError(t, other.Process.Kill())
	_ = other.Wait()
	sweep()
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)
}
