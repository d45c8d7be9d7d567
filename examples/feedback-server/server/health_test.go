package server_test

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/examples/feedback-server/server"
	"lessonkit.example/internal/s3test"
)

func TestHealthTellsOperatorsWhyUploadsAreRefused(t *testing.T) {
	t.Parallel()
	bucket := s3test.Start(t)
	h := newServer(t, server.RoleAll, map[string]string{
		"DATABASE_URL": "sqlite:" + filepath.Join(t.TempDir(), "x.db"), "OPERATOR_PASSWORD": operatorPassword,
		"AUDIO_STORAGE_URL": s3test.URL(bucket.Endpoint, "missing"),
		"AWS_ACCESS_KEY_ID": s3test.AccessKeyID, "AWS_SECRET_ACCESS_KEY": s3test.SecretAccessKey,
	}).Handler()
	r := httptest.NewRequest(http.MethodGet, "/health", nil)
	basic("operator", operatorPassword)(r)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	var report server.Report
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &report))
	require.False(t, report.StorageAvailable)
	require.Contains(t, report.Storage.Detail, "there is no such bucket")
	require.NotContains(t, w.Body.String(), s3test.SecretAccessKey)
	require.NotContains(t, get(h, "/health").Body.String(), "bucket")
}

// A server whose tables nobody has made yet says so, and not that the database is away.
func TestServerWaitsForMigrate(t *testing.T) {
	t.Parallel()
	config, err := server.ParseConfig(map[string]string{
		"DATABASE_URL": "sqlite:" + filepath.Join(t.TempDir(), "x.db"), "AUDIO_STORAGE_DIR": t.TempDir(),
	})
	require.NoError(t, err)
	log := new(logBuffer)
	s, err := server.New(t.Context(), config, server.Options{
		Role: server.RoleAll, Logger: slog.New(slog.NewJSONHandler(log, nil)),
	})
	require.NoError(t, err)
	t.Cleanup(func() { s.Close() })
	serve(t, s)
	require.Eventually(t, func() bool { return len(log.grep("waiting for the database")) > 0 }, timeout,
		10*time.Millisecond)
	line := log.grep("waiting for the database")[0]
	require.Contains(t, line["msg"], "run `migrate`")
	require.NotContains(t, line, "error")
}
