//go:build linux

package e2e

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// cluster.sh kills each kind of part once, and finds nothing lost. .ci/run runs it by itself.
func TestClusterLosesNothing(t *testing.T) {
	if *faults != "full" {
		t.Skip("only with -faults=full")
	}
	cmd := exec.CommandContext(t.Context(), "sh", "../../examples/feedback-server/cluster.sh",
		"-phones", "40", "-kills", "1", "-for", "15s")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	for _, kind := range []string{"primary", "standby", "bucket", "api", "worker", "proxy"} {
		require.Regexp(t, `(?m)^`+kind+`  +1 `, string(out))
	}
	require.Regexp(t, `(?m)^acknowledged  +[1-9]`, string(out))
	require.Regexp(t, `(?m)^lost  +0 `, string(out))
	require.Regexp(t, `(?m)^doubled  +0 `, string(out))
	dir := regexp.MustCompile(`Starting the cluster in (\S+)`).FindSubmatch(out)
	require.NotNil(t, dir)
	left, err := filepath.Glob(string(dir[1]))
	require.NoError(t, err)
	require.Empty(t, left, "it deletes what it made")
	sum(t, "a cluster: %s", regexp.MustCompile(`acknowledged +\d+`).Find(out))
}
