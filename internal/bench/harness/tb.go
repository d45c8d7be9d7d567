package harness

import (
	"fmt"
	"os"
	"testing"
)

// TB is as much of a testing.TB as a private PostgreSQL needs. The zero value
// is ready; Release ends what was started with it.
type TB struct {
	testing.TB
	cleanups []func()
}

// Helper implements testing.TB.
func (t *TB) Helper() {}

// Cleanup keeps f for Release.
func (t *TB) Cleanup(f func()) { t.cleanups = append(t.cleanups, f) }

// Skip ends the program: what is measured cannot be left out.
func (t *TB) Skip(args ...any) { t.Fatal(args...) }

// Fatal ends the program.
func (t *TB) Fatal(args ...any) {
	fmt.Fprintln(os.Stderr, args...)
	os.Exit(1)
}

// Release runs what was given to Cleanup, the newest first.
func (t *TB) Release() {
	for i := len(t.cleanups) - 1; i >= 0; i-- {
		t.cleanups[i]()
	}
}
