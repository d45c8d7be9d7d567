package harness

import (
	"fmt"
	"os"
	"testing"
)

// TB implements the part of testing.TB that starting a private PostgreSQL needs. The zero value is
// ready to use; Release stops what was started with it.
type TB struct {
	testing.TB
	cleanups []func()
}

// Helper implements testing.TB.
func (t *TB) Helper() {}

// Cleanup registers f for Release.
func (t *TB) Cleanup(f func()) { t.cleanups = append(t.cleanups, f) }

// Skip ends the program: no measure can be skipped.
func (t *TB) Skip(args ...any) { t.Fatal(args...) }

// Fatal ends the program.
func (t *TB) Fatal(args ...any) {
	fmt.Fprintln(os.Stderr, args...)
	os.Exit(1)
}

// Release calls the functions registered with Cleanup, the newest first.
func (t *TB) Release() {
	for i := len(t.cleanups) - 1; i >= 0; i-- {
		t.cleanups[i]()
	}
}
