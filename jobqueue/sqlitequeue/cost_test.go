package sqlitequeue_test

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lessonkit.example/jobqueue"
	"lessonkit.example/jobqueue/sqlitequeue"
)

// traced returns a store, and the statements that it executes.
func traced(t *testing.T) (*sqlitequeue.Store, *[]string) {
	t.Helper()
	statements := new([]string)
	store := open(t, filepath.Join(t.TempDir(), "queue.db"), sqlitequeue.Config{
		Trace: func(ctx context.Context, statement string) (context.Context, func(error)) {
			*statements = append(*statements, statement)
			return ctx, nil
		}})
	require.NoError(t, store.Migrate(t.Context()))
	*statements = nil
	return store, statements
}

// Enqueuing executes one statement for each job, which the connection keeps prepared.
func TestCostOfEnqueuing(t *testing.T) {
	t.Parallel()
	store, statements := traced(t)
	ps := []jobqueue.Params{{Kind: "work"}, {Kind: "work"}}
	_, err := jobqueue.NewClient(store).EnqueueMany(t.Context(), ps)
	require.NoError(t, err)
	require.Len(t, *statements, 2)
	require.Contains(t, (*statements)[1], "insert into jobqueue_job")
}

// Rescue looks at all groups seldom, and never while others cannot write.
func TestRescueLooksAtGroupsSeldom(t *testing.T) {
	t.Parallel()
	store, statements := traced(t)
	looked := func(orphans bool) int {
		*statements = nil
		_, err := store.Rescue(t.Context(), orphans)
		require.NoError(t, err)
		return slices.IndexFunc(*statements, func(s string) bool { return strings.Contains(s, "after_group") })
	}
	require.Equal(t, -1, looked(false))
	require.Zero(t, looked(true), "before the transaction: %q", *statements)
}
