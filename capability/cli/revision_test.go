package cli_test

import (
	"bytes"
	"encoding/hex"
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
	git := repository(t, dir)
	file := filepath.Join(dir, "app/src-tauri/capabilities/main.json")
	require.NoError(t, os.WriteFile(file, []byte(strings.Replace(sound, `["main"]`, `["main", "help"]`, 1)), 0o644))
	t.Chdir(filepath.Join(dir, "app"))
	code, out, errs := run("diff", "main")
	require.Equal(t, cli.ExitFindings, code, errs)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	require.Len(t, lines, 3, "one window is one change: %s", out)
	require.Regexp(t, `^\+ granted to new window "help", the application's own pages: \d+ commands$`, lines[0])
	require.Equal(t, `      by capability "main" (src-tauri/capabilities/main.json:1:69): core:default`, lines[1])
	_, out, _ = run("diff", "-format", "github", "main")
	require.Regexp(t, `^::warning file=app/src-tauri/capabilities/main.json,line=1,col=69,`+
		`title=capabilities grant more`+
		`::\+ granted to new window "help"[^\n]*\n$`, out)
	git("commit", "-q", "-a", "-m", "two windows")
	code, out, errs = run("diff", "main~1", "main")
	require.Equal(t, cli.ExitFindings, code, errs)
	require.Contains(t, out, `granted to new window "help"`)
	_, out, _ = run("diff", "-format", "github", "main~1", "main")
	require.Contains(t, out, "::warning file=app/src-tauri/capabilities/main.json,line=1,col=69,")
	code, out, _ = run("diff", "main", "main~1")
	require.Equal(t, cli.ExitClean, code)
	require.Contains(t, out, `revoked from window "help"`)
	code, out, _ = run("diff", "HEAD")
	require.Equal(t, cli.ExitClean, code, out)
	code, _, errs = run("diff", "no-such-branch")
	require.Equal(t, cli.ExitUsage, code)
	require.Contains(t, errs, "neither a file or folder nor a revision")
	require.NoError(t, os.WriteFile(file, []byte(`{"identifier": 5}`), 0o644))
	git("commit", "-q", "-a", "-m", "mistake")
	code, _, errs = run("diff", "main")
	require.Equal(t, cli.ExitUsage, code)
	require.Contains(t, errs, "main:app/src-tauri/capabilities/main.json:1:1: ")
	tree := git("rev-parse", "main^{tree}")
	require.NoError(t, os.Remove(filepath.Join(dir, ".git/objects", tree[:2], tree[2:])))
	code, _, errs = run("diff", "main")
	require.Equal(t, cli.ExitUsage, code)
	require.Contains(t, errs, "the repository has no such object")
}

// A link of a revision is followed to what the revision has, and nowhere else.
func TestLinksDoNotLeaveTheRevision(t *testing.T) {
	for target, want := range map[string]string{
		"../../shared/../shared/main.json": `granted to new window "main"`,
		"/etc/passwd":                      "leads out of the revision",
		"../../../x.json":                  "leads out of the revision",
		"link.json":                        "leads out of the revision",
		"missing.json":                     "main:src-tauri/capabilities/link.json: file does not exist",
	} {
		dir := project(t, map[string]string{"src-tauri/capabilities/x": "", "src-tauri/tauri.conf.json": "{}",
			"shared/main.json": sound})
		require.NoError(t, os.Symlink(target, filepath.Join(dir, "src-tauri/capabilities/link.json")))
		repository(t, dir)
		t.Chdir(dir)
		none := filepath.Join(project(t, map[string]string{"capabilities/none.json": "[]"}), "capabilities")
		_, out, errs := run("diff", none, "main")
		require.Contains(t, out+errs, want, target)
	}
}

