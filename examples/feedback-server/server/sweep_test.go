package server_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/examples/feedback-server/server"
	"lessonkit.example/internal/pgtest"
	"lessonkit.example/jobqueue"
)

// The sweep is a periodic job of the queue, so it can be run by hand.
func TestSweepIsASchedule(t *testing.T) {
	t.Parallel()
	database, audio := pgtest.URL(t), t.TempDir()
	s := newServer(t, server.RoleWorker, map[string]string{"DATABASE_URL": database, "AUDIO_STORAGE_DIR": audio})
	require.NoError(t, s.Migrate(t.Context()))
	serve(t, s)

	jobs := jobqueue.NewClient(queueIn(t, database))
	require.Eventually(t, func() bool {
		schedules, err := jobs.Schedules(t.Context())
		return err == nil && len(schedules) == 1 && time.Until(schedules[0].NextAt) <= time.Hour
	}, timeout, 10*time.Millisecond)

	orphan := filepath.Join(audio, "01", "0197a000-0000-7000-8000-000000000001.wav")
	require.NoError(t, os.MkdirAll(filepath.Dir(orphan), 0o700))
	require.NoError(t, os.WriteFile(orphan, []byte("left behind"), 0o600))
	old := time.Now().Add(-2 * time.Hour)
	require.NoError(t, os.Chtimes(orphan, old, old))
	require.Eventually(t, func() bool { // again, as the worker may not listen yet
		require.NoError(t, jobs.RunSchedule(t.Context(), "sweep"))
		_, err := os.Stat(orphan)
		return os.IsNotExist(err)
	}, timeout, 200*time.Millisecond)
}
