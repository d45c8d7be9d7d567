package harness

import (
	"errors"
	"fmt"
	"os"
	"testing"
)

// TB implements the part of testing.TB that subjects and package pgtest need. The zero value is
// ready to use.
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

// Fatal ends the run.
func (t *TB) Fatal(args ...any) { Check(errors.New(fmt.Sprintln(args...))) }

// TempDir creates a directory that exists until Release.
func (t *TB) TempDir() string {
	dir, err := os.MkdirTemp("", "bench-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// Release calls the functions registered with Cleanup, the newest first.
func (t *TB) Release() { t.release(0) }

// release calls all functions registered after the first n.
func (t *TB) release(n int) {
	for i := len(t.cleanups) - 1; i >= n; i-- {
		t.cleanups[i]()
	}
	t.cleanups = t.cleanups[:n]
}
