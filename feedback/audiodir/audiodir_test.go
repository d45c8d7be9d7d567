package audiodir_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/feedback"
	"lessonkit.example/feedback/audiodir"
	"lessonkit.example/feedback/feedbacktest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	feedbacktest.AudioStore(t, func(t *testing.T) feedback.AudioStore {
		s, err := audiodir.New(t.TempDir())
		require.NoError(t, err)
		return s
	})
}

func files(t *testing.T, dir string) (names []string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*", "*"))
	require.NoError(t, err)
	return names
}

// TestKilledUploadIsSwept: it has left its file.
func TestKilledUploadIsSwept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := audiodir.New(dir)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "incoming", "1"), feedbacktest.MP3("half"), 0o600))
	for _, before := range []time.Duration{-time.Hour, time.Hour} {
		for key, err := range s.Keys(t.Context(), time.Now().Add(before)) {
			require.NoError(t, err)
			t.Errorf("half an upload is listed as %s", key)
		}
		if before < 0 {
			require.Len(t, files(t, dir), 1, "it may still be an upload in progress")
		}
	}
	require.Empty(t, files(t, dir))
}

func TestMoreTypesAreAcceptedIfTheyAreConverted(t *testing.T) {
	t.Parallel()
	for _, converted := range []bool{false, true} {
		s, err := audiodir.New(t.TempDir())
		require.NoError(t, err)
		s.Converted = converted
		a, err := s.Stage(t.Context(), strings.NewReader("caff\x00\x01\x00\x00desc"), 1<<20)
		require.NoError(t, err)
		kept, err := a.Keep(t.Context(), nil)
		if !converted {
			require.ErrorIs(t, err, feedback.ErrAudioType)
			require.NoError(t, a.Discard())
			continue
		}
		require.NoError(t, err)
		require.Equal(t, "audio/x-caf", kept.ContentType)
		require.Equal(t, ".caf", filepath.Ext(kept.Key))
		f, err := s.Open(t.Context(), kept.Key)
		require.NoError(t, err)
		require.NoError(t, f.Close())
	}
}

func TestNewCreatesTheDirectory(t *testing.T) {
	t.Parallel()
	_, err := audiodir.New("")
	require.Error(t, err)
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	_, err = audiodir.New(file)
	require.Error(t, err)
	dir := filepath.Join(t.TempDir(), "a", "b")
	_, err = audiodir.New(dir)
	require.NoError(t, err)
	info, err := os.Stat(dir)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), info.Mode().Perm(), "only the owner may read recordings")
}

func TestMissingDirectoryIsAStorageError(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "audio")
	s, err := audiodir.New(dir)
	require.NoError(t, err)
	require.NoError(t, os.RemoveAll(dir))
	_, err = s.Stage(t.Context(), strings.NewReader("x"), 10)
	require.ErrorIs(t, err, feedback.ErrStorage)
	var e *feedback.Error
	require.ErrorAs(t, err, &e)
	require.NotContains(t, e.Message, dir, "paths are for the log")
	require.Positive(t, e.RetryAfter())
}

func TestAudioThatCannotBeKeptLeavesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := audiodir.New(dir)
	require.NoError(t, err)
	a, err := s.Stage(t.Context(), strings.NewReader(string(feedbacktest.MP3("x"))), 1<<20)
	require.NoError(t, err)
	subdirs, err := filepath.Glob(filepath.Join(dir, "[0-9a-f][0-9a-f]"))
	require.NoError(t, err)
	require.Len(t, subdirs, 256)
	for _, sub := range subdirs {
		require.NoError(t, os.Remove(sub))
	}
	_, err = a.Keep(t.Context(), nil)
	require.ErrorIs(t, err, feedback.ErrStorage)
	require.NoError(t, a.Discard())
	require.Empty(t, files(t, dir))
}
