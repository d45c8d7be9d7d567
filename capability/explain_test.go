package capability

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A capability for the application's own pages and for URLs has only the problems of the caller's
// kind of page, each once.
func TestExplainOfLocalAndRemoteDoesNotContradictItself(t *testing.T) {
	t.Parallel()
	p, _ := Resolve(capabilities(t, `{"identifier":"both","windows":["main"],"remote":{"urls":["https://a.dev",
		"https://b.dev"]},"permissions":["ping:default"]}`), plugins(t), ResolveOptions{})
	for _, c := range []struct {
		caller Caller
		buts   []string
	}{
		{Caller{Window: "other"}, []string{"its windows are"}},
		{Caller{Window: "main", Origin: origin(t, "https://c.dev")},
			[]string{"its URL pattern https://a.dev", "its URL pattern https://b.dev"}},
		{Caller{Window: "other", Origin: origin(t, "https://a.dev")}, []string{"its windows are"}},
		{Caller{Window: "other", Origin: origin(t, "https://c.dev")},
			[]string{"its windows are", "its URL pattern https://a.dev", "its URL pattern https://b.dev"}},
	} {
		text := p.Explain(cmd("ping:ping"), c.caller).String()
		require.Equal(t, len(c.buts), strings.Count(text, "     but "), text)
		for _, but := range c.buts {
			require.Contains(t, text, "     but "+but)
		}
	}
}

