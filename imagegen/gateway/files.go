package gateway

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gofrs/flock"
	"github.com/google/uuid"
)

const (
	defaultStorage  = 16_000_000_000 // bytes
	referencePrefix = "ref-"
	temporaryPrefix = ".new-"
	probePrefix     = temporaryPrefix + "room-"
	lockName        = ".lock"
)

var errFull = errors.New("the storage of the gateway is full")

// Files keeps references and images as files of one directory. A file is written under a temporary
// name, synced and renamed, so after a crash each is complete or absent. Files is safe for
// concurrent use. One process at a time has the directory open.
type Files struct {
	root  *os.Root
	lock  *flock.Flock
	limit int64

	mu         sync.Mutex
	used       int64 // bytes
	references int64 // bytes of them that are references
	refused    int64 // bytes of a file that the disk did not take
}

// OpenFiles opens a directory, which it creates if necessary. limit is the number of bytes of all
// files; 0 means 16 GB. References may take half of it: more are refused. For a new image, the
// oldest images are deleted. It fails while the directory is open elsewhere.
func OpenFiles(dir string, limit int64) (*Files, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("gateway: open files: %w", err)
	}
	lock := flock.New(filepath.Join(dir, lockName))
	switch locked, err := lock.TryLock(); {
	case err != nil:
		return nil, fmt.Errorf("gateway: lock the files: %w", err)
	case !locked:
		return nil, fmt.Errorf("gateway: another process uses %s", dir)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("gateway: open files: %w", err), lock.Close())
	}
	f := &Files{root: root, lock: lock, limit: cmp.Or(limit, defaultStorage)}
	_, err = f.scan(func(info fs.FileInfo) bool { return strings.HasPrefix(info.Name(), temporaryPrefix) })
	if err != nil {
		return nil, errors.Join(fmt.Errorf("gateway: open files: %w", err), f.Close())
	}
	return f, nil
}

// Close closes the directory.
func (f *Files) Close() error { return errors.Join(f.root.Close(), f.lock.Close()) }

// DeleteBefore deletes the files that were written before a time. Call it now and then with a time
// before which all tasks have been forgotten.
func (f *Files) DeleteBefore(t time.Time) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, err := f.scan(func(info fs.FileInfo) bool { return info.ModTime().Before(t) })
	return err
}

// scan counts the files, deletes those for which expired returns true, and returns the others. The
// caller holds f.mu.
func (f *Files) scan(expired func(fs.FileInfo) bool) (left []fs.FileInfo, err error) {
	entries, err := fs.ReadDir(f.root.FS(), ".")
	if err != nil {
		return nil, err
	}
	f.used, f.references = 0, 0
	for _, e := range entries {
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) || err == nil && info.IsDir() || e.Name() == lockName {
			continue
		}
		if err != nil {
			return nil, err
		}
		if expired(info) {
			if err := f.root.Remove(info.Name()); err != nil {
				return nil, err
			}
			continue
		}
		if strings.HasPrefix(info.Name(), probePrefix) {
			continue
		}
		f.count(info.Name(), info.Size())
		left = append(left, info)
	}
	return left, nil
}

// isReference reports whether name is that of a reference, or its temporary name.
func isReference(name string) bool {
	return strings.HasPrefix(strings.TrimPrefix(name, temporaryPrefix), referencePrefix)
}

func (f *Files) count(name string, n int64) {
	f.used += n
	if isReference(name) {
		f.references += n
	}
}

// reserve counts n more bytes of a file, for which it may delete the oldest images.
func (f *Files) reserve(name string, n int64) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if isReference(name) && f.references+n > f.limit/2 {
		return errFull
	}
	if f.used+n > f.limit {
		all, err := f.scan(func(fs.FileInfo) bool { return false })
		if err != nil {
			return err
		}
		slices.SortFunc(all, func(a, b fs.FileInfo) int { return a.ModTime().Compare(b.ModTime()) })
		for _, info := range all {
			if f.used+n <= f.limit-f.limit/16 { // more than necessary, so that it is not repeated at once
				break
			}
			name := info.Name()
			if isReference(name) || strings.HasPrefix(name, temporaryPrefix) {
				continue
			}
			if err := f.root.Remove(name); err != nil {
				return err
			}
			f.count(name, -info.Size())
		}
		if f.used+n > f.limit {
			return errFull
		}
	}
	f.count(name, n)
	return nil
}

// create returns a blob that becomes the file name when it is committed. Its temporary name is the
// prefix, name and more.
func (f *Files) create(prefix, name string) (*newFile, error) {
	temporary := prefix + name + "-" + uuid.NewString()
	file, err := f.root.OpenFile(temporary, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	return &newFile{temp: file, files: f, name: name, temporary: temporary}, nil
}

// hasRoom writes so many bytes, or as many as the disk has not taken lately, and deletes them.
func (f *Files) hasRoom(room int64) error {
	f.mu.Lock()
	room = max(room, f.refused)
	f.mu.Unlock()
	file, err := f.create(probePrefix, "")
	if err != nil {
		return err
	}
	block := make([]byte, 1<<20)
	_, _ = rand.Read(block) // some file systems have room for any number of zeros
	for n := int64(0); n < room && err == nil; n += int64(len(block)) {
		_, err = file.temp.Write(block)
	}
	if err = errors.Join(err, file.temp.Sync(), file.Abort()); err == nil {
		f.mu.Lock()
		if f.refused <= room {
			f.refused = 0
		}
		f.mu.Unlock()
	}
	return err
}

// open opens a file; fs.ErrNotExist if it has been deleted.
func (f *Files) open(name string) (*os.File, error) { return f.root.Open(name) }

// remove deletes files. One that cannot be deleted is left to DeleteBefore.
func (f *Files) remove(files []File) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, file := range files {
		if file.Name == "" {
			continue
		}
		if err := f.root.Remove(file.Name); err == nil {
			f.count(file.Name, -file.Size)
		}
	}
}

// newFile is a file that is being written.
type newFile struct {
	temp            *os.File // not embedded: io.Copy would call its ReadFrom in place of Write
	files           *Files
	name, temporary string
	size            int64
}

func (n *newFile) Write(p []byte) (int, error) {
	if err := n.files.reserve(n.name, int64(len(p))); err != nil {
		return 0, err
	}
	n.size += int64(len(p))
	written, err := n.temp.Write(p)
	if err != nil {
		n.files.mu.Lock()
		n.files.refused = max(n.files.refused, n.size)
		n.files.mu.Unlock()
	}
	return written, err
}

func (n *newFile) Commit() error {
	err := n.temp.Sync()
	if closed := n.temp.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = n.files.root.Rename(n.temporary, n.name)
	}
	if err != nil {
		return errors.Join(err, n.delete())
	}
	if runtime.GOOS == "windows" { // it does not flush directories
		return nil
	}
	dir, err := n.files.root.Open(".")
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close()) // makes the new name durable
}

func (n *newFile) Abort() error { return errors.Join(n.temp.Close(), n.delete()) }

func (n *newFile) delete() error {
	n.files.mu.Lock()
	n.files.count(n.name, -n.size)
	n.files.mu.Unlock()
	return n.files.root.Remove(n.temporary)
}
