package lint_test

import (
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lessonkit.example/capability"
	"lessonkit.example/capability/capdiff"
	"lessonkit.example/capability/lint"
	"lessonkit.example/capability/report"
	"lessonkit.example/internal/longtest"
)

// size is that of the hostile inputs. A megabyte is the most that is read of a file.
var size = longtest.Times(1<<17, 1<<20-1<<10)

// bounded fails the test if a function allocates more than 1.5 GiB in all, while a real application
// needs less than one. Unlike time and the size of the heap, that depends on the function
// alone. A function that never ends is left to the time limit of all tests.
func bounded(t testing.TB, what string, f func()) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	allocated := after.TotalAlloc - before.TotalAlloc
	t.Logf("%5d MiB: %s", allocated>>20, what)
	require.Less(t, allocated, uint64(3<<29), what)
}

// repeat returns a text of about the given size.
func repeat(head, separator string, item func(i int) string, tail string) string {
	var b strings.Builder
	b.WriteString(head)
	for i := 0; b.Len() < size-len(tail); i++ {
		if i > 0 {
			b.WriteString(separator)
		}
		b.WriteString(item(i))
	}
	b.WriteString(tail)
	return b.String()
}

func same(s string) func(int) string { return func(int) string { return s } }

func numbered(format string) func(int) string {
	return func(i int) string { return fmt.Sprintf(format, i) }
}

// allCommands does with a file what each command of the command line does. The manifests are those
// of a file, if its text is not empty.
func allCommands(t *testing.T, name, text string, o capability.Options, manifestText string) {
	t.Helper()
	read := func() (*capability.Document, *capability.Manifests) {
		m := capability.CoreManifests()
		if manifestText != "" {
			m.Load("acl-manifests.json", []byte(manifestText))
		}
		return capability.Parse([]byte(text), o), m
	}
	bounded(t, "check: "+name, func() {
		d, m := read()
		found := lint.Check([]*capability.Document{d}, m, lint.Options{})
		_ = report.Text(io.Discard, found, report.TextOptions{})
		_ = report.Encode(io.Discard, found)
		_ = report.SARIF(io.Discard, found, lint.Rules(), report.SARIFOptions{})
	})
	bounded(t, "explain: "+name, func() {
		d, m := read()
		policy, _ := capability.Resolve(d.Capabilities(), m, capability.ResolveOptions{Partial: true})
		caller := capability.Caller{Window: strings.Repeat("a", 100)}
		_ = policy.Explain(command("core:window:close"), caller).String()
		_ = policy.Explain(command("plugin:x|c5"), caller).String()
		policy.Callable(caller)
	})
	bounded(t, "diff: "+name, func() {
		d, m := read()
		after := &capability.App{Documents: []*capability.Document{d}, Manifests: m}
		changes := capdiff.Compare(&capability.App{Manifests: m}, after, capability.Linux)
		_ = report.Changes(io.Discard, changes, report.TextOptions{})
	})
}

func command(text string) capability.Command {
	c, err := capability.ParseCommand(text)
	if err != nil {
		panic(err)
	}
	return c
}

const head = `{"identifier":"a","windows":["m"],"permissions":[`

