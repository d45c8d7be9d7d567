package capdiff

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lessonkit.example/capability"
)

func TestCompareComparesMeaning(t *testing.T) {
	t.Parallel()
	diff := func(before, after string) []Change {
		return Compare(Side{capabilities(t, before), plugins(t)}, Side{capabilities(t, after), plugins(t)},
			capability.ResolveOptions{})
	}
	base := `{"identifier":"a","windows":["main"],"permissions":["ping:default",` +
		`{"identifier":"fs:allow-read-file","allow":[{"path":"a"}]}]}`
	// Written otherwise, the same meaning.
	require.Empty(t,
		diff(base,
			`[{"identifier":"b","windows":["main"],"permissions":[{"allow":[{"path":"a"}],`+
				`"identifier":"fs:allow-read-file"}]},{"identifier":"c","windows":["main"],`+
				`"permissions":["ping:allow-ping"]}]`))

	// More windows: granted to those, nothing revoked.
	changes := diff(base,
		`{"identifier":"a","windows":["*"],"permissions":["ping:default",{"identifier":"fs:allow-read-file",`+
			`"allow":[{"path":"a"}]}]}`)
	require.Len(t, changes, 1)
	require.Equal(t, CommandsGranted, changes[0].Kind)
	require.Equal(t, []string{"*"}, changes[0].Audience.Windows)
	require.Equal(t, []string{"plugin:fs|read_file", "plugin:ping|ping"}, changes[0].Commands)
	require.Empty(t, changes[0].Audience.Platforms)
	require.True(t, changes[0].Widens())

	// A remote URL, on one platform.
	changes = diff(base,
		`[`+base+
			`,{"identifier":"b","windows":["main"],"platforms":["linux"],"local":false,`+
			`"remote":{"urls":["https://*.x.dev"]},"permissions":["ping:default"]}]`)
	require.Len(t, changes, 1)
	require.Equal(t, Audience{Windows: []string{"main"}, Origins: []string{"https://*.x.dev"},
		Platforms: []capability.Platform{capability.Linux}}, changes[0].Audience)

	// The empty URL pattern matches every page.
	changes = diff(`{"identifier":"a","windows":["main"],"permissions":["ping:default"]}`,
		`{"identifier":"a","windows":["main"],"remote":{"urls":[""]},"permissions":["ping:default"]}`)
	require.Len(t, changes, 1)
	require.True(t, changes[0].Widens())
	require.Equal(t, []string{"*"}, changes[0].Audience.Origins)

	// Scopes.
	changes = diff(base,
		`{"identifier":"a","windows":["main"],"permissions":["ping:default",{"identifier":"fs:allow-read-file",`+
			`"allow":[{"path":"b"}],"deny":[{"path":"c"}]}]}`)
	require.Len(t, changes, 1)
	require.Equal(t, ScopeChanged, changes[0].Kind)
	require.Equal(t, []string{`{"path":"b"}`}, changes[0].AllowAdded)
	require.Equal(t, []string{`{"path":"a"}`}, changes[0].AllowRemoved)
	require.Equal(t, []string{`{"path":"c"}`}, changes[0].DenyAdded)

	// A global scope.
	changes = diff(base,
		`{"identifier":"a","windows":["main"],"permissions":["ping:default","fs:allow-app",`+
			`{"identifier":"fs:allow-read-file","allow":[{"path":"a"}]}]}`)
	require.Len(t, changes, 1)
	require.Equal(t, "fs", changes[0].Plugin)

	// A denial revokes everywhere.
	changes = diff(base, `[`+base+`,{"identifier":"z","windows":["other"],"permissions":["fs:deny-read-file"]}]`)
	require.Len(t, changes, 1)
	require.Equal(t, CommandsRevoked, changes[0].Kind)
	require.False(t, changes[0].Widens())

	// What is too much to compare is not taken for harmless.
	var many []string
	for i := range 500 {
		many = append(many, fmt.Sprintf(`"w%d"`, i))
	}
	var urls []string
	for i := range 500 {
		urls = append(urls, fmt.Sprintf(`"https://a%d.example"`, i))
	}
	changes = diff(base, `{"identifier":"a","windows":[`+strings.Join(many, ",")+`],"remote":{"urls":[`+
		strings.Join(urls, ",")+`]},"permissions":["core:default"]}`)
	require.Equal(t, Incomparable, changes[0].Kind)
	require.True(t, changes[0].Widens())

	// An application manifest that comes or goes is one change, not one a command.
	app := plugins(t)
	require.Empty(t,
		app.LoadPermissions(capability.AppManifest,
			capability.ParseValue([]byte(`{"permission":[{"identifier":"allow-greet",`+
				`"commands":{"allow":["greet"]}}]}`), capability.Options{})))
	with := capabilities(t,
		`{"identifier":"a","windows":["main"],"permissions":["ping:default","allow-greet",`+
			`{"identifier":"fs:allow-read-file","allow":[{"path":"a"}]}]}`)
	changes = Compare(Side{capabilities(t, base), plugins(t)}, Side{with, app}, capability.ResolveOptions{})
	require.Len(t, changes, 1)
	require.Equal(t, AppChecked, changes[0].Kind)
	changes = Compare(Side{with, app}, Side{capabilities(t, base), plugins(t)}, capability.ResolveOptions{})
	require.Len(t, changes, 1)
	require.Equal(t, AppUnchecked, changes[0].Kind)

	// Nothing is granted where nobody can be reached.
	require.Empty(t, diff(base, `[`+base+`,{"identifier":"b","permissions":["fs:read"]}]`))
}

