package fit

import (
	"bytes"
	"context"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/png"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/semaphore"

	"lessonkit.example/imagegen"
)

// claim returns a PNG whose header claims w by h pixels of 4 bytes.
func claim(t *testing.T, w, h int) []byte {
	var out bytes.Buffer
	require.NoError(t, png.Encode(&out, image.NewNRGBA(image.Rect(0, 0, 1, 1))))
	data := out.Bytes()
	binary.BigEndian.PutUint32(data[16:], uint32(w))
	binary.BigEndian.PutUint32(data[20:], uint32(h))
	binary.BigEndian.PutUint32(data[29:], crc32.ChecksumIEEE(data[12:29]))
	return data
}

func TestImagesWithTooManyPixelsAreRefused(t *testing.T) {
	t.Parallel()
	c := Config{Ratio: "1:1"}
	for _, size := range [][2]int{{4000, 4200}, {100_000, 90_000}, {1 << 30, 1}} {
		_, err := newPlan(claim(t, size[0], size[1]), c)
		require.ErrorIs(t, err, ErrTooManyPixels)
	}
	_, err := newPlan(claim(t, 4000, 4000), c)
	require.NoError(t, err)
}

func store(t *testing.T, s imagegen.Sink, data []byte) imagegen.Blob {
	t.Helper()
	b, err := s.Open(context.Background(), imagegen.Info{Type: "image/png", Ext: ".png"})
	require.NoError(t, err)
	_, err = io.Copy(struct{ io.Writer }{b}, struct{ io.Reader }{bytes.NewReader(data)})
	require.NoError(t, err)
	return b
}

// A sink holds all images of a response until they are committed together.
func TestSinkHoldsALimitedNumberOfBytes(t *testing.T) {
	var reasons []error
	memory := imagegen.Memory()
	s := Sink(memory, Config{Ratio: "1:1", OnUncropped: func(_ imagegen.Info, err error) {
		reasons = append(reasons, err)
	}}).(*sink)
	s.memory = semaphore.NewWeighted(10 << 20)
	large := make([]byte, 1<<20)
	copy(large, claim(t, 8000, 9000))
	var open []imagegen.Blob
	for range 12 {
		open = append(open, store(t, s, large))
	}
	passed := len(reasons)
	require.Positive(t, passed, "what does not fit is passed on while it arrives")
	require.Less(t, passed, 12)
	for _, b := range open {
		require.NoError(t, b.Commit())
	}
	require.Len(t, reasons, 12, "the others have too many pixels")
	for _, err := range reasons {
		require.ErrorIs(t, err, ErrTooManyPixels)
	}
	require.Equal(t, large, memory.Get(0), "no byte of a paid image is lost")
	require.True(t, s.memory.TryAcquire(10<<20), "everything is released")
}

func TestSinkReleasesWhatIsAborted(t *testing.T) {
	t.Parallel()
	s := Sink(imagegen.Memory(), Config{Ratio: "1:1"}).(*sink)
	require.NoError(t, store(t, s, make([]byte, 1<<20)).Abort())
	require.NoError(t, store(t, s, make([]byte, maxEncoded+1)).Abort())
	require.True(t, s.memory.TryAcquire(maxMemory))
}
