package format

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lessonkit.example/capability"
	"lessonkit.example/capability/internal/corpustest"
)

const sample = `# what the main window may do
"$schema" = "../gen/schemas/desktop-schema.json"
identifier = "main"
windows = ["main", # the first one
  "settings-*"]
platforms = ["linux"]
permissions = ["core:default", {identifier = "fs:scope", allow = [{path = "$APP/**"}, [true, 0x1F]]}]

[remote]
urls = ["https://*.example.com"]
`

func TestTOML(t *testing.T) {
	o := Options{Sort: true}
	t.Parallel()
	in := `# the main window

permissions = ["fs:default", "core:default", {identifier = "dialog:default"}, 'fs:default'] # all
# who
windows   = ["main"]


identifier = "main"
[remote] # pages
urls = ["https://x.y"]
# end
`
	d := capability.Parse([]byte(in), capability.Options{Format: capability.TOML})
	out, err := Source(d, o)
	require.NoError(t, err)
	require.Equal(t, `# the main window

identifier = "main"
# who
windows   = ["main"]
permissions = [
  "core:default",
  {identifier = "dialog:default"},
  "fs:default",
] # all

[remote] # pages
urls = ["https://x.y"]

# end
`, out)
	again, err := Source(capability.Parse([]byte(out), capability.Options{Format: capability.TOML}), o)
	require.NoError(t, err)
	require.Equal(t, out, again)
	marked, err := Source(capability.Parse([]byte("\ufeff"+in), capability.Options{Format: capability.TOML}), o)
	require.NoError(t, err)
	require.Equal(t, out, marked)
	_, err = Source(capability.Parse([]byte("identifier = "), capability.Options{Format: capability.TOML}), o)
	require.Error(t, err)
}

// quoted are strings: those written twice are removed with their content.
var quoted = regexp.MustCompile(`"[^"\n]*"|'[^'\n]*'`)

func FuzzTOML(f *testing.F) {
	f.Add(sample)
	f.Add("permissions = [ # x\n \"a\", \"b\"]\nidentifier = 'a'\n\n# y\n[[permissions]]\n")
	f.Fuzz(func(t *testing.T, text string) {
		d := capability.Parse([]byte(text), capability.Options{Format: capability.TOML})
		o := Options{Sort: len(text)%2 == 0}
		out, err := Source(d, o)
		if err != nil {
			return
		}
		comments := func(text string) int { return strings.Count(quoted.ReplaceAllString(text, ""), "#") }
		require.Equal(t, comments(text), comments(out), "%q → %q", text, out)
		again, err := Source(capability.Parse([]byte(out), capability.Options{Format: capability.TOML}), o)
		require.NoError(t, err, "%q → %q", text, out)
		require.Equal(t, out, again, "%q", text)
	})
}

// Formatting a file keeps its capabilities, and formatting it again changes nothing.
func TestTOMLKeepsTheMeaningOfFiles(t *testing.T) {
	t.Parallel()
	o := Options{Sort: true}
	for _, file := range corpustest.Files(t, "../testdata/app", "*.toml") {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		d := capability.Parse(text, capability.Options{Name: file})
		out, err := Source(d, o)
		require.NoError(t, err)
		again := capability.Parse([]byte(out), capability.Options{Name: file})
		require.True(t, sameCapabilities(d.Capabilities(), again.Capabilities()), "%s\n→\n%s", text, out)
		twice, err := Source(again, o)
		require.NoError(t, err)
		require.Equal(t, out, twice)
	}
}
