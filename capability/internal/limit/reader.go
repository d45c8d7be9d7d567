package limit

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"sync/atomic"
)

// Reader reads regular files up to the limits. It is safe for concurrent use.
type Reader struct {
	FS   fs.FS
	Name func(string) string // the name of a file in diagnostics and errors, nil for that in FS

	bytes atomic.Int64 // read so far
}

// Reset begins to count what is read anew.
func (r *Reader) Reset() { r.bytes.Store(0) }

// Shown returns the name of a file in diagnostics and errors.
func (r *Reader) Shown(name string) string {
	if r.Name == nil {
		return name
	}
	return r.Name(name)
}

// Named names the file of an error, without the system call.
func (r *Reader) Named(name string, err error) error {
	if err == nil {
		return nil
	}
	if name = r.Shown(name); name == "." {
		name = "the application folder"
	}
	var in *fs.PathError
	if errors.As(err, &in) {
		if err = in.Err; r.Name == nil && in.Path != "." {
			name = in.Path
		}
	}
	return fmt.Errorf("%s: %w", name, err)
}

// ErrTooMuch reports that all files together have too many bytes.
var ErrTooMuch = fmt.Errorf("the files of the application have more than %d bytes", Bytes)

// Read returns the content of a regular file of at most a number of bytes. It opens no other:
// opening a pipe waits, and opening a device may have an effect.
func (r *Reader) Read(name string, most int64) ([]byte, error) {
	info, err := fs.Stat(r.FS, name)
	switch {
	case err != nil:
		return nil, r.Named(name, err)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file", r.Shown(name))
	case info.Size() > most:
		return nil, fmt.Errorf("%s has %d bytes; at most %d are read", r.Shown(name), info.Size(), most)
	}
	f, err := r.FS.Open(name)
	if err != nil {
		return nil, r.Named(name, err)
	}
	text, err := io.ReadAll(io.LimitReader(f, most))
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, r.Named(name, err)
	}
	if r.bytes.Add(int64(len(text))) > Bytes {
		return nil, fmt.Errorf("%w, with %s", ErrTooMuch, r.Shown(name))
	}
	return text, nil
}

// Walk visits a folder and what is below it, in order. It does not follow links, except at the
// folder, and skips folders of build results, dependencies and hidden ones.
func (r *Reader) Walk(folder string, visit func(name string, entry fs.DirEntry) error) error {
	entries := 0
	return fs.WalkDir(r.FS, folder, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return r.Named(name, err)
		}
		base := entry.Name()
		if name != folder && entry.IsDir() &&
			(base == "node_modules" || base == "target" || strings.HasPrefix(base, ".")) {
			return fs.SkipDir
		}
		if entries++; entries > Files {
			return r.TooMany(folder)
		}
		return visit(name, entry)
	})
}

// TooMany is the error of a folder that contains too much.
func (r *Reader) TooMany(folder string) error {
	return fmt.Errorf("%s contains more than %d files and folders; choose a folder in it", r.Shown(folder),
		Files)
}
