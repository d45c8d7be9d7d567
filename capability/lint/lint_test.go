package lint

import (
	"flag"
	"fmt"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"lessonkit.example/capability"
)

const scopedPlugin = `{
  "shell": {"default_permission": null, "permission_sets": {}, "global_scope_schema": {"anyOf": [
    {"type": "object", "required": ["name", "cmd"], "additionalProperties": false,
      "properties": {"name": {}, "cmd": {}, "args": {}}},
    {"type": "object", "required": ["name", "sidecar"], "additionalProperties": false,
      "properties": {"name": {}, "args": {}, "sidecar": {}}}]}, "permissions": {
    "allow-execute": {"identifier": "allow-execute", "description": "", "commands": {"allow": ["execute"],
      "deny": []}},
    "deny-execute": {"identifier": "deny-execute", "description": "", "commands": {"allow": [], "deny": ["execute"]}},
    "allow-open": {"identifier": "allow-open", "description": "", "commands": {"allow": ["open"], "deny": []},
      "platforms": ["linux"]}}},
  "fs": {"default_permission": null, "permission_sets": {}, "permissions": {
    "allow-read": {"identifier": "allow-read", "description": "", "commands": {"allow": ["read"], "deny": []}},
    "scope": {"identifier": "scope", "description": "", "commands": {"allow": [], "deny": []}}},
    "global_scope_schema": {"anyOf": [{"type": "string"}, {"type": "object", "required": ["path"],
      "properties": {"path": {"type": "string"}}}]}},
  "http": {"default_permission": null, "permission_sets": {}, "global_scope_schema": null, "permissions": {
    "allow-fetch": {"identifier": "allow-fetch", "description": "", "commands": {"allow": ["fetch"], "deny": []}}}},
  "sql": {"default_permission": null, "permission_sets": {}, "permissions": {
    "allow-load": {"identifier": "allow-load", "description": "", "commands": {"allow": ["load"], "deny": []}}},
    "global_scope_schema": {"oneOf": [{"required": ["db"], "properties": {"db": {}}}],
      "allOf": [{"properties": {"key": {}}}]}}
}`

func lintManifests(t testing.TB) *capability.Manifests {
	t.Helper()
	m := capability.CoreManifests()
	require.Empty(t, m.Load("acl-manifests.json", []byte(scopedPlugin)))
	return m
}

func check(t testing.TB, texts ...string) capability.Diagnostics {
	t.Helper()
	var docs []*capability.Document
	for i, text := range texts {
		docs = append(docs, capability.Parse([]byte(text), capability.Options{Name: string(rune('a'+i)) + ".json"}))
	}
	return Check(docs, lintManifests(t), Options{})
}

