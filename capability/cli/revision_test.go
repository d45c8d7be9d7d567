package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lessonkit.example/capability/cli"
)

// diff compares revisions with each other and with the working tree, from any folder of the
// repository.
func TestDiffOfRevisions(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	dir := project(t, map[string]string{"app/src-tauri/tauri.conf.json": "{}",
		"app/src-tauri/capabilities/main.json": sound, "app/picture.png": "x"})
	require.NoError(t, os.Symlink("/etc/passwd", filepath.Join(dir, "app/src-tauri/capabilities/link.json")))
	git := func(args ...string) string {
		cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=t", "-c", "user.email=t@example.com",
			"-c", "commit.gpgsign=false"}, args...)...)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		return strings.TrimSpace(string(out))
	}
	git("init", "-q", "-b", "main")
	git("add", ".")
	git("commit", "-q", "-m", "one window")
	require.NoError(t, os.Remove(filepath.Join(dir, "app/src-tauri/capabilities/link.json")))
	file := filepath.Join(dir, "app/src-tauri/capabilities/main.json")
	require.NoError(t, os.WriteFile(file, []byte(strings.Replace(sound, `["main"]`, `["main", "help"]`, 1)), 0o644))
	t.Chdir(filepath.Join(dir, "app"))
	code, out, errs := run("diff", "main")
	require.Equal(t, cli.ExitFindings, code, errs)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	require.Len(t, lines, 1, "one window is one line: %s", out)
	require.Regexp(
		t,
		`^\+ granted to window "help", the application's own pages: the same \d+ commands as window "main"$`,
		lines[0],
	)
	git("commit", "-q", "-a", "-m", "two windows")
	code, out, errs = run("diff", "main~1", "main")
	require.Equal(t, cli.ExitFindings, code, errs)
	require.Contains(t, out, `as window "main"`)
	code, out, _ = run("diff", "main", "main~1")
	require.Equal(t, cli.ExitClean, code)
	require.Contains(t, out, `revoked from window "help"`)
	code, out, _ = run("diff", "HEAD")
	require.Equal(t, cli.ExitClean, code, out)
	code, _, errs = run("diff", "no-such-branch")
	require.Equal(t, cli.ExitUsage, code)
	require.Contains(t, errs, "neither a file or folder nor a revision")
	tree := git("rev-parse", "main^{tree}")
	require.NoError(t, os.Remove(filepath.Join(dir, ".git/objects", tree[:2], tree[2:])))
	code, _, errs = run("diff", "main")
	require.Equal(t, cli.ExitUsage, code)
	require.Regexp(t, `git archive: exit status \d+: (fatal|error): `, errs)
}
