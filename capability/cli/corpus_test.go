package cli_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// Half of the real files have at most two findings, with nothing but the file at hand, and no error
// that the build would not report: all are about permissions that Tauri 2.0 renamed.
func TestFindingsInRealFiles(t *testing.T) {
	t.Parallel()
	dir := os.Getenv("CAPABILITY_CORPUS")
	if dir == "" {
		t.Skip("CAPABILITY_CORPUS does not name a folder of real capability files")
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.[jt]*[nl5]"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	var counts []int
	for _, file := range files {
		_, out, errs := run("check", "-format", "json", file)
		require.Empty(t, errs, file)
		var findings []struct{ Code, Severity, Message string }
		require.NoError(t, json.Unmarshal([]byte(out), &findings))
		for _, f := range findings {
			if f.Severity == "error" {
				require.Contains(t, f.Message, "since version 2.0 core permissions begin with core:", file)
			}
		}
		counts = append(counts, len(findings))
	}
	slices.Sort(counts)
	t.Logf("%d files; findings: median %d, most %d", len(counts), counts[len(counts)/2], counts[len(counts)-1])
	require.LessOrEqual(t, counts[len(counts)/2], 2)
}
