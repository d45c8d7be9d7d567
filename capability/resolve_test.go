package capability

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// plugins returns the manifests of the core and of three small plugins with all that the format
// has: a default, sets, permissions with commands, with a scope, and with a scope only.
func plugins(t testing.TB) *Manifests {
	t.Helper()
	m := CoreManifests()
	for _, plugin := range []string{"fs", "ping", "os"} {
		text, err := os.ReadFile("testdata/plugins/" + plugin + ".json")
		require.NoError(t, err)
		require.Empty(t, m.LoadPermissions(plugin, ParseValue(text, Options{Name: plugin})))
	}
	return m
}

func capabilities(t testing.TB, text string) []Capability {
	t.Helper()
	d := Parse([]byte(text), Options{Name: "test.json"})
	require.Empty(t, d.Check())
	return d.Capabilities()
}

// snapshot writes a policy as lines: grants and denials with their scopes, then those of plugins.
func snapshot(p *Policy) []string {
	var lines []string
	line := func(verb, command string, g Grant) {
		context := cmp.Or(g.Remote(), "local")
		s := fmt.Sprintf("%s %s %s win%v web%v", verb, command, context, g.Windows(), g.Webviews())
		if g.scope != nil {
			s += " scope" + scopeText(*g.scope)
		}
		lines = append(lines, s)
	}
	for _, command := range p.Commands() {
		for _, g := range p.Grants(command) {
			line("allow", command.String(), g)
		}
		for _, g := range p.Denials(command) {
			line("deny", command.String(), g)
		}
	}
	globals := p.GlobalScopes()
	for _, key := range slices.Sorted(maps.Keys(globals)) {
		lines = append(lines, fmt.Sprintf("global %s%s", key, scopeText(globals[key])))
	}
	return lines
}

func scopeText(s Scope) string {
	text := ""
	for _, list := range []struct {
		name   string
		values []Value
	}{{"allow", s.Allow}, {"deny", s.Deny}} {
		if len(list.values) > 0 {
			text += " " + list.name
			for _, v := range list.values {
				text += " " + v.Get("path").Text() + v.Get("command").Text() + v.Get("url").Text()
			}
		}
	}
	return text
}

