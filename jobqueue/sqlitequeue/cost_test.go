package sqlitequeue_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"lessonkit.example/jobqueue"
	"lessonkit.example/jobqueue/sqlitequeue"
)

// Enqueuing a job executes one statement, which the connection keeps prepared: what it prepares
// anew is not traced.
func TestCostOfEnqueuing(t *testing.T) {
	t.Parallel()
	var statements []string
	store, err := sqlitequeue.Open(filepath.Join(t.TempDir(), "queue.db"), sqlitequeue.Config{
		Trace: func(ctx context.Context, statement string) (context.Context, func(error)) {
			statements = append(statements, statement)
			return ctx, nil
		}})
	require.NoError(t, err)
	t.Cleanup(func() { store.Close() })
	require.NoError(t, store.Migrate(t.Context()))
	statements = nil
	_, err = jobqueue.NewClient(store).Enqueue(t.Context(), jobqueue.Params{Kind: "work"})
	require.NoError(t, err)
	require.Len(t, statements, 1)
	require.Contains(t, statements[0], "insert into jobqueue_job")
}
