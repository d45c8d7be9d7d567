package cli_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"lessonkit.example/capability/cli"
)

const manifests = `{"fs": {"default_permission": null, "permission_sets": {},
  "global_scope_schema": null, "permissions": {
  "allow-read-file": {"identifier": "allow-read-file", "description": "", "commands": {"allow": ["read_file"],
      "deny": []}},
  "scope": {"identifier": "scope", "description": "", "commands": {"allow": [], "deny": []}}}}}`

// project writes files into a new folder and returns it.
func project(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		file := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
	}
	return dir
}

func run(args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = cli.Run(args, cli.Env{Stdout: &out, Stderr: &errs})
	return code, out.String(), errs.String()
}

const sound = `{"identifier": "main", "windows": ["main"], "permissions": ["core:default", "core:window:allow-close"]}`

func TestCheck(t *testing.T) {
	t.Parallel()
	dir := project(t, map[string]string{
		"src-tauri/capabilities/main.json": sound,
		"src-tauri/capabilities/fs.toml": "identifier = \"fs\"\nwindows = [\"main\"]\npermissions = " +
			"[\"fs:alow-read-file\"]\n",
		"src-tauri/capabilities/schemas/x.json":    "not read",
		"src-tauri/gen/schemas/acl-manifests.json": manifests,
	})
	code, out, errs := run("check", dir)
	require.Equal(t, cli.ExitFindings, code)
	require.Empty(t, errs)
	require.Contains(t, out,
		`fs.toml:3:16: error: The plugin fs has no permission "fs:alow-read-file"; did you mean `+
			`"fs:allow-read-file"? [unknown-permission]`)
	require.Contains(t, out,
		"    3 | permissions = [\"fs:alow-read-file\"]\n      |                ^^^^^^^^^^^^^^^^^^^\n")
	require.Contains(t, out, "2 files checked: 1 error.")

	code, _, _ = run("check", dir, "-rule", "unknown-permission=warning")
	require.Equal(t, cli.ExitClean, code, "flags may follow the paths")

	code, out, _ = run("check", "-format", "json", dir)
	require.Equal(t, cli.ExitFindings, code)
	var findings []struct {
		Code, Severity, Path string
		Start                struct{ Line, Column int }
	}
	require.NoError(t, json.Unmarshal([]byte(out), &findings))
	require.Len(t, findings, 1)
	require.Equal(t, "unknown-permission error /permissions/0",
		strings.Join([]string{findings[0].Code, findings[0].Severity, findings[0].Path}, " "))
	require.Equal(t, 16, findings[0].Start.Column)
}

func TestCheckFixes(t *testing.T) {
	t.Parallel()
	dir := project(t, map[string]string{
		"capabilities/a.json": `{"identifier": "a", "windows": "main", "permissions": ["core:default", ` +
			`"core:default", "fs:alow-read-file", {"identifier": "fs:scope", "allow": ["$APPDATA"]}, ` +
			`"window:allow-close",], "platforms": ["macos"] }`,
		"gen/schemas/acl-manifests.json": manifests,
	})
	code, out, errs := run("check", "-fix", dir)
	require.Equal(t, cli.ExitFindings, code)
	require.Contains(t, out, "1 file checked: 1 error.",
		"what was probably meant is a guess, and nothing is granted by a guess")
	require.Contains(t, errs, "changes made")
	text, err := os.ReadFile(filepath.Join(dir, "capabilities/a.json"))
	require.NoError(t, err)
	require.JSONEq(t,
		`{"identifier": "a", "windows": ["main"], "permissions": ["core:default", "fs:alow-read-file", `+
			`{"identifier": "fs:scope", "allow": ["$APPDATA"]}, "core:window:allow-close"], "platforms": `+
			`["macOS"]}`, string(text))
}

