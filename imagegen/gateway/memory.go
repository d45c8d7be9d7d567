package gateway

import (
	"bytes"
	"context"
	"io"
	"iter"
	"maps"
	"sync"

	"lessonkit.example/imagegen"
)

// Memory returns a Store in memory. It holds all images until their retention ends.
func Memory() Store { return &memory{tasks: map[string]Task{}, blobs: map[string][]byte{}} }

type memory struct {
	mu    sync.Mutex
	tasks map[string]Task
	blobs map[string][]byte
}

func (m *memory) CreateTask(_ context.Context, t Task) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.tasks[t.ID]; ok {
		return ErrExists
	}
	m.tasks[t.ID] = t
	return nil
}

func (m *memory) UpdateTask(_ context.Context, t Task) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.tasks[t.ID]; !ok {
		return ErrNotFound
	}
	m.tasks[t.ID] = t
	return nil
}

func (m *memory) Task(_ context.Context, id string) (Task, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t, ok := m.tasks[id]
	if !ok {
		return Task{}, ErrNotFound
	}
	return t, nil
}

func (m *memory) Tasks(context.Context) iter.Seq2[Task, error] {
	m.mu.Lock()
	all := maps.Clone(m.tasks)
	m.mu.Unlock()
	return func(yield func(Task, error) bool) {
		for _, t := range all {
			if !yield(t, nil) {
				return
			}
		}
	}
}

func (m *memory) DeleteTask(_ context.Context, id string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.tasks, id)
	return nil
}

func (m *memory) CreateBlob(_ context.Context, name string) (imagegen.Blob, error) {
	return &memoryBlob{m: m, name: name}, nil
}

func (m *memory) OpenBlob(_ context.Context, name string) (io.ReadSeekCloser, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	data, ok := m.blobs[name]
	if !ok {
		return nil, ErrNotFound
	}
	return struct {
		io.ReadSeeker
		io.Closer
	}{bytes.NewReader(data), io.NopCloser(nil)}, nil
}

func (m *memory) DeleteBlob(_ context.Context, name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.blobs, name)
	return nil
}

type memoryBlob struct {
	bytes.Buffer
	m    *memory
	name string
}

func (b *memoryBlob) Commit() error {
	b.m.mu.Lock()
	defer b.m.mu.Unlock()
	b.m.blobs[b.name] = b.Bytes()
	return nil
}

func (b *memoryBlob) Abort() error { return nil }
