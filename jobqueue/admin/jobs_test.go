package admin_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/jobqueue"
	"lessonkit.example/jobqueue/admin"
)

func TestStatesHaveNames(t *testing.T) {
	t.Parallel()
	for state, name := range map[admin.State]string{
		admin.StateWaiting: "waiting", admin.StateScheduled: "scheduled", admin.StateRunning: "running",
		admin.StateSucceeded: "succeeded", admin.StateFailed: "failed", admin.StateCancelled: "cancelled",
		admin.StateHeld: "held",
		0:               "state 0", 99: "state 99",
	} {
		require.Equal(t, name, state.String())
		require.Equal(t, !strings.HasPrefix(name, "state"), state.Valid())
	}
	finished := []admin.State{admin.StateSucceeded, admin.StateFailed, admin.StateCancelled}
	for state := admin.StateWaiting; state <= admin.StateHeld; state++ {
		require.Equal(t, slices.Contains(finished, state), state.Finished(), state)
	}
}

// unasked is a store of which nothing may be asked.
type unasked struct{ jobqueue.Store }

func (unasked) Usable() error { return nil }

func TestInvalidNamesAreRefused(t *testing.T) {
	t.Parallel()
	c := admin.NewClient(unasked{})
	calls := map[string]func(ctx context.Context, name string) error{
		"GroupStats": func(ctx context.Context, name string) error { _, err := c.GroupStats(ctx, name); return err },
		"Pause":      func(ctx context.Context, name string) error { return c.Pause(ctx, name, time.Time{}) },
		"Resume":     c.Resume, "PauseSchedule": c.PauseSchedule, "ResumeSchedule": c.ResumeSchedule,
		"RunSchedule": c.RunSchedule,
	}
	for what, call := range map[string]func(admin.Filter) error{
		"List":       func(f admin.Filter) error { _, err := c.List(t.Context(), f); return err },
		"RetryMany":  func(f admin.Filter) error { _, _, err := c.RetryMany(t.Context(), f); return err },
		"CancelMany": func(f admin.Filter) error { _, _, err := c.CancelMany(t.Context(), f); return err },
	} {
		calls[what+", queue"] = func(_ context.Context, name string) error { return call(admin.Filter{Queue: name}) }
		calls[what+", kind"] = func(_ context.Context, name string) error { return call(admin.Filter{Kind: name}) }
	}
	for what, call := range calls {
		names := []string{strings.Repeat("x", 201), "a\x00b", "\xff"}
		if !strings.Contains(what, ",") { // an empty Queue or Kind of a Filter selects all
			names = append(names, "")
		}
		for _, name := range names {
			require.ErrorIs(t, call(t.Context(), name), jobqueue.ErrName, "%s %q", what, name)
		}
	}
}
