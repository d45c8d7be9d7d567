package jobqueue_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/jobqueue"
)

// unasked is a store of which nothing may be asked.
type unasked struct{ jobqueue.Store }

func TestInvalidNamesAreRefused(t *testing.T) {
	t.Parallel()
	c := jobqueue.NewClient(unasked{})
	calls := map[string]func(ctx context.Context, name string) error{
		"GroupStats":  func(ctx context.Context, name string) error { _, err := c.GroupStats(ctx, name); return err },
		"Pause":       func(ctx context.Context, name string) error { return c.Pause(ctx, name, time.Time{}) },
		"DeleteGroup": c.DeleteGroup, "Resume": c.Resume,
		"PauseSchedule": c.PauseSchedule, "ResumeSchedule": c.ResumeSchedule,
		"RunSchedule": c.RunSchedule,
		"Figures, queue": func(ctx context.Context, name string) error {
			_, err := c.Figures(ctx, name, time.Hour, time.Minute)
			return err
		},
	}
	for what, call := range map[string]func(jobqueue.Filter) error{
		"List":       func(f jobqueue.Filter) error { _, _, err := c.List(t.Context(), f); return err },
		"RetryMany":  func(f jobqueue.Filter) error { _, _, err := c.RetryMany(t.Context(), f); return err },
		"CancelMany": func(f jobqueue.Filter) error { _, _, err := c.CancelMany(t.Context(), f); return err },
	} {
		calls[what+", queue"] = func(_ context.Context, name string) error {
			return call(jobqueue.Filter{Queue: name})
		}
		calls[what+", kind"] = func(_ context.Context, name string) error { return call(jobqueue.Filter{Kind: name}) }
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