// Each rule finds its pattern, at its place, and nothing else is found there.
func TestLintRules(t *testing.T) {
	t.Parallel()
	const head = `{"identifier":"a","windows":["main"],`
	for _, c := range []struct {
		in, path, message string
		code              capability.Code
	}{
		{head + `"permissions":["core:default"],"permission":[]}`, "/permission", "is ignored", "unknown-key"},
		{head + `"permissions":["core:default"],"platform":["linux"]}`, "/platform", `did you mean "platforms"?`,
			"unknown-key"},
		{head + `"permissions":[{"identifier":"fs:scope","scope":{}}]}`, "/permissions/0/scope", "beside",
			"unknown-key"},
		{head + `"permissions":[{"identifier":"fs:scope","windows":[]}]}`, "/permissions/0/windows",
			"move it to the capability", "unknown-key"},
		{head + `"permissions":["core:default"],"remote":{"urls":["https://a.b"],"hosts":[]}}`, "/remote/hosts",
			"the keys are urls", "unknown-key"},
		{`{"identifier":"a","permissions":["core:default"]}`, "/identifier", `add "windows"`, "no-windows"},
		{head + `"local":false,"permissions":["core:default"]}`, "/local", "lists no URL", "no-origin"},
		{head + `"platforms":[],"permissions":["core:default"]}`, "/platforms", "leave it out", "empty-platforms"},
		{head + `"permissions":[]}`, "/permissions", "grants nothing", "empty-permissions"},
		{`{"identifier":"a","windows":["{main,other}"],"permissions":["core:default"]}`, "/windows/0", "separate item",
			"impossible-label"},
		{`{"identifier":"a","webviews":[" "],"permissions":["core:default"]}`, "/webviews/0", "No window",
			"impossible-label"},
		{`{"identifier":"a","windows":["main**"],"permissions":["core:default"]}`, "/windows/0", "whole component",
			"window-pattern"},
		{head +
			`"permissions":["shell:allow-execute",{"identifier":"shell:allow-execute","allow":[{"name":"x",` +
			`"cmd":"x"}]}]}`, "/permissions/0", "adds nothing", "bare-and-scoped"},
		{head +
			`"permissions":[{"identifier":"fs:scope","allow":["$APPDATA"]},` +
			`{"identifier":"fs:scope","allow":["$APPLOG"]}]}`,
			"/permissions/1/identifier", "the scopes add up", "scoped-twice"},
		{head + `"permissions":[{"identifier":"shell:allow-execute",` +
			`"allow":[]}]}`, "/permissions/0/allow", "not a limit",
			"empty-allow"},
		{head + `"permissions":["http:allow-fetch"]}`, "/permissions/0", "api.example.com", "missing-scope"},
		{head + `"permissions":[{"identifier":"fs:scope","allow":[{"url":"x"}]}]}`, "/permissions/0/allow/0",
			"the keys path", "scope-mismatch"},
		{head + `"permissions":[{"identifier":"shell:allow-execute","allow":[{"name":"x","cmd":"y","dir":"z"}]}]}`,
			"/permissions/0/allow/0", "the keys args, cmd, name, sidecar", "scope-mismatch"},
		{head + `"permissions":[{"identifier":"sql:allow-load","allow":[{}]}]}`, "/permissions/0/allow/0",
			"the keys db, key", "scope-mismatch"},
		{head + `"permissions":["core:default","core:window:default"]}`, "/permissions/1", `already in "core:default"`,
			"redundant-permission"},
		{head + `"permissions":["core:default","core:app:allow-version"]}`, "/permissions/1", "can be removed",
			"redundant-permission"},
		{head + `"permissions":["shell:deny-execute"]}`, "/permissions/0", "nothing allows", "dead-deny"},
		{head + `"permissions":["shell:allow-execute","shell:deny-execute"]}`, "/permissions/1", "takes precedence",
			"allow-and-deny"},
		{head + `"permissions":[{"identifier":"fs:scope","allow":["$APPDATA/**"],"deny":["$APPDATA/**"]}]}`,
			"/permissions/0/allow/0", "allows and denies", "allow-and-deny"},
		{head + `"platforms":["macOS"],"permissions":["shell:allow-open"]}`, "/permissions/0", "on linux only",
			"platform-mismatch"},
		{head + `"permissions":["core:default"],"remote":{"urls":["example.com/x"]}}`, "/remote/urls/0",
			"path on every host", "remote-without-scheme"},
		{head + `"permissions":["core:default"],"remote":{"urls":["localhost:1420"]}}`, "/remote/urls/0",
			`write "http://localhost:1420"`, "remote-without-scheme"},
		{head + `"permissions":["core:default"],"remote":{"urls":["http://localhost"]}}`, "/remote/urls/0",
			"http://localhost:*", "remote-default-port"},
		{head + `"permissions":["core:default"],"remote":{"urls":["https://*:*"]}}`, "/remote/urls/0", "every site",
			"remote-any-host"},
		{head + `"permissions":["core:default"],"remote":{"urls":["http://example.com"]}}`, "/remote/urls/0",
			"not encrypted", "remote-plain-http"},
		{head + `"permissions":["core:default"],"remote":{"urls":["https://[::1]"]}}`, "/remote/urls/0", "IPv6",
			"remote-pattern"},
		{head + `"permissions":["sql:allow-load"],"remote":{"urls":["https://a.example"]}}`, "/permissions/0",
			"remote pages", "remote-dangerous"},
		{`{"identifier":"a","windows":["*"],"permissions":["sql:allow-load"]}`, "/permissions/0", "every window",
			"any-window-dangerous"},
		{`{"identifier":"a","webviews":["**"],"permissions":["sql:allow-load"]}`, "/permissions/0", "every window",
			"any-window-dangerous"},
		{head + `"permissions":[{"identifier":"fs:scope","allow":["**"]}]}`, "/permissions/0/allow/0", "all files",
			"scope-all-files"},
		{head + `"permissions":[{"identifier":"fs:scope","allow":[{"path":"$HOME/**"}]}]}`,
			"/permissions/0/allow/0/path", "but hidden ones", "scope-all-files"},
		{head + `"permissions":[{"identifier":"http:allow-fetch","allow":[{"url":"https://*"}]}]}`,
			"/permissions/0/allow/0/url", "every host", "scope-any-host"},
		{head + `"permissions":[{"identifier":"http:allow-fetch","allow":[{"url":"https://*.example.*/x"}]}]}`,
			"/permissions/0/allow/0/url", "anyone can register", "open-host-suffix"},
		{head + `"permissions":["core:default"],"remote":{"urls":["https://*.example.*"]}}`, "/remote/urls/0",
			"anyone can register", "open-host-suffix"},
		{head + `"permissions":[{"identifier":"fs:scope","allow":[{"path":"$DOWNLOADS/**"}]}]}`,
			"/permissions/0/allow/0/path", `write "$DOWNLOAD"`, "unknown-variable"},
		{head + `"permissions":[{"identifier":"fs:scope","deny":["$APP/x"]}]}`,
			"/permissions/0/deny/0", `write "$APPDATA"`, "unknown-variable"},
		{head + `"permissions":[{"identifier":"fs:scope","allow":["$NOTHINGLIKEIT/x"]}]}`,
			"/permissions/0/allow/0", "write one of $APPCACHE", "unknown-variable"},
		{head + `"permissions":[{"identifier":"core:window:allow-close","allow":[{"label":"x"}]}]}`,
			"/permissions/0", "without a limit", "core-scope"},
		{head + `"permissions":[{"identifier":"shell:allow-execute","allow":[{"name":"x","cmd":"/bin/python3.12",` +
			`"args":["-c",{"validator":"[a-z]+"}]}]}]}`, "/permissions/0/allow/0/cmd", "every program",
			"shell-interpreter"},
		{head + `"permissions":[{"identifier":"shell:allow-execute","allow":[{"name":"x","cmd":"cmd.exe",` +
			`"args":true}]}]}`, "/permissions/0/allow/0/cmd", "every program", "shell-interpreter"},
		{head + `"permissions":[{"identifier":"shell:allow-execute","allow":[{"name":"x","cmd":"x","args":true}]}]}`,
			"/permissions/0/allow/0/args", "any arguments", "shell-any-arguments"},
		{head +
			`"permissions":[{"identifier":"shell:allow-execute","allow":[{"name":"x","cmd":"x","args":["-c",` +
			`{"validator":"\\S+"}]}]}]}`,
			"/permissions/0/allow/0/args/1/validator", "nearly every", "shell-any-arguments"},
		{head +
			`"permissions":[{"identifier":"shell:allow-execute","allow":[{"name":"x","cmd":"x",` +
			`"args":[{"validator":"^(?s).*$"}]}]}]}`,
			"/permissions/0/allow/0/args/0/validator", "nearly every", "shell-any-arguments"},
		{head +
			`"permissions":[{"identifier":"shell:allow-execute","allow":[{"name":"x","cmd":"x",` +
			`"args":[{"validator":"[a-z]+",` +
			`"raw":true}]}]}]}`, "/permissions/0/allow/0/args/0/validator", "^ before", "shell-open-validator"},
	} {
		found := false
		for _, d := range check(t, c.in) {
			if d.Code != c.code {
				continue
			}
			found = true
			requireAdvice(t, d)
			require.Equal(t, c.path, d.Path, c.in)
			require.Contains(t, d.Message, c.message, c.in)
			require.Equal(t, severityOf(c.code), d.Severity)
		}
		require.True(t, found, "%s finds nothing in %s", c.code, c.in)
	}
}

