package source

import (
	"bytes"
	"fmt"
	"io"
	"sync"
)

// Body is a request body: some bytes, a recording, some bytes. It gives exactly the announced length or an error.
type Body struct {
	head, tail *bytes.Reader
	src        *Source
	left       int64 // of the recording
	failure    *Failure
}

// Failure keeps the error of reading a recording, so that it can be told from one of the network. The zero value is ready.
type Failure struct {
	mu  sync.Mutex
	err error
}

// Err returns the error, or nil.
func (f *Failure) Err() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

func (f *Failure) set(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
}

// NewBody returns the body made of head (which holds the source's Prefix already), the recording and tail. Closing the body
// closes the source.
func NewBody(head []byte, src *Source, tail []byte, failure *Failure) *Body {
	return &Body{
		head: bytes.NewReader(head), tail: bytes.NewReader(tail),
		src: src, left: src.Size - int64(len(src.Prefix)), failure: failure,
	}
}

// Read implements io.Reader.
func (b *Body) Read(p []byte) (int, error) {
	if n, err := b.head.Read(p); n > 0 || err != io.EOF {
		return n, err
	}
	if b.left > 0 && len(p) > 0 {
		n, err := b.src.Body.Read(p[:min(int64(len(p)), b.left)])
		b.left -= int64(n)
		if err == io.EOF {
			err = nil
			if b.left > 0 {
				err = fmt.Errorf("it ends %d bytes before its announced size", b.left)
			}
		}
		if err != nil {
			b.failure.set(err)
		}
		return n, err
	}
	return b.tail.Read(p)
}

// Close implements io.Closer.
func (b *Body) Close() error { return b.src.Close() }
