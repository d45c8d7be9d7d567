package service

import (
	"fmt"
	"os"
	"testing"
)

// holder is as much of a testing.TB as a private PostgreSQL needs.
type holder struct {
	testing.TB
	cleanups []func()
}

func (h *holder) Helper()          {}
func (h *holder) Cleanup(f func()) { h.cleanups = append(h.cleanups, f) }
func (h *holder) Skip(args ...any) { h.Fatal(args...) }
func (h *holder) Fatal(args ...any) {
	fmt.Fprintln(os.Stderr, args...)
	os.Exit(1)
}

func (h *holder) release() {
	for i := len(h.cleanups) - 1; i >= 0; i-- {
		h.cleanups[i]()
	}
}
