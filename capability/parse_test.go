package capability

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"lessonkit.example/capability/internal/limit"
	"lessonkit.example/capability/internal/syntax"
)

// codes returns "line:column code" of each diagnostic.
func codes(ds Diagnostics) []string {
	list := []string{}
	for _, d := range ds {
		list = append(list, fmt.Sprintf("%s %s", d.Start, d.Code))
	}
	return list
}

func TestParseReadsTheThreeForms(t *testing.T) {
	t.Parallel()
	one := `{"identifier":"a","permissions":["core:default"]}`
	for form, want := range map[string]int{
		one:                                    1,
		"[" + one + "," + one + "]":            2,
		`{"capabilities":[` + one + `]}`:       1,
		`{"capabilities":[]}`:                  0,
		`[]`:                                   0,
		`{"capabilities":[],"identifier":"a"}`: 0, // the key decides the form
	} {
		d := Parse([]byte(form), Options{})
		require.Empty(t, d.Check(), form)
		require.Len(t, d.Capabilities(), want, form)
	}
}

func TestParseFillsInDefaults(t *testing.T) {
	t.Parallel()
	d := Parse([]byte(`{"identifier":"a","permissions":["x", `+
		`{"identifier":"plugin:perm","allow":[],"deny":null}],"remote":null,"platforms":null}`), Options{})
	require.Empty(t, d.Check())
	c := d.Capabilities()[0]
	require.True(t, c.Local)
	require.Nil(t, c.Platforms)
	require.Nil(t, c.Remote)
	require.Equal(t, "x", c.Permissions[0].Identifier)
	require.NotNil(t, c.Permissions[1].Allow)
	require.Empty(t, c.Permissions[1].Allow)
	require.Nil(t, c.Permissions[1].Deny)
	none := Parse([]byte(`{"identifier":"a","permissions":[]}`), Options{}).Capabilities()[0].Permissions
	require.True(t, none != nil && len(none) == 0, "an empty list is not a missing one")
}

func TestEveryValueKnowsItsPlace(t *testing.T) {
	t.Parallel()
	d := Parse([]byte("{\n  \"é\": 1, \"identifier\": \"a\",\n  \"permissions\": [\"x\",\n    {\"identifier\": "+
		"\"y\", \"a/b~c\": 2}]}"), Options{})
	entry := d.Capabilities()[0].Permissions[1]
	require.Equal(t, "4:5", entry.Value().Position().String())
	require.Equal(t, "/permissions/1", entry.Value().Path())
	require.Equal(t, "4:20", entry.Value().Get("identifier").Position().String())
	require.Equal(t, "/permissions/1/a~1b~0c", entry.Value().Get("a/b~c").Path())
	require.Equal(t, "2:25", d.Root().Get("identifier").Position().String(), "columns are characters")
}

