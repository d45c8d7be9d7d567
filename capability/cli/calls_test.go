package cli_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lessonkit.example/capability/cli"
)

// calling is an application with one finding of each kind.
func calling(t *testing.T) string {
	t.Helper()
	return project(t, map[string]string{
		"package.json": "{}",
		"src/main.ts": "import { invoke } from '@tauri-apps/api/core'\n\n" +
			"invoke('plugin:fs|write_text_file')\ninvoke('gret')\ninvoke(name)\ninvoke('greet')",
		"src/large.min.js": "", "node_modules/a/a.ts": "<<<", "src-tauri/target/b.js": "<<<",
		"src-tauri/tauri.conf.json": "{}",
		"src-tauri/capabilities/main.json": "{\n  \"identifier\": \"main\",\n  \"windows\": [\"*\"],\n" +
			"  \"permissions\": [\"core:event:default\", \"dialog:default\"]\n}",
		"src-tauri/src/main.rs": "#[tauri::command]\nfn greet() {}\n\n#[tauri::command]\nfn leave() {}\n" +
			"generate_handler![greet, leave]",
	})
}

func TestCalls(t *testing.T) {
	t.Parallel()
	dir := calling(t)
	code, out, errs := run("calls", "-format", "json", dir)
	require.Equal(t, cli.ExitFindings, code, errs)
	var found []struct{ Code, File string }
	require.NoError(t, json.Unmarshal([]byte(out), &found), out)
	codes := make(map[string]string)
	for _, d := range found {
		codes[d.Code] = filepath.Base(d.File)
	}
	require.Equal(t, map[string]string{"call-denied": "main.ts", "call-unregistered": "main.ts",
		"call-computed": "main.ts", "grant-unused": "main.json", "command-unused": "main.rs"}, codes)

	code, out, errs = run("calls", "-fix", "-rule", "call-unregistered=off", dir)
	require.Equal(t, cli.ExitClean, code, out+errs)
	require.NotContains(t, out, "call-denied")
	text, err := os.ReadFile(filepath.Join(dir, "src-tauri", "capabilities", "main.json"))
	require.NoError(t, err)
	require.Contains(t, string(text), `["core:event:default", "dialog:default", "fs:allow-write-text-file"]`)

	// Rules of the project are for both commands, each says only of its own that they are not used.
	require.NoError(t, os.WriteFile(filepath.Join(dir, "capability.toml"),
		[]byte("[[ignore]]\nrule = \"call-unregistered\"\nreason = \"a\"\n"+
			"[[ignore]]\nrule = \"no-windows\"\nreason = \"b\"\n"), 0o600))
	code, _, errs = run("calls", dir)
	require.Equal(t, cli.ExitClean, code)
	require.NotContains(t, errs, "no-windows")
	_, _, errs = run("check", dir)
	require.NotContains(t, errs, "call-unregistered")
	require.Contains(t, errs, "no-windows")

	// What is not read is said, and mistakes in the files come first.
	require.NoError(t, os.WriteFile(filepath.Join(dir, "src", "b.ts"), []byte("let = ("), 0o600))
	_, _, errs = run("calls", dir)
	require.Regexp(t, `not read: \S+b\.ts: `, errs)
	var imports strings.Builder
	for i := range 30 {
		fmt.Fprintf(&imports, "import './gone%02d'\n", i)
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "src", "c.ts"), []byte(imports.String()), 0o600))
	_, _, errs = run("calls", dir)
	require.Contains(t, errs, "not read: 11 more\n", "of 30 and b.ts")
	code, out, errs = run("calls", "-source", filepath.Join(dir, "src-tauri"), dir)
	require.Equal(t, cli.ExitClean, code, out+errs)
	require.Contains(t, errs, "no source of a frontend is found")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "src-tauri", "capabilities", "main.json"), []byte("{"), 0o600))
	code, _, errs = run("calls", dir)
	require.Equal(t, cli.ExitUsage, code)
	require.Contains(t, errs, "mistakes that must be corrected first")
}

// Files that belong to no application have no frontend: nothing is searched for one, neither by the
// language server.
func TestCallsNeedAnApplication(t *testing.T) {
	t.Parallel()
	file := filepath.Join(project(t, map[string]string{"main.json": sound, "a.ts": "f()"}), "main.json")
	code, out, errs := run("calls", file)
	require.Equal(t, cli.ExitUsage, code, out)
	require.Contains(t, errs, "the capability files belong to no application")
	e := newEditor(t)
	require.Empty(t, e.open(file, fixable))
	e.call("shutdown", nil, nil)
	e.notify("exit", nil)
	require.Equal(t, cli.ExitClean, <-e.stopped)
	require.Empty(t, e.notes.String())
}