// Dialogs and dropped files extend the scope of fs, so that it may work without one.
func TestScopeOfFilesMayComeFromDialogs(t *testing.T) {
	t.Parallel()
	const head = `{"identifier":"a","windows":["main"],`
	ds := check(t, head+`"permissions":["fs:allow-read"]}`)
	require.Equal(t, []string{"1:53 missing-scope"}, codes(ds))
	require.Equal(t, capability.Info, ds[0].Severity)
	require.Contains(t, ds[0].Message, "$APPDATA/**")
	d := capability.Parse([]byte(head+`"permissions":["fs:allow-read","dialog:default"]}`), capability.Options{})
	ds = Check([]*capability.Document{d}, lintManifests(t),
		Options{ResolveOptions: capability.ResolveOptions{Partial: true}})
	require.NotContains(t, codes(ds), "1:53 missing-scope")
}

// Findings that were made of what is right, or of the wrong one of two.
func TestLintIsSilentAboutDeliberateGrants(t *testing.T) {
	t.Parallel()
	const head = `{"identifier":"a","windows":["main"],`
	for in, want := range map[string][]string{
		// A set without one of its commands is written so; only both written out contradict each
		// other.
		head + `"permissions":["core:default","core:app:deny-version"]}`: {},
		head + `"permissions":["core:app:allow-version","core:app:deny-version"]}`: {
			"1:78 allow-and-deny"},
		// The colons of an address are written with backslashes.
		head + `"permissions":["core:default"],"remote":{"urls":["http://[\\:\\:1]:3000"]}}`: {},
		// What is advised is there already.
		head + `"permissions":["core:default"],"remote":{"urls":["http://localhost","http://localhost:*"]}}`: {},
		// The set is kept, and what is in it is removed, in either order.
		head + `"permissions":["core:resources:allow-close","core:resources:default"]}`: {
			"1:53 redundant-permission"},
		head + `"permissions":["core:resources:default","core:resources:allow-close"]}`: {
			"1:78 redundant-permission"},
		// The plugin reads what its schema divides into two forms.
		head + `"permissions":[{"identifier":"shell:allow-execute","allow":[{"name":"x","cmd":"y","args":["z"],` +
			`"sidecar":false}]}]}`: {},
	} {
		require.Equal(t, want, codes(check(t, in)), in)
	}
}

