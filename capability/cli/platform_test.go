package cli_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"lessonkit.example/capability/cli"
)

// A change that widens on one platform only is found without -platform, and so are mistakes.
func TestEveryPlatformIsJudged(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"capabilities/main.json": sound,
		"capabilities/more.json": `{"identifier": "more", "windows": ["main"], "permissions": ` +
			`["core:window:allow-hide"]}`,
		"tauri.conf.json": `{"app": {"security": {"capabilities": ["main"]}}}`,
	}
	before := project(t, files)
	_, out, _ := run("check", before)
	require.Contains(t, out, `"more" is not active`)
	files["tauri.windows.conf.json"] = `{"app": {"security": {"capabilities": ["main", "more"]}}}`
	after := project(t, files)
	code, out, errs := run("diff", before, after)
	require.Equal(t, cli.ExitFindings, code)
	require.Contains(t, out, "plugin:window|hide")
	require.Contains(t, out, "windows")
	require.Empty(t, errs)
	code, out, _ = run("diff", "-platform", "linux", before, after)
	require.Equal(t, cli.ExitClean, code, out)
	code, _, _ = run("diff", after, before)
	require.Equal(t, cli.ExitClean, code)
	_, out, _ = run("diff", before, before, "-format", "json")
	require.JSONEq(t, `{"changes": [], "widens": false}`, out)
	_, out, _ = run("check", after)
	require.NotContains(t, out, "is not active", "it is on windows")

	files["tauri.windows.conf.json"] = `{"app": {"security": {"capabilities": ["mian", ` +
		`{"identifier": "own", "windows": ["main"], "permissions": ["core:windw:default"]}]}}}`
	wrong := project(t, files)
	code, out, _ = run("check", wrong)
	require.Equal(t, cli.ExitFindings, code)
	require.Contains(t, out, `did you mean "main"?`)
	require.Contains(t, out, "core:windw")
	files["tauri.windows.conf.json"] = `{"app": `
	code, _, errs = run("diff", before, project(t, files))
	require.Equal(t, cli.ExitUsage, code)
	require.Contains(t, errs, "tauri.windows.conf.json")
}

// Configurations of a platform, and those in other formats, count as for the build.
func TestConfigurationOfAPlatform(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"capabilities/main.json": sound,
		"capabilities/mob.json": `{"identifier": "mob", "windows": ["main"], "permissions": ` +
			`["core:window:allow-hide"]}`,
		"Tauri.toml":              "[app.security]\ncapabilities = [\"main\"]\n",
		"tauri.android.conf.json": `{"app": {"security": {"capabilities": ["mob"]}}}`,
	}
	dir := project(t, files)
	ask := func(platform string) (int, string) {
		code, out, errs := run("explain", "-platform", platform, "core:window:close", "main", dir)
		require.Empty(t, errs)
		return code, out
	}
	code, out := ask("")
	require.Equal(t, cli.ExitClean, code)
	require.Contains(t, out, "On android the configuration lists other capabilities:\ndenied: ")
	require.NotContains(t, out, "linux")
	_, out, _ = run("explain", "-format", "json", "core:window:close", "main", dir)
	require.Contains(t, out, `"platform": "android"`)
	_, _, errs := run("who", "-window", "main", dir)
	require.Contains(t, errs,
		"the configuration for android lists other capabilities; with -platform android they count")
	code, out = ask("linux")
	require.Equal(t, cli.ExitClean, code)
	require.NotContains(t, out, "android")
	code, _ = ask("android")
	require.Equal(t, cli.ExitFindings, code)
	require.NoError(t, os.Rename(filepath.Join(dir, "tauri.android.conf.json"),
		filepath.Join(dir, "tauri.conf.json5")))
	code, _ = ask("")
	require.Equal(t, cli.ExitFindings, code, "the first configuration that is there counts")
}

func TestCallsOnAPlatform(t *testing.T) {
	t.Parallel()
	dir := project(t, map[string]string{"src-tauri/tauri.conf.json": "{}", "src-tauri/capabilities/a.json": `{
  "identifier": "a", "windows": ["main"], "platforms": ["macOS"], "permissions": ["fs:allow-stat"]}`,
		"src/a.ts": "import {stat} from '@tauri-apps/plugin-fs'; stat('x')"})
	for platform, want := range map[string]int{"macOS": cli.ExitClean, "linux": cli.ExitFindings, "": cli.ExitClean} {
		code, out, errs := run("calls", "-platform", platform, dir)
		require.Equal(t, want, code, out+errs)
	}
}
