package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"lessonkit.example/imagegen"
)

// taskSink stores the images of a task.
type taskSink struct {
	g      *Gateway
	id     string
	caller string
	mu     sync.Mutex
	images []Blob                 // by index
	open   map[*taskBlob]struct{} // neither committed nor aborted
	closed bool
}

// errClosed is for goroutines of a generator that has returned or panicked.
var errClosed = errors.New("the task has ended")

// Open implements [imagegen.Sink].
func (s *taskSink) Open(ctx context.Context, info imagegen.Info) (imagegen.Blob, error) {
	if info.Index < 0 || info.Index > 1000 {
		return nil, fmt.Errorf("unexpected image index %d", info.Index)
	}
	b := Blob{Name: fmt.Sprintf("%s-%d%s", s.id, info.Index, info.Ext), Type: info.Type}
	blob, err := s.g.createBlob(ctx, s.caller, b.Name)
	if err != nil {
		return nil, err
	}
	opened := &taskBlob{countedBlob: blob, s: s, index: info.Index, b: b}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errors.Join(errClosed, blob.Abort())
	}
	s.open[opened] = struct{}{}
	return opened, nil
}

// close ends the use of the sink: it aborts what is open, and returns the images. Goroutines that a
// generator has left behind can store nothing from then on.
func (s *taskSink) close() []Blob {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for b := range s.open {
		if err := b.countedBlob.Abort(); err != nil {
			s.g.c.Logger.Error("abort an image", "blob", b.b.Name, "error", err)
		}
	}
	clear(s.open)
	return s.images
}

// taskBlob is an image that is being stored. Its methods hold the lock of the sink, so that close
// finds each blob either open or ended.
type taskBlob struct {
	*countedBlob
	s     *taskSink
	index int
	b     Blob
}

// Write implements io.Writer.
func (b *taskBlob) Write(p []byte) (int, error) {
	b.s.mu.Lock()
	defer b.s.mu.Unlock()
	if b.s.closed {
		return 0, errClosed
	}
	return b.countedBlob.Write(p)
}

// Abort implements [imagegen.Blob].
func (b *taskBlob) Abort() error {
	b.s.mu.Lock()
	defer b.s.mu.Unlock()
	if b.s.closed {
		return nil // close has done it
	}
	delete(b.s.open, b)
	return b.countedBlob.Abort()
}

// Commit implements [imagegen.Blob].
func (b *taskBlob) Commit() error {
	b.s.mu.Lock()
	defer b.s.mu.Unlock()
	if b.s.closed {
		return errClosed
	}
	delete(b.s.open, b)
	if err := b.countedBlob.Commit(); err != nil {
		return err
	}
	b.b.Size = b.size
	for len(b.s.images) <= b.index {
		b.s.images = append(b.s.images, Blob{})
	}
	b.s.images[b.index] = b.b
	return nil
}

// reference returns a stored reference for the generator.
func (g *Gateway) reference(ctx context.Context, b Blob) imagegen.Reference {
	open := func() (io.ReadCloser, error) { return g.c.Store.OpenBlob(ctx, b.Name) }
	return imagegen.Source(b.File, b.Size, open).Type(b.Type)
}
