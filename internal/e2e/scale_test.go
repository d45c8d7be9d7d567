//go:build linux

package e2e

import (
	"flag"
	"fmt"
	"os"
	"sync"
	"testing"

	"lessonkit.example/internal/longtest"
)

var faults = flag.String("faults", "", "number of faults: few, ci, or full (takes half an hour)")

// slow keeps a test out of the plain run, which has the main job and what is quick, and runs it in
// parallel with others.
func slow(t *testing.T) {
	t.Helper()
	if *faults == "" {
		longtest.Only(t)
	}
	t.Parallel()
}

// times returns a number by the flag.
func times[T any](few, ci, full T) T {
	switch *faults {
	case "", "few":
		return few
	case "ci":
		return ci
	case "full":
		return full
	}
	panic("-faults: want few, ci or full")
}

// summary collects the figures of all tests.
var summary struct {
	sync.Mutex
	lines []string
}

// sum logs a line and adds it to the summary.
func sum(t *testing.T, format string, args ...any) {
	t.Helper()
	line := fmt.Sprintf("%-40s %s", t.Name(), fmt.Sprintf(format, args...))
	t.Log(line)
	summary.Lock()
	defer summary.Unlock()
	summary.lines = append(summary.lines, line)
}

func printSummary() {
	for _, line := range summary.lines {
		fmt.Fprintln(os.Stdout, "faults:", line)
	}
}
