package admin_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

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
