package capability

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestConfigureSaysWhatIsActive(t *testing.T) {
	t.Parallel()
	caps := capabilities(t,
		`[{"identifier":"a","windows":["m"],"permissions":[]},{"identifier":"b","windows":["m"],"permissions":[]}]`)
	for config, want := range map[string]struct{ active, found string }{
		`{}`: {"a b", ""},
		`{"app":{"security":{"capabilities":[]}}}`: {"a b", ""},
		`{"app":{"security":{"capabilities":["a"]}}}`: {"a",
			"inactive-capability"},
		`{"app":{"security":{"capabilities":["a","bb"]}}}`: {"a",
			"inactive-capability unknown-capability"},
		`{"app":{"security":{"capabilities":["a","b",{"identifier":"c","permissions":[]}]}}}`: {"a b c", ""},
		`{"app":{"security":{"capabilities":["a","b",{"identifier":"c"}]}}}`:                  {"a b c", ""},
		// As the reference inserts them: what is listed last replaces what has its name.
		`{"app":{"security":{"capabilities":["a","b",{"identifier":"a","windows":["x"],"permissions":[]}` +
			`]}}}`: {"b a", "capability-override"},
		`{"app":{"security":{"capabilities":["a","b","a"]}}}`: {"a b", "duplicate-capability"},
		`{"app":{"security":{"capabilities":"a"}}}`:           {"a b", "wrong-type"},
		`{"app":{"security":{"capabilities":["a","b",` +
			`5]}}}`: {"a b", "wrong-type"},
	} {
		active, found := configure(ParseValue([]byte(config), Options{Name: "zz.json"}), caps)
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
			require.Equal(t, []string{"x"}, active[1].Windows, "the file's own is replaced")
			require.Contains(t, found[0].Message, `"a" of the configuration is used instead of the one of that name`)
		}
	}
}

// The schema of the configuration contains that of capabilities, so it counts for objects in it,
// other than for files; it is not applied to TOML.
func TestInlinedCapabilitiesAreCheckedBySchema(t *testing.T) {
	t.Parallel()
	const object = `{"identifier":"a","windows":["m"],"permissions":["core:default","core:default"]}`
	inJSON := ParseValue([]byte(`{"app":{"security":{"capabilities":[`+object+`]}}}`), Options{})
	inTOML := ParseValue([]byte("[app.security]\ncapabilities = [{identifier = \"a\", windows = [\"m\"], "+
		"permissions = [\"core:default\", \"core:default\"]}]\n"), Options{Format: TOML})
	require.True(t, Inlined(inJSON).Check().HasErrors())
	require.False(t, Inlined(inTOML).Check().HasErrors())
	require.False(t, Parse([]byte(object), Options{}).Check().HasErrors())

	twice := ParseValue([]byte(`{"app":{"security":{"capabilities":[{"identifier":"a","local":true,"local":false,`+
		`"permissions":[]}]}}}`), Options{})
	require.Equal(t, codeDuplicateKey, Inlined(twice).Check()[0].Code)
}
