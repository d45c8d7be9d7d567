package cli_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lessonkit.example/capability/cli"
)

const ownPermission = "[[permission]]\nidentifier = \"allow-greet\"\ncommands.allow = [\"greet\"]\n"

// Each application below a folder is found by its configuration, and is checked with its own
// manifests, configuration and permissions, which are not taken for capabilities.
func TestFolderAboveApplications(t *testing.T) {
	t.Parallel()
	using := func(permission string) string {
		return strings.Replace(sound, `"core:default", "core:window:allow-close"`, `"`+permission+`"`, 1)
	}
	dir := project(t, map[string]string{
		"package.json":                                 `{"name": "x"}`,
		"one/src-tauri/tauri.conf.json":                `{}`,
		"one/src-tauri/capabilities/main.json":         using("allow-greet"),
		"one/src-tauri/permissions/greet.toml":         ownPermission,
		"two/src-tauri/Tauri.toml":                     "",
		"two/src-tauri/capabilities/main.json":         using("fs:allow-read-file"),
		"two/src-tauri/gen/schemas/acl-manifests.json": manifests,
		"two/node_modules/x/tauri.conf.json":           `{"app": 5`,
		"two/node_modules/x/capabilities/bad.json":     `{"identifier": 5`,
	})
	code, out, errs := run("check", "-rule", "missing-scope=off", dir)
	require.Equal(t, cli.ExitClean, code, out+errs)
	require.Equal(t, "2 files checked, nothing found.\n", out,
		"two capabilities may have one name in two applications")

	code, out, errs = run("check", "-rule", "missing-scope=off", filepath.Join(dir, "two"), filepath.Join(dir, "one"))
	require.Equal(t, cli.ExitClean, code, out+errs)
	require.Equal(t, "2 files checked, nothing found.\n", out, "not only the manifests of the first path count")

	code, out, errs = run("explain", "-command", "greet", "-window", "main", dir)
	require.Equal(t, cli.ExitUsage, code, out)
	require.Contains(t, errs, "there are 2 applications; run this in the folder of one, or name one of them: ")
}

// A folder of loose capability files may also contain files that are known to be something else.
func TestFolderWithOtherFiles(t *testing.T) {
	t.Parallel()
	dir := project(t, map[string]string{"a.json": sound, "tauri.linux.conf.json": "{}", "Cargo.toml": "",
		"package.json": "{}", "permissions/x.toml": "", ".cache/x.json": "5"})
	code, out, errs := run("check", dir)
	require.Equal(t, cli.ExitClean, code, out+errs)
	require.Equal(t, "1 file checked, nothing found.\n", out)
}
