package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/internal/longtest"
)

// A build adds what it has of newer releases, and nothing else of the tables changes.
func TestABuildAddsToTheTables(t *testing.T) {
	tables := []string{"core.tsv", "plugins.tsv"}
	dir, was := t.TempDir(), make(map[string]string)
	for _, name := range tables {
		text, err := os.ReadFile(filepath.Join("..", "..", name))
		require.NoError(t, err)
		was[name] = string(text)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), text, 0o600))
	}
	newest := make(map[string]string)
	for _, match := range regexp.MustCompile(`(?m)^(\S+)\tnewest\t-\t(\S+)$`).FindAllStringSubmatch(was["plugins.tsv"],
		-1) {
		newest[match[1]] = match[2]
	}
	t.Chdir(dir)
	build := func(lock, manifests string) {
		require.NoError(t, os.WriteFile("Cargo.lock", []byte(lock), 0o600))
		require.NoError(t, os.WriteFile("acl-manifests.json", []byte(manifests), 0o600))
		require.NoError(t, run(".", time.Now()))
	}
	const manifests = `{"core:app":{"default_permission":{"permissions":["allow-fly"]},"permissions":{` +
		`"allow-version":{},"allow-fly":{"commands":{"allow":["fly"]}},"deny-fly":{"commands":{"deny":["fly"]}}}},` +
		`"cli":{"default_permission":{"permissions":["allow-ask"]},"permissions":{` +
		`"allow-ask":{"commands":{"allow":["ask"]}},"rest":{"scope":{"deny":[1]}}}},` +
		`"dialog":{"permissions":{"allow-older":{"commands":{"allow":["older"]}}}},"pty":{"permissions":{}}}`
	const lock = "[[package]]\r\nname = \"tauri\"\r\nversion = \"2.99.1\"\r\n" +
		"[[package]]\nname = \"tauri-plugin-cli\"\nversion = \"2.99.0\"\n" +
		"[[package]]\nname = \"tauri-plugin-dialog\"\nversion = \"2.0.0\"\n"
	for range 2 {
		build(lock, manifests)
	}
	for name, want := range map[string]struct{ added, removed []string }{
		"core.tsv": {added: []string{"app\tfly\tdefault\t2.99"}},
		"plugins.tsv": {added: []string{"cli\tnewest\t-\t2.99.0", "cli\tcommand\task\t-",
			"cli\tdefault\tdefault\tallow-ask", "cli\tpermission\trest\t" + `{"scope":{"allow":null,"deny":[1]}}`},
			removed: []string{"cli\tnewest\t-\t" + newest["cli"], "cli\tdefault\tdefault\tallow-cli-matches"}},
	} {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		old, now := lines(was[name]), lines(string(text))
		require.Equal(t, want.added, without(now, old), name)
		require.Equal(t, want.removed, without(old, now), name)
	}
}

// without returns the lines that are not among others.
func without(lines, others []string) (left []string) {
	for _, line := range lines {
		if !slices.Contains(others, line) {
			left = append(left, line)
		}
	}
	return left
}

// lines returns the lines of a table without its day.
func lines(table string) []string {
	return slices.DeleteFunc(strings.Split(table, "\n"), func(l string) bool { return strings.HasPrefix(l, day) })
}

// Packages add the commands that they call, and the day.
func TestPackagesAddToTheTable(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	folder := filepath.Join("node_modules", "@tauri-apps", "plugin-cli")
	require.NoError(t, os.MkdirAll(filepath.Join(folder, "dist-js"), 0o755))
	for name, text := range map[string]string{"plugins.tsv": "# Of 2026-01-01.\n# Rows.\ncli\tnewest\t-\t2.4.1\n" +
		"cli\tcommand\tcli_matches\t-\nfs\tnewest\t-\t2.0.0\n",
		filepath.Join(folder, "package.json"): `{"version": "2.5.0"}`,
		"calls/calls.tsv":                     "# Of 2026-01-01.\n# Rows.\nold\t-\t-\t-\n",
		"node_modules/@tauri-apps/api/core.js": "async function invoke(a) { " +
			"return window.__TAURI_INTERNALS__.invoke(a) }\n" +
			"class Resource { async close() { return invoke('plugin:resources|close') } }\n" +
			"export { Resource, invoke }",
		filepath.Join(folder, "dist-js", "index.js"): "import { Resource, invoke as i } from " +
			"'@tauri-apps/api/core';\n" +
			"class Form extends Resource {\n" +
			"async send(a) { if (a) { await i('plugin:cli|cli_matches') } return i('plugin:cli|ask') }\n" +
			"static async make() { return new Form(await i('plugin:cli|ask')) } }\n" +
			"function make() { return Form.make() }\nexport { Form, make }"} {
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	}
	require.NoError(t, run(".", time.Date(2026, 11, 24, 0, 0, 0, 0, time.UTC)))
	text, err := os.ReadFile("plugins.tsv")
	require.NoError(t, err)
	require.Equal(t, "# Of 2026-11-24.\n# Rows.\ncli\tnewest\t-\t2.5.0\ncli\tcommand\task\t-\n"+
		"cli\tcommand\tcli_matches\t-\nfs\tnewest\t-\t2.0.0\n", string(text))

	text, err = os.ReadFile("calls/calls.tsv")
	require.NoError(t, err)
	const cli, form = "@tauri-apps/plugin-cli\t", "@tauri-apps/plugin-cli#Form\t"
	require.Equal(t, "# Of 2026-11-24.\n# Rows.\n@tauri-apps/api/core\tResource\t-\t-\n"+
		"@tauri-apps/api/core\tResource#close\t-\tplugin:resources|close\n@tauri-apps/api/core\tinvoke\t-\t-\n"+
		cli+"Form\t-\t-\n"+cli+"Form#close\t-\tplugin:resources|close\n"+
		cli+"Form#send\t-\tplugin:cli|ask,plugin:cli|cli_matches?\n"+cli+"Form.make\t"+form+"plugin:cli|ask\n"+
		cli+"make\t"+form+"plugin:cli|ask\n", string(text))
}

// A table that is older than 60 days no longer knows the newest releases. It is one of the long
// tests, as those who build an old release cannot help it.
func TestTheTableIsNotOld(t *testing.T) {
	if !longtest.Wanted() {
		t.Skip("LONG_TESTS is not set")
	}
	for _, table := range []string{"plugins.tsv", "calls/calls.tsv"} {
		text, err := os.ReadFile(filepath.Join("..", "..", table))
		require.NoError(t, err)
		_, rest, _ := strings.Cut(string(text), day)
		of, _, _ := strings.Cut(rest, ".")
		made, err := time.Parse(time.DateOnly, of)
		require.NoError(t, err)
		require.Less(t, time.Since(made), 60*24*time.Hour, "run command tables with the newest packages")
	}
}
