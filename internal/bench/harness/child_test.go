package harness

import (
	"io"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMain(m *testing.M) {
	RunChild(func(spec []string) {
		for _, s := range spec {
			Report(s)
		}
		<-UntilStopped().Done()
	})
	os.Exit(m.Run())
}

func TestChildReportsUntilItIsStopped(t *testing.T) {
	h, err := New("x", nil)
	require.NoError(t, err)
	t.Cleanup(h.TB.Release)
	c := h.StartChild([]string{"one", "two"})
	var got string
	for _, want := range []string{"one", "two"} {
		require.NoError(t, c.Next(&got))
		require.Equal(t, want, got)
	}
	require.Positive(t, Memory(c.Pid(), "VmRSS"))
	require.NoError(t, c.Stop())
	require.NoError(t, c.Stop(), "again")
	require.Error(t, c.Next(&got))
}

func TestStopReturnsTheFailureOfAChild(t *testing.T) {
	h := &Harness{}
	c := h.StartChild("not the list that is expected")
	var got string
	require.ErrorIs(t, c.Next(&got), io.EOF)
	require.Error(t, c.Stop())
}
