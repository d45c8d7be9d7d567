package gateway_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"lessonkit.example/imagegen/gateway"
	"lessonkit.example/imagegen/gateway/gatewaytest"
)

func openDir(t *testing.T, path string) gateway.Store {
	s, err := gateway.Dir(path)
	require.NoError(t, err)
	return s
}

func TestMemoryStore(t *testing.T) {
	t.Parallel()
	gatewaytest.Store(t, func(*testing.T) gateway.Store { return gateway.Memory() }, nil)
}

func TestDirStore(t *testing.T) {
	t.Parallel()
	var path string
	gatewaytest.Store(t, func(t *testing.T) gateway.Store {
		path = t.TempDir()
		return openDir(t, path)
	}, func(t *testing.T, _ gateway.Store) gateway.Store { return openDir(t, path) })
}

func TestDirStoreSaysWhichFileIsBroken(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	s := openDir(t, path)
	require.NoError(t, os.WriteFile(filepath.Join(path, "tasks", "a.json"), []byte("{"), 0o600))
	_, err := s.Task(t.Context(), "a")
	require.ErrorContains(t, err, filepath.Join("tasks", "a.json"))
}

func TestDirStoreClearsUnfinishedWrites(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	s := openDir(t, path)
	_, err := s.CreateBlob(t.Context(), "a")
	require.NoError(t, err)
	openDir(t, path)
	left, err := os.ReadDir(filepath.Join(path, "blobs"))
	require.NoError(t, err)
	require.Empty(t, left)
}
