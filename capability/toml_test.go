package capability_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"
	"github.com/stretchr/testify/require"

	"lessonkit.example/capability"
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

func TestPlacesOfValues(t *testing.T) {
	t.Parallel()
	d := capability.Parse([]byte(sample), capability.Options{Format: capability.TOML, Name: "main.toml"})
	require.Empty(t, d.Check())
	c := d.Capabilities()[0]
	require.Equal(t, []string{"main", "settings-*"}, c.Windows)
	require.Equal(t, []string{"https://*.example.com"}, c.Remote)
	for path, want := range map[string]string{
		"/identifier":              "3:14-3:20",
		"/windows":                 "4:11-5:16",
		"/windows/1":               "5:3-5:15",
		"/permissions/1":           "7:32-7:101",
		"/permissions/1/allow/0":   "7:67-7:85",
		"/permissions/1/allow/1":   "7:87-7:99",
		"/permissions/1/allow/1/0": "7:88-7:92",
		"/permissions/1/allow/1/1": "7:94-7:98",
		"/remote/urls/0":           "10:9-10:32",
	} {
		v := d.Root()
		for token := range strings.SplitSeq(path[1:], "/") {
			if v.Kind() == capability.Array {
				v = v.Item(int(token[0] - '0'))
			} else {
				v = v.Get(token)
			}
		}
		require.Equal(t, want, fmt.Sprintf("%s-%s", v.Position(), v.End()), path)
		require.Equal(t, path, v.Path())
	}
}

func TestTablesAndLists(t *testing.T) {
	t.Parallel()
	d := capability.Parse([]byte(`
[[capabilities]]
identifier = "a"
[[capabilities.permissions]]
identifier = "fs:scope"
[[capabilities.permissions.allow]]
path = "**"
[[capabilities.permissions]]
identifier = "core:default"
[[capabilities]]
identifier = "b"
permissions = []
remote.urls = ["https://x.y"]
`), capability.Options{Format: capability.TOML})
	require.Empty(t, d.Check())
	caps := d.Capabilities()
	require.Len(t, caps, 2)
	require.Equal(t, "fs:scope", caps[0].Permissions[0].Identifier)
	require.Len(t, caps[0].Permissions[0].Allow, 1)
	require.Equal(t, "core:default", caps[0].Permissions[1].Identifier)
	require.Equal(t, []string{"https://x.y"}, caps[1].Remote)
}

func TestFaults(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"identifier = \"a\"\nidentifier = \"b\"\npermissions = []": "2:1 syntax",
		"identifier = \"a\"\npermissions = [\"a\"":                 "syntax",
		"identifier = 5\npermissions = []":                         "1:14 wrong-type",
		"identifier = \"a\"\npermissions = " +
			"[\"a_b\"]": "2:16 identifier-syntax",
		"identifier " +
			"= \"a\"": "1:1 missing-field",
		"identifier = \"a\"\n[[permissions]]\nidentifer " +
			"= \"x\"": "3:1 missing-field",
		"identifier = \"a\"\npermissions = []\nx = 1e400":                                "3:5 number-range",
		"identifier = \"a\"\npermissions = []\nx = 18446744073709551616":                 "3:5 number-range",
		"identifier = \"a\"\npermissions = []\nx = -9223372036854775809":                 "3:5 number-range",
		"identifier = \"a\"\npermissions = []\nx = 2020-02-30":                           "3:5 syntax",
		"identifier = \"a\"\npermissions = []\nx = 07:32.5":                              "3:5 syntax",
		"identifier = \"a\"\npermissions = []\nx = 2020-01-01T07:32.5Z":                  "3:5 syntax",
		"identifier = \"a\"\npermissions = []\na.b = 1\n[a]":                             "4:2 syntax",
		"identifier = \"a\"\npermissions = []\n[a.b]\n[a]\nb.c = 1":                      "5:1 syntax",
		"identifier = \"a\"\npermissions = []\nx = 01":                                   "syntax",
		"identifier = \"a\"\npermissions = []\n[remote]\nurls = []\n[remote]\nurls = []": "5:2 syntax",
		"identifier = \"a\"\npermissions = []\nremote = {urls = []}\n[remote.x]\ny = 1":  "4:2 syntax",
		"\xff": "encoding",
	} {
		ds := capability.Parse([]byte(in), capability.Options{Format: capability.TOML}).Check()
		require.Len(t, ds, 1, in)
		require.Contains(t, fmt.Sprintf("%s %s", ds[0].Start, ds[0].Code), want, in)
		require.NotContains(t, ds[0].Message, "toml:")
	}
	deep := "x = " + strings.Repeat("[", 300) + strings.Repeat("]", 300)
	require.True(t,
		capability.Parse([]byte(deep),
			capability.Options{Format: capability.TOML}).Check().HasErrors())
}

