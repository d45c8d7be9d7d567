package gateway

import (
	"context"
	"io"
	"iter"
	"maps"
	"sync"

	"lessonkit.example/imagegen"
)

// Memory returns a Store in memory. It holds all images until their retention has passed: see
// Limits.StoredBytes.
func Memory() Store { return &memory{tasks: map[string]Task{}, blobs: map[string]pages{}} }

type memory struct {
	mu    sync.Mutex
	tasks map[string]Task
	blobs map[string]pages
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
	}{io.NewSectionReader(data, 0, data.size), io.NopCloser(nil)}, nil
}

func (m *memory) DeleteBlob(_ context.Context, name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.blobs, name)
	return nil
}

type memoryBlob struct {
	pages
	m    *memory
	name string
}

func (b *memoryBlob) Commit() error {
	b.m.mu.Lock()
	defer b.m.mu.Unlock()
	b.m.blobs[b.name] = b.pages
	return nil
}

func (b *memoryBlob) Abort() error { return nil }

// pages are bytes in pieces of pageSize, so that they take little more memory than their number.
type pages struct {
	all  [][]byte
	size int64
}

const pageSize = 64 << 10

func (p *pages) Write(data []byte) (int, error) {
	for rest := data; len(rest) > 0; {
		last := len(p.all) - 1
		if last < 0 || len(p.all[last]) == pageSize {
			var page []byte
			if last >= 0 { // a small image does not take a whole page
				page = make([]byte, 0, pageSize)
			}
			p.all = append(p.all, page)
			last++
		}
		n := min(len(rest), pageSize-len(p.all[last]))
		p.all[last] = append(p.all[last], rest[:n]...)
		rest = rest[n:]
	}
	p.size += int64(len(data))
	return len(data), nil
}

// ReadAt implements io.ReaderAt.
func (p pages) ReadAt(data []byte, off int64) (n int, err error) {
	for n < len(data) && off < p.size {
		copied := copy(data[n:], p.all[off/pageSize][off%pageSize:])
		n += copied
		off += int64(copied)
	}
	if n < len(data) {
		return n, io.EOF
	}
	return n, nil
}