// What one side grants and the other does not is found, however close their
// patterns are, and named by the pattern that makes the difference.
func TestCompareMissesNothing(t *testing.T) {
	t.Parallel()
	const window = `"windows":["%s"]`
	const remote = `"windows":["m"],"local":false,"remote":{"urls":["%s"]}`
	for _, c := range []struct{ form, narrow, wide string }{
		{window, "a*", "*"}, {window, "*-*", "*"}, {window, "doc-[0-3]", "doc-[0-9]"}, {window, "a?", "a*"},
		{window, "[!x]", "?"},
		{window, "a/**/b", "a*b"}, {window, "any-other-label", "*"}, {window, "*a*b*", "*b*"},
		{window, "[a-\U0010ffff]", "?"}, {window, "[\ud7ff]", "[\ud7ff-\ue000]"},
		{remote, "https://*:*", "*://*:*"}, {remote, "http://localhost:4711", "http://localhost:*"},
		{remote, "https://x.com/a*", "https://x.com/*"},
		{remote, "https://x.com/any", "https://x.com"}, {remote, "https://*.x.com", "https://*"},
		{remote, "https://*", "https://*:*"}, {remote, "https://a.*.com", "https://*.com"},
		{remote, "http://127.0.0.1:4711", "http://127.0.0.1:*"}, {remote, "http://*/a/*/b", "http://*/a/*"},
		{remote, "http://*:8080", "*://*:8080"},
	} {
		side := func(pattern string) Side {
			return Side{capabilities(t, `{"identifier":"a","permissions":["core:window:allow-close"],`+
				fmt.Sprintf(c.form, pattern)+`}`), capability.CoreManifests()}
		}
		wider := Compare(side(c.narrow), side(c.wide), capability.ResolveOptions{})
		require.True(t, slices.ContainsFunc(wider, Change.Widens), "%s → %s: %v", c.narrow, c.wide, wider)
		narrower := Compare(side(c.wide), side(c.narrow), capability.ResolveOptions{})
		require.NotEmpty(t, narrower, "%s → %s", c.wide, c.narrow)
		if strings.Contains(c.narrow, "127.") {
			continue // sampled: the narrow one counts as another URL
		}
		require.Len(t, wider, 1)
		require.Contains(t, slices.Concat(wider[0].Audience.Windows, wider[0].Audience.Origins), c.wide)
		require.False(t, slices.ContainsFunc(narrower, Change.Widens), "%s → %s: %v", c.wide, c.narrow, narrower)
		require.Empty(t, Compare(side(c.wide), side(c.wide), capability.ResolveOptions{}))
	}
}

func capabilities(t testing.TB, text string) []capability.Capability {
	t.Helper()
	d := capability.Parse([]byte(text), capability.Options{Name: "test.json"})
	require.Empty(t, d.Check(capability.ModeReference))
	return d.Capabilities()
}

func plugins(t testing.TB) *capability.Manifests {
	t.Helper()
	m := capability.CoreManifests()
	for _, plugin := range []string{"fs", "ping", "os"} {
		text, err := os.ReadFile("../testdata/plugins/" + plugin + ".json")
		require.NoError(t, err)
		require.Empty(t, m.LoadPermissions(plugin, capability.ParseValue(text, capability.Options{Name: plugin})))
	}
	return m
}

// A window that may now call what another one may is named after it, if it is exactly the same.
func TestCompareNamesEqualWindows(t *testing.T) {
	t.Parallel()
	capability1 := func(windows, permissions string) string {
		return `{"identifier":"` + strings.Trim(
			windows,
			`"`,
		) + `","windows":[` + windows + `],"permissions":[` + permissions + `]}`
	}
	main := capability1(`"main"`, `"ping:default",{"identifier":"fs:allow-read-file","allow":[{"path":"a"}]}`)
	for after, want := range map[string]string{
		strings.Replace(main, `"windows":["main"]`, `"windows":["main","x"]`, 1):                 "main",
		`[` + main + `,` + strings.ReplaceAll(main, `"main"`, `"x"`) + `]`:                       "main",
		`[` + main + `,` + capability1(`"x"`, `"ping:default"`) + `]`:                            "",
		`[` + main + `,` + capability1(`"x"`, `"ping:default","fs:allow-read-file"`) + `]`:       "",
		strings.Replace(main, `"windows":["main"]`, `"windows":["main","x-*"]`, 1):               "",
		strings.ReplaceAll(main, `"main"`, `"x"`):                                                "",
		strings.Replace(strings.Replace(main, `["main"]`, `["main","x"]`, 1), `"a"}`, `"b"}`, 1): "",
	} {
		changes := Compare(Side{capabilities(t, main), plugins(t)}, Side{capabilities(t, after), plugins(t)},
			capability.ResolveOptions{})
		require.NotEmpty(t, changes)
		require.Equal(t, want, changes[0].SameAs, after)
	}
}
