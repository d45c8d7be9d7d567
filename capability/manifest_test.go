package capability

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lessonkit.example/capability/internal/limit"
)

func TestCoreTable(t *testing.T) {
	t.Parallel()
	m := CoreManifests()
	permissions := 0
	for _, plugin := range m.plugins() {
		require.Empty(t, m.Get(plugin).Sets)
		permissions += len(m.Get(plugin).Permissions)
	}
	require.Equal(t, 330, permissions, "165 commands, each allowed and denied")
	require.Equal(t, Version{2, 11, 0}, m.Get("core:window").Permissions["allow-scene-identifier"].Since)
	p, ds := Resolve([]Capability{{Identifier: "a", Local: true, Windows: []string{"m"},
		Permissions: []Entry{{Identifier: "core:default"}, {Identifier: "core:app:allow-tauri-version"}}}}, m,
		ResolveOptions{})
	require.Empty(t, ds)
	require.True(t, p.Allowed(cmd("plugin:app|tauri_version"), Caller{Window: "m"}))
	require.True(t, p.Allowed(cmd("plugin:app|framework_version"), Caller{Window: "m"}), "a second name is a spelling")
	require.False(t, p.Allowed(cmd("plugin:window|close"), Caller{Window: "m"}))
}

// The core table is that of real builds; identifiers of core in real files exist.
func TestCoreTableEqualsRealManifests(t *testing.T) {
	t.Parallel()
	files := []string{"testdata/app/gen/schemas/acl-manifests.json"}
	if dir := os.Getenv("CAPABILITY_CORPUS"); dir != "" {
		real, err := filepath.Glob(filepath.Join(dir, "..", "manifests", "*.json"))
		require.NoError(t, err)
		files = append(files, real...)
	}
	ours := CoreManifests()
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		var loaded Manifests
		require.Empty(t, loaded.Load(file, text))
		require.True(t, loaded.Whole())
		for _, plugin := range loaded.plugins() {
			if plugin != "core" && !strings.HasPrefix(plugin, "core:") {
				continue
			}
			theirs := loaded.Get(plugin)
			// The builds are of release 2.11, and do not know the second name.
			names := slices.DeleteFunc(ours.Get(plugin).names(Version{}), func(name string) bool {
				p := ours.Get(plugin).Permissions[name]
				return theirs.Permissions[name] == nil && (strings.HasSuffix(name, "-framework-version") ||
					p != nil && Version{2, 11, 0}.Before(p.Since))
			})
			require.Equal(t, theirs.names(Version{}), names, plugin)
			require.ElementsMatch(t, theirs.Default.Permissions, ours.Get(plugin).Default.Permissions, plugin)
			for name, p := range theirs.Permissions {
				require.ElementsMatch(t, p.Allow, ours.Get(plugin).Permissions[name].Allow, name)
				require.ElementsMatch(t, p.Deny, ours.Get(plugin).Permissions[name].Deny, name)
			}
		}
	}
}

func TestManifestFaultsAreReported(t *testing.T) {
	t.Parallel()
	var m Manifests
	for in, want := range map[string]string{
		`[]`:                          "one manifest per plugin",
		`{"fs": 5}`:                   "A manifest must be an object",
		`{"fs": {"permissions": []}}`: "must be an object",
		`{"fs": {"permission_sets": {"a": {"description": ""}}}}`:      "has no permissions",
		`{"fs": {"permissions": {"a": {"commands": {"allow": "x"}}}}}`: "must be an array",
		`{"fs": {"permissions": {"a": {"commands": {"allow": [1]}}}}}`: "must be a string",
		`{"fs": {`: "never closed",
	} {
		ds := m.Load("m.json", []byte(in))
		require.NotEmpty(t, ds, in)
		require.Contains(t, ds[0].Message, want)
	}
	ds := m.LoadPermissions("fs", ParseValue([]byte(`{"scope": {"deny": [1]}, "permission": [{},
		{"identifier": "p", "commands": {"alow": ["c"]}, "scope": {"deni": []}}]}`), Options{}))
	for i, want := range []string{"[[permission.scope.allow]]", "no identifier", `"alow" has no meaning here and is ` +
		`ignored; the keys are allow, deny.`, `"deni" has no meaning`} {
		require.Contains(t, ds[i].Message, want)
	}
}

// A permission file may add to a plugin that is built in or has no permissions yet.
func TestPermissionsAreAddedToAnyManifest(t *testing.T) {
	t.Parallel()
	file := ParseValue([]byte(`{"set": [{"identifier": "both", "permissions": ["p"]}], "permission": `+
		`[{"identifier": "p", "commands": {"allow": ["c"]}}]}`), Options{})
	for _, plugin := range []string{"core", "core:window", "new"} {
		m := CoreManifests()
		require.Empty(t, m.LoadPermissions(plugin, file), plugin)
		require.Contains(t, m.Get(plugin).Sets, "both")
		require.Contains(t, m.Get(plugin).Permissions, "p")
	}
}

// What manifests list is bounded in all, so that a megabyte of commands is not a quarter of a
// gigabyte of permissions. A policy is not made of a part of them: the excess is an error.
func TestManifestsThatListTooMuchAreRefused(t *testing.T) {
	t.Parallel()
	list := func(n int) string { return strings.TrimSuffix(strings.Repeat(`"c",`, n), ",") }
	m := CoreManifests()
	require.Empty(t, m.Load("m.json", []byte(`{"x":{"commands":[`+list(limit.Grants)+`]}}`)))
	require.True(t, m.Whole())
	found := m.Load("m.json", []byte(`{"y":{"commands":["c"]},"z":{"permissions":{"p":{}}}}`))
	require.Len(t, found, 1, "the rest is not reported again")
	require.Equal(t, Code("too-large"), found[0].Code)
	require.Equal(t, Error, found[0].Severity)
	require.Equal(t, "1:18", found[0].Start.String())
	require.Empty(t, m.Get("z").Permissions)

	files := CoreManifests()
	text := "[[set]]\nidentifier = \"s\"\ndescription = \"\"\npermissions = [" + list(limit.Grants/2) + "]\n"
	require.Empty(t, files.LoadPermissions("x", ParseValue([]byte(text), Options{Format: TOML})))
	found = files.LoadPermissions("y", ParseValue([]byte(text), Options{Format: TOML}))
	require.Len(t, found, 1)
	require.Equal(t, Code("too-large"), found[0].Code)

	partial := CoreManifests()
	partial.Load("m.json", []byte(`{"x":{"commands":[`+list(limit.Grants+1)+`]}}`))
	require.False(t, partial.Whole(), "a plugin that is missing for it is not reported")
}
