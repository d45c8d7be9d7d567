package capability

import (
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
}

// An unknown name is a mistake only where the names of the plugin's release are known.
func TestPluginTableByVersion(t *testing.T) {
	t.Parallel()
	// The names of releases that builds have used are complete.
	known := knownManifests(map[string]Version{"fs": {2, 4, 5}, "updater": {2, 10, 1}, "opener": {2, 5, 3}})
	for _, id := range []string{"fs:allow-sizes-of", "updater:allow-later", "opener:allow-open"} {
		d := Parse([]byte(`{"identifier":"a","permissions":["`+id+`"]}`), Options{})
		_, found := Resolve(d.Capabilities(), known, ResolveOptions{Partial: true})
		require.Equal(t, codeUnknownPermission, found[0].Code, id)
	}
	newer := knownManifests(map[string]Version{"fs": {2, 99, 0}})
	d := Parse([]byte(`{"identifier":"a","permissions":["fs:allow-something-entirely-different"]}`), Options{})
	_, found := Resolve(d.Capabilities(), newer, ResolveOptions{Partial: true})
	require.Equal(t, codeNewerPermission, found[0].Code)
	require.Equal(t, Warning, found[0].Severity)
}
