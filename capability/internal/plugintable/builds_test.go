package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// write makes the folder of a build.
func write(t *testing.T, folder, name, lock, manifests string) {
	t.Helper()
	dir := filepath.Join(folder, name)
	require.NoError(t, os.MkdirAll(dir, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "Cargo.lock"), []byte(lock), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "acl-manifests.json"), []byte(manifests), 0o600))
}

func locked(version string) string {
	return "[[package]]\nname = \"tauri-plugin-fs\"\nversion = \"" + version + "\"\n"
}

const (
	oneCommand  = `{"fs":{"permissions":{"allow-a":{"commands":{"allow":["a"]}}}}}`
	twoCommands = `{"fs":{"permissions":{"allow-a":{"commands":{"allow":["a"]}},` +
		`"allow-b":{"commands":{"allow":["b"]}}}}}`
)

// A name stays that a later build lacks, and its content is that of the latest release that has it.
func TestBuildsAddNames(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	write(t, folder, "x", locked("2.10.0"), strings.Replace(oneCommand, `"fs":{`,
		`"fs":{"default_permission":{"permissions":["allow-a"]},`, 1))
	write(t, folder, "y", locked("2.2.0"), strings.Replace(twoCommands, `"fs":{`,
		`"fs":{"default_permission":{"permissions":["allow-b"]},`, 1))
	names := table{"fs": {"old": {"command", "old", "-"}}}
	require.NoError(t, names.addBuilds(folder, map[string]string{"fs": "2.0.3"}))
	require.Equal(t, table{"fs": {"a": {"command", "a", "-"}, "b": {"command", "b", "-"},
		"old": {"command", "old", "-"}, "default": {"default", "default", "allow-a"}}}, names)
}

// Names are complete up to a release that two builds have, or later ones.
func TestNamesAreCompleteByTwoBuilds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		locks []string
		want  string
	}{
		{"one build", []string{locked("2.3.0")}, "2.0.3"},
		{"two of one release", []string{locked("2.3.0"), locked("2.3.0")}, "2.3.0"},
		{"a later one counts for the earlier", []string{locked("2.10.0"), locked("2.9.0"), locked("2.1.0")}, "2.9.0"},
		{"older than the tag", []string{locked("2.0.1"), locked("2.0.1")}, "2.0.3"},
		{"two versions in one application", []string{locked("2.3.0") + locked("2.4.0"), locked("2.4.0")}, "2.0.3"},
		{"a preview", []string{locked("2.5.0-rc.1"), locked("2.5.0-rc.1"), locked("2.1.0")}, "2.0.3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			for i, lock := range c.locks {
				write(t, folder, string(rune('a'+i)), lock, oneCommand)
			}
			newest := map[string]string{"fs": "2.0.3"}
			require.NoError(t, table{"fs": nil}.addBuilds(folder, newest))
			require.Equal(t, map[string]string{"fs": c.want}, newest)
		})
	}
	require.Error(t, table{}.addBuilds(t.TempDir(), nil), "a folder without builds")
}