// What is denied may be in a set that no manifest explains, of the same plugin or the application.
func TestDenialsThatMayBeNeeded(t *testing.T) {
	t.Parallel()
	for permissions, dead := range map[string]bool{`"pty:default","pty:deny-spawn"`: false,
		`"all-of-it","shell:deny-execute"`: false, `"allow-x","shell:deny-execute"`: true,
		`"pty:default","shell:deny-execute"`: true, `"pty:deny-spawn","pty:deny-kill"`: true} {
		d := capability.Parse([]byte(`{"identifier":"a","windows":["main"],"permissions":[`+permissions+"]}"),
			capability.Options{})
		ds := Check([]*capability.Document{d}, lintManifests(t),
			Options{ResolveOptions: capability.ResolveOptions{Partial: true}})
		require.Equal(t, dead, strings.Contains(fmt.Sprint(codes(ds)), "dead-deny"), "%s: %s", permissions, codes(ds))
	}
}

func TestLintLeavesSoundFilesAlone(t *testing.T) {
	t.Parallel()
	for _, in := range []string{
		`{"$schema":"../gen/schemas/desktop-schema.json","identifier":"a","description":"","windows":["main",` +
			`"settings-[0-9]"],"permissions":["core:default","core:window:allow-close",{"identifier":"fs:scope",` +
			`"allow":["$APPDATA/**"]},"fs:allow-read"]}`,
		`{"identifier":"a","local":false,"windows":["main"],"remote":{"urls":["https://*.example.com"]},` +
			`"platforms":["linux"],"permissions":["core:event:default","core:window:allow-close"]}`,
		`{"capabilities":[{"identifier":"a","webviews":["x"],"permissions":[{"identifier":"http:allow-fetch",` +
			`"allow":[{"url":"https://api.example.com/*"}]}]}]}`,
	} {
		require.Empty(t, check(t, in), in)
	}
}

// A value of the wrong type is one mistake: it is not also taken for missing.
func TestLintDoesNotReportConsequences(t *testing.T) {
	t.Parallel()
	ds := check(t,
		`{"identifier":"a","windows":"main","permissions":["core:default"],"platforms":["macos"],"local":false,`+
			`"remote":{"urls":"https://x.example"}}`)
	require.Equal(t, []string{"1:29 wrong-type", "1:80 unknown-platform", "1:120 wrong-type"}, codes(ds))
	ds = check(t, `{"identifer":"a","window":["main"],"permissions":["core:default"]}`)
	require.Equal(t, []string{"1:2 missing-field", "1:18 unknown-key"}, codes(ds))
	ds = check(t, `{"identifier":"a","windows":["main"],"permission":["core:default"]}`)
	require.Equal(t, []string{"1:38 missing-field"}, codes(ds), "nor is it empty")
	ds = check(t, `{"identifier":"a",`)
	require.Equal(t, []string{"1:1 syntax"}, codes(ds), "what follows may name windows")
}

