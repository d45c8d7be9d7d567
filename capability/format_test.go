package capability

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
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
	d := Parse([]byte(in), Options{Format: JSON5})
	out, err := Reformat(d)
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
  "x": 0x1F
} // end
// after
`, out)
}

func TestFormatRefusesWhatItCouldLose(t *testing.T) {
	t.Parallel()
	for _, in := range []string{``, `{"identifier":"a"`, `{"a":1,"a":2}`, `{"a":"\ud800"}`} {
		_, err := Reformat(Parse([]byte(in), Options{}))
		var invalid *InvalidError
		require.ErrorAs(t, err, &invalid, in)
	}
}

// sameMeaning checks that formatting changed the layout only, that it loses no
// comment, and that formatting again changes nothing.
func sameMeaning(t *testing.T, d *Document) {
	t.Helper()
	out, err := Reformat(d)
	require.NoError(t, err)
	again := Parse([]byte(out), Options{Format: JSON5, MaxBytes: 1 << 24})
	require.False(t, again.damaged, "%s\n→\n%s", d.src, out)
	require.Len(t, again.comments, len(d.comments), "%s\n→\n%s", d.src, out)
	twice, err := Reformat(again)
	require.NoError(t, err)
	require.Equal(t, out, twice)
	require.Len(t, again.capabilities, len(d.capabilities))
	for i := range d.capabilities {
		a, b := d.capabilities[i], again.capabilities[i]
		require.Equal(t, uniquePermissions(a), uniquePermissions(b), "%s\n→\n%s", d.src, out)
		a.Permissions, b.Permissions, a.value, b.value = nil, nil, Value{}, Value{}
		require.Equal(t, a, b)
	}
}

func uniquePermissions(c Capability) []string {
	var list []string
	for _, e := range c.Permissions {
		list = append(list, string(e.value.appendCanonical(nil)))
	}
	slices.Sort(list)
	return slices.Compact(list)
}

func TestFormatKeepsTheMeaningOfRealFiles(t *testing.T) {
	t.Parallel()
	for _, file := range slices.Concat(corpus(t, "*.json"), corpus(t, "*.json5")) {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		sameMeaning(t, Parse(text, Options{Name: filepath.Base(file), Format: FormatOf(file)}))
	}
}

func FuzzFormat(f *testing.F) {
	f.Add(`/*a*/{/*b*/"permissions"/*c*/:/*d*/[/*e*/"x"/*f*/,/*g*/"x","a"//h` + "\n" + `,"b"]/*i*/,/*j*/}/*k*/`)
	f.Add(`[{"identifier":"a","permissions":[{"identifier":"x","allow":[1,[{}]]}]}, // x` + "\n" + `]`)
	f.Fuzz(func(t *testing.T, text string) {
		if strings.ContainsAny(text, "\u2028\u2029\r#") {
			t.Skip() // line breaks inside what looks like one comment
		}
		d := Parse([]byte(text), Options{Format: JSON5})
		if _, err := Reformat(d); err != nil {
			return
		}
		sameMeaning(t, d)
	})
}
