package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lessonkit.example/capability/cli"
)

// The application's own commands are those of its sources; another name is unknown and not allowed.
func TestExplainReadsTheSources(t *testing.T) {
	t.Parallel()
	dir := project(t, map[string]string{"src-tauri/capabilities/main.json": sound,
		"src-tauri/tauri.conf.json": "{}",
		"src-tauri/src/lib.rs": "#[tauri::command(async)]\n#[allow(dead_code)]\n" +
			"pub(crate) async fn greet(name: &str) {}\n" +
			"#[command]\n/// Sets it.\nfn set_title() {}\n// #[tauri::command] fn gone() {}\n"})
	for _, c := range []struct {
		command string
		code    int
		out     string
	}{
		{"greet", cli.ExitClean, "allowed: greet"},
		{"set_title", cli.ExitClean, "allowed: set_title"},
		{"gone", cli.ExitUsage, "unknown: gone"},
		{"greed", cli.ExitUsage, "Did you mean greet?"},
	} {
		code, out, errs := run("explain", "-command", c.command, "-window", "main", dir)
		require.Equal(t, c.code, code, "%s: %s%s", c.command, out, errs)
		require.Contains(t, out, c.out)
	}
	// A manifest that does not list one of them denies it.
	script := []byte(`AppManifest::new().commands(&["greet"])`)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "src-tauri/build.rs"), script, 0o600))
	code, out, _ := run("explain", "set_title", "main", dir)
	require.Equal(t, cli.ExitFindings, code, out)
	require.Contains(t, out, "The application's manifest has no permission for this command.\nTo allow it, list")
	// What a list that is elsewhere allows is not known.
	require.NoError(t, os.WriteFile(filepath.Join(dir, "src-tauri/build.rs"),
		[]byte(`AppManifest::new().commands(commands::ALL)`), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "src-tauri/capabilities/main.json"),
		[]byte(strings.Replace(sound, `"permissions": [`, `"permissions": ["allow-greet", `, 1)), 0o600))
	for command, ends := range map[string]string{"greet": "gen/schemas.\n", "greed": "Did you mean greet?\n"} {
		code, out, _ = run("explain", command, "main", dir)
		require.Equal(t, cli.ExitUsage, code, out)
		require.Contains(t, out, "\nNo manifest that is loaded tells which permissions of the application allow it.\n")
		require.True(t, strings.HasSuffix(out, ends), out)
	}
}

// Since 2.11.1 the application's own commands are not open to pages from elsewhere.
func TestRemotePagesAndOwnCommandsByVersion(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, lock, flag string
		code             int
	}{
		{"newest", "", "", cli.ExitFindings},
		{"lock file", "2.11.0", "", cli.ExitClean},
		{"flag", "2.11.1", "2.10", cli.ExitClean},
	} {
		dir := project(t, map[string]string{"src-tauri/capabilities/main.json": sound,
			"src-tauri/tauri.conf.json": "{}",
			"Cargo.lock":                "[[package]]\nname = \"tauri\"\nversion = \"" + c.lock + "\"\n"})
		args := []string{"-url", "https://evil.example/", dir}
		if c.flag != "" {
			args = append(args, "-tauri", c.flag)
		}
		code, out, errs := run(append([]string{"explain", "-command", "greet", "-window", "main"}, args...)...)
		require.Equal(t, c.code, code, "%s: %s%s", c.name, out, errs)
		require.Equal(t, code == cli.ExitFindings, strings.Contains(out, "since Tauri 2.11.1"), out)
		_, out, _ = run(append([]string{"who", "-window", "main"}, args...)...)
		require.Equal(t, code == cli.ExitClean, strings.Contains(out, "all of the application's own"), out)
		_, out, _ = run(append([]string{"who", "-command", "greet"}, args...)...)
		require.Equal(t, code == cli.ExitClean, strings.Contains(out, "remote ones too"), out)
	}
	code, _, errs := run("explain", "-command", "greet", "-window", "main", "-tauri", "new", t.TempDir())
	require.Equal(t, cli.ExitUsage, code)
	require.NotEmpty(t, errs)
}

// The table of the core knows the release that each permission came with.
func TestCorePermissionsByVersion(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		permission, version string
		code                int
		out                 string
	}{
		{"core:app:allow-exit", "", cli.ExitClean, "nothing found"},
		{"core:window:allow-set-fullscreen-on-monitor", "2.12.0", cli.ExitClean, "nothing found"},
		{"core:window:allow-set-fullscreen-on-monitor", "2.11.1", cli.ExitFindings, "came with Tauri 2.12"},
		{"core:window:allow-set-badge-count", "2.1.1", cli.ExitFindings, "came with Tauri 2.2"},
		{"core:window:allow-set-badge-count", "2.2.0", cli.ExitClean, "nothing found"},
		{"core:window:default", "2.0.0", cli.ExitClean, "nothing found"},
		{"core:window:allow-fly", "", cli.ExitFindings, "has no permission"},
		{"core:window:allow-fly", "2.12.5", cli.ExitFindings, "has no permission"},
		{"core:window:allow-fly", "2.99", cli.ExitClean,
			"warning: The permission \"core:window:allow-fly\" is not known"},
	} {
		dir := project(t, map[string]string{"src-tauri/tauri.conf.json": "{}",
			"src-tauri/capabilities/main.json": `{"identifier": "main", "windows": ["main"], "permissions": ["` +
				c.permission + `"]}`})
		args := []string{"check", dir}
		if c.version != "" {
			args = append(args, "-tauri", c.version)
		}
		code, out, errs := run(args...)
		require.Equal(t, c.code, code, "%s %s: %s%s", c.permission, c.version, out, errs)
		require.Contains(t, out, c.out)
	}
	// A default set contains what its release had.
	dir := project(t, map[string]string{"capabilities/main.json": sound})
	for version, want := range map[string]int{"2.3": cli.ExitFindings, "2.4": cli.ExitClean} {
		code, out, _ := run("explain", "-command", "window.is_always_on_top", "-window", "main", "-tauri", version,
			dir)
		require.Equal(t, want, code, out)
	}
}

// What a flag replaces is not read, so that it may be anything: here it leads out of the folder.
func TestFilesThatFlagsReplaceAreNotRead(t *testing.T) {
	t.Parallel()
	outside := filepath.Join(project(t, map[string]string{"file.json": "{}"}), "file.json")
	for _, c := range []struct {
		name, link string
		flags      []string
	}{
		{"manifests", "gen/schemas/acl-manifests.json", []string{"-manifest", outside}},
		{"configuration", "tauri.conf.json", []string{"-config", outside}},
		{"no configuration", "tauri.conf.json", []string{"-config", "none"}},
		{"configuration of a platform", "tauri.linux.conf.json", []string{"-config", "none"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			files := map[string]string{"src-tauri/capabilities/main.json": sound, "src-tauri/tauri.conf.json": "{}",
				"src-tauri/gen/schemas/x.json": "{}"}
			delete(files, "src-tauri/"+c.link)
			dir := project(t, files)
			require.NoError(t, os.Symlink(outside, filepath.Join(dir, "src-tauri", c.link)))
			code, out, errs := run("check", dir)
			require.Equal(t, cli.ExitUsage, code, out)
			require.Contains(t, errs, "leads out of")
			_, out, errs = run(append([]string{"check", dir}, c.flags...)...)
			require.NotContains(t, errs, "leads out of")
			require.Contains(t, out, "1 file checked")
		})
	}
}