func TestHostileFilesAreJudgedWithBoundedEffort(t *testing.T) {
	longtest.Only(t)
	const core = `{"identifier":"a","permissions":["core:default"],"windows":["m"]`
	for name, text := range map[string]string{
		"equal permissions":   repeat(head, ",", same(`"fs:x"`), "]}"),
		"unknown permissions": repeat(head, ",", numbered(`"core:window:x-%d"`), "]}"),
		"unknown plugins":     repeat(head, ",", numbered(`"p%d:allow-x"`), "]}"),
		"bad identifiers":     repeat(head, ",", numbered(`"a_%d"`), "]}"),
		"one identifier":      head + `"` + strings.Repeat("a-", size/2) + `a"]}`,
		"scopes of one":       repeat(head, ",", numbered(`{"identifier":"core:default","allow":[%d]}`), "]}"),
		"one long scope": repeat(head+`{"identifier":"core:default","allow":[`, ",", numbered("%d"),
			`],"deny":[5]}]}`),
		"keys": repeat(`{"identifier":"a","permissions":[],`, ",", numbered(`"k%d":1`), "}"),
		"equal keys in arrays": repeat(`[{"identifier":"a","permissions":[],`, ",", same(`"windows":["m"]`),
			"}]"),
		"capabilities": repeat("[", ",",
			same(`{"identifier":"a","permissions":["core:default"],"windows":["m"]}`), "]"),
		"different capabilities": repeat("[", ",",
			numbered(`{"identifier":"a%d","permissions":["core:default"],"windows":["m%[1]d*"]}`), "]"),
		"patterns":           repeat(core[:len(core)-4], ",", numbered(`"*a?%d*"`), "]}"),
		"recursive patterns": core[:len(core)-4] + `"` + strings.Repeat("**/", 3000) + `"]}`,
		"URL paths":          repeat(core+`,"remote":{"urls":[`, ",", numbered(`"https://a.b/*x%d*"`), "]}}"),
		"URL of names":       core + `,"remote":{"urls":["https://a.b` + strings.Repeat(`/:a`, size/3) + `"]}}`,
		"URLs of names": repeat(core+`,"remote":{"urls":[`, ",", numbered(`"https://:h%d.b/:p/(x|y)*"`),
			"]}}"),
		"scopes of one and URLs": repeat(head, ",", numbered(`{"identifier":"core:default","allow":[%d]}`),
			`],"remote":{"urls":[`+strings.Repeat(`"https://a.*",`, 999)+`"https://b.*"]}}`),
		"bad patterns":      repeat(core[:len(core)-4], ",", same(`"["`), "]}"),
		"bad URLs":          repeat(core+`,"remote":{"urls":[`, ",", same(`"https://a:x"`), "]}}"),
		"faults":            repeat(head, ",", same("5 5"), "]}"),
		"unknown values":    repeat(head, ",", same("x"), "]}"),
		"unclosed":          strings.Repeat(`{"a":`, size/5),
		"brackets":          strings.Repeat("[", size),
		"comments":          strings.Repeat("//\n", size/3),
		"escapes":           head + `"` + strings.Repeat(`\ud800`, size/6) + `"]}`,
		"numbers":           repeat(head+`{"identifier":"x:y","allow":[`, ",", same("1e999"), "]}]}"),
		"one number":        head + `{"identifier":"x:y","allow":[` + strings.Repeat("9", size) + `]}]}`,
		"nested duplicates": strings.Repeat(`{"a":1,"a":`, 120) + "1" + strings.Repeat("}", 120),
	} {
		allCommands(t, name, text, capability.Options{Format: capability.JSON}, "")
		bounded(t, "JSON5: "+name, func() {
			capability.Parse([]byte(text), capability.Options{Format: capability.JSON5}).Check()
		})
	}
}

func TestHostileTOMLIsJudgedWithBoundedEffort(t *testing.T) {
	longtest.Only(t)
	const core = "identifier = \"a\"\npermissions = [\"core:default\"]\nwindows = [\"m\"]\n"
	for name, text := range map[string]string{
		"one dotted key": strings.Repeat("a.", size/2) + "a = 1",
		"dotted keys":    repeat("", "\n", numbered("a.b.c.d%d.e = 1"), "\n"),
		"nested headers": repeat(core, "\n", numbered("[a.b.c%d.d]"), "\n"),
		"equal keys":     repeat(core, "\n", same("a = 1"), "\n"),
		"equal headers":  repeat(core, "\n", same("[a]"), "\n"),
		"lists in lists": repeat(core, "\n", same("[[a]]\n[[a.b]]"), "\n"),
		"capabilities": repeat("", "\n",
			same("[[capabilities]]\nidentifier=\"a\"\npermissions=[\"core:default\"]"), "\n"),
		"inline tables":     repeat("a = [", ",", same("{a.b.c = 1}"), "]"),
		"keys of a table":   repeat("a = {", ",", numbered("k%d = 1"), "}"),
		"comments in array": "a = [" + strings.Repeat("#\n", size/2) + "]",
		"spaces":            repeat("a = [", ",", same(strings.Repeat(" ", 1000)+"1"), "]"),
		"arrays":            "a = " + strings.Repeat("[", size),
		"tables":            strings.Repeat("a = {", size/5),
		"numbers":           repeat("a = [", ",", same("inf"), "]"),
		"one number":        "a = " + strings.Repeat("9", size),
		"one string":        `a = "` + strings.Repeat(`\u0041`, size/6) + `"`,
		"quotes":            "a = " + strings.Repeat(`"`, size),
	} {
		allCommands(t, name, text, capability.Options{Format: capability.TOML}, "")
		bounded(t, "permissions: "+name, func() {
			m := capability.CoreManifests()
			m.LoadPermissions("x", capability.ParseValue([]byte(text), capability.Options{Format: capability.TOML}))
		})
	}
}

