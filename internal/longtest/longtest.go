// Package longtest keeps what is slow out of the default run of the tests. The environment variable
// LONG_TESTS=1 asks for all of it; .ci/run sets it.
package longtest

import (
	"os"
	"testing"
)

// Wanted reports whether LONG_TESTS is set.
func Wanted() bool { return os.Getenv("LONG_TESTS") != "" }

// Only skips a test unless LONG_TESTS is set.
func Only(t testing.TB) {
	t.Helper()
	if !Wanted() {
		t.Skip("only with LONG_TESTS=1")
	}
}

// Times returns how often, or how long, a test does something: short, or long with LONG_TESTS.
func Times[T any](short, long T) T {
	if Wanted() {
		return long
	}
	return short
}
