package capability

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPluginTable(t *testing.T) {
	t.Parallel()
	m := knownManifests(nil)
	for _, id := range []string{"fs:allow-read-text-file", "fs:scope-appdata-recursive", "fs:allow-appdata-read",
		"opener:default", "shell:allow-execute", "dialog:default", "notification:allow-is-permission-granted",
		"barcode-scanner:default", "http:allow-fetch-cancel-body"} {
		expansions, complete := m.Expand(id)
		require.NotEmpty(t, expansions, id)
		require.True(t, complete, id)
	}
	require.False(t, m.Whole())
	for _, plugin := range m.plugins() {
		for _, name := range m.Get(plugin).names(Version{}) {
			_, complete := m.Expand(fullIdentifier(plugin, name))
			require.True(t, complete, "%s:%s", plugin, name)
		}
	}
	scope := m.Get("opener").Permissions["allow-default-urls"]
	require.Equal(t, "mailto:*", scope.ScopeAllow[0].Get("url").Text())
	allows := slices.Collect(maps.Keys(m.Get("store").Permissions))
	require.Contains(t, allows, "allow-get-store")
	require.NotContains(t, allows, "allow-create-store")
}

func TestPluginTableByVersion(t *testing.T) {
	t.Parallel()
	old := knownManifests(map[string]Version{"store": {2, 0, 1}, "dialog": {2, 0, 3}, "fs": {2, 0, 3}})
	require.NotNil(t, old.Get("store").Permissions["allow-create-store"])
	require.Contains(t, old.Get("dialog").Default.Permissions, "allow-ask")
	require.NotContains(t, knownManifests(nil).Get("dialog").Default.Permissions, "allow-ask")
	d := Parse([]byte(`{"identifier":"a","permissions":["fs:allow-size"]}`), Options{})
	_, found := Resolve(d.Capabilities(), old, ResolveOptions{Partial: true})
	require.Len(t, found, 1)
	require.Equal(t, codeUnknownPermission, found[0].Code)
	require.Contains(t, found[0].Message, "not in version 2.0.3")
	// It came with one of the releases after 2.0.3, which may be the first of them.
	for _, version := range []Version{{2, 0, 4}, {2, 2, 0}, {2, 5, 1}} {
		_, found = Resolve(d.Capabilities(), knownManifests(map[string]Version{"fs": version}),
			ResolveOptions{Partial: true})
		require.Empty(t, found, version)
	}
	// The names of releases that builds have used are complete.
	known := knownManifests(map[string]Version{"fs": {2, 4, 5}, "updater": {2, 10, 1}, "opener": {2, 5, 3}})
	for _, id := range []string{"fs:allow-sizes-of", "updater:allow-later", "opener:allow-open"} {
		d := Parse([]byte(`{"identifier":"a","permissions":["`+id+`"]}`), Options{})
		_, found = Resolve(d.Capabilities(), known, ResolveOptions{Partial: true})
		require.Equal(t, codeUnknownPermission, found[0].Code, id)
	}
	newer := knownManifests(map[string]Version{"fs": {2, 99, 0}})
	d = Parse([]byte(`{"identifier":"a","permissions":["fs:allow-something-entirely-different"]}`), Options{})
	_, found = Resolve(d.Capabilities(), newer, ResolveOptions{Partial: true})
	require.Equal(t, codeNewerPermission, found[0].Code)
	require.Equal(t, Warning, found[0].Severity)
}
