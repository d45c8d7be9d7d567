//go:build linux

package main

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A run that is interrupted deletes what it made, and nothing else of the directory.
func TestInterruptedRunDeletesOnlyItsOwnData(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	proxy, err := os.ReadFile("../haproxy.cfg")
	require.NoError(t, err)
	own := map[string]string{
		"haproxy.cfg": string(proxy), "patroni.sh": "sleep 60", "notes.txt": "keep",
	}
	for name, text := range own {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	ctx, interrupt := context.WithCancel(t.Context())
	interrupt() // the run makes its directory before it waits for anything
	require.ErrorIs(t, run(ctx, []string{dir}), context.Canceled)
	var left []string
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		left = append(left, e.Name())
	}
	require.ElementsMatch(t, []string{"haproxy.cfg", "patroni.sh", "notes.txt"}, left)
}
