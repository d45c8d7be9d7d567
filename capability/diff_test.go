package capability

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDiffComparesMeaning(t *testing.T) {
	t.Parallel()
	diff := func(before, after string) []Change {
		return Diff(capabilities(t, before), capabilities(t, after), plugins(t), plugins(t), ResolveOptions{})
	}
	base := `{"identifier":"a","windows":["main"],"permissions":["ping:default",{"identifier":"fs:allow-read-file","allow":[{"path":"a"}]}]}`
	// Written otherwise, the same meaning.
	require.Empty(t, diff(base, `[{"identifier":"b","windows":["main"],"permissions":[{"allow":[{"path":"a"}],"identifier":"fs:allow-read-file"}]},{"identifier":"c","windows":["main"],"permissions":["ping:allow-ping"]}]`))

	// More windows: granted to those, nothing revoked.
	changes := diff(base, `{"identifier":"a","windows":["*"],"permissions":["ping:default",{"identifier":"fs:allow-read-file","allow":[{"path":"a"}]}]}`)
	require.Len(t, changes, 1)
	require.Equal(t, CommandsGranted, changes[0].Kind)
	require.Equal(t, []string{"*"}, changes[0].Audience.Windows)
	require.Equal(t, []string{"plugin:fs|read_file", "plugin:ping|ping"}, changes[0].Commands)
	require.Empty(t, changes[0].Audience.Platforms)
	require.True(t, changes[0].Widens())

	// A remote URL, on one platform.
	changes = diff(base, `[`+base+`,{"identifier":"b","windows":["main"],"platforms":["linux"],"local":false,"remote":{"urls":["https://*.x.dev"]},"permissions":["ping:default"]}]`)
	require.Len(t, changes, 1)
	require.Equal(t, Audience{Windows: []string{"main"}, Origins: []string{"https://*.x.dev"}, Platforms: []Platform{Linux}}, changes[0].Audience)

	// Scopes.
	changes = diff(base, `{"identifier":"a","windows":["main"],"permissions":["ping:default",{"identifier":"fs:allow-read-file","allow":[{"path":"b"}],"deny":[{"path":"c"}]}]}`)
	require.Len(t, changes, 1)
	require.Equal(t, ScopeChanged, changes[0].Kind)
	require.Equal(t, []string{`{"path":"b"}`}, changes[0].AllowAdded)
	require.Equal(t, []string{`{"path":"a"}`}, changes[0].AllowRemoved)
	require.Equal(t, []string{`{"path":"c"}`}, changes[0].DenyAdded)

	// A global scope.
	changes = diff(base, `{"identifier":"a","windows":["main"],"permissions":["ping:default","fs:allow-app",{"identifier":"fs:allow-read-file","allow":[{"path":"a"}]}]}`)
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
	changes = diff(base, `{"identifier":"a","windows":[`+strings.Join(many, ",")+`],"remote":{"urls":[`+strings.Join(urls, ",")+`]},"permissions":["core:default"]}`)
	require.Equal(t, Incomparable, changes[0].Kind)
	require.True(t, changes[0].Widens())

	// An application manifest that comes or goes is one change, not one a command.
	app := plugins(t)
	require.Empty(t, app.LoadPermissions(AppManifest, ParseValue([]byte(`{"permission":[{"identifier":"allow-greet","commands":{"allow":["greet"]}}]}`), Options{})))
	with := capabilities(t, `{"identifier":"a","windows":["main"],"permissions":["ping:default","allow-greet",{"identifier":"fs:allow-read-file","allow":[{"path":"a"}]}]}`)
	changes = Diff(capabilities(t, base), with, plugins(t), app, ResolveOptions{})
	require.Len(t, changes, 1)
	require.Equal(t, AppChecked, changes[0].Kind)
	changes = Diff(with, capabilities(t, base), app, plugins(t), ResolveOptions{})
	require.Len(t, changes, 1)
	require.Equal(t, AppUnchecked, changes[0].Kind)

	// Nothing is granted where nobody can be reached.
	require.Empty(t, diff(base, `[`+base+`,{"identifier":"b","permissions":["fs:read"]}]`))
}