func TestCheckWithoutManifestsSaysWhatItLeavesOut(t *testing.T) {
	t.Parallel()
	dir := project(t,
		map[string]string{"a.json": `{"identifier": "a", "windows": ["main"], "permissions": ["pty:default", ` +
			`"pty:allow-x", "window:allow-close"]}`})
	code, out, _ := run("check", filepath.Join(dir, "a.json"))
	require.Equal(t, cli.ExitFindings, code)
	require.Equal(t, 1, strings.Count(out, "unchecked-plugin"))
	require.Contains(t, out, "acl-manifests.json")
	require.Contains(t, out, `write "core:window:allow-close"`)

	// What a flag says of one plugin leaves out nothing of the others.
	dir = project(t, map[string]string{"capabilities/a.json": strings.Replace(sound, "core:default", "pty:default", 1),
		"gen/schemas/acl-manifests.json": manifests, "more.toml": ownPermission})
	_, out, _ = run("check", "-manifest", "more="+filepath.Join(dir, "more.toml"), dir)
	require.Contains(t, out, `The application has no plugin "pty"`)
}

// What a configuration contains inline is part of the app, also where it is all.
func TestInlineCapabilities(t *testing.T) {
	t.Parallel()
	inline := `{"app": {"security": {"capabilities": ["main", {"identifier": "extra", "windows": ["main"], ` +
		`"permissions": ["core:window:alow-hide"]}]}}}`
	dir := project(t, map[string]string{"src-tauri/capabilities/main.json": sound,
		"src-tauri/tauri.conf.json": inline})
	code, out, _ := run("check", dir)
	require.Equal(t, cli.ExitFindings, code)
	require.Contains(t, out, `did you mean "core:window:allow-hide"?`)
	require.Contains(t, out, "2 files checked: 1 error.")

	dir = project(t,
		map[string]string{"package.json": `{"name": "x"}`,
			"src-tauri/tauri.conf.json": strings.Replace(strings.Replace(inline, `"main", {`, "{", 1), "alow", "allow",
				1)})
	code, out, errs := run("check", dir)
	require.Equal(t, cli.ExitClean, code, out+errs)
	require.Equal(t, "1 file checked, nothing found.\n", out, "package.json is no capability file")
	code, out, _ = run("explain", "-command", "core:window:hide", "-window", "main", dir)
	require.Equal(t, cli.ExitClean, code, out)
}

// Permissions of a plugin that is a part of the application are not its own.
func TestPermissionsOfInlinedPlugins(t *testing.T) {
	t.Parallel()
	const plugin = "[default]\npermissions = [\"allow-ping\"]\n[[permission]]\nidentifier = \"allow-ping\"\n" +
		"commands.allow = [\"ping\"]\n"
	for script, want := range map[string]bool{"": true, `fn main() { x.plugin( "pinger", y) }`: true,
		`fn main() {}`: false} {
		files := map[string]string{
			"capabilities/main.json":          strings.Replace(sound, `"core:default"`, `"pinger:default"`, 1),
			"permissions/pinger/default.toml": plugin, "permissions/autogenerated/greet.toml": ownPermission}
		if script != "" {
			files["build.rs"] = script
		}
		dir := project(t, files)
		code, out, errs := run("explain", "-command", "pinger.ping", "-window", "main", dir)
		require.Equal(t, want, code == cli.ExitClean, "%q: %s%s", script, out, errs)
		code, out, _ = run("explain", "-command", "greet", "-window", "main", dir)
		require.Equal(t, cli.ExitFindings, code, out)
		require.Contains(t, out, `"allow-greet"`)
	}
}