func TestHostileManifestsAreResolvedWithBoundedEffort(t *testing.T) {
	longtest.Only(t)
	const open = `{"x":{"permissions":{`
	const set = `"s%d":{"identifier":"s%[1]d","description":"","permissions":["s%[2]d","s%[2]d","s%[2]d"]}`
	nested := func(i int) string { return fmt.Sprintf(set, i, i+1) }
	for name, c := range map[string]struct{ manifests, entry string }{
		"nested sets": {repeat(open+`},"permission_sets":{`, ",", nested, `}}}`), "x:s0"},
		"wide sets": {repeat(open+`},"permission_sets":{`, ",", func(i int) string {
			return fmt.Sprintf(`"s%d":{"description":"","permissions":["s0","s1","s2","s3","s4","s5"]}`, i)
		}, `}}}`), "x:s9"},
		"missing members": {repeat(open+`},"permission_sets":{"s":{"description":"","permissions":[`, ",",
			numbered(`"m%d"`), `]}}}}`), "x:s"},
		"permissions": {repeat(open, ",", numbered(`"allow-%d":{"commands":{"allow":["c%[1]d"],"deny":[]}}`),
			`},"permission_sets":{}}}`), "x:allow-5"},
		"commands": {repeat(
			open+`},"permission_sets":{"s":{"description":"","permissions":["allow-c5"]}},"commands":[`, ",",
			numbered(`"c%d"`), `]}}`), "x:s"},
		"commands of one": {repeat(open+`"allow-a":{"commands":{"deny":[],"allow":[`, ",", numbered(`"c%d"`),
			`]}}},"permission_sets":{}}}`), "x:allow-a"},
		"scopes": {repeat(open+`"allow-a":{"commands":{"allow":["a"],"deny":[]},"scope":{"allow":[`, ",",
			numbered(`%d`), `]}}},"permission_sets":{}}}`), "x:allow-a"},
		"plugins": {repeat("{", ",", numbered(`"p%d":{"permissions":{},"permission_sets":{}}`), "}"), "p5:x"},
		"scope schema": {repeat(open+`},"permission_sets":{},"global_scope_schema":{"anyOf":[`, ",",
			numbered(`{"const":%d}`), `]}}}`), "x:default"},
	} {
		entries := repeat(head+`{"identifier":"`+c.entry+`","allow":[1]},"`+c.entry+`","x:default",`, ",",
			numbered(`"x:unknown-%d"`), "]}")
		for _, text := range []string{head + `"` + c.entry + `"]}`, entries} {
			allCommands(t, fmt.Sprintf("%s, %d bytes", name, len(text)), text, capability.Options{}, c.manifests)
		}
	}
	// Twenty-six sets, each of which has the next one twice, in 2 kB.
	var sets []string
	for i := range 26 {
		sets = append(sets, fmt.Sprintf(`"s%d":{"description":"","permissions":["s%d","s%[2]d"]}`, i, i+1))
	}
	small := open + `"s26":{"commands":{"allow":["c"],"deny":[]}}},"permission_sets":{` +
		strings.Join(sets, ",") + `}}}`
	allCommands(t, "sets twice in sets", head+`"x:s0"]}`, capability.Options{}, small)
}

