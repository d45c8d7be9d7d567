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

// fixable has a finding with a fix.
const fixable = `{"identifier": "main","windows": ["main"], "permissions": ["core:default","core:default"]}`

// A link of a hostile repository leads nowhere outside of it, for reading and for writing.
func TestLinksDoNotLeaveTheProject(t *testing.T) {
	t.Parallel()
	for name, link := range map[string]string{
		"a capability file":        "capabilities/link.json",
		"the capabilities folder":  "capabilities",
		"the configuration":        "tauri.conf.json",
		"the manifests":            "gen/schemas/acl-manifests.json",
		"the permissions":          "permissions",
		"a folder of the manifest": "gen",
	} {
		dir := project(t, map[string]string{"outside/x.json": fixable, "app/tauri.conf.json": "{}",
			"app/capabilities/main.json": fixable, "outside/schemas/acl-manifests.json": manifests})
		target := filepath.Join(dir, "outside")
		if filepath.Ext(link) != "" {
			target = filepath.Join(target, "x.json")
		}
		link = filepath.Join(dir, "app", link)
		require.NoError(t, os.RemoveAll(link))
		require.NoError(t, os.MkdirAll(filepath.Dir(link), 0o755))
		require.NoError(t, os.Symlink(target, link))
		code, out, errs := run("check", "-fix", filepath.Join(dir, "app"))
		require.Equal(t, cli.ExitUsage, code, "%s: %s", name, out)
		require.Contains(t, errs, "leads out of", name)
		require.Contains(t, errs, "name a folder that contains both", name)
		text, err := os.ReadFile(filepath.Join(dir, "outside/x.json"))
		require.NoError(t, err)
		require.Equal(t, fixable, string(text), name)
	}
}

// Writing does not go through a link that waits at the name of a temporary file, and leaves no
// other file behind; a link to a file of the project stays a link.
func TestWritingTouchesOnlyTheFile(t *testing.T) {
	t.Parallel()
	dir := project(t, map[string]string{"app/outside.txt": "precious", "app/capabilities/main.json": fixable,
		"app/shared.json": strings.Replace(fixable, `"main"`, `"other"`, 1)})
	folder := filepath.Join(dir, "app/capabilities")
	require.NoError(t, os.Symlink("../outside.txt", filepath.Join(folder, "main.json.new")))
	require.NoError(t, os.Symlink("../shared.json", filepath.Join(folder, "other.json")))
	require.NoError(t, os.Chmod(filepath.Join(folder, "main.json"), 0o640))
	code, out, errs := run("check", "-fix", filepath.Join(dir, "app"))
	require.Equal(t, cli.ExitClean, code, out+errs)

	text, err := os.ReadFile(filepath.Join(dir, "app/outside.txt"))
	require.NoError(t, err)
	require.Equal(t, "precious", string(text))
	for _, file := range []string{"capabilities/main.json", "shared.json"} {
		text, err := os.ReadFile(filepath.Join(dir, "app", file))
		require.NoError(t, err)
		require.NotEqual(t, len(fixable), len(text), "%s is as it was", file)
	}
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.Len(t, entries, 3)
	info, err := os.Lstat(filepath.Join(folder, "other.json"))
	require.NoError(t, err)
	require.NotZero(t, info.Mode()&os.ModeSymlink)
	info, err = os.Stat(filepath.Join(folder, "main.json"))
	require.NoError(t, err)
	require.EqualValues(t, 0o640, info.Mode().Perm())
}

// Pipes, devices, folders and huge files are refused at once; none is opened.
func TestOnlyRegularFilesAreRead(t *testing.T) {
	t.Parallel()
	dir := project(t, map[string]string{"pipe/capabilities/x": "", "huge/capabilities/main.json": "{}",
		"folder/capabilities/real/x": "", "huge/acl.json": "{}", "device/capabilities/x": "", "plain/a.json": sound})
	plain := filepath.Join(dir, "plain")
	pipe := filepath.Join(dir, "pipe/capabilities/main.json")
	if err := exec.Command("mkfifo", pipe).Run(); err != nil {
		t.Skip("no command mkfifo here: ", err)
	}
	require.NoError(t, os.Truncate(filepath.Join(dir, "huge/capabilities/main.json"), 1<<40))
	require.NoError(t, os.Truncate(filepath.Join(dir, "huge/acl.json"), 1<<40))
	require.NoError(t, os.Symlink("real", filepath.Join(dir, "folder/capabilities/main.json")))
	require.NoError(t, os.Symlink("/dev/zero", filepath.Join(dir, "device/capabilities/main.json")))
	for path, want := range map[string]string{"pipe": "is not a regular file", "huge": "at most",
		"folder": "is not a regular file", "device": "leads out of"} {
		for _, args := range [][]string{{"check"}, {"check", "-fix"}} {
			code, out, errs := run(append(args, filepath.Join(dir, path))...)
			require.Equal(t, cli.ExitUsage, code, out)
			require.Contains(t, errs, want)
		}
	}
	for _, args := range [][]string{{"/dev/zero"}, {pipe}, {"-manifest", "/dev/zero", plain}, {"-config", pipe, plain},
		{"-manifest", "fs=" + pipe, plain}, {"-manifest", filepath.Join(dir, "huge/acl.json"), plain}} {
		code, out, errs := run(append([]string{"check"}, args...)...)
		require.Equal(t, cli.ExitUsage, code, out)
		require.Regexp(t, "is not a regular file|at most", errs)
	}
}