// Of a revision the files of the application are read, from whichever folder, and all of them:
// neither an attribute nor its size hides one.
func TestDiffReadsTheFilesOfTheApplication(t *testing.T) {
	dir := project(t, map[string]string{"src-tauri/tauri.conf.json": "{}", "src-tauri/capabilities/main.json": sound,
		"Cargo.lock": "[[package]]\nname = \"tauri\"\nversion = \"2.10.0\"\n", "other.json": "not read"})
	git := repository(t, dir)
	capabilities := filepath.Join(dir, "src-tauri/capabilities")
	evil := strings.ReplaceAll(sound, `"main"`, `"evil"`)
	require.NoError(t, os.WriteFile(filepath.Join(capabilities, "evil.json"), []byte(evil), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, ".gitattributes"),
		[]byte("src-tauri/capabilities/evil.json export-ignore\n"), 0o644))
	git("add", ".gitattributes", "src-tauri/capabilities")
	git("commit", "-q", "-m", "hidden")
	for _, folder := range []string{".", "src-tauri", "src-tauri/capabilities"} {
		t.Chdir(filepath.Join(dir, folder))
		code, out, errs := run("diff", "-format", "json", "main~1", "main")
		require.Equal(t, cli.ExitFindings, code, folder+out+errs)
		require.Contains(t, out, `"evil"`, folder)
		require.Contains(t, out, `"plugin:window|title"`, folder)
		require.NotContains(t, out, "activity_name", "the release is that of Cargo.lock: %s", folder)
	}
	require.NoError(t, os.Truncate(filepath.Join(capabilities, "evil.json"), 2<<20))
	git("commit", "-q", "-m", "large", "src-tauri/capabilities")
	code, out, errs := run("diff", "main~1", "main")
	require.Equal(t, cli.ExitUsage, code, out)
	require.Contains(t, errs, "The file has 2097152 bytes; the limit is 1048576")
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

// A folder of a repository that is itself a bare repository, or an unpacked archive, has a
// configuration that nobody has looked at. Git would run its program to fetch a missing commit.
func TestRevisionFetchesNothing(t *testing.T) {
	proof := filepath.Join(t.TempDir(), "ran")
	const missing = "1234567890123456789012345678901234567890"
	hostile := map[string]string{"HEAD": "ref: refs/heads/main", "refs/heads/main": missing, "objects/info/x": "",
		"config": "[core]\nrepositoryformatversion = 1\n[extensions]\npartialClone = origin\n[remote \"origin\"]\n" +
			"url = /none\npromisor = true\nuploadpack = \"touch " + proof + ";false\"\n"}
	files := map[string]string{"repository/capabilities/main.json": sound, "archive/.git/x": ""}
	for name, text := range hostile {
		for _, folder := range []string{"repository/lib/", "unpacked/", "archive/.git/"} {
			files[folder+name] = text
		}
	}
	dir := project(t, files)
	repository(t, filepath.Join(dir, "repository"))
	for _, folder := range []string{"repository", "repository/lib", "repository/lib/refs", "unpacked", "unpacked/refs",
		"archive", "archive/.git", "archive/.git/refs"} {
		t.Chdir(filepath.Join(dir, folder))
		for _, name := range []string{"main", "main~1", missing} {
			code, _, errs := run("diff", name)
			require.Equal(t, folder == "repository" && name == "main", code == cli.ExitClean, errs)
			require.NoFileExists(t, proof, folder)
		}
	}
	t.Chdir(filepath.Join(dir, "archive"))
	require.Error(t, exec.Command("git", "cat-file", "-t", missing).Run())
	require.FileExists(t, proof, "Git runs it otherwise")
}

// What another repository has may grant something too.
func TestSubmoduleIsNotOverlooked(t *testing.T) {
	dir := project(t, map[string]string{"tauri.conf.json": "{}"})
	git := repository(t, dir)
	git("update-index", "--add", "--cacheinfo",
		"160000,"+git("rev-parse", "HEAD")+",capabilities")
	git("commit", "-q", "-m", "submodule")
	t.Chdir(dir)
	code, out, errs := run("diff", "main~1", "main")
	require.Equal(t, cli.ExitUsage, code, out)
	require.Contains(t, errs, "main:capabilities: is a submodule")
}

