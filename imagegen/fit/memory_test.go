package fit

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"image"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"lessonkit.example/imagegen"
)

// allocated returns how many bytes f allocates in all, which is at least what it holds at once.
func allocated(f func()) int64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return int64(after.TotalAlloc - before.TotalAlloc)
}

// An estimate that is too low would let an image take more than the limit, and one that is far too
// high would refuse images for no reason.
func TestMemoryIsEstimated(t *testing.T) {
	files, err := filepath.Glob("testdata/*.*g*") // png, jpg
	require.NoError(t, err)
	webp, err := filepath.Glob("testdata/*.webp")
	require.NoError(t, err)
	files = append(files, webp...)
	require.Len(t, files, 15)
	for _, name := range files {
		data, err := os.ReadFile(name)
		require.NoError(t, err)
		for _, mediaType := range []string{"image/png", "image/jpeg"} {
			for _, orientation := range []int{1, 6} {
				p, err := newPlan(data, Config{Ratio: "1:1", Type: mediaType})
				require.NoError(t, err, name)
				p.orientation = orientation
				took := allocated(func() {
					_, err := p.decode(data)
					require.NoError(t, err, name)
				})
				const fixed = 512 << 10 // tables and buffers, whatever the size of the image
				test := fmt.Sprintf("%s to %s, orientation %d", name, mediaType, orientation)
				require.LessOrEqual(t, took, p.memory()+fixed, test)
				require.Less(t, p.memory(), 4*took, test)
			}
		}
	}
}

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

func TestImagesThatTakeTooMuchMemoryAreRefused(t *testing.T) {
	t.Parallel()
	c := Config{Ratio: "1:1"}
	for _, size := range [][2]int{{8000, 9000}, {100_000, 90_000}, {1 << 30, 1}} {
		p, err := newPlan(claim(t, size[0], size[1]), c)
		if err == nil {
			require.Greater(t, p.memory(), int64(maxMemory))
		} else {
			require.ErrorIs(t, err, ErrTooManyPixels)
		}
	}
	p, err := newPlan(claim(t, 7600, 8000), c)
	require.NoError(t, err)
	require.Less(t, p.memory(), int64(maxMemory), "about 60 megapixels are accepted")
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
	large := make([]byte, 20<<20)
	copy(large, claim(t, 8000, 9000))
	var open []imagegen.Blob
	for range 12 {
		open = append(open, store(t, s, large))
	}
	passed := len(reasons)
	require.Positive(t, passed, "what does not fit is passed on while it arrives")
	require.Less(t, passed, 12)
	require.GreaterOrEqual(t, s.room, int64(0))
	for _, b := range open {
		require.NoError(t, b.Commit())
	}
	require.Len(t, reasons, 12, "the others are passed on when it turns out what they would take")
	for _, err := range reasons {
		require.ErrorIs(t, err, ErrTooManyPixels)
	}
	require.Equal(t, large, memory.Get(0), "no byte of a paid image is lost")
	require.Equal(t, int64(maxMemory), s.room, "everything is released")
}

func TestSinkReleasesWhatIsAborted(t *testing.T) {
	t.Parallel()
	s := Sink(imagegen.Memory(), Config{Ratio: "1:1"}).(*sink)
	require.NoError(t, store(t, s, make([]byte, 1<<20)).Abort())
	require.NoError(t, store(t, s, make([]byte, maxEncoded+1)).Abort())
	require.Equal(t, int64(maxMemory), s.room)
}