// The cases of the reference implementation's own fixtures, rebuilt.
func TestResolveLikeTheReference(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, in string
		platform Platform
		want     []string
	}{
		{"one command", `{"identifier":"a","windows":["main"],"permissions":["ping:allow-ping"]}`, Linux,
			[]string{"allow plugin:ping|ping local win[main] web[]"}},
		{"webviews, sorted", `{"identifier":"a","webviews":["child2","child1"],"permissions":["ping:allow-ping"]}`,
			Linux,
			[]string{"allow plugin:ping|ping local win[] web[child1 child2]"}},
		{"a set and a default with a scope",
			`{"identifier":"a","windows":["main"],"permissions":["fs:read","fs:default"]}`, Linux,
			[]string{"allow plugin:fs|read_dir local win[main] web[]",
				"allow plugin:fs|read_file local win[main] web[]", "global fs allow $APP"}},
		{"remote only; the global scope does not mind",
			`{"identifier":"a","windows":["main"],"local":false,"remote":{"urls":["https://tauri.app"]},` +
				`"permissions":["fs:read","fs:default"]}`, Linux,
			[]string{"allow plugin:fs|read_dir https://tauri.app win[main] web[]",
				"allow plugin:fs|read_file https://tauri.app win[main] web[]", "global fs allow $APP"}},
		{"scopes of permissions",
			`{"identifier":"a","windows":["main"],"permissions":["fs:read","fs:allow-app","fs:deny-home",` +
				`"fs:read-resources","fs:move-temp","fs:read-download"]}`, Linux,
			[]string{"allow plugin:fs|move local win[main] web[] scope allow $TEMP/*",
				"allow plugin:fs|read_dir local win[main] web[]",
				"allow plugin:fs|read_dir local win[main] web[] scope allow $RESOURCE/** $RESOURCE",
				"allow plugin:fs|read_dir local win[main] web[] scope allow $DOWNLOAD $DOWNLOAD/**",
				"allow plugin:fs|read_file local win[main] web[]",
				"allow plugin:fs|read_file local win[main] web[] scope allow $RESOURCE/** $RESOURCE",
				"global fs allow $APP deny $HOME"}},
		{"scopes of entries come first", `{"identifier":"a","windows":["main"],"permissions":[
			{"identifier":"fs:read-both","allow":[{"path":"$HOME/.config/**"}]}, "fs:deny-home",
			{"identifier":"fs:read-resources","deny":[{"path":"*.key"}]}, "fs:move-temp",
      "fs:read-download",
			{"identifier":"fs:default","allow":[{"path":"$APP/**"}],"deny":[{"path":"$APP/*.db"}]}]}`, Linux,
			[]string{"allow plugin:fs|move local win[main] web[] scope allow $TEMP/*",
				"allow plugin:fs|read_dir local win[main] web[] scope allow $HOME/.config/**",
				"allow plugin:fs|read_dir local win[main] web[] scope allow $RESOURCE/** $RESOURCE deny *.key",
				"allow plugin:fs|read_dir local win[main] web[] scope allow $DOWNLOAD $DOWNLOAD/**",
				"allow plugin:fs|read_file local win[main] web[] scope allow $HOME/.config/**",
				"allow plugin:fs|read_file local win[main] web[] scope allow $RESOURCE/** $RESOURCE deny *.key",
				"global fs allow $APP/** $APP deny $HOME $APP/*.db"}},
		{"two windows; global scopes keep duplicates",
			`[{"identifier":"main","windows":["main"],"permissions":["fs:move-temp","fs:allow-app","fs:deny-home"]},
			{"identifier":"zz-external","windows":["external"],"permissions":["fs:read","fs:deny-home"]}]`, Linux,
			[]string{"allow plugin:fs|move local win[main] web[] scope allow $TEMP/*",
				"allow plugin:fs|read_dir local win[external] web[]",
				"allow plugin:fs|read_file local win[external] web[]", "global fs allow $APP deny $HOME $HOME"}},
		{"linux", `{"identifier":"a","windows":["main"],"permissions":["os:spawn"]}`, Linux,
			[]string{"allow plugin:os|spawn local win[main] web[] scope allow apt",
				"allow plugin:os|spawn local win[main] web[] scope allow servo", "global os"}},
		{"macOS", `{"identifier":"a","windows":["main"],"permissions":["os:spawn"]}`, MacOS,
			[]string{"allow plugin:os|spawn local win[main] web[] scope allow safari",
				"global os allow $HOME/Library/**"}},
		{"windows", `{"identifier":"a","windows":["main"],"permissions":["os:spawn"]}`, Windows,
			[]string{"allow plugin:os|spawn local win[main] web[] scope allow edge",
				"global os deny $APP/EBWebView/**"}},
		{"the order is that of identifiers",
			`[{"identifier":"b","windows":["b"],"permissions":["ping:default"]},{"identifier":"a","windows":["a"],` +
				`"permissions":["ping:default"]}]`, Linux,
			[]string{"allow plugin:ping|ping local win[a] web[]", "allow plugin:ping|ping local win[b] web[]"}},
		{"an entry's scope goes into every permission of a set",
			`{"identifier":"a","windows":["m"],"permissions":[{"identifier":"fs:read","allow":[{"path":"x"}]}]}`,
			Linux,
			[]string{"allow plugin:fs|read_dir local win[m] web[] scope allow x",
				"allow plugin:fs|read_file local win[m] web[] scope allow x"}},
		{"an empty scope is a scope",
			`{"identifier":"a","windows":["m"],"permissions":[{"identifier":"ping:default","allow":[]}]}`, Linux,
			[]string{"allow plugin:ping|ping local win[m] web[] scope"}},
		{"a null scope is none",
			`{"identifier":"a","windows":["m"],"permissions":[{"identifier":"ping:default","allow":null}]}`, Linux,
			[]string{"allow plugin:ping|ping local win[m] web[]"}},
		{"nested sets and other plugins", `{"identifier":"a","windows":["m"],"permissions":["fs:explore"]}`, Linux,
			[]string{"allow plugin:fs|read_dir local win[m] web[]", "allow plugin:fs|read_file local win[m] web[]",
				"allow plugin:ping|ping local win[m] web[]", "global fs allow $APP"}},
		{"neither local nor remote", `{"identifier":"a","windows":["m"],"local":false,"permissions":["ping:default"]}`,
			Linux, nil},
		{"another platform", `{"identifier":"a","windows":["m"],"platforms":["macOS"],"permissions":["ping:default"]}`,
			Linux, nil},
		{"no platform at all", `{"identifier":"a","windows":["m"],"platforms":[],"permissions":["ping:default"]}`,
			Linux, nil},
		{"a core command loses core:",
			`{"identifier":"a","windows":["m"],"permissions":["core:window:allow-set-badge-count"]}`, Linux,
			[]string{"allow plugin:window|set_badge_count local win[m] web[]"}},
		{"local and each URL",
			`{"identifier":"a","windows":["m"],"remote":{"urls":["https://b.c","https://a.b"]},` +
				`"permissions":["ping:default"]}`, Linux,
			[]string{"allow plugin:ping|ping local win[m] web[]", "allow plugin:ping|ping https://b.c win[m] web[]",
				"allow plugin:ping|ping https://a.b win[m] web[]"}},
	} {
		p, ds := Resolve(capabilities(t, c.in), plugins(t), ResolveOptions{Platform: c.platform})
		require.Empty(t, ds, c.name)
		require.Equal(t, c.want, snapshot(p), c.name)
	}
}

