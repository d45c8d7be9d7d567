package capability

import (
	"path/filepath"
	"strings"
	"testing"

	"os"

	"github.com/stretchr/testify/require"
)

const scopedPlugin = `{
  "shell": {"default_permission": null, "permission_sets": {}, "global_scope_schema": null, "permissions": {
    "allow-execute": {"identifier": "allow-execute", "description": "", "commands": {"allow": ["execute"], "deny": []}},
    "deny-execute": {"identifier": "deny-execute", "description": "", "commands": {"allow": [], "deny": ["execute"]}},
    "allow-open": {"identifier": "allow-open", "description": "", "commands": {"allow": ["open"], "deny": []}, "platforms": ["linux"]}}},
  "fs": {"default_permission": null, "permission_sets": {}, "permissions": {
    "allow-read": {"identifier": "allow-read", "description": "", "commands": {"allow": ["read"], "deny": []}},
    "scope": {"identifier": "scope", "description": "", "commands": {"allow": [], "deny": []}}},
    "global_scope_schema": {"anyOf": [{"type": "string"}, {"type": "object", "required": ["path"], "properties": {"path": {"type": "string"}}}]}},
  "http": {"default_permission": null, "permission_sets": {}, "global_scope_schema": null, "permissions": {
    "allow-fetch": {"identifier": "allow-fetch", "description": "", "commands": {"allow": ["fetch"], "deny": []}}}},
  "sql": {"default_permission": null, "permission_sets": {}, "global_scope_schema": null, "permissions": {
    "allow-load": {"identifier": "allow-load", "description": "", "commands": {"allow": ["load"], "deny": []}}}}
}`

func lintManifests(t testing.TB) *Manifests {
	t.Helper()
	m := CoreManifests()
	require.Empty(t, m.Load("acl-manifests.json", []byte(scopedPlugin)))
	return m
}

func lint(t testing.TB, texts ...string) Diagnostics {
	t.Helper()
	var docs []*Document
	for i, text := range texts {
		docs = append(docs, Parse([]byte(text), Options{Name: string(rune('a'+i)) + ".json"}))
	}
	return LintAll(docs, lintManifests(t), LintOptions{})
}

