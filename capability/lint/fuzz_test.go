package lint_test

import (
	"testing"

	"lessonkit.example/capability"
	"lessonkit.example/capability/lint"
)

// maxFuzzed is the size up to which inputs are fuzzed; the bound of memory is for a megabyte.
const maxFuzzed = 64 << 10

// FuzzEffort proves that no file, in any format, takes long or much memory to be read, checked,
// resolved and compared.
func FuzzEffort(f *testing.F) {
	f.Add([]byte(`{"identifier":"a","windows":["m*"],"permissions":["core:default",{"identifier":"fs:scope",`+
		`"allow":["**"]}]}`), byte(0))
	f.Add([]byte(`[{"identifier":"a","local":false,"remote":{"urls":["https://*.a.b/:c"]},"webviews":["**/[a-z]"],`+
		`"permissions":[]}]`), byte(0))
	f.Add([]byte("// comment\n{identifier: 'a', permissions: [+.5, 0x1F, NaN,]}"), byte(1))
	f.Add([]byte("identifier = \"a\"\npermissions = [{identifier = \"x\", allow = [1, inf, 2020-01-01]}]\n[remote]\n"+
		"urls = []\n"), byte(2))
	f.Add([]byte("a.b.c = {d = [\n1, # one\n]}\n[[e]]\n[e.f]\n"), byte(2))
	f.Fuzz(func(t *testing.T, text []byte, form byte) {
		if len(text) > maxFuzzed {
			t.Skip()
		}
		formats := []capability.Format{capability.JSON, capability.JSON5, capability.TOML}
		allCommands(t, "input", string(text), capability.Options{Format: formats[form%3]}, "")
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