// Each of these is one mistake and must be one diagnostic, at the right place,
// with a message that says what would be right.
func TestOneMistakeIsOneDiagnostic(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ in, place, message string }{
		{`{"identifier":"a","permissions":"core:default"}`, "1:33 wrong-type", `write ["core:default"]`},
		{`{"identifier":"a","permissions":null}`, "1:33 wrong-type", "must not be null"},
		{`{"identifier":"a","permissions":[5]}`, "1:34 wrong-type", `such as "core:default"`},
		{`{"identifier":"a","permissions":[{"allow":[]}]}`, "1:34 missing-field", `has no "identifier"`},
		{`{"identifier":5,"permissions":[]}`, "1:15 wrong-type", "a string"},
		{`{"permissions":[]}`, "1:1 missing-field", `"identifier": "main-capability"`},
		{`{"identifer":"a","permissions":[]}`, "1:2 missing-field", `did you mean "identifier"?`},
		{`{"identifier":"a","permission":[]}`, "1:19 missing-field", `did you mean "permissions"?`},
		{`{"identifier":"a","permissions":[],"windows":"main"}`, "1:46 wrong-type", `write ["main"]`},
		{`{"identifier":"a","permissions":[],"windows":null}`, "1:46 wrong-type", "left out"},
		{`{"identifier":"a","permissions":[],"windows":[1]}`, "1:47 wrong-type", "must be a string"},
		{`{"identifier":"a","permissions":[],"local":"yes"}`, "1:44 wrong-type", "true or false"},
		{`{"identifier":"a","permissions":[],"platforms":["macos"]}`, "1:49 unknown-platform",
			`did you mean "macOS"?`},
		{`{"identifier":"a","permissions":[],"platforms":["FreeBSD"]}`, "1:49 unknown-platform", "linux, macOS"},
		{`{"identifier":"a","permissions":[],"remote":{"url":["x"]}}`, "1:46 missing-field", `did you mean "urls"?`},
		{`{"identifier":"a","permissions":[],"remote":{"urls":"https://x"}}`, "1:53 wrong-type",
			`write ["https://x"]`},
		{`{"identifier":"a","permissions":["fs.exists"]}`, "1:34 identifier-syntax",
			`did you mean "fs:allow-exists"?`},
		{`{"identifier":"a","permissions":[{"identifier":"fs:scope","allow":"x"}]}`, "1:67 wrong-type", `write ["x"]`},
		{`5`, "1:1 wrong-type", "a capability object"},
		{`[5]`, "1:2 wrong-type", "must be an object"},
		{`{"capabilities":{}}`, "1:17 wrong-type", "an array of capabilities"},
		{``, "1:1 syntax", "empty"},
		{"\ufeff" + `{"identifier":"a","permissions":[]}`, "1:1 byte-order-mark", "UTF-8 without BOM"},
		{`{"identifier":"a","permissions":[],}`, "1:35 trailing-comma", "remove it"},
		{`{"identifier":"a","permissions":["x",]}`, "1:37 trailing-comma", "remove it"},
		{"{\"identifier\":\"a\", // b\n// c\n\"permissions\":[]}", "1:20 comment", "first of 2"},
		{"{\"identifier\":\"a\", /* b */ \"permissions\":[]}", "1:20 comment", ".json5"},
		{`{"identifier":"a" "permissions":[]}`, "1:18 syntax",
			`comma is missing between the previous value and "permissions"`},
		{`{"identifier":"a",,"permissions":[]}`, "1:19 syntax", "no value before it"},
		{`{"identifier" "a","permissions":[]}`, "1:15 syntax", "colon is missing"},
		{`{identifier:"a","permissions":[]}`, "1:2 not-json", `write "identifier"`},
		{`{'identifier':"a","permissions":[]}`, "1:2 not-json", "double quotes"},
		{`{"identifier":"a","permissions":[]`, "1:1 syntax", "never closed"},
		{`{"identifier":"a","permissions":[]} {}`, "1:37 syntax", "one array"},
		{`{"identifier":"a","permissions":[],"local":True}`, "1:44 syntax", "true in lower case"},
		{`{"identifier":"a","permissions":[],"x":01}`, "1:40 syntax", "not a number"},
		{`{"identifier":"a","permissions":[],"x":1e999}`, "1:40 number-range", "64-bit"},
		{`{"identifier":"a","permissions":[],"x":"\ud800"}`, "1:41 surrogate", "half"},
		{`{"identifier":"a","permissions":[],"x":"\q"}`, "1:41 not-json", "backslash"},
		{"{\"identifier\":\"a\",\"permissions\":[],\"x\":\"a\tb\"}", "1:42 syntax", `\u0009`},
		{"{\"identifier\":\"a\",\"permissions\":[],\"x\":\"\xff\"}", "1:41 encoding", "UTF-8"},
		{`{"identifier":"a","permissions":["x","x"]}`, "1:38 duplicate-permission", "line 1"},
		{`{"identifier":"a","identifier":"b","permissions":[]}`, "1:19 duplicate-key", "last one counts"},
		{`[{"identifier":"a","identifier":"b","permissions":[]}]`, "1:20 duplicate-field", "array of capabilities"},
		{`[{"identifier":"a","remote":{"urls":["https://a"],"urls":["https://b"]},"permissions":[]}]`,
			"1:51 duplicate-field", "array of capabilities"},
		{`[{"identifier":"a","permissions":[{"identifier":"x:y","allow":[{"path":"a","path":"b"}]}]}]`,
			"1:76 duplicate-key", "last one counts"},
		{`{"capabilities":[],"capabilities":[]}`, "1:20 duplicate-key", "last one counts"},
	} {
		ds := Parse([]byte(c.in), Options{}).Check()
		require.Equal(t, []string{c.place}, codes(ds), c.in)
		require.Contains(t, ds[0].Message, c.message, c.in)
		require.True(t, strings.HasSuffix(ds[0].Message, ".") || strings.HasSuffix(ds[0].Message, "?"), ds[0].Message)
		if ds[0].Fix != nil {
			_, err := Apply(c.in, ds[0].Fix.Edits)
			require.NoError(t, err)
		}
	}
}