// What one side grants and the other does not is found, however close their
// patterns are, and named by the pattern that makes the difference.
func TestDiffMissesNothing(t *testing.T) {
	t.Parallel()
	const window = `"windows":["%s"]`
	const remote = `"windows":["m"],"local":false,"remote":{"urls":["%s"]}`
	for _, c := range []struct{ form, narrow, wide string }{
		{window, "a*", "*"}, {window, "*-*", "*"}, {window, "doc-[0-3]", "doc-[0-9]"}, {window, "a?", "a*"}, {window, "[!x]", "?"},
		{window, "a/**/b", "a*b"}, {window, "any-other-label", "*"}, {window, "*a*b*", "*b*"}, {window, "[a-\U0010ffff]", "?"}, {window, "[\ud7ff]", "[\ud7ff-\ue000]"},
		{remote, "https://*:*", "*://*:*"}, {remote, "http://localhost:4711", "http://localhost:*"}, {remote, "https://x.com/a*", "https://x.com/*"},
		{remote, "https://x.com/any", "https://x.com"}, {remote, "https://*.x.com", "https://*"}, {remote, "https://*", "https://*:*"}, {remote, "https://a.*.com", "https://*.com"},
		{remote, "http://127.0.0.1:4711", "http://127.0.0.1:*"}, {remote, "http://*/a/*/b", "http://*/a/*"}, {remote, "http://*:8080", "*://*:8080"},
	} {
		side := func(pattern string) []Capability {
			return capabilities(t, `{"identifier":"a","permissions":["core:window:allow-close"],`+fmt.Sprintf(c.form, pattern)+`}`)
		}
		core := CoreManifests()
		wider := Diff(side(c.narrow), side(c.wide), core, core, ResolveOptions{})
		require.True(t, slices.ContainsFunc(wider, Change.Widens), "%s → %s: %v", c.narrow, c.wide, wider)
		narrower := Diff(side(c.wide), side(c.narrow), core, core, ResolveOptions{})
		require.NotEmpty(t, narrower, "%s → %s", c.wide, c.narrow)
		if strings.Contains(c.narrow, "127.") {
			continue // sampled: the narrow one counts as another URL
		}
		require.Len(t, wider, 1)
		require.Contains(t, slices.Concat(wider[0].Audience.Windows, wider[0].Audience.Origins), c.wide)
		require.False(t, slices.ContainsFunc(narrower, Change.Widens), "%s → %s: %v", c.wide, c.narrow, narrower)
		require.Empty(t, Diff(side(c.wide), side(c.wide), core, core, ResolveOptions{}))
	}
}

// Every label falls into one of the classes, and into the one of its patterns.
func TestClassesOfLabelsAreComplete(t *testing.T) {
	t.Parallel()
	var labels []string
	for edge := []string{""}; len(edge[0]) < 5; {
		labels = append(labels, edge...)
		var longer []string
		for _, s := range edge {
			for _, c := range "ab/é" {
				longer = append(longer, s+string(c))
			}
		}
		edge = longer
	}
	random := rand.New(rand.NewPCG(1, 2))
	parts := []string{"a", "b", "/", "*", "?", "[ab]", "[!a]", "**/", "/**", "c", "[a-c]"}
	for range 300 {
		var globs []Glob
		for len(globs) < 4 {
			var pattern string
			for range 1 + random.IntN(4) {
				pattern += parts[random.IntN(len(parts))]
			}
			if g, err := CompileGlob(pattern); err == nil {
				globs = append(globs, g)
			}
		}
		matches := func(label string) (set int) {
			for i := range globs {
				if globs[i].Match(label) {
					set |= 1 << i
				}
			}
			return set
		}
		list, ok := labelsOf(globs, map[string]int{})
		require.True(t, ok)
		known := map[int]bool{}
		for _, c := range list {
			known[matches(c.label)] = true
		}
		require.Len(t, known, len(list), "each class has labels of its own")
		for _, label := range labels {
			if !known[matches(label)] {
				t.Fatalf("%q is in no class of %v", label, globTexts(globs))
			}
		}
	}
}

func TestClassesOfURLsAreComplete(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 4))
	one := func(list ...string) string { return list[random.IntN(len(list))] }
	for range 60 {
		var patterns []*RemotePattern
		for len(patterns) < 4 {
			p, err := CompileRemotePattern(one("http", "https", "*") + "://" + one("*", "a.*", "*.b", "a.b", "*.a.*", "a") + one("", ":*", ":80", ":443", ":7") + one("", "/", "/x", "/x*", "/*/y", "/x/*", "/*.html*", "/x.html"))
			if err == nil && p.slow == nil {
				patterns = append(patterns, p)
			}
		}
		matches := func(o Origin) (set string) {
			for _, p := range patterns {
				set += fmt.Sprint(p.Match(o))
			}
			return set
		}
		list, ok := originClasses(patterns)
		require.True(t, ok)
		known := map[string]bool{matches(LocalOrigin()): true}
		for _, o := range list {
			known[matches(o)] = true
		}
		require.Len(t, known, len(list)+1)
		for range 40 {
			o, err := ParseOrigin(one("http", "https", "app") + "://" + one("a", "b", "a.b", "c.b", "a.c", "c.a.b", "a.a.a", "c") + one("", ":80", ":443", ":7", ":8") + one("", "/", "/x", "/xx", "/x/y", "/z/y", "/x.html", "/a.html/", "/x//y"))
			require.NoError(t, err)
			require.True(t, known[matches(o)], "%s is in no class of %v", o, patterns)
		}
	}
}
