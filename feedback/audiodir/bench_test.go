package audiodir_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"lessonkit.example/feedback/audiodir"
	"lessonkit.example/feedback/feedbacktest"
)

// BenchmarkKeep compares with the floor: copy, hash, sync, rename.
func BenchmarkKeep(b *testing.B) {
	for _, size := range []int{2 << 20, 100 << 20} {
		audio := feedbacktest.MP3(string(make([]byte, size)))
		b.Run(fmt.Sprintf("ours/%d MiB", size>>20), func(b *testing.B) {
			s, err := audiodir.New(b.TempDir())
			require.NoError(b, err)
			b.SetBytes(int64(size))
			for b.Loop() {
				a, err := s.Stage(context.Background(), struct{ io.Reader }{bytes.NewReader(audio)}, 1<<30)
				require.NoError(b, err)
				kept, err := a.Keep(context.Background(), nil)
				require.NoError(b, err)
				require.NoError(b, s.Delete(context.Background(), kept.Key))
			}
		})
		b.Run(fmt.Sprintf("bare/%d MiB", size>>20), func(b *testing.B) {
			dir := b.TempDir()
			b.SetBytes(int64(size))
			for b.Loop() {
				f, err := os.CreateTemp(dir, "x")
				require.NoError(b, err)
				hash := sha256.New()
				_, err = io.CopyBuffer(io.MultiWriter(f, hash), struct{ io.Reader }{bytes.NewReader(audio)},
					make([]byte, 128<<10))
				require.NoError(b, err)
				hash.Sum(nil)
				require.NoError(b, f.Sync())
				require.NoError(b, os.Rename(f.Name(), filepath.Join(dir, "kept")))
				require.NoError(b, f.Close())
				require.NoError(b, os.Remove(filepath.Join(dir, "kept")))
			}
		})
	}
}
