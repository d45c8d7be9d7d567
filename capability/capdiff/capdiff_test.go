package capdiff

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"lessonkit.example/capability"
)

func TestCompareComparesMeaning(t *testing.T) {
	t.Parallel()
	diff := func(before, after string) []Change { return Compare(app(t, before), app(t, after), "") }
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
	require.Len(t, changes, 2, "one has a scope")
	for i, want := range []Change{
		{Commands: []string{"plugin:fs|read_file"}, AllowAdded: []string{`{"path":"a"}`},
			Grants: []Grant{{"test.json", 1, 65, "a", "fs:allow-read-file"}}},
		{Commands: []string{"plugin:ping|ping"}, Grants: []Grant{{"test.json", 1, 50, "a", "ping:default"}}},
	} {
		want.Kind, want.Audience = CommandsGranted, Audience{Windows: []string{"*"}, Origins: []string{"local"}}
		require.Equal(t, want, changes[i])
		require.True(t, changes[i].Widens())
	}

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

	// A global scope that goes widens what is left of the plugin, if anything is.
	for left, widens := range map[string]bool{`"fs:allow-read-file"`: true, `"ping:default"`: false, "": false,
		`"set-of-app"`: true, `"allow-greet"`: false, `"deny-greet"`: false} {
		kept := `{"identifier":"a","windows":["main"],"permissions":[` + left + `]}`
		changes = diff(`[`+kept+`,{"identifier":"b","windows":["main"],"permissions":["fs:allow-app",`+
			`"fs:allow-read-file","ping:default"]}]`, kept)
		require.Equal(t, widens, slices.ContainsFunc(changes, Change.Widens), left)
		require.Contains(t, fmt.Sprint(changes), "APP")
	}

	// A denial revokes everywhere.
	changes = diff(base, `[`+base+`,{"identifier":"z","windows":["other"],"permissions":["fs:deny-read-file"]}]`)
	require.Len(t, changes, 1)
	require.Equal(t, CommandsRevoked, changes[0].Kind)
	require.False(t, changes[0].Widens())

	// Nothing is granted where nobody can be reached.
	require.Empty(t, diff(base, `[`+base+`,{"identifier":"b","permissions":["fs:read"]}]`))
}

func TestWhatIsTooMuchToCompareIsNotTakenForHarmless(t *testing.T) {
	t.Parallel()
	var windows, urls []string
	for i := range 500 {
		windows = append(windows, fmt.Sprintf(`"w%d"`, i))
		urls = append(urls, fmt.Sprintf(`"https://a%d.example"`, i))
	}
	changes := Compare(app(t, `{"identifier":"a","windows":["main"],"permissions":["core:default"]}`),
		app(t, `{"identifier":"a","windows":[`+strings.Join(windows, ",")+`],"remote":{"urls":[`+
			strings.Join(urls, ",")+`]},"permissions":["core:default"]}`), "")
	require.Equal(t, Incomparable, changes[0].Kind)
	require.True(t, changes[0].Widens())
}

func TestAnApplicationManifestThatComesOrGoesIsOneChange(t *testing.T) {
	t.Parallel()
	without := app(t, `{"identifier":"a","windows":["main"],"permissions":["ping:default"]}`)
	with := app(t, `{"identifier":"a","windows":["main"],"permissions":["ping:default","allow-greet"]}`)
	require.Empty(t, with.Manifests.LoadPermissions(capability.AppManifest, capability.ParseValue([]byte(
		`{"permission":[{"identifier":"allow-greet","commands":{"allow":["greet"]}}]}`), capability.Options{})))
	changes := Compare(without, with, "")
	require.Len(t, changes, 1)
	require.Equal(t, AppChecked, changes[0].Kind)
	changes = Compare(with, without, "")
	require.Len(t, changes, 1)
	require.Equal(t, AppUnchecked, changes[0].Kind)

	// Remote pages could call nothing before, so what they may is a change of its own.
	remote := app(t, `{"identifier":"a","windows":["main"],"remote":{"urls":["https://x.dev"]},"permissions":[`+
		`"allow-greet"]}`)
	remote.Manifests = with.Manifests
	changes = Compare(app(t, `[]`), remote, "")
	require.Len(t, changes, 2)
	require.Equal(t, []string{"https://x.dev"}, changes[0].Audience.Origins)
	require.True(t, changes[0].Widens())
	remote.Version = capability.Version{Major: 2, Minor: 10}
	require.Len(t, Compare(app(t, `[]`), remote, ""), 1, "before 2.11.1 they could")
}

