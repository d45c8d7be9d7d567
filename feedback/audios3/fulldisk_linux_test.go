package audios3_test

import (
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"lessonkit.example/feedback"
	"lessonkit.example/feedback/feedbacktest"
	"lessonkit.example/internal/s3test"
)

// The test must run as root.
func TestFullTemporaryDirectory(t *testing.T) {
	server := s3test.Start(t)
	dir, temp := server.Bucket(t, "audio"), t.TempDir()
	if err := syscall.Mount("tmpfs", temp, "tmpfs", 0, "size=4m"); err != nil {
		t.Skipf("mounting a small file system: %v", err)
	}
	t.Cleanup(func() { require.NoError(t, syscall.Unmount(temp, 0)) })
	t.Setenv("TMPDIR", temp)
	s := open(t, server.Endpoint, "audio")
	_, err := keep(t.Context(), s, feedbacktest.MP3(strings.Repeat("x", 5<<20)))
	require.ErrorIs(t, err, feedback.ErrStorageFull)
	require.ErrorIs(t, err, syscall.ENOSPC)
	require.Empty(t, objects(t, dir))
	_, err = keep(t.Context(), s, feedbacktest.MP3(strings.Repeat("x", 3<<20)))
	require.NoError(t, err, "the failed upload has left no file")

	// Samples do not need the space of a second file for their header.
	a, err := s.Stage(t.Context(), strings.NewReader(strings.Repeat("\x00\x01", 1_600_000)), 4<<20)
	require.NoError(t, err)
	_, err = a.Keep(t.Context(), &feedback.PCM{SampleRate: 16000, Channels: 1})
	require.NoError(t, err)
}
