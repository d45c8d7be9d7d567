package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"lessonkit.example/examples/internal/docsui"
)

func TestOnlyThePinnedHashIsAccepted(t *testing.T) {
	t.Parallel()
	_, err := extract([]byte("another package"))
	require.ErrorContains(t, err, "the package has the hash sha512-")
	// SHA-512 of the empty input, from FIPS 180-4.
	const empty = "sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg=="
	require.NoError(t, check("script", nil, empty))
}

func TestWriteLeavesNoPartialFile(t *testing.T) {
	t.Parallel()
	dist := t.TempDir()
	require.NoError(t, write(filepath.Join(dist, docsui.EmbeddedName), []byte("a script")))
	files, err := os.ReadDir(dist)
	require.NoError(t, err)
	require.Len(t, files, 1)
	require.Equal(t, docsui.EmbeddedName, files[0].Name())
	require.NoError(t, fetch(dist), "nothing to fetch")
}
