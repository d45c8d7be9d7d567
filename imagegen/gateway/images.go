package gateway

import (
	"context"
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
	images []Blob // by index
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
	return &taskBlob{countedBlob: blob, s: s, index: info.Index, b: b}, nil
}

type taskBlob struct {
	*countedBlob
	s     *taskSink
	index int
	b     Blob
}

// Commit implements [imagegen.Blob].
func (b *taskBlob) Commit() error {
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