func TestLintAcrossFiles(t *testing.T) {
	t.Parallel()
	ds := check(t, `{"identifier":"a","windows":["m"],"permissions":["shell:allow-execute"]}`,
		`{"identifier":"b","windows":["n"],"permissions":["shell:deny-execute"]}`,
		`{"identifier":"a","windows":["o"],"permissions":["core:default"]}`)
	require.Equal(t, []string{"1:50 deny-everywhere", "1:15 duplicate-capability"}, codes(ds))
	require.Equal(t, "b.json", ds[0].File)
	require.Contains(t, ds[0].Message, `where "a" allows it`)
	require.Contains(t, ds[1].Message, "in a.json:1")
	require.Equal(t, "a.json", ds[1].Related[0].File)
}

func TestEveryRuleIsDescribedOnce(t *testing.T) {
	t.Parallel()
	seen := make(map[capability.Code]bool)
	for _, r := range Rules() {
		require.False(t, seen[r.Code], r.Code)
		seen[r.Code] = true
		require.NotEmpty(t, r.Summary)
		require.Regexp(t, `^[a-z0-9-]+$`, string(r.Code))
	}
}

// An entry that another one with a scope makes needless is not said to be redundant too.
func TestNeedlessEntryIsReportedOnce(t *testing.T) {
	t.Parallel()
	d := capability.Parse([]byte(`{"identifier":"a","windows":["main"],"permissions":["opener:allow-open-url",`+
		`"opener:default",{"identifier":"opener:allow-open-url","allow":[{"url":"https://a.example/*"}]}]}`),
		capability.Options{})
	app, err := capability.LoadApp(fstest.MapFS{"a.json": {}}, capability.AppOptions{Files: []string{"a.json"}})
	require.NoError(t, err)
	found := Check([]*capability.Document{d}, app.Manifests, Options{})
	require.Equal(t, []string{"1:53 bare-and-scoped"}, codes(found))
	fixed, _ := d.Fixed(found)
	require.Contains(t, fixed, `"permissions":["opener:default",{"identifier"`)
}

// What was repeated is one finding, with all its places and one fix.
func TestFindingsOfOneCauseAreOne(t *testing.T) {
	t.Parallel()
	const head = `{"identifier":"a","windows":["main"],`
	for in, want := range map[string]struct {
		codes   []string
		message string
		places  int // besides the first
		fixed   string
	}{
		head + `"permissions":["core:default","core:window:default","core:event:default"]}`: {
			[]string{"1:68 redundant-permission"}, `"core:window:default" is already in "core:default", ` +
				`"core:event:default" is already in "core:default"; they can be removed.`, 1,
			head + `"permissions":["core:default"]}`},
		head + `"permissions":["core:default","core:default","sql:allow-load","sql:allow-load","core:default"]}`: {
			[]string{"1:68 duplicate-permission"}, `"core:default", "sql:allow-load" must be listed only once`, 5,
			head + `"permissions":["core:default","sql:allow-load"]}`},
		head + `"permissions":[{"identifier":"http:allow-fetch","allow":[{"url":"https://*"},{"url":"http://*"}]}]}`: {
			[]string{"1:102 scope-any-host"}, `"https://*", "http://*" match every host`, 1, ""},
		head + `"permissions":[{"identifier":"fs:scope","allow":["$DOWNLOADS/a"]},` +
			`{"identifier":"fs:scope","allow":["$DOWNLOADS/b"]}]}`: {
			[]string{"1:87 unknown-variable", "1:118 scoped-twice"}, `"$DOWNLOADS" is not a variable`, 1,
			head + `"permissions":[{"identifier":"fs:scope","allow":["$DOWNLOAD/a"]},` +
				`{"identifier":"fs:scope","allow":["$DOWNLOAD/b"]}]}`},
		head + `"permissions":["core:default","core:default","core:default"]}`: {
			[]string{"1:68 duplicate-permission"}, `"core:default" must be listed only once`, 3,
			head + `"permissions":["core:default"]}`},
		head + `"permissions":[{"identifier":"core:default","windows":["x"],"description":"x"}]}`: {
			[]string{"1:82 unknown-key"},
			`"windows", "description" have no effect in a permission; move them`, 1, ""},
		head + `"remote":{"urls":["http://*","https://*"]},"permissions":["core:default"]}`: {
			[]string{"1:56 remote-any-host"},
			`every site that a window loads from its default port; name the hosts`, 1, ""},
	} {
		ds := check(t, in)
		require.Equal(t, want.codes, codes(ds), in)
		require.Contains(t, ds[0].Message, want.message, in)
		require.Len(t, ds[0].Related, want.places, in)
		if want.fixed == "" {
			require.Nil(t, ds[0].Fix, in)
			continue
		}
		fixed, err := capability.Apply(in, ds[0].Fix.Edits)
		require.NoError(t, err)
		require.Equal(t, want.fixed, fixed)
	}
}

