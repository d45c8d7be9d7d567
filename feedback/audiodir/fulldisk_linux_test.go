package audiodir_test

import (
	"bytes"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"lessonkit.example/feedback"
	"lessonkit.example/feedback/audiodir"
	"lessonkit.example/feedback/feedbacktest"
)

// TestFullDisk uses a file system of one megabyte. It must run as root.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"); err != nil {
		t.Skipf("mounting a small file system: %v", err)
	}
	t.Cleanup(func() { require.NoError(t, syscall.Unmount(dir, 0)) })
	s, err := audiodir.New(dir)
	require.NoError(t, err)
	_, err = s.Stage(t.Context(), bytes.NewReader(feedbacktest.MP3(strings.Repeat("x", 2<<20))), 4<<20)
	require.ErrorIs(t, err, feedback.ErrStorage)
	require.ErrorIs(t, err, syscall.ENOSPC)
	require.Empty(t, files(t, dir))

	// Raw samples are written twice; there is no space for the second time.
	a, err := s.Stage(t.Context(), strings.NewReader(strings.Repeat("\x00\x01", 350_000)), 4<<20)
	require.NoError(t, err)
	_, err = a.Keep(t.Context(), &feedback.PCM{SampleRate: 16000, Channels: 1})
	require.ErrorIs(t, err, feedback.ErrStorage)
	require.NoError(t, a.Discard())
	require.Empty(t, files(t, dir))

	a, err = s.Stage(t.Context(), bytes.NewReader(feedbacktest.MP3("there is space again")), 4<<20)
	require.NoError(t, err)
	_, err = a.Keep(t.Context(), nil)
	require.NoError(t, err)
}
