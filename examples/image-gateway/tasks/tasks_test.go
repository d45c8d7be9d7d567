package tasks

import (
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"lessonkit.example/imagegen/gateway"
)

func open(t *testing.T) *Tasks {
	queue, err := Open(t.Context(), t.TempDir(), gateway.Performer{}, 1, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, queue.Close()) })
	return queue
}

// The tasks of a gateway without -data end with it. Their names are not those of another one's.
func TestTasksOfAGatewayThatEndedAreNotFound(t *testing.T) {
	t.Parallel()
	var ids []string
	for range 2 {
		queue := open(t)
		id, _, err := queue.Add(t.Context(), gateway.Params{Caller: "anna"})
		require.NoError(t, err)
		for _, other := range ids {
			_, err = queue.Task(t.Context(), other)
			require.ErrorIs(t, err, gateway.ErrNotFound)
		}
		ids = append(ids, id)
	}
}

// A request is not performed, and paid, once more because its task cannot be read.
func TestTaskOfAKeyThatCannotBeRead(t *testing.T) {
	t.Parallel()
	queue := open(t)
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