// The application's own pages are local, however they are addressed.
func TestOwnPagesAreLocal(t *testing.T) {
	t.Parallel()
	dir := project(t,
		map[string]string{"capabilities/main.json": sound,
			"tauri.conf.json":         `{"build": {"devUrl": "http://localhost:1420"}}`,
			"tauri.windows.conf.json": `{"build": {"devUrl": "http://localhost:9000"}}`,
			"tauri.linux.conf.json":   `{"build": {"frontendDist": "https://app.example.com/start"}}`,
			"tauri.android.conf.json": `{"build": {"frontendDist": "../dist"}}`})
	for _, c := range []struct {
		url, platform string
		code          int
	}{
		{"tauri://localhost/index.html", "", cli.ExitClean},
		{"http://tauri.localhost/", "", cli.ExitClean},
		{"http://localhost:1420/x", "", cli.ExitClean},
		{"http://localhost:1421/", "", cli.ExitFindings},
		{"http://localhost:9000/", "", cli.ExitFindings},
		{"http://localhost:9000/", "windows", cli.ExitClean},
		{"http://localhost:1420/", "windows", cli.ExitFindings},
		{"https://app.example.com/x", "linux", cli.ExitClean},
		{"http://localhost:1420/", "linux", cli.ExitClean},
		{"https://app.example.com.evil.example/", "linux", cli.ExitFindings},
		{"https://app.example.com/x", "", cli.ExitFindings},
		{"https://dist/", "android", cli.ExitFindings},
		{"https://tauri.localhost.example/", "", cli.ExitFindings},
	} {
		code, out, errs := run("explain", "-command", "core:window:close", "-window", "main", "-url", c.url,
			"-platform", c.platform, dir)
		require.Equal(t, c.code, code, "%v: %s", c, out)
		require.Equal(t, code == cli.ExitClean, strings.Contains(errs, "a page of the application itself"), errs)
	}
}

func TestPaths(t *testing.T) {
	t.Parallel()
	dir := project(t, map[string]string{"app/shared/a.json": sound, "app/src-tauri/x": ""})
	require.NoError(t, os.Symlink(filepath.Join("..", "shared"), filepath.Join(dir, "app/src-tauri/capabilities")))
	file := filepath.Join(dir, "app/shared/a.json")
	for _, paths := range [][]string{{filepath.Join(dir, "app")}, {file, dir + "/app/shared/./a.json"},
		{file, filepath.Dir(file)}} {
		code, out, errs := run(append([]string{"check"}, paths...)...)
		require.Equal(t, cli.ExitClean, code, out+errs)
		require.Equal(t, "1 file checked, nothing found.\n", out)
	}
}

func TestApplicationBesideOneOfItsFiles(t *testing.T) {
	t.Parallel()
	dir := project(t, map[string]string{
		"src-tauri/capabilities/main.json":  sound,
		"src-tauri/capabilities/wrong.json": `{"identifier": "wrong"}`,
	})
	app := filepath.Join(dir, "src-tauri")
	file := filepath.Join(app, "capabilities", "main.json")
	for _, paths := range [][]string{{app, file}, {file, app}, {dir, file, file}} {
		code, out, errs := run(append([]string{"check"}, paths...)...)
		require.Equal(t, 1, code, errs)
		require.Contains(t, out, "wrong.json", paths)
	}
	code, out, errs := run("check", file)
	require.Equal(t, 0, code, out+errs)

	// The others count, and what they have wrong is theirs.
	config := filepath.Join(app, "tauri.conf.json")
	require.NoError(t, os.WriteFile(config,
		[]byte(`{"app": {"security": {"capabilities": ["main", "wrong", "gone"]}}}`), 0o600))
	wrong := `{"identifier": "wrong", "windows": ["x"], "permissions": ["fs:deny-exists", "pty:default"]}`
	require.NoError(t, os.WriteFile(filepath.Join(app, "capabilities", "wrong.json"), []byte(wrong), 0o600))
	right := strings.Replace(sound, "core:default", `fs:allow-exists", "pty:default`, 1)
	require.NoError(t, os.WriteFile(file, []byte(right), 0o600))
	_, out, errs = run("check", filepath.Join(app, "capabilities", "wrong.json"))
	require.Contains(t, out, "[deny-everywhere]", errs)
	require.NotContains(t, out, "[missing-scope]")
	require.Equal(t, 1, strings.Count(out, "[unknown-capability]"), out)
	require.Contains(t, out, "1 file checked: 1 error, 1 warning, 1 note.", "pty is not checked")
	_, out, errs = run("check", config)
	require.Contains(t, out, "2 files checked: 1 error, 1 warning, 2 notes.", errs)
	code, out, errs = run("diff", file, file)
	require.Equal(t, 0, code, out+errs)

	other := filepath.Join(app, "tauri.beta.conf.json") // that the build does not read by itself
	require.NoError(t, os.WriteFile(other, []byte(`{}`), 0o600))
	_, out, errs = run("check", other)
	require.Contains(t, out+errs, "1 file checked")
}

