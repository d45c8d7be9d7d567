package capability

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestIdentifierVectors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in, plugin, name string
		fault            identifierFault
	}{
		{in: "prefix:base", plugin: "prefix", name: "base"},
		{in: "prefix3:base", plugin: "prefix3", name: "base"},
		{in: "preFix:base", plugin: "preFix", name: "base"},
		{in: "base", name: "base"},
		{in: "pre--fix:base--sep", plugin: "pre--fix", name: "base--sep"}, // refused by older releases
		{in: "prefix:base--sep", plugin: "prefix", name: "base--sep"},
		{in: "pre--fix:base", plugin: "pre--fix", name: "base"},
		{in: strings.Repeat("a", 116), name: strings.Repeat("a", 116)},
		{in: "core:window:allow-close", plugin: "core:window", name: "allow-close"},
		{in: "core:default", plugin: "core", name: "default"},
		{in: "core:a:b:c:d", plugin: "core:a:b:c", name: "d"},
		{in: "core::x", plugin: "core:", name: "x"},
		{in: "A", name: "A"},
		{in: "0", name: "0"},
		{in: "default", name: "default"},
		{in: "tauri-plugin-prefix:base", fault: startsWithTauriPlugin},
		{in: "", fault: empty},
		{in: strings.Repeat("a", 117), fault: humongous},
		{in: "-prefix-:-base-", fault: invalidFormat},
		{in: "-prefix:base", fault: invalidFormat},
		{in: "prefix-:base", fault: invalidFormat},
		{in: "prefix:-base", fault: invalidFormat},
		{in: "prefix:base-", fault: trailingHyphen},
		{in: "prefix::base", fault: multipleSeparators},
		{in: "fs:a:b", fault: multipleSeparators},
		{in: ":base", fault: invalidFormat},
		{in: ":prefix:base:", fault: invalidFormat},
		{in: "prefix:", fault: prefixWithoutBase},
		{in: "base:", fault: prefixWithoutBase},
		{in: "💩", fault: invalidFormat},
		{in: "allow_echo", fault: invalidFormat},
		{in: "fs:allow-read_file", fault: invalidFormat},
		{in: "fs:*", fault: invalidFormat},
		{in: "allow-*", fault: invalidFormat},
		{in: "a.b", fault: invalidFormat},
	} {
		id, err := ParseIdentifier(c.in)
		if c.fault != 0 {
			var fault *identifierError
			require.ErrorAs(t, err, &fault, "%q", c.in)
			require.Equal(t, c.fault, fault.Fault, "%q", c.in)
			require.True(t, fault.Permanent())
			continue
		}
		require.NoError(t, err, "%q", c.in)
		require.Equal(t, c.plugin, id.Plugin(), "%q", c.in)
		require.Equal(t, c.name, id.Name(), "%q", c.in)
		require.Equal(t, c.in, id.String())
	}
}

func TestIdentifierErrorsSuggestWhatWasMeant(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"fs.exists":                  "fs:allow-exists",
		"fs:allow-read_file":         "fs:allow-read-file",
		"tauri-plugin-fs:default":    "fs:default",
		"plugin:window|close":        "core:window:allow-close",
		"plugin:fs|read_file":        "fs:allow-read-file",
		"prefix::base":               "prefix:base",
		"core:window:allow-close-":   "core:window:allow-close",
		"fs/allow-exists":            "fs:allow-exists",
		" core:default":              "core:default",
		"core:window:allow_set_icon": "core:window:allow-set-icon",
	} {
		require.Equal(t, want, repairIdentifier(in), in)
	}
	for _, in := range []string{"", "💩", "fs:*", "-"} {
		require.Empty(t, repairIdentifier(in), in)
	}
}

func FuzzIdentifier(f *testing.F) {
	for _, seed := range []string{"fs:default", "core:a:b", "-", "a:", "tauri-plugin-x", "a--b:c", "é"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		id, err := ParseIdentifier(s)
		if err != nil {
			var fault *identifierError
			require.ErrorAs(t, err, &fault)
			require.NotEmpty(t, fault.Error())
			if repaired := repairIdentifier(s); repaired != "" {
				_, err := ParseIdentifier(repaired)
				require.NoError(t, err)
			}
			return
		}
		rebuilt := id.Name()
		if id.Plugin() != "" {
			rebuilt = id.Plugin() + ":" + rebuilt
		}
		require.Equal(t, s, rebuilt)
		require.LessOrEqual(t, len(s), 116)
	})
}
