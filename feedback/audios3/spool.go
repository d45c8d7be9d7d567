package audios3

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"sync"

	"lessonkit.example/feedback/audiotype"
)

const (
	// memorySize is the size in bytes of an upload that needs no file, with its header: two minutes
	// at 128 kbit/s.
	memorySize = 2 << 20
	// memories is how many uploads are in memory at once. The memory stays allocated for the next.
	memories = 4
)

// spool holds an upload, after a gap for a WAV header: in memory while it is small, else in a
// temporary file.
type spool struct {
	store *Store

	mu     sync.Mutex // a request may read after it has failed, when the spool is already closed
	memory []byte     // nil if not in memory
	size   int64      // with the gap
	file   *os.File
}

// newSpool returns an empty spool. While other uploads use all of the memory, it is a file.
func (s *Store) newSpool() (*spool, error) {
	p := &spool{store: s, size: audiotype.HeaderSize}
	select {
	case p.memory = <-s.memories:
		if p.memory == nil {
			p.memory = make([]byte, memorySize)
		}
		return p, nil
	default:
		return p, p.useFile()
	}
}

// useFile moves the content to a new file.
func (p *spool) useFile() error {
	f, err := os.CreateTemp(p.store.tempDir, "lessonkit-upload-*")
	if err != nil {
		return storageError("create", err)
	}
	os.Remove(f.Name()) // where open files cannot be removed, Close does it
	p.file = f
	_, err = f.WriteAt(p.memory[:min(p.size, int64(len(p.memory)))], 0)
	p.releaseMemory()
	if err != nil {
		return storageError("write", err)
	}
	return nil
}

func (p *spool) releaseMemory() {
	if p.memory != nil {
		p.store.memories <- p.memory
		p.memory = nil
	}
}

// AvailableBuffer returns the memory that is left, so that Write need not copy what is received
// there.
func (p *spool) AvailableBuffer() []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.memory == nil {
		return nil
	}
	return p.memory[p.size:p.size]
}

// Write implements io.Writer with errors that tell that the storage failed, not the upload.
func (p *spool) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.memory != nil && p.size+int64(len(b)) > memorySize {
		if err := p.useFile(); err != nil {
			return 0, err
		}
	}
	n, err := p.writeAt(b, p.size)
	p.size += int64(n)
	return n, err
}

// WriteHeader fills the gap.
func (p *spool) WriteHeader(header []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, err := p.writeAt(header, 0)
	return err
}

func (p *spool) writeAt(b []byte, offset int64) (int, error) {
	if p.memory != nil {
		return copy(p.memory[offset:], b), nil // at no cost if b is already there
	}
	n, err := p.file.WriteAt(b, offset)
	if err != nil {
		return n, storageError("write", err)
	}
	return n, nil
}

// ReadAt implements io.ReaderAt.
func (p *spool) ReadAt(b []byte, offset int64) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.memory == nil && p.file == nil:
		return 0, fs.ErrClosed
	case p.file != nil:
		return p.file.ReadAt(b, offset)
	}
	n := copy(b, p.memory[min(offset, p.size):p.size])
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

// Close releases the memory and the file. It may be called repeatedly.
func (p *spool) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.releaseMemory()
	if p.file == nil {
		return nil
	}
	f := p.file
	p.file = nil
	err := f.Close()
	if removed := os.Remove(f.Name()); !errors.Is(removed, fs.ErrNotExist) {
		err = errors.Join(err, removed)
	}
	if err != nil {
		return storageError("discard", err)
	}
	return nil
}
