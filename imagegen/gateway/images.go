package gateway

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
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
}

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
	s.open[opened] = struct{}{}
	return opened, nil
}

// abort aborts what a generator that panicked has left open.
func (s *taskSink) abort() {
	s.mu.Lock()
	left := slices.Collect(maps.Keys(s.open))
	s.mu.Unlock()
	for _, b := range left {
		if err := b.Abort(); err != nil {
			s.g.c.Logger.Error("abort an image", "blob", b.b.Name, "error", err)
		}
	}
}

type taskBlob struct {
	*countedBlob
	s     *taskSink
	index int
	b     Blob
}

// Abort implements [imagegen.Blob].
func (b *taskBlob) Abort() error {
	b.close()
	return b.countedBlob.Abort()
}

func (b *taskBlob) close() {
	b.s.mu.Lock()
	defer b.s.mu.Unlock()
	delete(b.s.open, b)
}

// Commit implements [imagegen.Blob].
func (b *taskBlob) Commit() error {
	b.close()
	if err := b.countedBlob.Commit(); err != nil {
		return err
	}
	b.b.Size = b.size
	b.s.mu.Lock()
	defer b.s.mu.Unlock()
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
