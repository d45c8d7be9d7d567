// Package audiodir implements [feedback.AudioStore] in a directory. Several processes may share it.
//
//	recordings, err := audiodir.New("/var/lib/lessons/audio")
//
// An upload is written to a file in the subdirectory "incoming" and hashed on the way. To keep it,
// the file is synced and renamed, and the directory is synced, so that kept audio survives a power
// failure and is never incomplete. Keys are random; no part of a path comes from a client.
//
// Uploads are refused, and those in progress end, while the file system has less free space than
// [Store.Reserve]; recordings can still be read and deleted.
package audiodir

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"lessonkit.example/feedback"
	"lessonkit.example/feedback/internal/recording"
)

// Store implements [feedback.AudioStore]. It is safe for concurrent use.
type Store struct {
	// Reserve is how much space, in bytes, uploads leave free on the file system, so that the
	// database and everything else beside it continue to work. 0 means a twentieth of the file
	// system, at most 1 GiB; negative means none. It must be set before the store is used.
	Reserve int64

	// Converted tells that recordings are converted before they are recognised, so that types which
	// few transcribers decode are accepted too: see [audiotype.Type.Check]. It must be set before
	// the store is used.
	Converted bool

	dir string
}

var _ feedback.AudioStore = (*Store)(nil)

const incoming = "incoming"

// New returns a store in a directory. It creates a missing one, readable by its owner only.
func New(dir string) (*Store, error) {
	if dir == "" {
		return nil, errors.New("audiodir: the directory is empty")
	}
	if err := os.MkdirAll(filepath.Join(dir, incoming), 0o700); err != nil {
		return nil, fmt.Errorf("audiodir: %w", err)
	}
	for i := range 256 {
		err := os.Mkdir(filepath.Join(dir, fmt.Sprintf("%02x", i)), 0o700)
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, fmt.Errorf("audiodir: %w", err)
		}
	}
	if err := syncDir(dir); err != nil {
		return nil, fmt.Errorf("audiodir: %w", err)
	}
	return &Store{dir: dir}, nil
}

func (s *Store) path(key string) string { return filepath.Join(s.dir, filepath.FromSlash(key)) }

// Open implements [feedback.AudioStore].
func (s *Store) Open(_ context.Context, key string) (feedback.AudioFile, error) {
	if !recording.IsKey(key) {
		return nil, feedback.NotFound("recording")
	}
	f, err := os.Open(s.path(key))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, feedback.NotFound("recording")
	}
	if err != nil {
		return nil, storageError("open", err)
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, storageError("open", err)
	}
	return file{f, info.Size()}, nil
}

type file struct {
	*os.File
	size int64
}

func (f file) Size() int64 { return f.size }

// Delete implements [feedback.AudioStore].
func (s *Store) Delete(_ context.Context, key string) error {
	if !recording.IsKey(key) {
		return nil // not a key of this store
	}
	if err := os.Remove(s.path(key)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return storageError("delete", err)
	}
	return nil
}

// Keys implements [feedback.AudioStore].
func (s *Store) Keys(ctx context.Context, before time.Time) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		if err := s.discardLeftovers(before); err != nil {
			yield("", err)
			return
		}
		subdirs, err := os.ReadDir(s.dir)
		if err != nil {
			yield("", storageError("list", err))
			return
		}
		for _, sub := range subdirs {
			if sub.Name() != incoming && sub.IsDir() && !s.listIn(ctx, sub.Name(), before, yield) {
				return
			}
		}
	}
}

// listIn yields the keys in a subdirectory. It reports whether to continue.
func (s *Store) listIn(ctx context.Context, sub string, before time.Time, yield func(string, error) bool) bool {
	entries, err := os.ReadDir(filepath.Join(s.dir, sub))
	if err != nil {
		yield("", storageError("list", err))
		return false
	}
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			yield("", err)
			return false
		}
		key := sub + "/" + e.Name()
		if recording.IsKey(key) && olderThan(e, before) && !yield(key, nil) {
			return false
		}
	}
	return true
}

// discardLeftovers deletes uploads whose process died.
func (s *Store) discardLeftovers(before time.Time) error {
	dir := filepath.Join(s.dir, incoming)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return storageError("list", err)
	}
	for _, e := range entries {
		if !olderThan(e, before) {
			continue
		}
		if err := os.Remove(filepath.Join(dir, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return storageError("discard", err)
		}
	}
	return nil
}

// olderThan reports false for a file that has been deleted since.
func olderThan(e fs.DirEntry, t time.Time) bool {
	info, err := e.Info()
	return err == nil && info.Mode().IsRegular() && info.ModTime().Before(t)
}

func storageError(op string, err error) error { return recording.StorageError("audiodir: "+op, err) }

// syncDir makes the entries of a directory durable. On Windows, which does not flush directories,
// that is left to the journal of NTFS.
func syncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
