package capability

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"lessonkit.example/capability"
	"lessonkit.example/capability/lint"
)

var generated = flag.Int("generated", 100_000, "how many generated files the validators have to agree on")

// The plain schema of the format, and ours; both judged by a validator that
// knows nothing of this module.
func schemas(t *testing.T) map[string]*jsonschema.Schema {
	t.Helper()
	list := map[string]*jsonschema.Schema{}
	ours, err := compile(capability.Schema())
	require.NoError(t, err)
	list["ours"] = ours
	if dir := os.Getenv("CAPABILITY_CORPUS"); dir != "" {
		text, err := os.ReadFile(filepath.Join(dir, "..", "capabilityfile.generic.schema.json"))
		require.NoError(t, err)
		list["the format's"], err = compile(text)
		require.NoError(t, err)
	}
	return list
}

func verdict(t *testing.T, schema *jsonschema.Schema, text []byte) error {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	require.NoError(t, err, "%s", text)
	return schema.Validate(v)
}

func agree(t *testing.T, all map[string]*jsonschema.Schema, text []byte) bool {
	t.Helper()
	ours := capability.Parse(text, capability.Options{}).Check(capability.ModeSchema)
	for name, schema := range all {
		theirs := verdict(t, schema, text)
		require.Equal(t, theirs == nil, !ours.HasErrors(), "%s schema on %s\nours: %v\ntheirs: %v", name, text, ours,
			theirs)
	}
	return !ours.HasErrors()
}

func TestValidatorsAgreeOnRealFiles(t *testing.T) {
	t.Parallel()
	dir := os.Getenv("CAPABILITY_CORPUS")
	if dir == "" {
		t.Skip("CAPABILITY_CORPUS does not name a folder of real capability files")
	}
	all := schemas(t)
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	refused := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		if !agree(t, all, text) {
			refused++
		}
	}
	t.Logf("%d files, %d of them refused by both", len(files), refused)
}

func TestValidatorsAgreeOnGeneratedFiles(t *testing.T) {
	t.Parallel()
	all := schemas(t)
	g := generator{rand.New(rand.NewPCG(3, 4))}
	valid := 0
	for range *generated {
		if agree(t, all, []byte(g.file())) {
			valid++
		}
	}
	t.Logf("%d files, %d of them valid", *generated, valid)
	require.Greater(t, valid, *generated/10)
	require.Less(t, valid, *generated*9/10)
}

func TestValidatorsAgreeOnProjectSchemas(t *testing.T) {
	t.Parallel()
	all, err := sets()
	require.NoError(t, err)
	for _, s := range all {
		schema, err := compile(capability.ProjectSchema(s.manifests))
		require.NoError(t, err)
		g := generator{rand.New(rand.NewPCG(5, 6))}
		files := s.files
		for range 1000 {
			files = append(files, []byte(g.file()))
		}
		valid := 0
		for _, f := range files {
			d := capability.Parse(f, capability.Options{})
			if root := d.Root(); root.Get("capabilities").Exists() && root.Get("identifier").Exists() {
				continue // the schema tries two readings; the tests above compare those
			}
			ours := refusals(d, s.manifests)
			theirs := verdict(t, schema, f)
			require.Equal(t, theirs == nil, len(ours) == 0, "%s\nours: %v\ntheirs: %v", f, ours, theirs)
			if theirs == nil {
				valid++
			}
		}
		t.Logf("%s: %d files, %d of them valid", s.name, len(files), valid)
		require.Positive(t, valid)
	}
}

// refusals returns what a project's schema refuses: what mode schema does, identifiers that the
// manifests do not have, and scope values that their plugin does not accept.
func refusals(d *capability.Document, manifests *capability.Manifests) []string {
	var found []string
	for _, f := range lint.Check([]*capability.Document{d}, manifests, lint.Options{}) {
		if f.Code == "scope-mismatch" {
			found = append(found, f.String())
		}
	}
	if err := d.Check(capability.ModeSchema).Err(); err != nil {
		found = append(found, err.Error())
	}
	known := manifests.Identifiers()
	for _, c := range d.Capabilities() {
		for _, e := range c.Permissions {
			if !slices.Contains(known, e.Identifier) {
				found = append(found, "unknown identifier "+e.Identifier)
			}
		}
	}
	return found
}