func TestExplain(t *testing.T) {
	t.Parallel()
	caps := capabilities(t, `[
		{"identifier":"main","windows":["main"],"permissions":["core:default","ping:default"]},
		{"identifier":"web","windows":["main-*"],"platforms":["macOS"],"local":false,"remote":{
      "urls":["https://*.example.com","http://localhost:1420"]},"permissions":["ping:allow-ping"]},
		{"identifier":"deny","windows":["x"],"permissions":["fs:allow-read-file","fs:deny-read-file"]}]`)
	p, ds := Resolve(caps, plugins(t), ResolveOptions{Platform: Linux})
	require.Empty(t, ds)
	for _, c := range []struct {
		command string
		caller  Caller
		verdict Verdict
		text    []string
	}{
		{"plugin:ping|ping", Caller{Window: "main"}, Granted,
			[]string{"allowed: plugin:ping|ping", `capability "main"`, "ping:default → ping:allow-ping"}},
		{"core:window:title", Caller{Window: "main"}, Granted,
			[]string{"core:default → core:window:default → core:window:allow-title"}},
		{"core:app:framework-version", Caller{Window: "main"}, Granted, []string{"plugin:app|tauri_version"}},
		{"ping:ping", Caller{Window: "main2"}, NoMatch,
			[]string{`its windows are "main", not "main2"`, "it is for macOS only, not for linux"}},
		{"ping:ping", Caller{Window: "main-1", Origin: origin(t, "https://example.com")}, NoMatch,
			[]string{"is for subdomains, not for example.com itself", "http, not https"}},
		{"ping:ping", Caller{Window: "main", Origin: origin(t, "http://localhost:3000")}, NoMatch,
			[]string{`"urls": ["http://localhost:3000"]`, "port 1420, not 3000"}},
		{"ping:ping", Caller{Window: "main-1", Origin: origin(t, "https://a.example.com:8443")}, NoMatch,
			[]string{"default port only, not for 8443; https://*.example.com:*"}},
		{"fs:read_file", Caller{Window: "main"}, Denied, []string{"fs:deny-read-file", "It holds for all windows"}},
		{"fs:read_dir", Caller{Window: "main"}, NotGranted,
			[]string{`add "fs:allow-read-dir"`, `to the permissions of the capability "main" (test.json:2:`}},
		{"fs:read_dir", Caller{Window: "nowhere"}, NotGranted,
			[]string{"No capability is for window", "write one with"}},
		{"plugin:window|minimise", Caller{Window: "main"}, UnknownCommand,
			[]string{"Did you mean plugin:window|minimize?"}},
		{"core:window:default", Caller{Window: "main"}, UnknownCommand,
			[]string{"core:window:default is a permission: ask about a command."}},
		{"plugin:nope|x", Caller{Window: "main"}, UnknownPlugin, []string{"acl-manifests.json"}},
		{"greet", Caller{Window: "main"}, Unchecked, []string{"in every"}},
		{"greet", Caller{Window: "main", Origin: origin(t, "https://example.com")}, NotGranted,
			[]string{"its own pages may call only what capabilities allow", "list all its commands in"}},
	} {
		x := p.Explain(cmd(c.command), c.caller)
		require.Equal(t, c.verdict, x.Verdict, "%s\n%s", c.command, x)
		require.Equal(t, p.Allowed(x.Command, c.caller), x.Allowed)
		for _, want := range c.text {
			require.Contains(t, x.String(), want)
		}
		text, err := json.Marshal(x)
		require.NoError(t, err)
		var decoded struct{ Allowed *bool }
		require.NoError(t, json.Unmarshal(text, &decoded))
		require.Equal(t, x.Allowed, *decoded.Allowed)
	}
	caps = capabilities(t, `[{"identifier":"a","windows":["*"],"permissions":["core:default"]},
		{"identifier":"b","windows":["*"],"permissions":["fs:allow-read-file","core:window:allow-show"]}]`)
	of, ds := Resolve(caps, plugins(t), ResolveOptions{})
	require.Empty(t, ds)
	for command, want := range map[string]string{"fs:read_dir": "b", "core:window:close": "b", "ping:ping": "a"} {
		require.Equal(t, want, of.Explain(cmd(command), Caller{Window: "main"}).AddTo, "that of the plugin")
	}
	own := CoreManifests()
	require.Empty(t, own.LoadPermissions(AppManifest, ParseValue([]byte(`{"permission":[{"identifier":"allow-greet",
		"commands":{"allow":["greet"]}},{"identifier":"names","scope":{"allow":["x"]}}]}`),
		Options{Name: "own.json"})))
	of, ds = Resolve(capabilities(t, `{"identifier":"a","windows":["*"],"permissions":[{"identifier":"allow-greet",
		"deny":["y"]},"names"]}`), own, ResolveOptions{})
	require.Empty(t, ds)
	x := of.Explain(cmd("greet"), Caller{Window: "main"})
	require.Contains(t, x.String(), "A scope for all commands of the application allows \"x\"\n")
	text, err := json.Marshal(x.Grants)
	require.NoError(t, err)
	require.Contains(t, string(text), `"scope":{"deny":["y"]}`)
	near := p.Explain(cmd("ping:ping"), Caller{Window: "main2"}).Near
	require.Equal(t, "main", near[0].Grant.Capability().Identifier, "the nearest miss comes first")
	require.Contains(t, p.Callable(Caller{Window: "main"}), cmd("ping:ping"))
	require.NotContains(t, p.Callable(Caller{Window: "main2"}), cmd("ping:ping"))
}

