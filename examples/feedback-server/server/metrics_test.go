package server_test

import (
	"context"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lessonkit.example/examples/feedback-server/server"
)

func TestPrometheusAcceptsMetricsAndAlerts(t *testing.T) {
	t.Parallel()
	promtool := installedProgram(t, "promtool")
	check := exec.Command(promtool, "check", "metrics")
	check.Stdin = strings.NewReader(get(onSQLite(t, server.RoleAll).Handler(), "/metrics").Body.String())
	out, err := check.CombinedOutput()
	require.NoError(t, err, string(out))
	require.Empty(t, string(out))

	out, err = exec.Command(promtool, "check", "rules", "../alerts.yml").CombinedOutput()
	require.NoError(t, err, string(out))
	rules, err := os.ReadFile("../alerts.yml")
	require.NoError(t, err)
	tests, err := os.ReadFile("testdata/alerts_test.yml")
	require.NoError(t, err)
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "alerts.yml"), rules, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "test.yml"), tests, 0o600))
	out, err = exec.Command(promtool, "test", "rules", filepath.Join(dir, "test.yml")).CombinedOutput()
	require.NoError(t, err, string(out))
}

// Every metric and label that alerts and scaling name is served, also before anything has happened.
func TestAlertsUseMetricsThatExist(t *testing.T) {
	t.Parallel()
	rules, err := os.ReadFile("../alerts.yml")
	require.NoError(t, err)
	scaling, err := os.ReadFile("../keda.yaml")
	require.NoError(t, err)
	rules = append(rules, scaling...)
	s := onSQLite(t, server.RoleAll)
	text := get(s.Handler(), "/metrics").Body.String()
	// A queue is there from its first job on, a route from its first request on.
	later := []string{"jobqueue_oldest_seconds", "jobqueue_jobs", "http_request_duration_seconds_count"}
	names := regexp.MustCompile(`\b[a-z]+(_[a-z]+)+\b`)
	exprs := regexp.MustCompile(`(?m)^ +(?:expr|query): ((?:>-\n.*\n)?.*)$`)
	for _, expr := range exprs.FindAllStringSubmatch(string(rules), -1) {
		for _, name := range names.FindAllString(expr[1], -1) {
			if !slices.Contains(later, name) {
				require.Contains(t, text, "\n"+name, expr[1])
			}
		}
	}
	for _, kind := range []string{"transcribe", "delete_audio", "erase_teacher", "learn", "sweep", "retention"} {
		require.Contains(t, text, `job_duration_seconds_count{kind="`+kind+`",outcome="failed"} 0`)
	}
}

// A server that stops is not ready, but its database is.
func TestStoppingServerDoesNotReportTheDatabaseDown(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, server.RoleAPI)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	stopped, stop := context.WithCancel(t.Context())
	stop()
	require.NoError(t, s.Run(stopped, listener))
	require.Equal(t, http.StatusServiceUnavailable, get(s.Handler(), "/readyz").Code)
	require.Contains(t, get(s.Handler(), "/metrics").Body.String(), "\ndatabase_ready 1\n")
}