// Whatever the build may read is compared, or the comparison fails.
func TestDiffOverlooksNothing(t *testing.T) {
	const evil = `{"identifier": "evil", "windows": ["*"], "remote": {"urls": ["https://*:*"]}, ` +
		`"permissions": ["core:default"]}`
	for name, want := range map[string]string{
		"capabilities/.hidden/x.json": "granted", "capabilities/.x.json": "granted",
		"capabilities/target/x.json": "granted", "capabilities/node_modules/x.json": "granted",
		"capabilities/permissions/x.json": "granted", "capabilities/tsconfig.json": "granted",
		"capabilities/package.json": "granted", "capabilities/tauri.x.conf.json": "granted",
		"capabilities/schemas/deep/x.json": "granted", "capabilities/capability.toml/x.json": "is not a regular file",
		"capabilities/schemas/x.json": "Both sides grant the same", "link to elsewhere/x.json": "granted",
		"link to circle/x.json": "capabilities/link/link", "link to /tmp/x.json": "leads out of",
		"link to missing/x.json": "src-tauri/capabilities/link: ", "submodule": "is a submodule",
	} {
		dir := project(t, map[string]string{
			"src-tauri/tauri.conf.json": "{}", "src-tauri/capabilities/main.json": sound})
		git := repository(t, dir)
		evilFile := filepath.Join(dir, "src-tauri", name)
		switch target, linked := strings.CutPrefix(name, "link to "); {
		case linked:
			link := filepath.Join(dir, "src-tauri/capabilities/link")
			target = strings.TrimSuffix(target, "/x.json")
			evilFile = filepath.Join(dir, "src-tauri", target, "x.json")
			switch target {
			case "/tmp", "missing":
				evilFile = ""
			case "circle":
				target = "../capabilities"
				evilFile = filepath.Join(dir, "src-tauri/capabilities/x.json")
			default:
				target = "../" + target
			}
			require.NoError(t, os.Symlink(target, link))
		case name == "submodule":
			git("update-index", "--add", "--cacheinfo",
				"160000,"+git("rev-parse", "HEAD")+",src-tauri/capabilities/sub")
			evilFile = ""
		}
		if evilFile != "" {
			require.NoError(t, os.MkdirAll(filepath.Dir(evilFile), 0o755))
			require.NoError(t, os.WriteFile(evilFile, []byte(evil), 0o600))
		}
		t.Chdir(dir)
		if name != "submodule" {
			_, out, errs := run("diff", "HEAD")
			require.Contains(t, out+errs, want, name)
			git("add", "-f", ".")
		}
		git("commit", "-q", "-m", "x")
		code, out, errs := run("diff", "main~1", "main")
		require.Contains(t, out+errs, want, name)
		switch want {
		case "granted":
			require.Equal(t, cli.ExitFindings, code, name)
			require.Contains(t, out, `any window ("*")`, name)
		case "Both sides grant the same":
			require.Equal(t, cli.ExitClean, code, name)
		default:
			require.Equal(t, cli.ExitUsage, code, name)
		}
	}
}

// The change that brings an application in can be judged, and the one that removes it.
func TestDiffWithoutAnApplicationOnOneSide(t *testing.T) {
	dir := project(t, map[string]string{"package.json": "{}", "README.md": ""})
	git := repository(t, dir)
	t.Chdir(dir)
	code, out, errs := run("diff", "main")
	require.Equal(t, cli.ExitUsage, code, out)
	require.Contains(t, errs, "neither main nor . has an application here")
	require.NoError(t, os.MkdirAll("src-tauri/capabilities", 0o755))
	require.NoError(t, os.WriteFile("src-tauri/capabilities/main.json", []byte(sound), 0o600))
	for _, folder := range []string{".", "src-tauri"} {
		t.Chdir(filepath.Join(dir, folder))
		code, out, errs = run("diff", "main")
		require.Equal(t, cli.ExitFindings, code, errs)
		require.Contains(t, out, `granted to new window "main"`)
	}
	t.Chdir(dir)
	git("add", ".")
	git("commit", "-q", "-m", "application")
	require.NoError(t, os.RemoveAll("src-tauri"))
	code, out, errs = run("diff", "main")
	require.Equal(t, cli.ExitClean, code, errs)
	require.Contains(t, out, `revoked from window "main"`)
}

// What no manifest explains may grant anything, so adding it is a change.
func TestDiffNamesWhatNoManifestExplains(t *testing.T) {
	for permissions, want := range map[string]struct {
		code int
		text string
	}{
		`"core:default", "evil:default"`: {
			cli.ExitFindings, "    evil:default, which no manifest"},
		`"core:default", "evil:allow-run"`: {cli.ExitFindings, "    plugin:evil|run\n"},
		`"core:default", "fs:allow-nothing-of-the-sort"`: {
			cli.ExitFindings, "fs:allow-nothing-of-the-sort, which"},
		`"core:default", {"identifier": "old:all", "allow": ["x"]}`: {cli.ExitFindings, "also allows \"x\"\n"},
		`"core:default", "old:all", "old:deny-run"`: {
			cli.ExitClean, "    old:deny-run, which no manifest"},
		`"core:default"`: {cli.ExitClean, "    old:all, which no manifest"},
	} {
		before := `{"identifier": "a", "windows": ["main"], "permissions": ["core:default", "old:all"]}`
		after := `{"identifier": "a", "windows": ["main"], "permissions": [` + permissions + `, "old:all"]}`
		if strings.Contains(permissions, "old:all") || want.code == cli.ExitClean {
			after = strings.Replace(after, `, "old:all"]}`, `]}`, 1)
		}
		dir := project(t, map[string]string{"old/capabilities/a.json": before, "new/capabilities/a.json": after})
		code, out, errs := run("diff", filepath.Join(dir, "old"), filepath.Join(dir, "new"))
		require.Equal(t, want.code, code, "%s: %s%s", permissions, out, errs)
		require.Contains(t, out, want.text, permissions)
		if strings.Contains(permissions, "deny") {
			code, out, _ = run("diff", filepath.Join(dir, "new"), filepath.Join(dir, "old"))
			require.Equal(t, cli.ExitFindings, code, "removing a denial grants: %s", out)
		}
	}
}