// The permissions of the application are those of each side, also where one was built.
func TestOwnPermissionsOfAnApplicationThatWasNotBuilt(t *testing.T) {
	t.Parallel()
	const set = `{"permission":[{"identifier":"own","commands":{"allow":[%s]}}]}`
	side := func(commands string) *capability.App {
		a := app(t, `{"identifier":"a","windows":["main"],"permissions":["own"]}`)
		require.Empty(t, a.Manifests.LoadPermissions(capability.AppManifest,
			capability.ParseValue(fmt.Appendf(nil, set, commands), capability.Options{})))
		return a
	}
	before, after := side(`"read"`), side(`"read","write"`)
	require.Empty(t, after.Manifests.Load("acl-manifests.json", []byte("{}")))
	changes := Compare(before, after, "")
	require.Len(t, changes, 1)
	require.Equal(t, []string{"write"}, changes[0].Commands)
	changes = Compare(after, before, "")
	require.Len(t, changes, 1)
	require.Equal(t, CommandsRevoked, changes[0].Kind)
}

// Of a side that was not built the commands may not be known: then they are those of the other's
// build, and it has a manifest even where that has none.
func TestOwnCommandsThatAreNotKnown(t *testing.T) {
	t.Parallel()
	side := func(script, permissions, manifests, lock string) *capability.App {
		fsys := fstest.MapFS{"build.rs": {Data: []byte(script)}, "capabilities/a.json": {Data: []byte(
			`{"identifier":"a","windows":["main"],"permissions":["allow-greet","os:allow-arch"]}`)},
			"Cargo.lock":           {Data: []byte("[[package]]\nname = \"tauri\"\nversion = \"" + lock + "\"\n")},
			"permissions/own.json": {Data: []byte(`{"permission":[` + permissions + `]}`)}}
		if manifests != "" {
			fsys["gen/schemas/acl-manifests.json"] = &fstest.MapFile{Data: []byte(manifests)}
		}
		if permissions == "" {
			delete(fsys, "permissions/own.json")
		}
		a, err := capability.LoadApp(fsys, capability.AppOptions{})
		require.NoError(t, err)
		return a
	}
	const listed, own = "AppManifest::new().commands(NAMES)", `{"identifier":"own","commands":{"allow":["read"]}}`
	built := side(listed, own, `{"__app-acl__":{"permissions":{"allow-greet":{"commands":{"allow":["greet"]}}}}}`, "")
	require.Empty(t, Compare(side(listed, own, "", ""), built, ""))
	require.Empty(t, Compare(built, side(listed, own, "", ""), ""))

	changes := Compare(side(listed, "", "", ""), side("tauri_build::build()", "", "{}", ""), "")
	require.True(t, slices.ContainsFunc(changes, func(c Change) bool { return c.Kind == AppUnchecked }), changes)

	// Each side has the plugins of its own Cargo.lock.
	const withOS = "2.9.0\"\n[[package]]\nname = \"tauri-plugin-os\"\nversion = \"2.3.0"
	changes = Compare(side("", "", "{}", "2.9.0"), side("", "", "", withOS), "")
	named := func(c Change) bool { return slices.Contains(c.Commands, "plugin:os|arch") }
	require.True(t, slices.ContainsFunc(changes, named), changes)
}