// Each rule finds its pattern, at its place, and nothing else is found there.
func TestLintRules(t *testing.T) {
	t.Parallel()
	const head = `{"identifier":"a","windows":["main"],`
	for _, c := range []struct {
		in, path, message string
		code              Code
	}{
		{head + `"permissions":["core:default"],"permission":[]}`, "/permission", "is ignored", CodeUnknownKey},
		{head + `"permissions":["core:default"],"platform":["linux"]}`, "/platform", `did you mean "platforms"?`, CodeUnknownKey},
		{head + `"permissions":[{"identifier":"fs:scope","scope":{}}]}`, "/permissions/0/scope", "beside", CodeUnknownKey},
		{head + `"permissions":[{"identifier":"fs:scope","windows":[]}]}`, "/permissions/0/windows", "belongs to the capability", CodeUnknownKey},
		{head + `"permissions":["core:default"],"remote":{"urls":["https://a.b"],"hosts":[]}}`, "/remote/hosts", "there are urls", CodeUnknownKey},
		{`{"identifier":"a","permissions":["core:default"]}`, "/identifier", `add "windows"`, CodeNoWindows},
		{head + `"local":false,"permissions":["core:default"]}`, "/local", "lists no URL", CodeNoOrigin},
		{head + `"platforms":[],"permissions":["core:default"]}`, "/platforms", "leave it out", CodeEmptyPlatforms},
		{head + `"permissions":[]}`, "/permissions", "grants nothing", CodeEmptyPermissions},
		{`{"identifier":"a","windows":["{main,other}"],"permissions":["core:default"]}`, "/windows/0", "item of its own", CodeImpossibleLabel},
		{`{"identifier":"a","webviews":[" "],"permissions":["core:default"]}`, "/webviews/0", "No window", CodeImpossibleLabel},
		{`{"identifier":"a","windows":["main**"],"permissions":["core:default"]}`, "/windows/0", "whole component", CodeWindowPattern},
		{head + `"permissions":["shell:allow-execute",{"identifier":"shell:allow-execute","allow":[{"name":"x","cmd":"x"}]}]}`, "/permissions/0", "adds nothing", CodeBareAndScoped},
		{head + `"permissions":[{"identifier":"fs:scope","allow":["$APP"]},{"identifier":"fs:scope","allow":["$LOG"]}]}`, "/permissions/1/identifier", "both add up", CodeScopedTwice},
		{head + `"permissions":[{"identifier":"shell:allow-execute","allow":[]}]}`, "/permissions/0/allow", "no limit", CodeEmptyAllow},
		{head + `"permissions":["fs:allow-read"]}`, "/permissions/0", "$APPDATA/**", CodeMissingScope},
		{head + `"permissions":["http:allow-fetch"]}`, "/permissions/0", "api.example.com", CodeMissingScope},
		{head + `"permissions":[{"identifier":"fs:scope","allow":[{"url":"x"}]}]}`, "/permissions/0/allow/0", "keys path", CodeUnusedScope},
		{head + `"permissions":["core:default","core:window:default"]}`, "/permissions/1", `already in "core:default"`, CodeRedundantPermission},
		{head + `"permissions":["core:default","core:app:allow-version"]}`, "/permissions/1", "can be removed", CodeRedundantPermission},
		{head + `"permissions":["shell:deny-execute"]}`, "/permissions/0", "nothing allows", CodeDeadDeny},
		{head + `"permissions":["shell:allow-execute","shell:deny-execute"]}`, "/permissions/1", "a denial wins", CodeAllowAndDeny},
		{head + `"permissions":[{"identifier":"fs:scope","allow":["$APP/**"],"deny":["$APP/**"]}]}`, "/permissions/0/allow/0", "allows and denies", CodeAllowAndDeny},
		{head + `"platforms":["macOS"],"permissions":["shell:allow-open"]}`, "/permissions/0", "on linux only", CodePlatformMismatch},
		{head + `"permissions":["shell:allow--x"]}`, "/permissions/0", "older releases", CodeDoubleHyphen},
		{head + `"permissions":["core:default"],"remote":{"urls":["example.com/x"]}}`, "/remote/urls/0", "path on every host", CodeRemoteWithoutScheme},
		{head + `"permissions":["core:default"],"remote":{"urls":["localhost:1420"]}}`, "/remote/urls/0", `write "http://localhost:1420"`, CodeRemoteWithoutScheme},
		{head + `"permissions":["core:default"],"remote":{"urls":["http://localhost"]}}`, "/remote/urls/0", "http://localhost:*", CodeRemoteDefaultPort},
		{head + `"permissions":["core:default"],"remote":{"urls":["https://*:*"]}}`, "/remote/urls/0", "every site", CodeRemoteAnyHost},
		{head + `"permissions":["core:default"],"remote":{"urls":["https://*:*","http://localhost:1420"]}}`, "/remote/urls/0", "is for https only", CodeRemoteMissesHTTP},
		{head + `"permissions":["core:default"],"remote":{"urls":["http://example.com"]}}`, "/remote/urls/0", "not encrypted", CodeRemotePlainHTTP},
		{head + `"permissions":["core:default"],"remote":{"urls":["https://[::1]"]}}`, "/remote/urls/0", "IPv6", CodeRemotePattern},
		{head + `"permissions":["sql:allow-load"],"remote":{"urls":["https://a.example"]}}`, "/permissions/0", "remote pages", CodeRemoteDangerous},
		{`{"identifier":"a","windows":["*"],"permissions":["sql:allow-load"]}`, "/permissions/0", "every window", CodeAnyWindowDangerous},
		{head + `"permissions":[{"identifier":"fs:scope","allow":["**"]}]}`, "/permissions/0/allow/0", "all files", CodeScopeAllFiles},
		{head + `"permissions":[{"identifier":"fs:scope","allow":[{"path":"$HOME/**"}]}]}`, "/permissions/0/allow/0/path", "passwords", CodeScopeAllFiles},
		{head + `"permissions":[{"identifier":"http:allow-fetch","allow":[{"url":"https://*"}]}]}`, "/permissions/0/allow/0/url", "https://*:*", CodeScopeAnyHost},
		{head + `"permissions":[{"identifier":"shell:allow-execute","allow":[{"name":"x","cmd":"x","args":true}]}]}`, "/permissions/0/allow/0/args", "any arguments", CodeShellAnyArguments},
		{head + `"permissions":[{"identifier":"shell:allow-execute","allow":[{"name":"x","cmd":"x","args":["-c",{"validator":"\\S+"}]}]}]}`, "/permissions/0/allow/0/args/1/validator", "nearly every", CodeShellAnyArguments},
		{head + `"permissions":[{"identifier":"shell:allow-execute","allow":[{"name":"x","cmd":"x","args":[{"validator":"[a-z]+","raw":true}]}]}]}`, "/permissions/0/allow/0/args/0/validator", "^ before", CodeShellOpenValidator},
	} {
		found := false
		for _, d := range lint(t, c.in) {
			if d.Code != c.code {
				continue
			}
			found = true
			require.Equal(t, c.path, d.Path, c.in)
			require.Contains(t, d.Message, c.message, c.in)
			require.Equal(t, ruleOf(c.code).Lint, d.Severity)
		}
		require.True(t, found, "%s finds nothing in %s", c.code, c.in)
	}
}

