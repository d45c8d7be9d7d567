package recording_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"
	"testing/iotest"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"lessonkit.example/feedback"
	"lessonkit.example/feedback/audiotype"
	"lessonkit.example/feedback/internal/recording"
)

const firstPart, partSize = 64 << 10, 128 << 10 // of Receive

// random returns bytes that differ from part to part, so that a part that is hashed or written
// after its memory has been used again does not go unnoticed.
func random(t *testing.T, size int) []byte {
	t.Helper()
	seed := [32]byte{0: byte(rand.Uint32()), 1: byte(rand.Uint32())}
	t.Logf("seed %v", seed[:2])
	audio := make([]byte, size)
	rand.NewChaCha8(seed).Read(audio)
	return audio
}

func TestReceiveSizes(t *testing.T) {
	t.Parallel()
	for _, size := range []int{
		1, audiotype.HeadSize, firstPart - 1, firstPart, firstPart + 1, firstPart + partSize, firstPart + partSize + 1,
		firstPart + 4*partSize, 25*partSize + 7,
	} {
		audio := random(t, size)
		r := bytes.NewReader(audio)
		for name, wrap := range map[string]func(io.Reader) io.Reader{
			"at once":           func(r io.Reader) io.Reader { return r },
			"halves":            iotest.HalfReader,
			"the end with data": iotest.DataErrReader,
		} {
			what := fmt.Sprintf("%d bytes, %s", size, name)
			var written bytes.Buffer
			_, err := r.Seek(0, io.SeekStart)
			require.NoError(t, err, what)
			got, err := recording.Receive(t.Context(), &written, wrap(r), int64(size))
			require.NoError(t, err, what)
			sum := sha256.Sum256(audio)
			info := feedback.AudioInfo{Size: int64(size), SHA256: hex.EncodeToString(sum[:])}
			require.Equal(t, info, got.AudioInfo, what)
			require.True(t, bytes.Equal(audio, written.Bytes()), what)
			require.Equal(t, audio[:min(size, audiotype.HeadSize)], got.Head, what)
		}
	}
}

type failingWriter struct {
	left int
	err  error
}

func (w *failingWriter) Write(p []byte) (int, error) {
	if w.left -= len(p); w.left < 0 {
		return 0, w.err
	}
	return len(p), nil
}

// TestReceiveErrors also proves that no goroutine is left: synctest fails if one is blocked.
func TestReceiveErrors(t *testing.T) {
	t.Parallel()
	const size = 10 * partSize
	audio := random(t, size)
	broken, full := errors.New("connection reset"), errors.New("disk full")
	endsWith := func(err error) io.Reader { return io.MultiReader(bytes.NewReader(audio), iotest.ErrReader(err)) }
	for name, c := range map[string]struct {
		canceled bool
		w        io.Writer
		r        io.Reader
		limit    int64
		want     error
	}{
		"canceled":             {true, io.Discard, bytes.NewReader(audio), size, context.Canceled},
		"empty":                {false, io.Discard, bytes.NewReader(nil), size, feedback.ErrAudioEmpty},
		"too large":            {false, io.Discard, bytes.NewReader(audio), size - 1, feedback.ErrAudioTooLarge},
		"a broken upload":      {false, io.Discard, endsWith(broken), size, broken},
		"a cut upload":         {false, io.Discard, endsWith(io.ErrUnexpectedEOF), size, feedback.ErrUpload},
		"a writer that fails":  {false, &failingWriter{0, full}, bytes.NewReader(audio), size, full},
		"a writer fails later": {false, &failingWriter{5 * partSize, full}, bytes.NewReader(audio), size, full},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if c.canceled {
				cancel()
			}
			got, err := recording.Receive(ctx, c.w, c.r, c.limit)
			require.ErrorIs(t, err, c.want, name)
			require.Equal(t, c.want == full, errors.Is(err, feedback.ErrStorage), name)
			require.Zero(t, got, name)
		})
	}
}
