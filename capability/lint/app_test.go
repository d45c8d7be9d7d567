package lint

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"lessonkit.example/capability"
)

// rulesOf returns the rules of which an application has findings.
func rulesOf(app *capability.App) string {
	found := make(map[string]bool)
	for _, d := range CheckApp(app, Options{}) {
		found[string(d.Code)] = true
	}
	return strings.Join(slices.Sorted(maps.Keys(found)), " ")
}

// What the configuration contains is judged with the files, and what the build ignores is no rival.
func TestApplicationIsJudgedAsAWhole(t *testing.T) {
	t.Parallel()
	one := func(name, permission string) string {
		return `{"identifier": "` + name + `", "windows": ["main"], "permissions": [` + permission + `]}`
	}
	const scoped = `{"identifier": "http:allow-fetch", "allow": ["https://a.dev"]}`
	core := one("a", `"core:default"`)
	for name, c := range map[string]struct{ cargo, file, json5, inlined, want string }{
		"a denial":       {"", one("a", `"sql:allow-load"`), "", one("b", `"sql:deny-load"`), "deny-everywhere"},
		"a scope":        {"", one("a", `"http:allow-fetch"`), "", one("b", scoped), ""},
		"one name":       {"", core, "", core + "," + core, "capability-override"},
		"an unread file": {"", core, core, one("b", `"core:default"`), "json5-feature"},
		"JSON5":          {`features = ["config-json5"]`, core, "", one("b", `"core:default"`), ""},
	} {
		fsys := fstest.MapFS{"Cargo.toml": {Data: []byte(c.cargo)}, "capabilities/a.json": {Data: []byte(c.file)},
			"tauri.conf.json": {Data: []byte(`{"app": {"security": {"capabilities": ["a", ` + c.inlined + `]}}}`)}}
		if c.json5 != "" {
			fsys["capabilities/a.json5"] = &fstest.MapFile{Data: []byte(c.json5)}
		}
		app, err := capability.LoadApp(fsys, capability.AppOptions{})
		require.NoError(t, err)
		require.Equal(t, c.want, rulesOf(app), name)
	}
}

// The list of a platform replaces the other one, so what they contain does not meet.
func TestConfigurationsAreNotActiveTogether(t *testing.T) {
	t.Parallel()
	one := func(name, permissions string) string {
		return `{"identifier": "` + name + `", "windows": ["main"], "permissions": [` + permissions + `]}`
	}
	const scoped = `{"identifier": "http:allow-fetch", "allow": ["https://a.dev"]}`
	const plain, allow, deny = `"http:allow-fetch"`, `"sql:allow-load"`, `"sql:deny-load"`
	for name, c := range map[string]struct{ file, base, windows, want string }{
		"a scope of the other":       {`"core:default"`, `"a", ` + one("b", scoped), one("b", plain), "missing-scope"},
		"a scope that is not active": {scoped, one("b", plain), one("b", plain), "inactive-capability missing-scope"},
		"a scope of the file":        {scoped, `"a", ` + one("b", plain), `"a", ` + one("c", plain), ""},
		"a denial of the other":      {`"core:default"`, one("b", deny), `"a", ` + one("b", allow), ""},
		"a denial on one":            {deny, `"a"`, `"a", ` + one("b", allow), "deny-everywhere"},
		"a denial that is replaced": {`"core:default"`, `"a", ` + one("b", deny) + "," + one("b", allow), `"a"`,
			"capability-override"},
	} {
		config := func(list string) *fstest.MapFile {
			return &fstest.MapFile{Data: []byte(`{"app": {"security": {"capabilities": [` + list + `]}}}`)}
		}
		app, err := capability.LoadApp(fstest.MapFS{"tauri.conf.json": config(c.base),
			"tauri.windows.conf.json": config(c.windows), "capabilities/a.json": {Data: []byte(one("a", c.file))}},
			capability.AppOptions{})
		require.NoError(t, err)
		require.Equal(t, c.want, rulesOf(app), name)
	}
}

func TestLocalServers(t *testing.T) {
	t.Parallel()
	const window = `"app": {"windows": [{"url": "http://localhost:3000/x"}]}`
	for name, c := range map[string]struct {
		config, capability, lock string
		want                     int
	}{
		"window":     {window, "", "", 1},
		"named":      {window, `"remote": {"urls": ["http://localhost:*"]},`, "", 0},
		"own server": {window + `, "build": {"devUrl": "http://localhost:3000"}`, "", "", 0},
		"older":      {window, "", "tauri 2.11.0", 0},
		"plugin":     {"", "", "tauri-plugin-localhost 2.0.0", 1},
		"none":       {`"app": {"windows": [{"url": "https://localhost.example.com"}]}`, "", "", 0},
		"many": {`"app": {"windows": [` + strings.Repeat(`{"url": "http://localhost:1"},`, 300) + "{}]}", "", "",
			201},
	} {
		lock, version, _ := strings.Cut(c.lock, " ")
		config := strings.TrimSuffix(`{"identifier": "x", `+c.config, ", ") + "}"
		app, err := capability.LoadApp(fstest.MapFS{"tauri.conf.json": {Data: []byte(config)},
			"Cargo.lock": {Data: []byte("[[package]]\nname = \"tauri\"\nversion = \"2.12.0\"\n" +
				"[[package]]\nname = \"" + lock + "\"\nversion = \"" + version + "\"\n")},
			"capabilities/main.json": {Data: []byte(`{"identifier": "m", "windows": ["*"], ` + c.capability +
				`"permissions": ["core:default"]}`)}}, capability.AppOptions{})
		require.NoError(t, err)
		isOther := func(d capability.Diagnostic) bool { return d.Code != "localhost-not-remote" }
		found := slices.DeleteFunc(CheckApp(app, Options{}), isOther)
		require.Len(t, found, c.want, name)
	}
}