func TestResolveReportsWhatDoesNotExist(t *testing.T) {
	t.Parallel()
	m := plugins(t)
	require.Empty(t, m.LoadPermissions("odd", ParseValue([]byte(`{
		"set": [{"identifier":"a","description":"","permissions":["b"]},{"identifier":"b","description":"",
      "permissions":["a","odd:c"]},{"identifier":"d","description":"","permissions":["gone"]}]}`), Options{})))
	for _, c := range []struct {
		entry, message string
		code           Code
	}{
		{`"fs:alow-app"`, `did you mean "fs:allow-app"?`, codeUnknownPermission},
		{`"fs:read-dir"`, `did you mean "fs:allow-read-dir"?`, codeUnknownPermission},
		{`"fs:whatever-else"`, `it has default,`, codeUnknownPermission},
		{`"core:window:close"`, `did you mean "core:window:allow-close"?`, codeUnknownPermission},
		{`"window:allow-close"`, `write "core:window:allow-close"`, codeUnknownPlugin},
		{`"event:default"`, `write "core:event:default"`, codeUnknownPlugin},
		{`"core:windw:default"`, `did you mean "core:window:default"?`, codeUnknownPlugin},
		{`"core:nothing:default"`, `it has path, event`, codeUnknownPlugin},
		{`"fz:read"`, `did you mean "fs:read"?`, codeUnknownPlugin},
		{`"http:default"`, `add tauri-plugin-http`, codeUnknownPlugin},
		{`"allow-greet"`, `permission of the application itself`, codeUnknownPlugin},
		{`"odd:a"`, `odd:a → odd:b → odd:a`, codePermissionCycle},
		{`"odd:d"`, `"gone", which is in the set odd:d`, codeUnknownSetMember},
	} {
		text := `{"identifier":"a","windows":["m"],"permissions":[` + c.entry + `]}`
		_, ds := Resolve(capabilities(t, text), m, ResolveOptions{})
		require.NotEmpty(t, ds, c.entry)
		require.Equal(t, c.code, ds[0].Code, c.entry)
		require.Contains(t, ds[0].Message, c.message)
		require.Equal(t, "/permissions/0", ds[0].Path)
		require.Equal(t, Error, ds[0].Severity)
	}
}

