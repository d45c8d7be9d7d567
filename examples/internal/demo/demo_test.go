package demo

import (
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"lessonkit.example/examples/feedback-server/server"
)

// The demo runs beside the configuration of a real service, and stores nothing in its bucket.
func TestDemoKeepsItsRecordingsInItsOwnDirectory(t *testing.T) {
	t.Parallel()
	d := &demo{Options: Options{Dir: "demo-data", Environment: map[string]string{
		"DATABASE_URL": "postgres:///lessons", "LOCAL_ASR_URL": "http://127.0.0.1:8090",
		"AUDIO_STORAGE_URL":    "s3://recordings/school?endpoint=https://s3.school.example&region=eu-north-1",
		"MIGRATE_DATABASE_URL": "postgres:///lessons?user=owner", "OPS_ADDR": "127.0.0.1:9090",
		"MINIAPP_APP_ID": "app", "MINIAPP_APP_SECRET": "secret", "APP_ENV": "production",
		"OAUTH_CLIENT_ID": "page", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318",
	}}}
	config, err := server.ParseConfig(d.environment(t.Context(), nil, slog.New(slog.DiscardHandler)))
	require.NoError(t, err)
	require.Equal(t, "demo-data/audio", config.AudioStorageDir)
	require.Empty(t, config.AudioStorageURL)
	require.Equal(t, "sqlite:demo-data/lessonkit.db", config.DatabaseURL)
	require.Empty(t, config.MigrateDatabaseURL)
	require.Empty(t, config.OpsAddr+config.OAuthClientID+config.OTLPEndpoint)
	require.True(t, config.DevelopmentSignIn())
}
