package lint_test

import (
	"io"
	"testing"

	"lessonkit.example/capability"
	"lessonkit.example/capability/capdiff"
	"lessonkit.example/capability/lint"
	"lessonkit.example/capability/report"
)

// maxFuzzed is the size up to which inputs are fuzzed; the bound of memory is for a megabyte.
const maxFuzzed = 64 << 10

var fuzzedFiles = []string{
	`{"identifier":"a","windows":["m*"],"permissions":["core:default",{"identifier":"fs:scope","allow":["**"]}]}`,
	`[{"identifier":"a","local":false,"remote":{"urls":["https://*.a.b/:c"]},"webviews":["**/[a-z]"],` +
		`"permissions":[]}]`,
	"identifier = \"a\"\npermissions = [{identifier = \"x\", allow = [1, inf, 2020-01-01]}]\n[remote]\nurls = []\n",
	"a.b.c = {d = [\n1, # one\n]}\n[[e]]\n[e.f]\n",
	"// comment\n{identifier: 'a', permissions: [+.5, 0x1F, NaN,]}",
}

// FuzzEffort proves that no file, in any format, takes long or much memory to be read, checked,
// resolved and compared.
func FuzzEffort(f *testing.F) {
	for _, text := range fuzzedFiles {
		for format := range byte(3) {
			f.Add([]byte(text), format)
		}
	}
	core := capability.CoreManifests()
	f.Fuzz(func(t *testing.T, text []byte, form byte) {
		if len(text) > maxFuzzed {
			t.Skip()
		}
		bounded(t, "input", func() {
			o := capability.Options{Format: []capability.Format{capability.JSON, capability.JSON5,
				capability.TOML}[form%3]}
			d := capability.Parse(text, o)
			found := lint.Check([]*capability.Document{d}, core, lint.Options{})
			_ = report.Text(io.Discard, found, report.TextOptions{})
			after := &capability.App{Documents: []*capability.Document{d}, Manifests: core}
			capdiff.Compare(&capability.App{Manifests: core}, after, capability.Linux)
			policy, _ := capability.Resolve(d.Capabilities(), core, capability.ResolveOptions{Partial: true})
			_ = policy.Explain(command("window.close"), capability.Caller{Window: "m"}).String()
		})
	})
}

// FuzzEffortOfManifests proves the same of manifests, permission files and configurations.
func FuzzEffortOfManifests(f *testing.F) {
	f.Add([]byte(`{"x":{"default_permission":{"permissions":["s"]},` +
		`"permission_sets":{"s":{"permissions":["s","a"]}},` +
		`"permissions":{"a":{"commands":{"allow":["b"]},"scope":{"deny":[1]}}},"commands":["c"]}}`))
	f.Add([]byte("[default]\npermissions = [\"a\"]\n[[permission]]\nidentifier = \"a\"\n" +
		"commands.allow = [\"b\"]\n"))
	f.Add([]byte(`{"app":{"security":{"capabilities":["a",{"identifier":"b","permissions":["x:s"]}]}}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) > maxFuzzed {
			t.Skip()
		}
		bounded(t, "input", func() {
			m := capability.CoreManifests()
			m.Load("acl-manifests.json", text)
			for _, form := range []capability.Format{capability.JSON, capability.TOML} {
				d := capability.ParseValue(text, capability.Options{Format: form})
				m.LoadPermissions("x", d)
				(&capability.App{Config: d}).Capabilities("")
				lint.Check([]*capability.Document{capability.Inlined(d)}, m, lint.Options{})
			}
			for _, id := range m.Identifiers() {
				m.Expand(id)
			}
		})
	})
}