// TOML 1.1, and the values that only TOML has, as the reference implementation's command line takes
// them.
func TestTOML11(t *testing.T) {
	t.Parallel()
	for scope, want := range map[string]string{
		"{\n a = 1 # one\n , b = 2,\n}": `{"a":1,"b":2}`,
		"{a = 1,}":                      `{"a":1}`,
		`"\x41\e"`:                      `"A\u001b"`,
		"07:32":                         `"07:32"`,
		"23:59:60":                      `"23:59:60"`,
		"2020-01-01T07:32Z":             `"2020-01-01T07:32Z"`,
		"2020-01-01 07:32:01.5+01:00":   `"2020-01-01 07:32:01.5+01:00"`,
		"inf":                           "null",
		"-nan":                          "null",
		"9223372036854775808":           "9223372036854775808",
		"18_446744073709551615":         "18446744073709551615",
		"-9223372036854775808":          "-9223372036854775808",
		"0xFFFF_FFFF_FFFF_FFFF":         "18446744073709551615",
		"1.7e308":                       "1.7e308",
	} {
		text := "identifier = \"a\"\nwindows = [\"m\"]\n" +
			"permissions = [{identifier = \"fs:x\", allow = [" + scope + "]}]"
		d := capability.Parse([]byte(text), capability.Options{Format: capability.TOML})
		require.NoError(t, d.Check().Err(), scope)
		got, err := d.Capabilities()[0].Permissions[0].Allow[0].MarshalJSON()
		require.NoError(t, err)
		require.Equal(t, want, string(got), scope)
		var codes []string
		for _, found := range d.Check() {
			codes = append(codes, found.Severity.String()+" "+string(found.Code))
		}
		switch {
		case want == "null":
			require.Equal(t, []string{"warning not-finite"}, codes)
		case strings.Contains(scope, ":"):
			require.Equal(t, []string{"warning unsupported-scope-value"}, codes)
		default:
			require.Empty(t, codes, scope)
		}
	}
}

// FuzzTOML compares with the library's own decoder: both take the same files
// and give the same values.
func FuzzTOML(f *testing.F) {
	f.Add([]byte(sample))
	f.Add([]byte("0=10000000000000000000"))
	f.Add([]byte("0=00:00:60"))
	f.Add([]byte("[[a]]\n[a.b]\nc.d = 1\n[[a]]\n[a.b]\nx = [[], {}, \"\"\"\ny\"\"\"]\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		d := capability.Parse(text, capability.Options{Format: capability.TOML})
		textual := false
		for _, found := range d.Check() {
			require.NotEmpty(t, found.Message)
			switch found.Code {
			case "not-finite", "syntax", "too-deep", "encoding", "number-range":
				textual = true
			}
		}
		want := map[string]any{}
		if err := toml.Unmarshal(bytes.TrimPrefix(text, []byte("\ufeff")), &want); err != nil {
			for _, laxer := range []string{"64-bit signed integer", "seconds cannot be greater than 59"} {
				if strings.Contains(err.Error(), laxer) {
					return // the reference takes unsigned integers and leap seconds
				}
			}
			require.True(t, textual, "%q: %v", text, err)
			return
		}
		if textual {
			return // we may be stricter than the decoder, never laxer
		}
		got := d.Root().Interface()
		wantText, err := json.Marshal(want)
		if err != nil {
			return
		}
		gotText, err := json.Marshal(got)
		require.NoError(t, err)
		if !strings.ContainsAny(string(text), "0123456789") { // dates and large integers are written otherwise
			require.JSONEq(t, string(wantText), string(gotText), "%q", text)
		}
	})
}

// The reference's reader takes a byte order mark, and places count it.
func TestByteOrderMark(t *testing.T) {
	t.Parallel()
	d := capability.Parse([]byte("\ufeffidentifier = \"a\"\nwindows = [\"m\"]\npermissions = []\n"),
		capability.Options{Format: capability.TOML})
	require.Empty(t, d.Check())
	require.Equal(t, "a", d.Capabilities()[0].Identifier)
	require.Equal(t, 16, d.Capabilities()[0].Value().Get("identifier").Position().Offset)
}