func TestWho(t *testing.T) {
	t.Parallel()
	dir := project(t, map[string]string{"capabilities/main.json": strings.Replace(sound, `"windows"`,
		`"remote": {"urls": ["https://a.dev"]}, "windows"`, 1)})
	code, out, _ := run("who", "-command", "core:window:close", dir)
	require.Equal(t, cli.ExitClean, code)
	require.Contains(t, out, "windows main, the application's own pages, pages of https://a.dev\n    by ")
	_, out, _ = run("who", "-window", "main", dir)
	require.Contains(t, out, "  plugin:window|close\n")
	_, out, _ = run("who", "-window", "main", "-format", "json", dir)
	require.Contains(t, out, `"plugin:window|close"`)
	_, out, _ = run("who", "-tauri", "2.10", "window.activityName", dir)
	require.Contains(t, out, "nobody: no permission that the application has allows it\n")
	_, out, _ = run("who", "-command", "core:window:hide", "-format", "json", dir)
	require.Contains(t, out, `"core:window:allow-hide"`)
	denying := project(t,
		map[string]string{"capabilities/a.json": `{"identifier": "a", "windows": ["main"], "permissions": ` +
			`["core:window:deny-close"]}`})
	_, out, _ = run("who", "-command", "core:window:close", denying)
	require.Contains(t, out, "denied to all by")
	unknown := project(t, map[string]string{"capabilities/a.json": strings.Replace(sound, "core:default",
		"pty:default", 1)})
	_, out, _ = run("who", "pty.spawn", unknown)
	require.Contains(t, out, "not known: ")
	_, _, errs := run("who", "-window", "main", unknown)
	require.Contains(t, errs, "what they allow or deny is not known: pty:default")
	code, _, errs = run("who", dir)
	require.Equal(t, cli.ExitUsage, code)
	require.Contains(t, errs, "either a command or a window")
}

// Wrong usage exits with 2 and says what would be right.
func TestUsage(t *testing.T) {
	t.Parallel()
	dir := project(t, map[string]string{"a.json": sound, "bad.json": "{", "empty/x.txt": "", "x.toml": ""})
	file := filepath.Join(dir, "a.json")
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "usage: capability"},
		{[]string{"chek"}, `unknown command "chek"`},
		{[]string{"check", "-mdoe", "lint", file}, "-mdoe"},
		{[]string{"check", "-format", "xml", file}, "text, json, sarif"},
		{[]string{"check", "-platform", "plan9", file}, "linux, macOS"},
		{[]string{"check", "-rule", "nope=off", file}, `no rule "nope"`},
		{[]string{"check", "-rule", "syntax=loud", file}, "off, note, warning or error"},
		{[]string{"check", filepath.Join(dir, "none")}, "no such file"},
		{[]string{"check", filepath.Join(dir, "empty")}, "no .json, .json5 or .toml file"},
		{[]string{"check", "-manifest", filepath.Join(dir, "x.toml"), file}, "name the plugin"},
		{[]string{"explain", file}, "needs a command and a window"},
		{[]string{"explain", "-command", "a", "-window", "b", "-url", "x", file}, "https://example.com/page"},
		{[]string{"explain", "-command", "a", "-window", "b", filepath.Join(dir, "bad.json")},
			"must be corrected first"},
		{[]string{"diff", file, file, file}, "files, folders or revisions"},
		{[]string{"diff", "no-such-revision"}, "neither a file or folder nor a revision"},
	} {
		code, out, errs := run(c.args...)
		require.Equal(t, cli.ExitUsage, code, c.args)
		require.Contains(t, errs, c.want, c.args)
		require.Empty(t, out, c.args)
	}
	code, out, _ := run("help")
	require.Equal(t, cli.ExitClean, code)
	require.Contains(t, out, "explain")
	code, _, _ = run("check", "-h")
	require.Equal(t, cli.ExitClean, code)
}

