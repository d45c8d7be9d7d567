package harness

import (
	"io"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMain(m *testing.M) {
	RunChild(func(spec []string) error {
		for _, s := range spec {
			if err := Report(s); err != nil {
				return err
			}
		}
		<-UntilStopped().Done()
		return nil
	})
	os.Exit(m.Run())
}

func TestChildReportsUntilItIsStopped(t *testing.T) {
	h, err := New("x", nil)
	require.NoError(t, err)
	t.Cleanup(h.TB.Release)
	c, err := h.StartChild([]string{"one", "two"})
	require.NoError(t, err)
	var got string
	for _, want := range []string{"one", "two"} {
		require.NoError(t, c.Next(&got))
		require.Equal(t, want, got)
	}
	memory, err := Memory(c.Pid(), "VmRSS")
	require.NoError(t, err)
	require.Positive(t, memory)
	require.NoError(t, c.Stop())
	require.NoError(t, c.Stop(), "again")
	require.Error(t, c.Next(&got))
}

func TestStopReturnsTheFailureOfAChild(t *testing.T) {
	h := &Harness{}
	c, err := h.StartChild("not the list that is expected")
	require.NoError(t, err)
	var got string
	require.ErrorIs(t, c.Next(&got), io.EOF)
	require.Error(t, c.Stop())
}