// generator writes files that are nearly right: most values are what they
// should be, some are of another type, doubled, missing or renamed.
type generator struct{ *rand.Rand }

func (g generator) pick(list ...string) string { return list[g.IntN(len(list))] }

// wrong replaces a text by another value once in a while.
func (g generator) wrong(text string) string {
	if g.IntN(40) > 0 {
		return text
	}
	return g.value(2)
}

func (g generator) value(depth int) string {
	if depth == 0 {
		return g.pick("null", "true", "0", "1.0", "1", "-0", "1e2", "100", `"x"`, `"\u0078"`)
	}
	switch g.IntN(6) {
	case 0:
		return g.list(3, func() string { return g.value(depth - 1) })
	case 1:
		return g.object(3, func() (string, string) {
			return g.pick("a", "b", "identifier", "urls"),
				g.value(depth - 1)
		})
	}
	return g.value(0)
}

func (g generator) list(most int, item func() string) string {
	var items []string
	for range g.IntN(most + 1) {
		items = append(items, item())
	}
	return "[" + strings.Join(items, ", ") + "]"
}

func (g generator) object(most int, member func() (string, string)) string {
	var members []string
	for range g.IntN(most + 1) {
		key, value := member()
		members = append(members, fmt.Sprintf("%q: %s", key, value))
	}
	return "{" + strings.Join(members, ", ") + "}"
}

func (g generator) strings() string {
	return g.wrong(g.list(3, func() string { return g.wrong(g.pick(`"main"`, `"a-*"`, `"https://*"`)) }))
}

func (g generator) scope() string {
	return g.wrong(g.pick("null", g.list(2, func() string { return g.value(2) })))
}

func (g generator) permission() string {
	id := g.wrong(fmt.Sprintf("%q", g.pick("core:default", "fs:allow-exists", "fs:scope", "a_b", "x:y",
		"core:window:allow-close", "opener:default")))
	if g.IntN(3) > 0 {
		return id
	}
	members := []string{`"identifier": ` + id}
	if g.IntN(30) == 0 {
		members = nil
	}
	for range g.IntN(3) {
		key := g.pick("allow", "deny", "scope")
		value := g.scope()
		if key == "scope" {
			value = g.value(1)
		}
		members = append(members, fmt.Sprintf("%q: %s", key, value))
	}
	g.Shuffle(len(members), func(i, k int) { members[i], members[k] = members[k], members[i] })
	return "{" + strings.Join(members, ", ") + "}"
}

func (g generator) capability() string {
	var members []string
	add := func(key, value string, often int) {
		if g.IntN(100) < often {
			if g.IntN(80) == 0 {
				key += "s"
			}
			members = append(members, fmt.Sprintf("%q: %s", key, value))
		}
	}
	add("identifier", g.wrong(`"main"`), 98)
	add("permissions", g.wrong(g.list(5, g.permission)), 98)
	add("description", g.wrong(`"x"`), 30)
	add("local", g.wrong("true"), 20)
	add("windows", g.strings(), 60)
	add("webviews", g.strings(), 20)
	add("remote", g.wrong(g.pick("null", `{"urls": `+g.strings()+"}", `{"urls": []}`)), 25)
	add("platforms", g.wrong(g.pick("null", g.list(2, func() string {
		return g.pick(`"linux"`, `"macOS"`, `"iOS"`, `"windows"`, `"android"`, `"macOS"`, `"macos"`)
	}))), 25)
	add("capabilities", g.pick("[]", "5", "[{}]", `[{"identifier": "a", "permissions": []}]`), 3)
	add(g.pick("identifier", "windows", "permissions"), g.pick(`"a"`, "[]"), 4) // doubled
	g.Shuffle(len(members), func(i, k int) { members[i], members[k] = members[k], members[i] })
	return "{" + strings.Join(members, ", ") + "}"
}

func (g generator) file() string {
	switch g.IntN(10) {
	case 0:
		return g.list(3, g.capability)
	case 1:
		return `{"capabilities": ` + g.wrong(g.list(3, g.capability)) + "}"
	case 2:
		return g.value(3)
	}
	return g.capability()
}