// Neither a file's text, nor its name, nor an argument can control the terminal that shows them.
func TestOutputIsPrintable(t *testing.T) {
	t.Parallel()
	const bad = "\x1b[2J\u009b31m\u202e\xff\x9b"
	escaped := `{"identifier": "a\u001b[2J\u202e", "windows": ["\u009b31m"], "permissions": ["\u001b]0;x\u0007"]}`
	raw := "{\"identifier\": \"a" + bad + "\", \"windows\": [\"m\"], \"permissions\": []}"
	lists := `{"app": {"security": {"capabilities": ["main"]}}}`
	dir := project(t, map[string]string{"raw/a.json": raw, "escaped/a.json": escaped,
		"named/" + bad + "/capabilities/a.json":   fixable,
		"named/" + bad + "/tauri.conf.json":       "{}",
		"named/" + bad + "/tauri.linux.conf.json": lists,
		"comment/a.json5":                         "// \x1b[2J\u009b\n{identifier: 'a', permissions: []}",
	})
	var calls [][]string
	for _, folder := range []string{"raw", "escaped", "named/" + bad, "comment", "missing" + bad} {
		path := filepath.Join(dir, folder)
		for _, format := range []string{"text", "json", "github"} {
			calls = append(calls, []string{"check", "-format", format, path},
				[]string{"who", "-command", "x" + bad, "-format", format, path},
				[]string{"explain", "-command", "a" + bad, "-window", "b" + bad, "-format", format, path},
				[]string{"diff", "-format", format, path, filepath.Join(dir, "escaped")})
		}
		calls = append(calls, []string{"check", "-format", "sarif", path}, []string{"check", "-fix", path},
			[]string{"check", "-config", bad, path}, []string{"check", "-" + bad, path},
			[]string{"check", "-platform", bad, path}, []string{"check", "-rule", bad, path}, []string{bad})
	}
	for _, args := range calls {
		var out, errs bytes.Buffer
		cli.Run(args, cli.Env{Stdout: &out, Stderr: &errs})
		for _, text := range []string{out.String(), errs.String()} {
			require.True(t, utf8.ValidString(text), "%q: %q", args, text)
			require.False(t, strings.ContainsFunc(text, func(r rune) bool {
				return r != '\n' && r != '\t' && unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)
			}), "%q: %q", args, text)
		}
	}
}

// Capabilities inside the configuration are mended too.
func TestCheckFixesTheConfiguration(t *testing.T) {
	t.Parallel()
	for list, want := range map[string]string{
		`"main"`: `["main"]`,
		`["main", {"identifier": "x", "windows": "x", "permissions": []}]`: `["main", {"identifier": "x", ` +
			`"windows": ["x"], "permissions": []}]`,
	} {
		config := func(list string) string { return `{"app": {"security": {"capabilities": ` + list + `}}}` }
		dir := project(t, map[string]string{"capabilities/main.json": sound, "tauri.conf.json": config(list)})
		code, out, errs := run("check", "-fix", dir)
		require.Equal(t, cli.ExitClean, code, out+errs)
		require.Contains(t, errs, "tauri.conf.json: changes made: 1")
		text, err := os.ReadFile(filepath.Join(dir, "tauri.conf.json"))
		require.NoError(t, err)
		require.Equal(t, config(want), string(text))
	}
}
