package format

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lessonkit.example/capability"
	"lessonkit.example/capability/internal/corpustest"
	"lessonkit.example/capability/internal/syntax"
)

func TestFormatGivesCanonicalForm(t *testing.T) {
	t.Parallel()
	in := `// the main window
{ "permissions": ["fs:allow-exists", "core:default", // needed
    "fs:default", "fs:allow-exists",
    // dialogs
    "dialog:allow-save", /* why */ "dialog:default",
    {"allow":[{"path":"x"}],"identifier":"fs:scope"} // last
    // dangling
  ],
  "windows": [ "main" ], "identifier" : "a", x: 0x1F,
} // end
// after
`
	d := capability.Parse([]byte(in), capability.Options{Format: capability.JSON5})
	out, err := Source(d, Options{Sort: true})
	require.NoError(t, err)
	require.Equal(t, `// the main window
{
  "identifier": "a",
  "windows": ["main"],
  "permissions": [
    "core:default", // needed
    "fs:default",
    "fs:allow-exists",
    // dialogs
    "dialog:allow-save", /* why */
    "dialog:default",
    { "identifier": "fs:scope", "allow": [{ "path": "x" }] } // last
    // dangling
  ],
  x: 0x1F,
} // end
// after
`, out)
}

func TestFormatRefusesWhatItCouldLose(t *testing.T) {
	t.Parallel()
	for _, in := range []string{``, `{"identifier":"a"`, `{"a":1,"a":2}`, `{"a":"\ud800"}`} {
		_, err := Source(capability.Parse([]byte(in), capability.Options{}), Options{})
		var invalid *capability.InvalidError
		require.ErrorAs(t, err, &invalid, in)
	}
}

// sameMeaning checks that formatting changes the layout only, that it loses no comment, and that
// formatting again changes nothing.
func sameMeaning(t *testing.T, d *capability.Document, o Options) {
	t.Helper()
	out, err := Source(d, o)
	require.NoError(t, err)
	again := capability.Parse([]byte(out), capability.Options{Format: capability.JSON5, MaxBytes: 1 << 24})
	require.Len(t, commentsOf(out), len(commentsOf(d.Source())), "%s\n→\n%s", d.Source(), out)
	twice, err := Source(again, o)
	require.NoError(t, err, "%s\n→\n%s", d.Source(), out)
	require.Equal(t, out, twice)
	require.Len(t, again.Capabilities(), len(d.Capabilities()))
	for i, a := range d.Capabilities() {
		b := again.Capabilities()[i]
		require.Equal(t, uniquePermissions(a), uniquePermissions(b), "%s\n→\n%s", d.Source(), out)
		plain := func(c capability.Capability) capability.Capability {
			return capability.Capability{Identifier: c.Identifier, Description: c.Description, Local: c.Local,
				Remote:  c.Remote,
				Windows: c.Windows, Webviews: c.Webviews, Platforms: c.Platforms}
		}
		require.Equal(t, plain(a), plain(b))
	}
}

func commentsOf(text string) []syntax.Span {
	o := syntax.Options{Format: syntax.JSON5, MaxBytes: 1 << 24, MaxDepth: 10_000}
	return syntax.Parse([]byte(text), o).Comments()
}

func uniquePermissions(c capability.Capability) []string {
	var list []string
	for _, e := range c.Permissions {
		list = append(list, e.Value().Canonical())
	}
	slices.Sort(list)
	return slices.Compact(list)
}

func TestFormatKeepsTheMeaningOfRealFiles(t *testing.T) {
	t.Parallel()
	for _, file := range slices.Concat(corpustest.Files(t, "../testdata/app", "*.json"),
		corpustest.Files(t, "../testdata/app", "*.json5")) {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, o := range []Options{{}, {Sort: true}} {
			sameMeaning(t, capability.Parse(text, capability.Options{Name: filepath.Base(file)}), o)
		}
	}
}

func FuzzFormat(f *testing.F) {
	f.Add(`/*a*/{/*b*/"permissions"/*c*/:/*d*/[/*e*/"x"/*f*/,/*g*/"x","a"//h` + "\n" + `,"b"]/*i*/,/*j*/}/*k*/`)
	f.Add(`[{"identifier":"a","permissions":[{"identifier":"x","allow":[1,[{}]]}]}, // x` + "\n" + `]`)
	f.Fuzz(func(t *testing.T, text string) {
		if strings.ContainsAny(text, "\u2028\u2029\r#") {
			t.Skip() // line breaks inside what looks like one comment
		}
		d := capability.Parse([]byte(text), capability.Options{Format: capability.JSON5})
		for _, o := range []Options{{}, {Sort: true}} {
			if _, err := Source(d, o); err == nil {
				sameMeaning(t, d, o)
			}
		}
	})
}
