//go:build linux

package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"lessonkit.example/feedback"
	"lessonkit.example/internal/db"
	"lessonkit.example/jobqueue"
	"lessonkit.example/jobqueue/pgqueue"
	"lessonkit.example/jobqueue/sqlitequeue"
)

// auditFiles compares rows and files, before and after a sweep.
func auditFiles(t *testing.T, s *service) {
	t.Helper()
	rows := s.rows(t)
	files := map[string]bool{}
	for _, key := range s.files(t) {
		files[key] = true
	}
	for key, hash := range rows {
		require.True(t, files[key], "a row without audio: %s", key)
		audio, err := os.ReadFile(filepath.Join(s.audioDir(t), filepath.FromSlash(key)))
		require.NoError(t, err)
		require.Equal(t, hash, hashOf(audio))
	}

	// The sweep skips recent files, which may be uploads in progress. None is, so make all of them
	// old.
	require.NoError(t, s.process.stop(t))
	old := time.Now().Add(-25 * time.Hour)
	for _, key := range s.files(t) {
		require.NoError(t, os.Chtimes(filepath.Join(s.audioDir(t), filepath.FromSlash(key)), old, old))
	}
	s.sweep(t)
	s.start(t)
	var left []string
	eventually(t, "the sweep leaves exactly the files that rows name", func() bool {
		left = s.files(t)
		return len(left) == len(rows)
	})
	for _, key := range left {
		require.Contains(t, rows, key, "audio without a row")
	}
}

// sweep makes the hourly job that deletes audio without a row due at the next start.
func (s *service) sweep(t *testing.T) {
	t.Helper()
	var queue jobqueue.Store
	if path, ok := strings.CutPrefix(s.value("DATABASE_URL"), "sqlite:"); ok {
		opened, err := sqlitequeue.Open(path, sqlitequeue.Config{})
		require.NoError(t, err)
		defer opened.Close()
		queue = opened
	} else {
		pool, err := pgxpool.New(t.Context(), s.value("DATABASE_URL"))
		require.NoError(t, err)
		defer pool.Close()
		queue = pgqueue.New(pool, pgqueue.Config{})
	}
	jobs := jobqueue.NewClient(queue)
	require.NoError(t, jobs.RunSchedule(t.Context(), "sweep"))
}

// rows are the hashes of all segments by their audio's key.
func (s *service) rows(t *testing.T) map[string]string {
	t.Helper()
	opened, err := db.Open(s.value("DATABASE_URL"))
	require.NoError(t, err)
	defer opened.Close()
	rows, err := opened.R.QueryContext(t.Context(), "select audio_key, sha256, state from feedback_segments")
	require.NoError(t, err)
	defer rows.Close()
	hashes := map[string]string{}
	for rows.Next() {
		var key, hash, state string
		require.NoError(t, rows.Scan(&key, &hash, &state))
		require.Contains(t, []string{"transcribed", "failed"}, state)
		hashes[key] = hash
	}
	require.NoError(t, rows.Err())

	if !s.shared() {
		var verdict string
		require.NoError(t, opened.R.QueryRowContext(t.Context(), "pragma integrity_check").Scan(&verdict))
		require.Equal(t, "ok", verdict)
	}
	var jobs int
	eventually(t, "no job is left", func() bool {
		require.NoError(t, opened.R.QueryRowContext(t.Context(), "select count(*) from jobqueue_job").Scan(&jobs))
		return jobs == 0
	})
	const succeeded = `select count(*), count(distinct cast(args as text))
		from jobqueue_done where kind = $1 and state = 4`
	var segments int
	require.NoError(t, opened.R.QueryRowContext(t.Context(), succeeded, string(feedback.TaskTranscribe)).Scan(&jobs,
		&segments))
	require.Equal(t, []int{len(hashes), len(hashes)}, []int{jobs, segments}, "jobs that succeeded, and their segments")
	return hashes
}

// files lists everything in the audio directory.
func (s *service) files(t *testing.T) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(s.audioDir(t), "*", "*"))
	require.NoError(t, err)
	for i, path := range paths {
		key, err := filepath.Rel(s.audioDir(t), path)
		require.NoError(t, err)
		paths[i] = filepath.ToSlash(key)
	}
	return paths
}

func (s *service) audioDir(t *testing.T) string {
	t.Helper()
	if s.bucketDir != "" {
		return s.bucketDir
	}
	return s.value("AUDIO_STORAGE_DIR")
}

// value returns a variable of the service's environment.
func (s *service) value(name string) string {
	for _, v := range slices.Backward(s.env) {
		if value, ok := strings.CutPrefix(v, name+"="); ok {
			return value
		}
	}
	panic(name + " is not set for the service")
}