// One side contains the other: what is granted, or revoked, is named by the wider pattern.
func TestContainedPatternsAreNoChangeOfTheirOwn(t *testing.T) {
	t.Parallel()
	const window = `"windows":["%s"]`
	const remote = `"windows":["m"],"local":false,"remote":{"urls":["%s"]}`
	for _, c := range []struct {
		form, narrow, wide string
		byText             bool // the narrow pattern is not known to be contained
	}{
		{window, "a*", "*", false}, {window, "*-*", "*", false}, {window, "*a*b*", "*b*", false},
		{window, "main", "*", false}, {window, "main-1", "main-*", false}, {window, "doc-3", "doc-[0-9]", false},
		{window, "doc-[0-3]", "doc-[0-9]", true}, {window, "a?", "a*", true}, {window, "a/**/b", "a*b", true},
		{remote, "https://*:*", "*://*:*", false}, {remote, "http://localhost:4711", "http://localhost:*", false},
		{remote, "https://x.com/a*", "https://x.com/*", false}, {remote, "https://x.com/any", "https://x.com", false},
		{remote, "https://*.x.com", "https://*", false}, {remote, "https://*", "https://*:*", false},
		{remote, "https://a.*.com", "https://*.com", false}, {remote, "http://*/a/*/b", "http://*/a/*", false},
		{remote, "http://*:8080", "*://*:8080", false}, {remote, "http://127.0.0.1:4711", "http://127.0.0.1:*", true},
	} {
		side := func(pattern string) *capability.App {
			return app(t, `{"identifier":"a","permissions":["core:window:allow-close"],`+
				fmt.Sprintf(c.form, pattern)+`}`)
		}
		require.Empty(t, Compare(side(c.wide), side(c.wide), ""))
		for _, kind := range []ChangeKind{CommandsGranted, CommandsRevoked} {
			before, after := side(c.narrow), side(c.wide)
			if kind == CommandsRevoked {
				before, after = after, before
			}
			changes := Compare(before, after, "")
			named := func(change Change) bool {
				return change.Kind == kind && change.Approximate == (c.byText || strings.Contains(c.wide, "[")) &&
					slices.Contains(slices.Concat(change.Audience.Windows, change.Audience.Origins), c.wide)
			}
			require.True(t, slices.ContainsFunc(changes, named), "%s %s: %+v", c.narrow, c.wide, changes)
			require.Equal(t, !c.byText, len(changes) == 1, "%s %s: %+v", c.narrow, c.wide, changes)
		}
	}
}

// sample are callers and commands for which the properties are decided by the policies themselves.
var (
	sampleLabels = []string{"main", "main-1", "a", "b-2", "other"}
	sampleURLs   = []string{"", "https://x.com/", "https://a.x.com:8080/p", "http://localhost:1420/"}
	sampleIDs    = []string{"fs:allow-read-file", "fs:read-all", "ping:default", "fs:allow-app", "fs:deny-read-file",
		"core:resources:default"}
)

// entry draws one capability.
func entry(t *rapid.T) string {
	list := func(what string, from []string, least, most int) string {
		return `["` + strings.Join(rapid.SliceOfN(rapid.SampledFrom(from), least, most).Draw(t, what), `","`) + `"]`
	}
	patterns := []string{"main", "main-*", "*", "a", "[ab]*", "b-?"}
	text := fmt.Sprintf(`{"identifier":%q,"windows":%s,"local":%t`,
		rapid.StringMatching("[a-z]{1,6}").Draw(t, "identifier"),
		list("windows", patterns, 1, 3), rapid.Bool().Draw(t, "local"))
	if rapid.Bool().Draw(t, "webviews") {
		text += `,"webviews":` + list("webviews", patterns, 1, 2)
	}
	if rapid.Bool().Draw(t, "remote") {
		text += `,"remote":{"urls":` + list("urls", []string{"https://x.com", "https://*.x.com:*", "*://*:*",
			"http://localhost:*", ""}, 1, 2) + `}`
	}
	permissions := ""
	for _, id := range rapid.SliceOfN(rapid.SampledFrom(sampleIDs), 1, 3).Draw(t, "permissions") {
		if rapid.Bool().Draw(t, "scoped") {
			permissions += fmt.Sprintf(`,{"identifier":%q,"allow":[{"path":"p%d"}]}`, id,
				rapid.IntRange(0, 2).Draw(t, "path"))
		} else {
			permissions += fmt.Sprintf(",%q", id)
		}
	}
	return text + `,"permissions":[` + permissions[1:] + `]}`
}

// given is all that the sample callers may call, with the scopes.
func given(t testing.TB, a *capability.App) map[string]bool {
	policy, _ := a.Resolve(capability.ResolveOptions{Platform: capability.Linux})
	all := make(map[string]bool)
	for plugin, s := range policy.GlobalScopes() {
		for _, v := range s.Allow {
			all[plugin+" "+v.String()] = true
		}
	}
	for _, url := range sampleURLs {
		caller := capability.Caller{}
		if url != "" {
			origin, err := capability.ParseOrigin(url)
			require.NoError(t, err)
			caller.Origin = origin
		}
		for _, caller.Window = range sampleLabels {
			for _, caller.Webview = range sampleLabels {
				for _, command := range policy.Callable(caller) {
					call := fmt.Sprint(command, caller.Window, caller.Webview, url)
					all[call] = true
					for _, g := range policy.Explain(command, caller).Grants {
						for _, v := range g.Scope().Allow {
							all[call+v.String()] = true
						}
					}
				}
			}
		}
	}
	return all
}