func TestFindingsOfARuleAreListedUpTo200(t *testing.T) {
	t.Parallel()
	for _, n := range []int{200, 201, 500} {
		list := func(item string) string { return "[" + strings.Repeat(item+",", n-1) + item + "]" }
		m := &Manifests{}
		set := `{"set":[{"identifier":"s","permissions":` + list(`"y"`) + "}]}"
		require.Empty(t, m.LoadPermissions("x", ParseValue([]byte(set), Options{})))
		for code, text := range map[Code]string{
			codeIdentifierSyntax: `"permissions":` + list(`"fs.a"`),
			syntax.FaultSyntax:   `"permissions":["x"` + strings.Repeat(` "x"`, n) + "]",
			codeUnknownSetMember: `"permissions":["x:s"]`,
			codeWindowPattern:    `"permissions":[],"windows":` + list(`"["`),
			codeRemotePattern:    `"permissions":[],"remote":{"urls":` + list(`"https://[::1]"`) + "}",
		} {
			d := Parse([]byte(`{"identifier":"a",`+text+"}"), Options{})
			_, found := Resolve(d.Capabilities(), m, ResolveOptions{})
			isOther := func(d Diagnostic) bool { return d.Code != code }
			ds := slices.DeleteFunc(append(d.Check(), found...), isOther)
			require.Len(t, ds, min(n, 201), "%d %s", n, code)
			require.Equal(t, n > 200, strings.HasPrefix(ds[len(ds)-1].Message, "There are more findings"), code)
		}
	}
}

func TestAllMistakesAreReportedInOnePass(t *testing.T) {
	t.Parallel()
	d := Parse([]byte(`{
  "identifer": "a", // the name
  "permissions": ["fs.exists", 5, {"identifier": "x", "allow": 1}],
  "windows": "main",
  "platforms": ["macos"],
}`), Options{})
	require.Equal(t, []string{"2:3 missing-field", "2:21 comment", "3:19 identifier-syntax", "3:32 wrong-type",
		"3:64 wrong-type", "4:14 wrong-type", "5:17 unknown-platform", "5:25 trailing-comma"},
		codes(d.Check()))
	require.Equal(t, "/permissions/2/allow", d.Check()[4].Path)
}

// Fixes applied together give a file that is sound.
func TestFixesRepairAFile(t *testing.T) {
	t.Parallel()
	text := "\ufeff{'identifier': 'a', // name\n permissions: [\"fs.exists\", \"x\", \"x\",],\n windows: " +
		"\"main\", \"platforms\": [\"macos\"] }"
	d := Parse([]byte(text), Options{Format: JSON5})
	for range 4 {
		var edits []Edit
		for _, f := range d.Check() {
			if f.Fix != nil {
				edits = append(edits, f.Fix.Edits...)
			}
		}
		fixed, err := Apply(d.Source(), edits)
		require.NoError(t, err)
		d = Parse([]byte(fixed), Options{Format: JSON5})
	}
	require.Empty(t, d.Check(), d.Source())
	require.Len(t, d.Capabilities()[0].Permissions, 2)
}

