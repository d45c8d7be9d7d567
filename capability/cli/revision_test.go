package cli_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lessonkit.example/capability/cli"
)

// repository makes a repository of a folder, with one commit of all, and returns a function that
// runs Git there.
func repository(t *testing.T, dir string) func(args ...string) string {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
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
	return git
}

// diff compares revisions with each other and with the working tree, from any folder of the
// repository.
func TestDiffOfRevisions(t *testing.T) {
	dir := project(t, map[string]string{"app/src-tauri/tauri.conf.json": "{}",
		"app/src-tauri/capabilities/main.json": sound, "app/picture.png": "x"})
	require.NoError(t, os.Symlink("/etc/passwd", filepath.Join(dir, "app/src-tauri/capabilities/link.json")))
	git := repository(t, dir)
	require.NoError(t, os.Remove(filepath.Join(dir, "app/src-tauri/capabilities/link.json")))
	file := filepath.Join(dir, "app/src-tauri/capabilities/main.json")
	require.NoError(t, os.WriteFile(file, []byte(strings.Replace(sound, `["main"]`, `["main", "help"]`, 1)), 0o644))
	t.Chdir(filepath.Join(dir, "app"))
	code, out, errs := run("diff", "main")
	require.Equal(t, cli.ExitFindings, code, errs)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	require.Len(t, lines, 1, "one window is one line: %s", out)
	require.Contains(t, errs, "links of the revision main are not followed: app/src-tauri/capabilities/link.json\n")
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
	require.Regexp(t, `git ls-tree: exit status \d+: (fatal|error): `, errs)
}

// Of a revision only the files of the application are read, from whichever folder, and all of them:
// neither an attribute nor its size hides one.
func TestDiffReadsTheFilesOfTheApplication(t *testing.T) {
	dir := project(t, map[string]string{"src-tauri/tauri.conf.json": "{}", "src-tauri/capabilities/main.json": sound,
		"src-tauri/Cargo.toml": "", "Cargo.lock": "[[package]]\nname = \"tauri\"\nversion = \"2.10.0\"\n",
		"large.json": "{}"})
	large := filepath.Join(dir, "large.json")
	require.NoError(t, os.Truncate(large, 20<<20))
	git := repository(t, dir)
	blob := git("rev-parse", "HEAD:large.json")
	require.NoError(t, os.Remove(large))
	for _, name := range []string{"a.json", "b.json", "src-tauri/src/c.rs", "locales/d.json", "package-lock.json"} {
		git("update-index", "--add", "--cacheinfo", "100644,"+blob+","+name)
	}
	git("commit", "-q", "-m", "more than is read")
	capabilities := filepath.Join(dir, "src-tauri/capabilities")
	evil := strings.ReplaceAll(sound, `"main"`, `"evil"`)
	require.NoError(t, os.WriteFile(filepath.Join(capabilities, "evil.json"), []byte(evil), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, ".gitattributes"),
		[]byte("src-tauri/capabilities/evil.json export-ignore\n"), 0o644))
	git("add", ".gitattributes", "src-tauri/capabilities")
	git("commit", "-q", "-m", "hidden")
	for _, folder := range []string{".", "src-tauri", "src-tauri/capabilities"} {
		t.Chdir(filepath.Join(dir, folder))
		code, out, errs := run("diff", "main~2", "main~1")
		require.Equal(t, cli.ExitClean, code, folder+out+errs)
		code, out, errs = run("diff", "-format", "json", "main~2", "main")
		require.Equal(t, cli.ExitFindings, code, folder+out+errs)
		require.Contains(t, out, `"evil"`, folder)
		require.Contains(t, out, `"plugin:window|title"`, folder)
		require.NotContains(t, out, "activity_name", "the release is that of Cargo.lock: %s", folder)
	}
	require.NoError(t, os.Truncate(filepath.Join(capabilities, "evil.json"), 33<<20))
	git("commit", "-q", "-m", "large", "src-tauri/capabilities")
	code, out, errs := run("diff", "main~1", "main")
	require.Equal(t, cli.ExitUsage, code, out)
	require.Contains(t, errs, "The file has 34603008 bytes; the limit is 1048576")
}

// No filter, hook or monitor of a hostile repository is run.
func TestRevisionRunsNoProgramOfTheRepository(t *testing.T) {
	const attributes = "* filter=evil diff=evil text eol=crlf ident\n"
	dir := project(t, map[string]string{"tauri.conf.json": "{}", "capabilities/main.json": sound,
		".gitattributes": attributes})
	git := repository(t, dir)
	require.NoError(t, os.MkdirAll(filepath.Join(dir, ".git/info"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, ".git/info/attributes"), []byte(attributes), 0o644))
	proof := filepath.Join(t.TempDir(), "ran")
	program := "sh -c 'touch " + proof + "; cat'"
	for _, hook := range []string{"post-checkout", "post-index-change", "reference-transaction"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, ".git/hooks", hook), []byte("#!/bin/sh\n"+program), 0o755))
	}
	for _, key := range []string{"filter.evil.smudge", "filter.evil.clean", "diff.evil.textconv", "core.fsmonitor",
		"core.sshCommand", "core.pager"} {
		git("config", key, program)
	}
	t.Chdir(dir)
	code, out, errs := run("diff", "main", "main")
	require.Equal(t, cli.ExitClean, code, errs)
	require.Equal(t, "Both sides grant the same.\n", out)
	require.Empty(t, errs)
	require.NoFileExists(t, proof)
	require.NoError(t, os.Remove(filepath.Join(dir, "capabilities/main.json")))
	git("checkout", "main", "--", ".")
	require.FileExists(t, proof, "Git runs them otherwise")
}

// What is too much is refused before anything is written.
func TestRevisionsAreLimited(t *testing.T) {
	dir := project(t, map[string]string{"tauri.conf.json": "{}", "capabilities/main.json": sound})
	git := repository(t, dir)
	blob := git("rev-parse", "HEAD:capabilities/main.json")
	folderOf := func(n int, format, object string) string {
		var entries strings.Builder
		for i := range n {
			fmt.Fprintf(&entries, format+"\n", object, i)
		}
		cmd := exec.Command("git", "-C", dir, "mktree")
		cmd.Stdin = strings.NewReader(entries.String())
		out, err := cmd.Output()
		require.NoError(t, err)
		return strings.TrimSpace(string(out))
	}
	tree := folderOf(1001, "100644 blob %s\t%d.json", blob)
	many := git("commit-tree", "-m", "many", folderOf(100, "040000 tree %s\t%d", tree))
	large := filepath.Join(dir, "capabilities/large.json")
	require.NoError(t, os.WriteFile(large, nil, 0o644))
	require.NoError(t, os.Truncate(large, 65<<20))
	git("read-tree", "--empty")
	git("add", ".")
	heavy := git("commit-tree", "-m", "large", git("write-tree"))
	for range 10 { // ten times the folder before
		tree = folderOf(10, "040000 tree %s\t%d", tree)
	}
	t.Chdir(dir)
	folder := t.TempDir()
	t.Setenv("TMPDIR", folder)
	for commit, want := range map[string]string{many: "the revision has 100100 files", heavy: "have 68157",
		git("commit-tree", "-m", "bomb", tree): "git prints more than"} {
		code, out, errs := run("diff", commit)
		require.Equal(t, cli.ExitUsage, code, out)
		require.Contains(t, errs, want)
		require.Contains(t, errs, "run diff in the folder of the application")
	}
	left, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.Empty(t, left)
}
