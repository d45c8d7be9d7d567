package imagegen

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"sync"
	"time"
)

// Info describes one image.
type Info struct {
	Index    int       // position in the answer, from 0
	Type     string    // media type found by looking at the bytes; "application/octet-stream" when they are of no known kind
	Ext      string    // file name extension for Type, with its dot
	Width    int       // pixels; 0 while unknown, and for formats whose header is not read (AVIF, HEIC, SVG)
	Height   int       // pixels
	Size     int64     // bytes; to a Sink, an estimate, too high or too low when an answer brings several images; 0 when unknown
	Prompt   string    // the prompt as the service rewrote it, if it says so; not known yet when a Sink is opened
	URL      string    // where it was fetched from, without the query; empty for image data inside the answer
	Path     string    // where a sink has put it, if the sink says so
	TaskID   string    // the task it is of, if any
	Received time.Time // when it began to arrive
}

// Sink stores images. Open is called for each image once its type is known, so not for one that turned out not to be an image.
// Images come one after the other, in the order of the answer; several may be open at once, because they are committed
// together when the whole answer has been read. ctx is that of the call.
//
// A Sink may also be a [Preparer], a Blob also a [Describer].
type Sink interface {
	Open(ctx context.Context, info Info) (Blob, error)
}

// Blob takes the bytes of one image, followed by exactly one call of Commit or Abort. Until Commit returns, nothing of it may
// be visible to others.
type Blob interface {
	io.Writer
	Commit() error
	Abort() error
}

// Preparer is a Sink that can tell beforehand whether it will be able to store n images (0: as many as the service chooses).
// Its error ends the call before anything is sent, and so before anything is paid.
type Preparer interface {
	Prepare(ctx context.Context, n int) error
}

// Describer is a Blob that knows more about what it has stored: after Commit it amends the Info that goes into the Result.
type Describer interface {
	Describe(info *Info)
}

// Memory returns a Sink that keeps the images in memory.
func Memory() *Buffers { return &Buffers{images: map[int][]byte{}} }

// Buffers is a Sink that keeps images in memory. It is safe for concurrent use, but images of several calls overwrite one
// another by index.
type Buffers struct {
	mu     sync.Mutex
	images map[int][]byte
}

// most a size that was only announced may make us allocate
const maxPreallocate = 64 << 20

// Open implements [Sink].
func (b *Buffers) Open(_ context.Context, info Info) (Blob, error) {
	space := make([]byte, 0, min(max(info.Size, 512), maxPreallocate))
	return &buffer{Buffer: *bytes.NewBuffer(space), index: info.Index, to: b}, nil
}

// Get returns the image with that index, nil if there is none.
func (b *Buffers) Get(index int) []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.images[index]
}

// All yields the images in the order of their indexes.
func (b *Buffers) All() iter.Seq2[int, []byte] {
	return func(yield func(int, []byte) bool) {
		b.mu.Lock()
		images := maps.Clone(b.images)
		b.mu.Unlock()
		for _, i := range slices.Sorted(maps.Keys(images)) {
			if !yield(i, images[i]) {
				return
			}
		}
	}
}

type buffer struct {
	bytes.Buffer
	index int
	to    *Buffers
}

func (b *buffer) Commit() error {
	b.to.mu.Lock()
	defer b.to.mu.Unlock()
	b.to.images[b.index] = b.Bytes()
	return nil
}

func (b *buffer) Abort() error { return nil }

// Writer returns a Sink for a single image that goes to w as it arrives. Because w cannot take bytes back, an answer that breaks
// off leaves w with the beginning of an image; the call returns an error then.
func Writer(w io.Writer) Sink { return &writerSink{w: w} }

type writerSink struct {
	w    io.Writer
	used bool
}

func (s *writerSink) Prepare(_ context.Context, n int) error {
	if n > 1 {
		return fmt.Errorf("a writer takes one image, not %d", n)
	}
	return nil
}

func (s *writerSink) Open(context.Context, Info) (Blob, error) {
	if s.used {
		return nil, errors.New("a writer takes one image only")
	}
	s.used = true
	return plainBlob{s.w}, nil
}

type plainBlob struct{ io.Writer }

func (plainBlob) Commit() error { return nil }
func (plainBlob) Abort() error  { return nil }
