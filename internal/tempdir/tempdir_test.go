package tempdir_test

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/internal/tempdir"
)

func TestSweepDeletesWhatTheDeadHaveLeft(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the directories of the living cannot be told from those of the dead")
	}
	for _, name := range []string{"plain", "[brackets", "a*"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			parent := filepath.Join(t.TempDir(), name)
			for _, left := range []string{"mine-1", "other-1"} { // nobody holds their locks
				require.NoError(t, os.MkdirAll(filepath.Join(parent, left), 0o700))
				require.NoError(t, os.WriteFile(filepath.Join(parent, left, "lock"), nil, 0o600))
			}
			require.NoError(t, os.Mkdir(filepath.Join(parent, "mine-2"), 0o700), "it is starting")
			for _, old := range []string{"mine-3", "mine-models", "mine-"} { // only the first is half deleted
				require.NoError(t, os.Mkdir(filepath.Join(parent, old), 0o700))
				require.NoError(t, os.Chtimes(filepath.Join(parent, old), time.Time{}, time.Now().Add(-2*time.Hour)))
			}
			living, err := tempdir.New(parent, "mine-")
			require.NoError(t, err)
			tempdir.Sweep(parent, "mine-")
			names := func() (names []string) {
				entries, err := os.ReadDir(parent)
				require.NoError(t, err)
				for _, e := range entries {
					names = append(names, e.Name())
				}
				return names
			}
			kept := []string{"mine-2", "mine-models", "mine-", "other-1"}
			require.ElementsMatch(t, append(slices.Clip(kept), filepath.Base(living.Path)), names())
			require.NoError(t, living.Remove())
			require.ElementsMatch(t, kept, names())
		})
	}
}
