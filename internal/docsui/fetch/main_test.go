package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"lessonkit.example/internal/docsui"
)

func archive(t *testing.T, name, content string) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	require.NoError(t, w.WriteHeader(&tar.Header{Name: name, Size: int64(len(content)), Mode: 0o644}))
	_, err := w.Write([]byte(content))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	require.NoError(t, z.Close())
	return b.Bytes()
}

func TestOnlyThePinnedScriptIsTaken(t *testing.T) {
	t.Parallel()
	_, err := extract(archive(t, docsui.ScriptInPackage, "another script"))
	require.ErrorContains(t, err, "not the pinned sha512-")
	_, err = extract(archive(t, "package/README.md", "hello"))
	require.ErrorContains(t, err, "holds no "+docsui.ScriptInPackage)
	_, err = extract([]byte("<html>"))
	require.Error(t, err)
}

func TestIntegrity(t *testing.T) {
	t.Parallel()
	// The SHA-512 of nothing, as FIPS 180-4 implementations print it.
	require.Equal(t, "sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg==", integrity(nil))
}

func TestWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	dist := t.TempDir()
	old := filepath.Join(dist, "scalar-0.0.1.js.gz")
	readme := filepath.Join(dist, "README.md")
	require.NoError(t, os.WriteFile(old, nil, 0o600))
	require.NoError(t, os.WriteFile(readme, nil, 0o600))
	require.NoError(t, remove(dist))
	require.NoFileExists(t, old)
	require.FileExists(t, readme)

	target := filepath.Join(dist, docsui.EmbeddedName)
	require.False(t, there(target))
	require.NoError(t, write(target, []byte("a script")))
	require.False(t, there(target), "a script of another hash is fetched anew")
	files, err := os.ReadDir(dist)
	require.NoError(t, err)
	require.Len(t, files, 2)
}
