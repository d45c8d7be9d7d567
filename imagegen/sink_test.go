package imagegen_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"lessonkit.example/imagegen"
	"lessonkit.example/imagegen/imagegentest"
)

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

func TestDirNamesFilesAndNeverOverwrites(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		fake := imagegentest.New(t, imagegentest.Options{})
		dir := t.TempDir()
		req := &imagegen.Request{Prompt: "a red fox", N: 2, Size: "16:9"}
		for range 2 {
			r, err := fake.Client(nil).Generate(t.Context(), req,
				imagegen.Dir(dir, "fox-{i}{ext}"))
			require.NoError(t, err)
			for _, info := range r.Images {
				data, err := os.ReadFile(info.Path)
				require.NoError(t, err)
				require.Len(t, data, int(info.Size))
			}
		}
		require.Equal(t, []string{"fox-1-2.png", "fox-1.png", "fox-2-2.png", "fox-2.png"}, names(t, dir))
	})
}

func TestDirShowsNoIncompleteFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	blob, err := imagegen.Dir(dir, "a.png").Open(t.Context(), imagegen.Info{})
	require.NoError(t, err)
	_, err = blob.Write(pngHead)
	require.NoError(t, err)
	require.NoFileExists(t, filepath.Join(dir, "a.png"))
	require.NoError(t, blob.Abort())
	require.Empty(t, names(t, dir))
}

// faultySink fails for image 1, where at says.
type faultySink struct {
	imagegen.Sink
	at      string
	aborted int
}

type faultyBlob struct {
	imagegen.Blob
	s *faultySink
}

var errDisk = errors.New("disk full")

func (s *faultySink) Open(ctx context.Context, info imagegen.Info) (imagegen.Blob, error) {
	b, err := s.Sink.Open(ctx, info)
	switch {
	case info.Index != 1:
		return b, err
	case s.at == "open":
		return nil, errDisk
	}
	return faultyBlob{b, s}, err
}

func (b faultyBlob) Write(p []byte) (int, error) {
	if b.s.at == "write" {
		return 0, errDisk
	}
	return b.Blob.Write(p)
}

func (b faultyBlob) Commit() error { return errDisk }

func (b faultyBlob) Abort() error {
	b.s.aborted++
	return b.Blob.Abort()
}

func TestSinkFailureLosesOneImageOnly(t *testing.T) {
	t.Parallel()
	for _, mode := range []imagegentest.Mode{imagegentest.Sync, imagegentest.ByURL} {
		for _, name := range []string{"open", "write", "commit"} {
			fake := imagegentest.New(t, imagegentest.Options{Mode: mode})
			images := imagegen.Memory()
			sink := &faultySink{Sink: images, at: name}
			r, err := fake.Client(nil).Generate(t.Context(), &imagegen.Request{Prompt: "x", N: 3}, sink)
			require.ErrorIs(t, err, errDisk, name)
			errorOf[*imagegen.PartialError](t, err)
			require.Len(t, r.Images, 2)
			require.Nil(t, images.Get(1))
			require.NotEmpty(t, images.Get(2))
			require.Equal(t, name == "write", sink.aborted == 1)
			require.Equal(t, 1, fake.Counts().Generations)
		}
	}
}

// What a writer could not take is not paid for.
func TestWriterThatHasItsImageIsRefused(t *testing.T) {
	t.Parallel()
	fake := imagegentest.New(t, imagegentest.Options{})
	var out bytes.Buffer
	used := imagegen.Writer(&out)
	r, err := fake.Client(nil).Generate(t.Context(), fox(), used)
	require.NoError(t, err)
	require.Equal(t, r.Images[0].Size, int64(out.Len()))
	_, err = fake.Client(nil).Generate(t.Context(), fox(), used)
	require.ErrorIs(t, err, imagegen.ErrInvalidRequest)
	require.Equal(t, 1, fake.Counts().Generations)
}
