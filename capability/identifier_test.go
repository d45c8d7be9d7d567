package capability

import (
	"cmp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestIdentifierVectors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in, plugin, name string
		err              string // a part of it
	}{
		{in: "prefix:base", plugin: "prefix", name: "base"},
		{in: "preFix:base", plugin: "preFix", name: "base"},
		{in: "base", name: "base"},
		{in: "pre--fix:base--sep", plugin: "pre--fix", name: "base--sep"}, // refused by older releases
		{in: strings.Repeat("a", 116), name: strings.Repeat("a", 116)},
		{in: "core:window:allow-close", plugin: "core:window", name: "allow-close"},
		{in: "core:a:b:c:d", plugin: "core:a:b:c", name: "d"},
		{in: "core::x", plugin: "core:", name: "x"},
		{in: "0", name: "0"},
		{in: "tauri-plugin-prefix:base", err: "without tauri-plugin-"},
		{in: "", err: "must not be empty"},
		{in: strings.Repeat("a", 117), err: "at most 116 bytes"},
		{in: "-prefix-:-base-", err: "begins or ends with a hyphen"},
		{in: "prefix-:base", err: "begins or ends with a hyphen"},
		{in: "prefix:-base", err: "begins or ends with a hyphen"},
		{in: "prefix:base-", err: "does not end with a hyphen"},
		{in: "prefix::base", err: "has one colon"},
		{in: "fs:a:b", err: "has one colon"},
		{in: ":base", err: "a plugin is missing"},
		{in: "prefix:", err: "missing after the colon"},
		{in: "💩", err: "letters, digits"},
		{in: "fs:allow-read_file", err: "not with underscores"},
		{in: "fs:*", err: "letters, digits"},
		{in: "a.b", err: "letters, digits"},
	} {
		err := checkIdentifier(c.in)
		if c.err != "" {
			require.ErrorContains(t, err, c.err, "%q", c.in)
			continue
		}
		require.NoError(t, err, "%q", c.in)
		plugin, name := SplitIdentifier(c.in)
		require.Equal(t, cmp.Or(c.plugin, AppManifest), plugin, "%q", c.in)
		require.Equal(t, c.name, name, "%q", c.in)
	}
}

func TestIdentifierErrorsSuggestTheRightSpelling(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"fs.exists":                "fs:allow-exists",
		"fs:allow-read_file":       "fs:allow-read-file",
		"tauri-plugin-fs:default":  "fs:default",
		"plugin:window|close":      "core:window:allow-close",
		"prefix::base":             "prefix:base",
		"core:window:allow-close-": "core:window:allow-close",
		"fs/allow-exists":          "fs:allow-exists",
		" core:default":            "core:default",
	} {
		require.Equal(t, want, repairIdentifier(in), in)
	}
	for _, in := range []string{"", "💩", "fs:*", "-"} {
		require.Empty(t, repairIdentifier(in), in)
	}
}
