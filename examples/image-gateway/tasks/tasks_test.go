package tasks

import (
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"lessonkit.example/imagegen/gateway"
)

// A request is not performed, and paid, once more because its task cannot be read.
func TestTaskOfAKeyThatCannotBeRead(t *testing.T) {
	t.Parallel()
	queue, err := Open(t.Context(), t.TempDir(), gateway.Performer{}, 1, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, queue.Close()) })
	request := gateway.Params{Caller: "anna", Key: "k"}
	_, added, err := queue.Add(t.Context(), request)
	require.NoError(t, err)
	require.True(t, added)
	write, _ := queue.queue.DB()
	_, err = write.ExecContext(t.Context(), `update jobqueue_job set args = '5'`)
	require.NoError(t, err)
	_, added, err = queue.Add(t.Context(), request)
	require.Error(t, err)
	require.False(t, added)
}