// Each permission of a set with a scope has a copy of the scope of its entry, and each entry adds
// that of a permission without commands.
func TestCopiesOfScopesAreLimited(t *testing.T) {
	const open = `{"x":{"permissions":{`
	var permissions, members []string
	for i := range 300 {
		permissions = append(permissions, fmt.Sprintf(
			`"p%d":{"commands":{"allow":["c%[1]d"],"deny":[]},"scope":{"allow":[1]}}`, i))
		members = append(members, fmt.Sprintf(`"p%d"`, i))
	}
	scoped := open + strings.Join(permissions, ",") + `},"permission_sets":{"s":{"permissions":[` +
		strings.Join(members, ",") + `]}}}}`
	global := open + `"s":{"scope":{"allow":[1` + strings.Repeat(",1", 5000) + `]}}},"permission_sets":{}}}`
	for name, c := range map[string]struct{ manifests, text string }{
		"scope of an entry": {scoped, repeat(head+`{"identifier":"x:s","allow":[`, ",", same("1"), "]}]}")},
		"global scope":      {global, repeat(head, ",", same(`"x:s"`), "]}")},
		"no origin": {scoped, repeat(`{"identifier":"a","local":false,"windows":["m"],"permissions":[`, ",",
			same(`"x:s"`), "]}")},
	} {
		m := capability.CoreManifests()
		require.Empty(t, m.Load("acl-manifests.json", []byte(c.manifests)))
		d := capability.Parse([]byte(c.text), capability.Options{})
		policy, found := capability.Resolve(d.Capabilities(), m, capability.ResolveOptions{})
		require.True(t, policy.TooLarge(), name)
		require.ErrorContains(t, found.Err(), "more than 500000 grants", name)
		bounded(t, name, func() { policy.Commands() })
	}
}

// A schema of scopes that refers to itself, or to much, is not used.
func TestHostileScopeSchemasAreNotUsed(t *testing.T) {
	var doubled []string
	for i := range 60 {
		doubled = append(doubled, fmt.Sprintf(
			`"D%d":{"allOf":[{"$ref":"#/definitions/D%d"},{"$ref":"#/definitions/D%[2]d"}]}`, i, i+1))
	}
	for name, schema := range map[string]string{
		"large":   `{"enum":["` + strings.Repeat("a", 64<<10) + `"]}`,
		"null":    `{"anyOf":[null,{"properties":{"a":{}}}]}`,
		"itself":  `{"$ref":"#"}`,
		"cycle":   `{"$ref":"#/definitions/X","definitions":{"X":{"anyOf":[{"$ref":"#/definitions/X"}]}}}`,
		"escaped": `{"$ref":"#/definitions/~0","definitions":{"~":{"anyOf":[{"$ref":"#/definitions/~0"}]}}}`,
		"upper case": `{"$REF":"#/definitions/X","Definitions":{"X":{"anyOf":[{"$REF":"#/definitions/X"}]}},` +
			`"definitions":{"Y":true}}`,
		"identifier": `{"$ref":"#/definitions/X","definitions":{"X":{"$id":"https://a.b/c","anyOf":` +
			`[{"$ref":"https://a.b/c"}]}}}`,
		"doubled": `{"$ref":"#/definitions/D0","definitions":{` + strings.Join(doubled, ",") + `,"D60":true}}`,
	} {
		m := capability.CoreManifests()
		require.Empty(t, m.Load("acl-manifests.json", []byte(
			`{"x":{"permissions":{"p":{"commands":{"allow":["c"],"deny":[]}}},"permission_sets":{},`+
				`"global_scope_schema":`+schema+`}}`)), name)
		d := capability.Parse([]byte(head+`{"identifier":"x:p","allow":[1]}]}`), capability.Options{})
		bounded(t, name, func() {
			require.Empty(t, lint.Check([]*capability.Document{d}, m, lint.Options{}), name)
		})
	}
}

func TestHostileConfigurationsAreReadWithBoundedEffort(t *testing.T) {
	longtest.Only(t)
	const open = `{"app":{"security":{"capabilities":[`
	var files []*capability.Document
	for i := range 1000 {
		files = append(files, capability.Parse(fmt.Appendf(nil, `{"identifier":"x%d"}`, i), capability.Options{}))
	}
	for name, text := range map[string]string{
		"names":         repeat(open, ",", numbered(`"n%d"`), "]}}}"),
		"equal names":   repeat(open, ",", same(`"a"`), "]}}}"),
		"objects":       repeat(open, ",", same(`{"identifier":"a","permissions":["core:default"]}`), "]}}}"),
		"wrong types":   repeat(open, ",", same(`5`), "]}}}"),
		"empty objects": repeat(open, ",", same(`{}`), "]}}}"),
	} {
		bounded(t, name, func() {
			config := capability.ParseValue([]byte(text), capability.Options{})
			(&capability.App{Config: config, Documents: files}).Capabilities("")
			lint.Check([]*capability.Document{capability.Inlined(config)}, capability.CoreManifests(), lint.Options{})
		})
	}
}