// entry is an object in a folder of a repository.
type entry struct{ mode, name, id string }

// folder makes a folder of a repository and returns its id.
func folder(t *testing.T, dir string, entries ...entry) string {
	t.Helper()
	var content bytes.Buffer
	for _, e := range entries {
		id, err := hex.DecodeString(e.id)
		require.NoError(t, err)
		fmt.Fprintf(&content, "%s %s\x00%s", e.mode, e.name, id)
	}
	cmd := exec.Command("git", "-C", dir, "hash-object", "-w", "-t", "tree", "--stdin")
	cmd.Stdin = &content
	out, err := cmd.Output()
	require.NoError(t, err)
	return strings.TrimSpace(string(out))
}

// times returns an object under many names.
func times(n int, mode, id string) (entries []entry) {
	for i := range n {
		entries = append(entries, entry{mode, fmt.Sprintf("%06d.json", i), id})
	}
	return entries
}

// What is too much ends Git.
func TestRevisionsAreLimited(t *testing.T) {
	dir := project(t, map[string]string{"app/tauri.conf.json": "{}", "app/capabilities/main.json": sound})
	git := repository(t, dir)
	app, blob := git("rev-parse", "HEAD:app"), git("rev-parse", "HEAD:app/tauri.conf.json")
	bomb := folder(t, dir)
	for range 9 { // ten times the folder before
		bomb = folder(t, dir, times(10, "40000", bomb)...)
	}
	require.NoError(t, os.Truncate(filepath.Join(dir, "app/tauri.conf.json"), 65<<20))
	large := git("hash-object", "-w", "app/tauri.conf.json")
	t.Chdir(dir)
	many := times(100_001, "100644", blob)
	for tree, want := range map[string]string{
		bomb:                    "more than 100000 files and folders; choose a folder in it",
		folder(t, dir, many...): "more than 100000 files and folders; run diff in",
		folder(t, dir, entry{"40000", "capabilities",
			folder(t, dir, entry{"100644", strings.Repeat("x", 5000) + ".json",
				blob})}): "invalid argument",
		folder(t, dir, entry{"100644", "tauri.conf.json", large}):              "has 68157440 bytes; at most",
		folder(t, dir, entry{"100644", "a", blob}, entry{"100644", "a", blob}): "damaged",
	} {
		code, out, errs := run("diff", git("commit-tree", "-m", "x", tree))
		require.Equal(t, cli.ExitUsage, code, out)
		require.Contains(t, errs, want)
	}
	t.Chdir(filepath.Join(dir, "app"))
	beside := folder(t, dir, entry{"40000", "app", app}, entry{"40000", "bomb", bomb})
	code, out, errs := run("diff", git("commit-tree", "-m", "x", beside), "HEAD")
	require.Equal(t, cli.ExitClean, code, out+errs)
}

// All files are read by one process, and none is written.
func TestRevisionIsReadByOneProcess(t *testing.T) {
	dir := project(t, map[string]string{"capabilities/main.json": "[]"})
	git := repository(t, dir)
	blob := git("rev-parse", "HEAD:capabilities/main.json")
	capabilities := folder(t, dir, times(3000, "100644", blob)...)
	commit := git("commit-tree", "-m", "x", folder(t, dir, entry{"40000", "capabilities", capabilities}))
	program, err := exec.LookPath("git")
	require.NoError(t, err)
	shim, temporary := t.TempDir(), t.TempDir()
	log := filepath.Join(shim, "log")
	require.NoError(t, os.WriteFile(filepath.Join(shim, "git"),
		[]byte("#!/bin/sh\necho \"$3\" >> "+log+"\nexec "+program+" \"$@\"\n"), 0o755))
	t.Setenv("PATH", shim+":"+os.Getenv("PATH"))
	t.Setenv("TMPDIR", temporary)
	t.Chdir(dir)
	code, out, errs := run("diff", commit)
	require.Equal(t, cli.ExitClean, code, out+errs)
	ran, err := os.ReadFile(log)
	require.NoError(t, err)
	require.Equal(t, "rev-parse\ncat-file\n", string(ran))
	left, err := os.ReadDir(temporary)
	require.NoError(t, err)
	require.Empty(t, left)
}