// Inside a set the reference looks for a permission first, then for a set, in
// its own plugin as in another.
func TestMembersOfSetsArePermissionsFirst(t *testing.T) {
	t.Parallel()
	m := &Manifests{}
	require.Empty(t,
		m.LoadPermissions("fs",
			ParseValue([]byte(`{"permission":[{"identifier":"both","commands":{"allow":["from_permission"]}},`+
				`{"identifier":"other","commands":{"allow":["from_set"]}}],"set":[{"identifier":"both",`+
				`"description":"","permissions":["other"]}]}`), Options{})))
	require.Empty(t,
		m.LoadPermissions("dialog", ParseValue([]byte(`{"default":{"permissions":["fs:both"]}}`), Options{})))
	for entry, want := range map[string]string{"dialog:default": "plugin:fs|from_permission",
		"fs:both": "plugin:fs|from_set"} {
		p, ds := Resolve(capabilities(t, `{"identifier":"a","windows":["m"],"permissions":["`+entry+`"]}`), m,
			ResolveOptions{})
		require.Empty(t, ds)
		require.Equal(t, []Command{cmd(want)}, p.Commands())
	}
}

func TestResolveReportsPatternsAndDuplicates(t *testing.T) {
	t.Parallel()
	bad := `{"identifier":"a","windows":["m**"],"remote":{"urls":["https://[::1]"]},"permissions":["ping:default"]}`
	_, ds := Resolve(capabilities(t, "["+bad+","+bad+"]"), plugins(t), ResolveOptions{})
	counts := map[Code]int{}
	for _, d := range ds {
		counts[d.Code]++
	}
	require.Equal(t, map[Code]int{codeDuplicateCapability: 1, codeWindowPattern: 2, codeRemotePattern: 2}, counts)
	require.Equal(t, "/0/windows/0", ds[0].Path)

	// An empty name is a name too.
	_, ds = Resolve(capabilities(t, `[{"identifier":"","permissions":[]},{"identifier":"","permissions":[]}]`),
		plugins(t), ResolveOptions{})
	require.Len(t, ds, 1)
	require.Equal(t, codeDuplicateCapability, ds[0].Code)

	// Also where a capability grants no command, which the build accepts.
	unused := `{"identifier":"a","windows":["m**"],"remote":{"urls":["https://[::1]"]},"permissions":[]}`
	_, ds = Resolve(capabilities(t, unused), plugins(t), ResolveOptions{})
	require.Len(t, ds, 2)
	remoteOnly := strings.Replace(bad, `"windows"`, `"local":false,"windows"`, 1)
	_, ds = Resolve(capabilities(t, remoteOnly), plugins(t), ResolveOptions{})
	require.Equal(t, codeRemotePattern, ds[len(ds)-1].Code)
}

func TestPartialManifestsTakePermissionsByTheirNames(t *testing.T) {
	t.Parallel()
	caps := capabilities(t,
		`{"identifier":"a","windows":["m"],"permissions":["http:allow-fetch-send","http:deny-fetch",`+
			`"http:default","allow-greet"]}`)
	p, ds := Resolve(caps, CoreManifests(), ResolveOptions{Partial: true})
	require.False(t, ds.HasErrors())
	require.NotEmpty(t, ds)
	require.True(t, p.Allowed(cmd("plugin:http|fetch_send"), Caller{Window: "m"}))
	require.False(t, p.Allowed(cmd("plugin:http|fetch"), Caller{Window: "m"}))
	require.True(t, p.Allowed(cmd("greet"), Caller{Window: "m"}))
	require.False(t, p.Allowed(cmd("other"), Caller{Window: "m"}),
		"a permission of the application shows that it has a manifest")
	require.True(t, p.AppChecked())
}