// Whatever the patterns are: what some caller may call, and with which scope, is the same if no
// change is reported, and if it is more the change widens.
func TestWhatIsGrantedMoreIsReported(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		entries := rapid.SliceOfN(rapid.Custom(entry), 1, 3).Draw(r, "before")
		added := rapid.SliceOfN(rapid.Custom(entry), 0, 2).Draw(r, "added")
		before := app(t, `[`+strings.Join(entries, ",")+`]`)
		entries = append(entries[rapid.IntRange(0, 1).Draw(r, "removed"):], added...)
		after := app(t, `[`+strings.Join(entries, ",")+`]`)
		changes := Compare(before, after, capability.Linux)
		was, is := given(t, before), given(t, after)
		if len(changes) == 0 {
			require.Equal(t, was, is)
		}
		for what := range is {
			if !was[what] {
				require.True(t, slices.ContainsFunc(changes, Change.Widens), "%s: %+v", what, changes)
			}
		}
	})
}

func TestTheOrderOfEntriesDoesNotMatter(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		entries := rapid.SliceOfN(rapid.Custom(entry), 1, 4).Draw(r, "entries")
		other := rapid.SliceOfN(rapid.Custom(entry), 1, 4).Draw(r, "other")
		shuffled := slices.Clone(entries)
		rand.Shuffle(len(shuffled), func(i, k int) { shuffled[i], shuffled[k] = shuffled[k], shuffled[i] })
		before, again := app(t, `[`+strings.Join(entries, ",")+`]`), app(t, `[`+strings.Join(shuffled, ",")+`]`)
		after := app(t, `[`+strings.Join(other, ",")+`]`)
		require.Empty(t, Compare(before, again, ""))
		require.Equal(t, Compare(before, after, ""), Compare(again, after, ""))
	})
}

// app returns an application with one file and a few plugins.
func app(t testing.TB, text string) *capability.App {
	t.Helper()
	d := capability.Parse([]byte(text), capability.Options{Name: "test.json"})
	require.False(t, d.Check().HasErrors(), text)
	m := capability.CoreManifests()
	for _, plugin := range []string{"fs", "ping", "os"} {
		file, err := os.ReadFile("../testdata/plugins/" + plugin + ".json")
		require.NoError(t, err)
		require.Empty(t, m.LoadPermissions(plugin, capability.ParseValue(file, capability.Options{Name: plugin})))
	}
	return &capability.App{Documents: []*capability.Document{d}, Manifests: m}
}

// Each side has its own release: a newer one grants more commands, and an older one opens the
// application's own commands to remote pages.
func TestCompareResolvesEachSideForItsRelease(t *testing.T) {
	t.Parallel()
	old := app(t, `{"identifier":"a","windows":["main"],"permissions":["core:default"]}`)
	now := app(t, `{"identifier":"a","windows":["main"],"permissions":["core:default"]}`)
	old.Version = capability.Version{Major: 2, Minor: 3}
	now.Version = capability.Version{Major: 2, Minor: 12, Patch: 5}
	changes := Compare(old, now, "")
	require.Len(t, changes, 2)
	require.Equal(t, CommandsGranted, changes[0].Kind)
	require.Contains(t, changes[0].Commands, "plugin:app|supports_multiple_windows")
	require.Equal(t, AppChecked, changes[1].Kind)
	old.Version = capability.Version{Major: 2, Minor: 12}
	now.Version = capability.Version{Major: 2, Minor: 9}
	changes = Compare(old, now, "")
	require.Equal(t, AppUnchecked, changes[0].Kind)
	require.Equal(t, []string{"*"}, changes[0].Audience.Origins)
	require.True(t, changes[0].Widens())
	now.Version = capability.Version{}
	require.Empty(t, Compare(old, now, ""), "of one side it is not known")
}

// Fewer URLs are less; none may be everything.
func TestAScopeThatIsNarrowedDoesNotWiden(t *testing.T) {
	t.Parallel()
	for after, want := range map[string]bool{`"allow":["x"]`: false, `"allow":[]`: true, `"deny":["z"]`: true,
		`"allow":["x","y"],"deny":["z"]`: false, `"allow":["x","w"]`: true} {
		entry := `{"identifier":"a","windows":["main"],"permissions":[{"identifier":"fs:allow-read-file",%s}]}`
		changes := Compare(app(t, fmt.Sprintf(entry, `"allow":["x","y"]`)), app(t, fmt.Sprintf(entry, after)), "")
		require.Len(t, changes, 1, after)
		require.Equal(t, want, changes[0].Widens(), after)
	}
}
