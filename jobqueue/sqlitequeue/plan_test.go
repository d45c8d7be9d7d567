package sqlitequeue_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lessonkit.example/jobqueue/driver"
	"lessonkit.example/jobqueue/sqlitequeue"
)

// What workers look for again and again is found by an index, whatever the history is like.
func TestStatementsUseTheirIndexes(t *testing.T) {
	t.Parallel()
	store := open(t, filepath.Join(t.TempDir(), "queue.db"), sqlitequeue.Config{})
	require.NoError(t, store.Migrate(t.Context()))
	_, read := store.DB()
	for name, c := range map[string]struct{ query, want string }{
		"the next callback of each kind": {sqlitequeue.NextCancelledSQL,
			"SEARCH jobqueue_done USING COVERING INDEX jobqueue_done_callback (kind=? AND callback_at<?)"},
		"purge of succeeded jobs": {sqlitequeue.PurgePageSQL(driver.StateSucceeded),
			"SEARCH jobqueue_done USING INTEGER PRIMARY KEY (rowid>?)"},
		"purge of failed jobs": {sqlitequeue.PurgePageSQL(driver.StateFailed),
			"SEARCH jobqueue_done USING INDEX jobqueue_done_bad (state=? AND id>?)"},
	} {
		t.Run(name, func(t *testing.T) {
			rows, err := read.QueryContext(t.Context(), "explain query plan "+c.query, 0, `["work"]`, 5, 0)
			require.NoError(t, err)
			defer rows.Close()
			var plan []string
			for rows.Next() {
				var id, parent, unused int
				var step string
				require.NoError(t, rows.Scan(&id, &parent, &unused, &step))
				plan = append(plan, step)
			}
			require.NoError(t, rows.Err())
			require.Contains(t, plan, c.want)
			require.NotContains(t, strings.Join(plan, "\n"), "SCAN jobqueue_done")
		})
	}
}