func TestLintLeavesSoundFilesAlone(t *testing.T) {
	t.Parallel()
	for _, in := range []string{
		`{"$schema":"../gen/schemas/desktop-schema.json","identifier":"a","description":"","windows":["main","settings-[0-9]"],"permissions":["core:default","core:window:allow-close",{"identifier":"fs:scope","allow":["$APP/**"]},"fs:allow-read"]}`,
		`{"identifier":"a","local":false,"windows":["main"],"remote":{"urls":["https://*.example.com"]},"platforms":["linux"],"permissions":["core:event:default","core:window:allow-close"]}`,
		`{"capabilities":[{"identifier":"a","webviews":["x"],"permissions":[{"identifier":"http:allow-fetch","allow":[{"url":"https://api.example.com/*"}]}]}]}`,
	} {
		require.Empty(t, lint(t, in), in)
	}
}

// A value of the wrong type is one mistake: it is not also taken for missing.
func TestLintDoesNotReportConsequences(t *testing.T) {
	t.Parallel()
	ds := lint(t, `{"identifier":"a","windows":"main","permissions":["core:default"],"platforms":["macos"],"local":false,"remote":{"urls":"https://x.example"}}`)
	require.Equal(t, []string{"1:29 wrong-type", "1:80 unknown-platform", "1:120 wrong-type"}, codes(ds))
	ds = lint(t, `{"identifer":"a","window":["main"],"permissions":["core:default"]}`)
	require.Equal(t, []string{"1:2 missing-field", "1:18 unknown-key"}, codes(ds))
}

func TestLintAcrossFiles(t *testing.T) {
	t.Parallel()
	ds := lint(t, `{"identifier":"a","windows":["m"],"permissions":["shell:allow-execute"]}`,
		`{"identifier":"b","windows":["n"],"permissions":["shell:deny-execute"]}`,
		`{"identifier":"a","windows":["o"],"permissions":["core:default"]}`)
	require.Equal(t, []string{"1:50 deny-everywhere", "1:15 duplicate-capability"}, codes(ds))
	require.Equal(t, "b.json", ds[0].File)
	require.Contains(t, ds[0].Message, `where "a" allows it`)
	require.Contains(t, ds[1].Message, "in a.json:1")
	require.Equal(t, "a.json", ds[1].Related[0].File)
}

func TestLintSaysThatJSON5NeedsAFeature(t *testing.T) {
	t.Parallel()
	d := Parse([]byte(`{identifier: "a", windows: ["m"], permissions: ["core:default"]}`), Options{Format: JSON5})
	ds := LintAll([]*Document{d}, lintManifests(t), LintOptions{})
	require.Equal(t, []string{"1:1 json5-feature"}, codes(ds))
}

func TestSeveritiesCanBeSet(t *testing.T) {
	t.Parallel()
	d := Parse([]byte(`{"identifier":"a","windows":["*"],"permissions":["sql:allow-load"]}`), Options{})
	ds := LintAll([]*Document{d}, lintManifests(t), LintOptions{Severities: map[Code]Severity{CodeAnyWindowDangerous: Error}})
	require.Equal(t, Error, ds.Worst())
	ds = LintAll([]*Document{d}, lintManifests(t), LintOptions{Severities: map[Code]Severity{CodeAnyWindowDangerous: Off}})
	require.Empty(t, ds)
}

func TestModesOfLintAll(t *testing.T) {
	t.Parallel()
	d := Parse([]byte(`{"identifier":"a","windows":["*"],"permissions":["sql:allow-load","sql:allow-load","nope:x"]}`), Options{})
	for mode, want := range map[Mode]string{
		ModeSchema:    "1:67 duplicate-permission",
		ModeReference: "1:84 unknown-plugin",
		ModeLint:      "1:50 any-window-dangerous,1:67 duplicate-permission,1:84 unknown-plugin",
	} {
		ds := LintAll([]*Document{d}, lintManifests(t), LintOptions{ResolveOptions: ResolveOptions{Mode: mode}})
		require.Equal(t, want, strings.Join(codes(ds), ","), mode)
	}
}