// The build reads files as the reference implementation does, without the schema.
func TestErrorsMeanThatTheBuildRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rule, in string
		builds   bool
	}{
		{"duplicates in permissions are refused by the schema, not by the build",
			`{"identifier":"a","permissions":["x","x"]}`,
			true},
		{"equal objects are duplicates too",
			`{"identifier":"a","permissions":[{"identifier":"x","allow":[{"a":1,"b":2}]},{"allow":[{"b":2.0,` +
				`"a":1}],"identifier":"x"}]}`, true},
		{"an object and a string are not equal", `{"identifier":"a","permissions":["x",{"identifier":"x"}]}`, true},
		{"the identifier of a capability has no grammar", `{"identifier":"fs_perms","permissions":[]}`, true},
		{"an object with capabilities is a list",
			`{"identifier":"a","permissions":[],"capabilities":5}`, false},
		{"and its capability keys do not matter", `{"identifier":5,"permissions":5,"capabilities":[]}`, true},
		{"which counts although the object could be a capability",
			`{"identifier":"a","permissions":[1],"capabilities":[{}]}`,
			false},
		{"a key must not be written twice in an array",
			`[{"identifier":"a","identifier":"b","permissions":[]}]`, false},
		{"not in an object", `{"identifier":1,"identifier":"b","permissions":[]}`, true},
		{"nor in a named list", `{"capabilities":[{"identifier":"a","identifier":"b","permissions":[]}]}`, true},
		{"doubled keys of remote in an array", `[{"identifier":"a","permissions":[],"remote":{"urls":[],"urls":[]}}]`,
			false},
		{"doubled keys of an entry in an array",
			`[{"identifier":"a","permissions":[{"identifier":"x","allow":[],"allow":[]}]}]`, false},
		{"doubled unknown keys are ignored", `[{"identifier":"a","permissions":[],"x":1,"x":2}]`, true},
		{"the last of a doubled key counts", `{"identifier":"a","permissions":[],"windows":["a"],"windows":"b"}`,
			false},
		{"numbers beyond 64 bits, also under an unknown key", `{"identifier":"a","permissions":[],"x":1e400}`, false},
		{"though not in an entry", `[{"identifier":"a","permissions":[{"identifier":"x","y":1e400}]}]`, false},
		{"large integers become floats",
			`{"identifier":"a","permissions":[{"identifier":"x","allow":[99999999999999999999]}]}`, true},
		{"unknown keys are allowed everywhere",
			`{"identifier":"a","permissions":[{"identifier":"x","scope":1}],"x":2,"remote":{"urls":[],"y":3}}`, true},
		{"null where it may stand",
			`{"identifier":"a","permissions":[{"identifier":"x","allow":null,"deny":null}],"remote":null,` +
				`"platforms":null}`, true},
		{"null local", `{"identifier":"a","permissions":[],"local":null}`, false},
		{"a pattern is compiled when it is resolved",
			`{"identifier":"a","permissions":[],"windows":["a**"],"remote":{"urls":["https://[::1]"]}}`, true},
	} {
		d := Parse([]byte(c.in), Options{})
		require.Equal(t, c.builds, !d.Check().HasErrors(), "%s: %v", c.rule, d.Check())
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	nested := func(depth int) []byte {
		return []byte(`{"identifier":"a","permissions":[],"x":` + strings.Repeat("[", depth-1) +
			strings.Repeat("]", depth-1) + "}")
	}
	require.Empty(t, Parse(nested(127), Options{}).Check())
	require.EqualValues(t, syntax.FaultTooDeep, Parse(nested(128), Options{}).Check()[0].Code)
	require.Contains(t, codes(Parse(bytes.Repeat([]byte("["), 1<<20), Options{}).Check()), "1:128 too-deep")
	require.EqualValues(t, syntax.FaultTooLarge, Parse(make([]byte, 1<<20+1), Options{}).Check()[0].Code)
	require.LessOrEqual(t, len(Parse(bytes.Repeat([]byte(","), 1000), Options{}).Check()), 3*limit.PerRule)
}

func TestJSON5(t *testing.T) {
	t.Parallel()
	d := Parse([]byte(`// first
{ identifier: 'it\'s', /* two */ "permissions": ['core:default', {identifier: "x", allow: [{n: [0x1F, +.5, 5.,
      -1e2], s: "a\
b\x41", $id: null,},],},], // last
  ünïcode_key: true, "local": false, }`), Options{Format: JSON5})
	require.Empty(t, d.Check())
	c := d.Capabilities()[0]
	require.Equal(t, "it's", c.Identifier)
	require.False(t, c.Local)
	text, err := json.Marshal(c.Permissions[1].Allow[0])
	require.NoError(t, err)
	require.JSONEq(t, `{"n":[31,0.5,5,-100],"s":"abA","$id":null}`, string(text))
	for _, bad := range []string{`{identifier: a}`, `{"a" 1}`, `{a: 1,, b: 2}`,
		`{"identifier": "a", "permissions": [], x: NaN}`, `{1a: 2}`, `# x`} {
		require.True(t, Parse([]byte(bad), Options{Format: JSON5}).Check().HasErrors(), bad)
	}
}