// A name that no manifest and no rule explains is not called allowed, and what may be meant is
// said.
func TestUnknownCommandsAreNotAllowed(t *testing.T) {
	t.Parallel()
	caps := capabilities(t, `{"identifier":"main","windows":["main"],"permissions":["core:default",
		"core:window:allow-set-fullscreen","fs:allow-read-file"]}`)
	for _, c := range []struct {
		command  string
		commands []string // of the application, where they are known
		verdict  Verdict
		similar  []string
	}{
		{"fs.read_text_file", nil, UnknownCommand, nil},
		{"fs.readFile", nil, Granted, nil},
		{"fs.readFil", nil, UnknownCommand, []string{"plugin:fs|read_file"}},
		{"plugin:fs|readFile", nil, UnknownCommand, []string{"plugin:fs|read_file"}},
		{"writeNote", []string{"write_note", "write_notes"}, UnknownCommand, []string{"write_note"}},
		{"setFullscreen", nil, UnknownCommand, []string{"plugin:window|set_fullscreen"}},
		{"setTitle", nil, UnknownCommand, []string{"plugin:tray|set_title", "plugin:window|set_title"}},
		{"set_title", nil, UnknownCommand, []string{"plugin:tray|set_title", "plugin:window|set_title"}},
		{"setFulscreen", nil, UnknownCommand, []string{"plugin:window|set_fullscreen"}},
		{"nope.x", nil, UnknownPlugin, nil},
		{"greet", nil, Unchecked, nil},
		{"greet", []string{"greet"}, Unchecked, nil},
		{"gret", []string{"greet"}, UnknownCommand, []string{"greet", "plugin:menu|get"}},
		{"set_title", []string{"set_title"}, Unchecked, nil},
	} {
		p, ds := Resolve(caps, plugins(t), ResolveOptions{AppCommands: c.commands})
		require.Empty(t, ds)
		x := p.Explain(cmd(c.command), Caller{Window: "main"})
		require.Equal(t, c.verdict, x.Verdict, c.command)
		require.Equal(t, c.verdict == Granted || c.verdict == Unchecked, x.Allowed, c.command)
		require.Equal(t, x.Allowed, p.Allowed(cmd(c.command), Caller{Window: "main"}), c.command)
		require.ElementsMatch(t, c.similar, x.Similar, c.command)
		require.Equal(t, !x.Allowed, strings.HasPrefix(x.String(), "unknown: "), x)
	}
}

// A permission that the application's release does not have is no advice.
func TestExplainNamesPermissionsOfTheReleaseOnly(t *testing.T) {
	t.Parallel()
	caps := capabilities(t, `[{"identifier":"mac","windows":["main"],"platforms":["macOS"],"permissions":[
		"core:window:allow-activity-name", "core:window:allow-minimize"]}]`)
	for version, has := range map[Version]bool{{2, 10, 0}: false, {2, 11, 0}: true, {}: true} {
		p, _ := Resolve(caps, CoreManifests(), ResolveOptions{Platform: Linux, Version: version})
		x := p.Explain(cmd("core:window:activity-name"), Caller{Window: "main"})
		require.Equal(t, has, len(x.Near) > 0, version)
		require.Equal(t, has, len(x.Offers) > 0, version)
		require.False(t, x.Allowed || x.Unknown(), version)
		require.Equal(t, !has, strings.Contains(x.String(), "only in newer releases"), version)
		require.Empty(t, x.Similar)
		x = p.Explain(cmd("core:window:minimize"), Caller{Window: "main"})
		require.Len(t, x.Near, 1, version)
		require.Contains(t, x.Offers, "core:window:allow-minimize", version)
	}
}

// What is suggested for a mistake is in the application's release.
func TestSuggestionsAreOfTheRelease(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		version    Version // of the framework
		permission string  // with a mistake
		command    string  // with a mistake
		suggested  bool
	}{
		{Version{2, 10, 0}, "core:window:allow-activity-nam", "window.activityNam", false},
		{Version{2, 11, 0}, "core:window:allow-activity-nam", "window.activityNam", true},
		{Version{2, 10, 0}, "core:window:activity-name", "activity_nam", false},
		{Version{2, 11, 0}, "core:window:activity-name", "activity_nam", true},
		{Version{2, 10, 0}, "core:windw:allow-activity-name", "activityNam", false},
		{Version{2, 11, 0}, "core:windw:allow-activity-name", "activityNam", true},
	} {
		m := knownManifests(nil)
		p, found := Resolve(capabilities(t, `{"identifier":"main","windows":["main"],"permissions":["`+c.permission+
			`","fs:allow-exists"]}`), m, ResolveOptions{Version: c.version,
			AppCommands: []string{"greet"}})
		require.NotEmpty(t, found, c.permission)
		fixed := found[0].Fix != nil && found[0].Fix.Edits[0].Text == `"core:window:allow-activity-name"`
		require.Equal(t, c.suggested, fixed, "%v: %s", c, found[0].Message)
		x := p.Explain(cmd(c.command), Caller{Window: "main"})
		suggested := slices.Contains(x.Similar, "plugin:window|activity_name")
		require.Equal(t, c.suggested, suggested, "%v: %v", c, x.Similar)
	}
}