func TestEveryRuleIsDescribedOnce(t *testing.T) {
	t.Parallel()
	seen := make(map[Code]bool)
	for _, r := range Rules() {
		require.False(t, seen[r.Code], r.Code)
		seen[r.Code] = true
		require.NotEmpty(t, r.Summary)
		require.Regexp(t, `^[a-z0-9-]+$`, string(r.Code))
		require.Equal(t, r, ruleOf(r.Code))
	}
}

func TestConfigureSaysWhatIsActive(t *testing.T) {
	t.Parallel()
	caps := capabilities(t, `[{"identifier":"a","windows":["m"],"permissions":[]},{"identifier":"b","windows":["m"],"permissions":[]}]`)
	for config, want := range map[string]struct{ active, found string }{
		`{}`: {"a b", ""},
		`{"app":{"security":{"capabilities":[]}}}`:                                            {"a b", ""},
		`{"app":{"security":{"capabilities":["a"]}}}`:                                         {"a", "inactive-capability"},
		`{"app":{"security":{"capabilities":["a","bb"]}}}`:                                    {"a", "inactive-capability unknown-capability"},
		`{"app":{"security":{"capabilities":["a","b",{"identifier":"c","permissions":[]}]}}}`: {"a b c", ""},
		`{"app":{"security":{"capabilities":["a","b",{"identifier":"c"}]}}}`:                  {"a b c", ""},
		// As the reference inserts them: what is listed last replaces what has its name.
		`{"app":{"security":{"capabilities":["a","b",{"identifier":"a","windows":["x"],"permissions":[]},"b"]}}}`: {"a b", ""},
		`{"app":{"security":{"capabilities":["a","b",5]}}}`:                                                       {"a b", "wrong-type"},
	} {
		active, found := Configure(ParseValue([]byte(config), Options{Name: "zz.json"}), caps)
		var names, list []string
		for _, c := range active {
			names = append(names, c.Identifier)
		}
		for _, d := range found {
			list = append(list, string(d.Code))
		}
		require.Equal(t, want.active, strings.Join(names, " "), config)
		require.Equal(t, want.found, strings.Join(list, " "), config)
		if strings.Contains(config, `"x"`) {
			require.Equal(t, []string{"x"}, active[0].Windows, "the file's own is replaced")
		}
	}
}

// Capabilities inside the configuration are checked as those of files are.
func TestInlinedAreChecked(t *testing.T) {
	t.Parallel()
	config := ParseValue([]byte(`{"app":{"security":{"capabilities":["main",
		{"identifier":"extra","windows":["ma**"],"remote":{"urls":["https://*:*"]},"permisions":[],"permissions":["core:window:alow-close"]}]}}}`), Options{Name: "tauri.conf.json"})
	var codes []string
	for _, f := range LintAll([]*Document{Inlined(config)}, CoreManifests(), LintOptions{}) {
		require.Equal(t, 2, f.Start.Line)
		require.Contains(t, f.String(), "tauri.conf.json:2:")
		codes = append(codes, string(f.Code))
	}
	require.Subset(t, codes, []string{"window-pattern", "unknown-permission", "remote-any-host", "unknown-key"})
	require.Empty(t, config.Check(ModeLint))
	require.Empty(t, Inlined(ParseValue([]byte(`[]`), Options{})).Capabilities())
}

// Findings in real files are of known rules, and fixes leave a sound file.
func TestLintOnRealFiles(t *testing.T) {
	t.Parallel()
	m := realManifests(t, "HuLaSpark__HuLa.json")
	for _, file := range corpus(t, "*.json") {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		d := Parse(text, Options{Name: filepath.Base(file)})
		for _, f := range LintAll([]*Document{d}, m, LintOptions{}) {
			require.NotEqual(t, Rule{Code: f.Code, Lint: Warning}, ruleOf(f.Code))
			require.True(t, f.Start.IsValid())
			if f.Fix != nil {
				fixed, err := Apply(d.Source(), f.Fix.Edits)
				require.NoError(t, err)
				again := Parse([]byte(fixed), Options{})
				require.False(t, again.damaged, "%s: %s\n%s", file, f, fixed)
			}
		}
	}
}