func TestAllowedDecidesLikeTheReference(t *testing.T) {
	t.Parallel()
	caps := capabilities(t, `[
		{"identifier":"a","windows":["main-*"],"webviews":["side"],"permissions":["ping:default","fs:read"]},
		{"identifier":"b","windows":["*"],"local":false,"remote":{"urls":["http://tauri.*",
      "https://*.tauri.app"]},"permissions":["fs:allow-read-dir"]},
		{"identifier":"c","windows":["other"],"local":false,"remote":{"urls":["https://x.y"]},
      "permissions":["fs:deny-read-file"]}]`)
	p, ds := Resolve(caps, plugins(t), ResolveOptions{Platform: Linux})
	require.Empty(t, ds)
	remote := func(url string) Caller { return Caller{Window: "any", Origin: origin(t, url)} }
	for _, c := range []struct {
		command string
		caller  Caller
		want    bool
	}{
		{"plugin:ping|ping", Caller{Window: "main-1"}, true},
		{"plugin:ping|ping", Caller{Window: "main"}, false},
		{"plugin:ping|ping", Caller{Window: "x", Webview: "side"}, true},
		{"plugin:ping|ping", Caller{Window: "main-1", Webview: "y"}, true},
		{"plugin:ping|ping", Caller{Window: "side"}, true},
		{"plugin:ping|ping", remote("http://tauri.studio/"), false},
		{"plugin:fs|read_dir", remote("http://tauri.studio/"), true},
		{"plugin:fs|read_dir", remote("https://a.tauri.app/x"), true},
		{"plugin:fs|read_dir", remote("https://tauri.app/x"), false},
		{"plugin:fs|read_dir", Caller{Window: "any"}, false},
		{"plugin:fs|read_file", Caller{Window: "main-1"}, false}, // denied elsewhere, and so everywhere
		{"plugin:fs|unknown", Caller{Window: "main-1"}, false},
		{"plugin:__TAURI_CHANNEL__|fetch", Caller{Window: "none"}, true},
		{"greet", Caller{Window: "any"}, true}, // no manifest of the application
		{"greet", remote("https://evil.example/"), false},
		{"set_title", Caller{Window: "any"}, false}, // a command of plugins
	} {
		require.Equal(t, c.want, p.Allowed(cmd(c.command), c.caller), "%s by %+v", c.command, c.caller)
	}
	for version, want := range map[Version]bool{{2, 0, 0}: true, {2, 11, 0}: true, {2, 11, 1}: false,
		{2, 12, 0}: false, {}: false} {
		p, _ := Resolve(caps, plugins(t), ResolveOptions{Version: version})
		require.Equal(t, want, p.Allowed(cmd("greet"), remote("https://evil.example/")), version)
		require.Equal(t, want, p.AppOpen(remote("https://evil.example/").Origin), version)
		require.True(t, p.Allowed(cmd("greet"), Caller{Window: "any"}), version)
		require.Equal(t, want, p.Explain(cmd("greet"), remote("https://evil.example/")).Allowed, version)
	}
}

// Every plugin that is built has a default set, and no permission has the second name that
// documents give to a command.
func TestManifestsOfABuildCount(t *testing.T) {
	t.Parallel()
	core := CoreManifests()
	built := CoreManifests()
	require.Empty(t, built.Load("acl-manifests.json", []byte(`{"core:app":{"default_permission":null,`+
		`"permission_sets":{},"permissions":{"allow-tauri-version":{"identifier":"allow-tauri-version",`+
		`"commands":{"allow":["tauri_version"],"deny":[]}}}}}`)))
	for _, c := range []struct {
		manifests  *Manifests
		permission string
		found      bool
	}{
		{core, "core:app:allow-framework-version", false}, {built, "core:app:allow-framework-version", false},
		{core, "core:app:allow-tauri-version", true}, {built, "core:app:allow-tauri-version", true},
		{core, "core:app:default", true}, {built, "core:app:default", true},
	} {
		_, ds := Resolve(capabilities(t, `{"identifier":"a","windows":["m"],"permissions":["`+c.permission+`"]}`),
			c.manifests, ResolveOptions{})
		require.Equal(t, c.found, !ds.HasErrors(), "%s: %v", c.permission, ds)
	}
}

func origin(t testing.TB, url string) Origin {
	t.Helper()
	o, err := ParseOrigin(url)
	require.NoError(t, err)
	return o
}