// A finding without a fix says what to do.
var advice = regexp.MustCompile(
	`did you mean|[;:] .*\b(write|remove|removed|add|name|list|leave|give|grant|rename|move|` +
		`put|make|update|build|allow|correct|it has|instead|the keys are)\b`,
)

func requireAdvice(t testing.TB, f capability.Diagnostic) {
	t.Helper()
	if f.Fix == nil {
		require.Regexp(t, advice, f.Message, "%s", f)
	}
}

// codes returns "line:column code" of each diagnostic.
func codes(ds capability.Diagnostics) []string {
	list := []string{}
	for _, d := range ds {
		list = append(list, fmt.Sprintf("%s %s", d.Start, d.Code))
	}
	return list
}

var update = flag.Bool("update", false, "write the golden files")

// The findings in the application of testdata, in the order of the text.
func TestApplicationFindings(t *testing.T) {
	t.Parallel()
	app, err := capability.LoadApp(os.DirFS("../testdata/app"), capability.AppOptions{Name: path.Base})
	require.NoError(t, err)
	require.Len(t, app.Documents, 10)
	text, err := os.ReadFile("../testdata/app/gen/schemas/acl-manifests.json")
	require.NoError(t, err)
	m := capability.CoreManifests() // without those of official plugins that are known
	require.Empty(t, m.Load("acl-manifests.json", text))
	var b strings.Builder
	for _, f := range Check(app.Documents, m, Options{}) {
		b.WriteString(f.String() + "\n")
	}
	const golden = "../testdata/app/findings.txt"
	if *update {
		require.NoError(t, os.WriteFile(golden, []byte(b.String()), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), b.String())
}

// What matches less than it seems, and what is no host, is not warned of.
func TestScopesAreNotOverstated(t *testing.T) {
	t.Parallel()
	for entry, want := range map[string]string{
		`{"identifier":"fs:scope","allow":[{"path":"*"}]}`:                             "",
		`{"identifier":"fs:scope","allow":[{"path":"/*"}]}`:                            "",
		`{"identifier":"fs:scope","allow":[{"path":"$HOME"}]}`:                         "",
		`{"identifier":"fs:scope","allow":[{"path":"~/**"}]}`:                          "",
		`{"identifier":"fs:scope","allow":[{"path":"**"}]}`:                            "all files of the computer",
		`{"identifier":"opener:allow-open-url","allow":[{"url":"obsidian://*"}]}`:      "",
		`{"identifier":"opener:allow-open-url","allow":[{"url":"https://a.com*"}]}`:    `"https://a.com*" is open`,
		`{"identifier":"opener:allow-open-url","allow":["https://a*","https://bb.*"]}`: `"https://bb.*" are open`,
	} {
		text := `{"identifier":"a","windows":["main"],"permissions":[` + entry + `]}`
		found := fmt.Sprint(Check([]*capability.Document{capability.Parse([]byte(text), capability.Options{})},
			capability.CoreManifests(), Options{ResolveOptions: capability.ResolveOptions{Partial: true}}))
		require.Contains(t, found, want, entry)
		require.Equal(t, want != "", strings.Contains(found, "scope-all-files") ||
			strings.Contains(found, "open-host-suffix") || strings.Contains(found, "scope-any-host"), found)
		require.NotContains(t, found, "%[1]s")
	}
	for url, want := range map[string]bool{"http://tauri.localhost": false, "http://localhost": true} {
		text := `{"identifier":"a","windows":["main"],"remote":{"urls":["` + url +
			`"]},"permissions":["core:default"]}`
		found := fmt.Sprint(Check([]*capability.Document{capability.Parse([]byte(text), capability.Options{})},
			capability.CoreManifests(), Options{}))
		require.Equal(t, want, strings.Contains(found, "remote-default-port"), url)
	}
}
