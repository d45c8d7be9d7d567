package capability

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// spellings returns all forms in which a command of a core plugin may be written.
func spellings(namespace, command string) []string {
	underscored := strings.ReplaceAll(command, "-", "_")
	var all []string
	for _, name := range []string{command, underscored} {
		for _, plugin := range []string{namespace, "core:" + namespace} {
			all = append(all, "plugin:"+plugin+"|"+name, plugin+"|"+name, plugin+":"+name)
			all = append(all, plugin+":allow-"+name, plugin+":deny-"+name)
		}
	}
	return all
}

// Every question to a policy gives the same answer for every spelling of a command: of all
// commands of the core, of one that the core does not have, and of a plugin that is not known.
func TestEveryQuestionTakesEverySpelling(t *testing.T) {
	t.Parallel()
	const text = `{"identifier":"a","windows":["main"],"permissions":["core:default",` +
		`"core:window:allow-close","core:window:allow-hide","core:window:deny-hide"]}`
	for _, manifests := range []*Manifests{CoreManifests(), withAppManifest(t)} {
		p, found := Resolve(capabilities(t, text), manifests, ResolveOptions{})
		require.NoError(t, found.Err())
		ask := func(namespace, command string) {
			canonical := "plugin:" + namespace + "|" + strings.ReplaceAll(command, "-", "_")
			want := p.Explain(canonical, Caller{Window: "main"})
			require.Equal(t, len(want.Grants) > 0 && len(want.Denials) == 0, want.Allowed, canonical)
			for _, spelling := range spellings(namespace, command) {
				for window, allowed := range map[string]bool{"main": want.Allowed, "other": false} {
					caller := Caller{Window: window}
					require.Equal(t, allowed, p.Allowed(spelling, caller), "%s from %s", spelling, window)
					require.Equal(t, allowed, p.Explain(spelling, caller).Allowed, "%s from %s", spelling, window)
				}
				require.Equal(t, p.Grants(canonical), p.Grants(spelling), spelling)
				require.Equal(t, p.Denials(canonical), p.Denials(spelling), spelling)
			}
		}
		commands := 0
		for line := range strings.Lines(coreTable) {
			if fields := strings.Split(line, "\t"); len(fields) > 1 {
				ask(fields[0], fields[1])
				commands++
			}
		}
		require.Greater(t, commands, 150)
		ask("window", "no-such-command")
		ask("no-such-namespace", "close")
		require.True(t, p.Allowed("core:app:framework-version", Caller{Window: "main"}),
			"the second name of a command")
		require.False(t, p.Allowed("core:window:destroy", Caller{Window: "main"}))
		require.False(t, p.Allowed("", Caller{Window: "main"}))
		require.Equal(t, !p.AppChecked(), p.Allowed("greet", Caller{Window: "main"}))
	}
}

func withAppManifest(t *testing.T) *Manifests {
	t.Helper()
	m := CoreManifests()
	file := ParseValue([]byte(`{"permission":[{"identifier":"allow-greet","commands":{"allow":["greet"]}}]}`),
		Options{})
	require.Empty(t, m.LoadPermissions(AppManifest, file))
	return m
}

// What is too much to be resolved is refused, and grants nothing.
func TestTooManyGrantsAreNone(t *testing.T) {
	t.Parallel()
	list := func(n int, item string) string {
		var items []string
		for i := range n {
			items = append(items, fmt.Sprintf(item, i))
		}
		return strings.Join(items, ",")
	}
	text := `{"identifier":"a","windows":["m"],"permissions":[` +
		list(200, `{"identifier":"core:default","allow":[%d]}`) + `],"remote":{"urls":[` +
		list(200, `"https://a%d.example"`) + `]}}`
	policy, found := Resolve(capabilities(t, text), CoreManifests(), ResolveOptions{})
	require.Len(t, found, 1)
	require.EqualValues(t, "too-large", found[0].Code)
	require.Equal(t, Error, found[0].Severity)
	require.False(t, policy.Allowed("plugin:app|version", Caller{Window: "m"}))
	require.False(t, policy.Allowed("greet", Caller{Window: "m"}))
	require.Empty(t, policy.Commands())
	require.True(t, policy.TooLarge())
}