// Every file of the corpus builds, so none has an error.
func TestFilesThatBuildAreAccepted(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/app/capabilities/*")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	if dir := os.Getenv("CAPABILITY_CORPUS"); dir != "" {
		real, err := filepath.Glob(filepath.Join(dir, "*.[jt]*[nl5]"))
		require.NoError(t, err)
		files = append(files, real...)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		d := Parse(text, Options{Name: filepath.Base(file)})
		require.NoError(t, d.Check().Err(), file)
		require.NotEmpty(t, d.Capabilities(), file)
		if d.Format() == JSON { // encoding/json reads the same values
			var want any
			require.NoError(t, json.Unmarshal(text, &want))
			require.Equal(t, want, d.Root().Interface(), file)
		}
	}
}

// golden compares with a file of testdata/app; -update writes it.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", "app", name)
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), got)
}

var update = flag.Bool("update", false, "write the golden files")

// What each file of the application grants on Linux, with the permissions that lead to it. Its own
// manifests contain all that its capabilities refer to. Those of a desktop build lack the plugins
// for mobile, which is an error only if one resolves for mobile with them.
func TestApplicationGrants(t *testing.T) {
	t.Parallel()
	app, err := LoadApp(os.DirFS("testdata/app"), AppOptions{NoManifests: true})
	require.NoError(t, err)
	all, _ := app.Capabilities("")
	text, err := os.ReadFile("testdata/app/gen/schemas/acl-manifests.json")
	require.NoError(t, err)
	m := CoreManifests()
	require.Empty(t, m.Load("acl-manifests.json", text))
	require.True(t, m.Whole())
	for _, platform := range append(Platforms(), "") {
		_, found := Resolve(all, m, ResolveOptions{Platform: platform})
		require.Equal(t, platform == Android || platform == IOS, found.HasErrors(), "%s: %v", platform, found)
		for _, d := range found {
			require.Contains(t, []Code{codeUnknownPlugin, codeUncheckedPlugin}, d.Code)
		}
	}
	p, found := Resolve(all, m, ResolveOptions{Platform: Linux})
	require.Empty(t, found)
	var b strings.Builder
	for _, line := range snapshot(p) {
		if !strings.Contains(line, "plugin:path|") && !strings.Contains(line, "plugin:image|") {
			b.WriteString(line + "\n")
		}
	}
	golden(t, "grants.txt", b.String())
}

// FuzzParse compares with encoding/json: both take the same texts for JSON and
// give the same values, except for what is stricter here by intent.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{`{"identifier":"a","permissions":["x",{"identifier":"y","allow":[1.5e3,null,` +
		`true]}]}`, `[{}]`, `{"capabilities":[]}`, "// x\n[1,]", `{'a':+.5,}`, `"\ud83d\ude00\u00e9"`, "\ufeff{}",
		`{"a":{"b":[[],{}]},"a":1}`} {
		f.Add([]byte(seed), false)
		f.Add([]byte(seed), true)
	}
	f.Fuzz(func(t *testing.T, text []byte, json5 bool) {
		format := JSON
		if json5 {
			format = JSON5
		}
		d := Parse(text, Options{Format: format})
		for _, found := range d.Check() {
			require.NotEmpty(t, found.Message)
			require.True(t, utf8.ValidString(found.Message), "%q", found.Message)
			require.LessOrEqual(t, found.End.Offset, len(text))
			if found.Fix != nil {
				_, err := Apply(string(text), found.Fix.Edits)
				require.NoError(t, err)
			}
		}
		textual := map[Code]bool{syntax.FaultSyntax: true, syntax.FaultComment: true, syntax.FaultTrailingComma: true,
			syntax.FaultNotJSON: true, syntax.FaultByteOrderMark: true, syntax.FaultEncoding: true,
			syntax.FaultTooDeep: true}
		sound := true
		for _, found := range d.Check() {
			sound = sound && !textual[found.Code]
		}
		if json.Valid(text) && utf8.Valid(text) {
			require.True(t, sound || bytes.Count(text, []byte("["))+bytes.Count(text, []byte("{")) > 127, "%s: %v",
				text, d.Check())
			var want any
			if json.Unmarshal(text, &want) == nil && sound {
				require.Equal(t, want, d.Root().Interface())
			}
		} else if !json5 {
			require.False(t, sound, "%q is no JSON and nothing was found", text)
		}
		if sound {
			out, err := d.Root().MarshalJSON()
			require.NoError(t, err)
			require.True(t, json.Valid(out), "%s", out)
		}
	})
}