// Permissions for other platforms are no advice.
func TestExplainNamesPermissionsOfThePlatformOnly(t *testing.T) {
	t.Parallel()
	m := CoreManifests()
	require.Empty(t, m.Load("acl-manifests.json", []byte(`{"x":{"default_permission":{"identifier":"default",`+
		`"description":"","permissions":["allow-go"]},"permission_sets":{},"permissions":{`+
		`"allow-go":{"identifier":"allow-go","commands":{"allow":["go"],"deny":[]},"platforms":["macOS"]},`+
		`"both":{"identifier":"both","commands":{"allow":["stay","go"],"deny":[]},"platforms":["macOS","windows"]},`+
		`"allow-stay":{"identifier":"allow-stay","commands":{"allow":["stay"],"deny":[]}}}}}`)))
	for _, c := range []struct {
		platform Platform
		listed   string
		command  string
		offers   []string
		says     string
	}{
		{"", "core:window:allow-close", "x.go", []string{"x:allow-go", "x:both", "x:default"}, `add "x:allow-go"`},
		{MacOS, "core:window:allow-close", "x.go", []string{"x:allow-go", "x:both", "x:default"}, `add "x:allow-go"`},
		{Windows, "core:window:allow-close", "x.go", []string{"x:both"}, `add "x:both"`},
		{Windows, "x:allow-go", "x.go", []string{"x:both"}, `add "x:both"`},
		{Linux, "core:window:allow-close", "x.go", nil, "on other platforms only: x:allow-go, x:both."},
		{Linux, "x:both", "x.go", nil, `lists "x:both", which has no effect on this platform.`},
		{Linux, "x:both", "x.stay", []string{"x:allow-stay"}, `add "x:allow-stay"`},
	} {
		p, found := Resolve(capabilities(t, `{"identifier":"main","windows":["main"],"permissions":["`+c.listed+`"]}`),
			m, ResolveOptions{Platform: c.platform})
		require.Empty(t, found)
		x := p.Explain(cmd(c.command), Caller{Window: "main"})
		require.Equal(t, NotGranted, x.Verdict, "%v", c)
		require.Equal(t, c.offers, x.Offers, "%v", c)
		require.Contains(t, x.String(), c.says, "%v", c)
		if c.offers == nil {
			require.Nil(t, x.Fix(), "%v", c)
		} else {
			require.Contains(t, x.Fix().Edits[0].Text, c.offers[0], "%v", c)
		}
	}
}

// A set that lists a permission twice gives one near miss.
func TestNearMissesAreNotRepeated(t *testing.T) {
	t.Parallel()
	m := CoreManifests()
	require.Empty(t, m.LoadPermissions("x", ParseValue([]byte(`{"permission":[{"identifier":"allow-go",
		"commands":{"allow":["go"]}}],"default":{"permissions":["allow-go","allow-go"]}}`), Options{})))
	p, _ := Resolve(capabilities(t, `{"identifier":"a","windows":["m"],"permissions":["x:default"]}`), m,
		ResolveOptions{})
	require.Len(t, p.Explain(cmd("x.go"), Caller{Window: "other"}).Near, 1)
}

// What is for other platforms is not counted when capabilities are resolved, and may be much.
func TestNearMissesOnOtherPlatformsAreLimited(t *testing.T) {
	t.Parallel()
	c := Capability{Identifier: "a", Windows: []string{"main"}, Platforms: []Platform{MacOS}}
	for i := range 2000 {
		c.Remote = append(c.Remote, fmt.Sprintf("https://a%d.dev", i))
		c.Permissions = append(c.Permissions, Entry{Identifier: "core:window:allow-close"})
	}
	p, _ := Resolve([]Capability{c}, CoreManifests(), ResolveOptions{Platform: Linux})
	x := p.Explain(cmd("core:window:close"), Caller{Window: "main", Origin: origin(t, "https://x.dev")})
	require.Equal(t, NoMatch, x.Verdict)
	require.Len(t, x.Near, maxInactive)
	require.Len(t, x.Near[0].Problems, 1+maxURLs)
}
