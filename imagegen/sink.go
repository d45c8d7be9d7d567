package imagegen

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync"
)

// Info describes one image.
type Info struct {
	Index  int    `json:"index"`                    // position in the response, from 0
	Type   string `json:"type"`                     // detected media type; "application/octet-stream" if unknown
	Ext    string `json:"ext"`                      // file name extension for Type, with its dot
	Width  int    `json:"width,omitempty"`          // pixels; 0 while unknown, and for AVIF, HEIC and SVG
	Height int    `json:"height,omitempty"`         // pixels; likewise
	Size   int64  `json:"size"`                     // bytes; for Sink.Open an inexact estimate, or 0
	Prompt string `json:"revised_prompt,omitempty"` // as the service revised it, if it did; empty for Sink.Open
	URL    string `json:"url,omitempty"`            // where it was fetched, without the query; empty for image data
	Path   string `json:"path,omitempty"`           // where a sink stored it, if the sink reports that
	TaskID string `json:"task_id,omitempty"`        // the task it belongs to, if any
}

// Sink stores images. Open is called for each image once its type is known, and not for data that
// is not an image. Images arrive one after the other, in the order of the response; several may be
// open at once, because they are committed together when the whole response has been read. ctx is
// that of the call. A Sink is used by one call at a time unless its documentation says otherwise.
//
// A Sink may also implement [Preparer], and a Blob [Describer].
type Sink interface {
	Open(ctx context.Context, info Info) (Blob, error)
}

// Blob receives the bytes of one image, and then exactly one call of Commit or Abort. Until Commit
// returns, nothing of it may be visible to others.
type Blob interface {
	io.Writer
	Commit() error
	Abort() error
}

// Preparer is implemented by a Sink that knows in advance whether it can store n images (0: as many
// as the service chooses). Its error ends the call before anything is sent and paid.
type Preparer interface {
	Prepare(ctx context.Context, n int) error
}

// Describer is implemented by a Blob that completes the Info in the Result after Commit.
type Describer interface {
	Describe(info *Info)
}

// Memory returns a Sink that keeps images in memory.
func Memory() *Buffers { return &Buffers{images: map[int][]byte{}} }

// Buffers is a Sink that keeps images in memory. It is safe for concurrent use, but images of
// several calls replace one another by index.
type Buffers struct {
	mu     sync.Mutex
	images map[int][]byte
}

const maxPreallocated = 64 << 20 // for a size that is only announced

// Open implements [Sink].
func (b *Buffers) Open(_ context.Context, info Info) (Blob, error) {
	space := make([]byte, 0, min(max(info.Size, 512), maxPreallocated))
	return &memoryBlob{Buffer: *bytes.NewBuffer(space), index: info.Index, to: b}, nil
}

// Get returns the image with that index, or nil.
func (b *Buffers) Get(index int) []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.images[index]
}

type memoryBlob struct {
	bytes.Buffer
	index int
	to    *Buffers
}

func (b *memoryBlob) Commit() error {
	b.to.mu.Lock()
	defer b.to.mu.Unlock()
	b.to.images[b.index] = b.Bytes()
	return nil
}

func (b *memoryBlob) Abort() error { return nil }

// Writer returns a Sink that writes a single image to w as it arrives. A response that breaks off
// leaves the beginning of an image in w; the call then returns an error.
func Writer(w io.Writer) Sink { return &writerSink{w: w} }

var errOneImage = errors.New("a writer accepts one image only")

type writerSink struct {
	w    io.Writer
	used bool
}

func (s *writerSink) Prepare(_ context.Context, n int) error {
	if n > 1 || s.used {
		return errOneImage
	}
	return nil
}

func (s *writerSink) Open(context.Context, Info) (Blob, error) {
	if s.used {
		return nil, errOneImage
	}
	s.used = true
	return writerBlob{s.w}, nil
}

type writerBlob struct{ io.Writer }

func (writerBlob) Commit() error { return nil }
func (writerBlob) Abort() error  { return nil }
