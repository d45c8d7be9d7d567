package cli_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"lessonkit.example/capability/cli"
)

// A command and a window need no flags, and the framework's message has both.
func TestExplainArguments(t *testing.T) {
	dir := project(t, map[string]string{"src-tauri/capabilities/main.json": sound,
		"src-tauri/tauri.conf.json": `{"build": {"devUrl": "http://localhost:1420"}}`,
		"src-tauri/src/deep/x.txt":  "", "src-tauri/Cargo.lock": "\nname = \"tauri\"\nversion = \"2.9.5\"\n\n" +
			"name = \"tauri-plugin-fs\"\nversion = \"2.4.4\"\n",
		"src-tauri/capabilities/files.json": `{"identifier": "files", "windows": ["main"], "permissions": [
			{"identifier": "fs:scope", "allow": ["$TEMP"]}, {"identifier": "fs:allow-read-text-file",
			"allow": [{"path": "$APPDATA/*"}], "deny": ["$APPDATA/x"]}]}`})
	for _, c := range []struct {
		args []string
		code int
		out  string
	}{
		{[]string{"window.close", "main", dir}, cli.ExitClean, "allowed: plugin:window|close"},
		{[]string{"window.close", "other", dir}, cli.ExitFindings, "denied: plugin:window|close"},
		{[]string{`window.close not allowed on window "other", webview "view", URL: local` + "\n\n" +
			`allowed on: [windows: "main", URL: local]`, dir}, cli.ExitFindings,
			`denied: plugin:window|close from window "other", webview "view"`},
		{[]string{`Uncaught (in promise) window.close not allowed on window "main", webview "main", URL: ` +
			"https://x.example/y", dir}, cli.ExitFindings, "page https://x.example/y"},
		{[]string{"Command set_title not allowed by ACL", "main", dir}, cli.ExitUsage, "unknown: set_title"},
		{[]string{"window.set_title not allowed. Permissions associated with this command: core:window:allow-x",
			"-window", "main", dir}, cli.ExitFindings, "denied: plugin:window|set_title"},
		{[]string{"window.close explicitly denied on origin local", "main", dir}, cli.ExitClean, "allowed: "},
		{[]string{"forbidden path: /a, maybe it is not allowed on the scope for `allow-read-text-file` " +
			"permission in your capability file", "main", dir}, cli.ExitClean,
			`   with a scope that allows {"path":"$APPDATA/*"}; it denies "$APPDATA/x"` + "\n\n" +
				`A scope for all commands of the plugin fs allows "$TEMP"` + "\n"},
		{[]string{"shell.open not allowed. Plugin not found", "main", dir}, cli.ExitFindings,
			"The application has no plugin \"shell\": Cargo.lock has no package tauri-plugin-shell; add it first."},
		{[]string{`window.close not allowed on window "main", webview "main", URL: http://localhost:1420/`, dir},
			cli.ExitFindings, "page http://localhost:1420/"},
		{[]string{"window.close", "main", "-url", "http://localhost:1420/", dir}, cli.ExitClean, "own page"},
	} {
		code, out, errs := run(append([]string{"explain"}, c.args...)...)
		require.Equal(t, c.code, code, "%v: %s%s", c.args, out, errs)
		require.Contains(t, out, c.out)
	}
	code, _, errs := run("explain", "Command set_title not allowed by ACL", dir)
	require.Equal(t, cli.ExitUsage, code)
	require.Contains(t, errs, "add its label, such as main")
	code, _, errs = run("explain", "url not allowed on the configured scope: https://x.dev", "main", dir)
	require.Equal(t, cli.ExitUsage, code)
	require.Contains(t, errs, "is not a command; write it as")
	code, out, errs := run("who", "window.close", dir)
	require.Equal(t, cli.ExitClean, code, errs)
	require.Contains(t, out, "windows main")
	// The application is found above the working directory.
	t.Chdir(filepath.Join(dir, "src-tauri", "src", "deep"))
	code, out, errs = run("check")
	require.Equal(t, cli.ExitClean, code, errs)
	require.Contains(t, out, "2 files checked")
}
