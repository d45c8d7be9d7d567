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

// smallDisk returns a directory on a file system of its own. The test must run as root.
func smallDisk(t *testing.T, size string) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Skipf("mounting a small file system: %v", err)
	}
	t.Cleanup(func() { require.NoError(t, syscall.Unmount(dir, 0)) })
	return dir
}

func TestFullDisk(t *testing.T) {
	t.Parallel()
	dir := smallDisk(t, "1m")
	s, err := audiodir.New(dir)
	require.NoError(t, err)
	s.Reserve = -1
	_, err = s.Stage(t.Context(), bytes.NewReader(feedbacktest.MP3(strings.Repeat("x", 2<<20))), 4<<20)
	require.ErrorIs(t, err, feedback.ErrStorageFull)
	require.ErrorIs(t, err, syscall.ENOSPC)
	require.Empty(t, files(t, dir))

	// Raw samples are written twice; there is no space for the second time.
	a, err := s.Stage(t.Context(), strings.NewReader(strings.Repeat("\x00\x01", 350_000)), 4<<20)
	require.NoError(t, err)
	_, err = a.Keep(t.Context(), &feedback.PCM{SampleRate: 16000, Channels: 1})
	require.ErrorIs(t, err, feedback.ErrStorageFull)
	require.NoError(t, a.Discard())
	require.Empty(t, files(t, dir))

	a, err = s.Stage(t.Context(), bytes.NewReader(feedbacktest.MP3("there is space again")), 4<<20)
	require.NoError(t, err)
	_, err = a.Keep(t.Context(), nil)
	require.NoError(t, err)
}

// A disk that fails becomes read-only, with all of its free space.
func TestAReadOnlyDiskIsTold(t *testing.T) {
	t.Parallel()
	dir := smallDisk(t, "1m")
	s, err := audiodir.New(dir)
	require.NoError(t, err)
	require.NoError(t, s.CheckSpace(t.Context()))
	require.NoError(t, syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""))
	err = s.CheckSpace(t.Context())
	require.ErrorIs(t, err, feedback.ErrStorage)
	require.ErrorIs(t, err, syscall.EROFS)
	require.ErrorContains(t, err, "write to incoming")
	space, err := s.Space()
	require.ErrorIs(t, err, feedback.ErrStorage)
	require.EqualValues(t, 1<<20, space.Total)
	require.Positive(t, space.Free)
}

// reading counts what is read of an upload of zeros.
type reading struct{ n int }

func (r *reading) Read(p []byte) (int, error) {
	r.n += len(p)
	clear(p)
	return len(p), nil
}

func TestUploadsLeaveTheReserve(t *testing.T) {
	t.Parallel()
	dir := smallDisk(t, "20m")
	s, err := audiodir.New(dir)
	require.NoError(t, err)
	space, err := s.Space()
	require.NoError(t, err)
	require.EqualValues(t, 20<<20, space.Total)
	require.EqualValues(t, 1<<20, space.Reserve, "a twentieth")

	s.Reserve = 4 << 20
	_, err = s.Stage(t.Context(), &reading{}, 1<<30)
	require.ErrorIs(t, err, feedback.ErrStorageFull, "an upload in progress ends")
	require.Empty(t, files(t, dir))

	a, err := s.Stage(t.Context(), bytes.NewReader(feedbacktest.MP3(strings.Repeat("x", 15<<20))), 1<<30)
	require.NoError(t, err)
	kept, err := a.Keep(t.Context(), nil)
	require.NoError(t, err)
	require.NoError(t, s.CheckSpace(t.Context()))
	s.Reserve = 8 << 20
	r := &reading{}
	_, err = s.Stage(t.Context(), r, 1<<30)
	require.ErrorIs(t, err, feedback.ErrStorageFull)
	require.ErrorIs(t, s.CheckSpace(t.Context()), feedback.ErrStorageFull)
	require.Zero(t, r.n, "refused before anything is read")

	f, err := s.Open(t.Context(), kept.Key)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	require.NoError(t, s.Delete(t.Context(), kept.Key))
	require.NoError(t, s.CheckSpace(t.Context()))
}
