package gateway_test

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

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

func TestDirStoreErrorNamesTheInvalidFile(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	s := openDir(t, path)
	require.NoError(t, os.WriteFile(filepath.Join(path, "tasks", "a.json"), []byte("{"), 0o600))
	_, err := s.Task(t.Context(), "a")
	require.ErrorContains(t, err, filepath.Join("tasks", "a.json"))
}

func TestTaskThatCannotBeReadDoesNotKeepOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		path := t.TempDir()
		var log bytes.Buffer
		h := running(t, gateway.Config{Mode: gateway.Async, Store: openDir(t, path),
			Logger: slog.New(slog.NewTextHandler(&log, nil))})
		a := send(t, h, "POST", generations, `{"prompt":"x"}`, nil)
		require.Equal(t, 200, a.Code)
		damaged := filepath.Join(path, "tasks", "-.json") // the first of the directory
		require.NoError(t, os.WriteFile(damaged, []byte("{"), 0o600))
		time.Sleep(26 * time.Hour)
		synctest.Wait()
		require.Equal(t, 404, send(t, h, "GET", "/v1/tasks/"+a.data()["id"].(string), "", nil).Code)
		require.Contains(t, log.String(), damaged)
		require.FileExists(t, damaged)
	})
}

func TestDirStoreDeletesTheFilesOfACrash(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	s := openDir(t, path)
	for _, name := range []string{"ref-lost", "ref-kept", "image-1-0.png"} {
		b, err := s.CreateBlob(t.Context(), name)
		require.NoError(t, err)
		require.NoError(t, b.Commit())
	}
	require.NoError(t,
		s.CreateTask(t.Context(), gateway.Task{ID: "t", References: []gateway.Blob{{Name: "ref-kept"}}}))
	_, err := s.CreateBlob(t.Context(), "unfinished")
	require.NoError(t, err)
	openDir(t, path)
	left, err := os.ReadDir(filepath.Join(path, "blobs"))
	require.NoError(t, err)
	var names []string
	for _, e := range left {
		names = append(names, e.Name())
	}
	require.Equal(t, []string{"image-1-0.png", "ref-kept"}, names)
}
