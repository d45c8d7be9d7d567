package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A build adds what it has of newer releases, and nothing else of the tables changes.
func TestABuildAddsToTheTables(t *testing.T) {
	tables := []string{"core.tsv", "plugins.tsv"}
	dir, was := t.TempDir(), make(map[string]string)
	for _, name := range tables {
		text, err := os.ReadFile(filepath.Join("..", "..", name))
		require.NoError(t, err)
		was[name] = string(text)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), text, 0o600))
	}
	t.Chdir(dir)
	build := func(lock, manifests string) {
		require.NoError(t, os.WriteFile("Cargo.lock", []byte(lock), 0o600))
		require.NoError(t, os.WriteFile("acl-manifests.json", []byte(manifests), 0o600))
		require.NoError(t, run("."))
	}
	const manifests = `{"core:app":{"default_permission":{"permissions":["allow-fly"]},"permissions":{` +
		`"allow-version":{},"allow-fly":{"commands":{"allow":["fly"]}},"deny-fly":{"commands":{"deny":["fly"]}}}},` +
		`"cli":{"default_permission":{"permissions":["allow-ask"]},"permissions":{` +
		`"allow-ask":{"commands":{"allow":["ask"]}},"rest":{"scope":{"deny":[1]}}}},` +
		`"dialog":{"permissions":{"allow-older":{"commands":{"allow":["older"]}}}},"pty":{"permissions":{}}}`
	const lock = "[[package]]\r\nname = \"tauri\"\r\nversion = \"2.99.1\"\r\n" +
		"[[package]]\nname = \"tauri-plugin-cli\"\nversion = \"2.99.0\"\n" +
		"[[package]]\nname = \"tauri-plugin-dialog\"\nversion = \"2.0.0\"\n"
	for range 2 {
		build(lock, manifests)
	}
	for name, want := range map[string]struct{ added, removed []string }{
		"core.tsv": {added: []string{"app\tfly\tdefault\t2.99"}},
		"plugins.tsv": {added: []string{"cli\tnewest\t-\t2.99.0", "cli\tcommand\task\t-",
			"cli\tdefault\tdefault\tallow-ask", "cli\tpermission\trest\t" + `{"scope":{"allow":null,"deny":[1]}}`},
			removed: []string{"cli\tnewest\t-\t2.4.1", "cli\tdefault\tdefault\tallow-cli-matches"}},
	} {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		old, now := strings.Split(was[name], "\n"), strings.Split(string(text), "\n")
		require.Equal(t, want.added, without(now, old), name)
		require.Equal(t, want.removed, without(old, now), name)
	}
}

// without returns the lines that are not among others.
func without(lines, others []string) (left []string) {
	for _, line := range lines {
		if !slices.Contains(others, line) {
			left = append(left, line)
		}
	}
	return left
}
