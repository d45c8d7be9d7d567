// Package corpustest finds the capability files that tests of package capability and its
// subpackages read.
package corpustest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// Files returns the capability files whose names match pattern: those of app, the folder
// testdata/app of package capability, and the real ones where CAPABILITY_CORPUS names a folder of
// them.
func Files(t testing.TB, app, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(app, "capabilities", pattern))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	if dir := os.Getenv("CAPABILITY_CORPUS"); dir != "" {
		real, err := filepath.Glob(filepath.Join(dir, pattern))
		require.NoError(t, err)
		files = append(files, real...)
	}
	return files
}
