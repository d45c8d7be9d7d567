// Package audiodir keeps recordings as files of one directory.
//
// [New] makes a store; several processes may use one directory at once. An
// upload streams once into a file of the subdirectory "incoming", hashed on
// the way; keeping it syncs the file, renames it into place and syncs the
// directories, so that a name which was returned survives a power cut, and
// one that was not returned is never half a recording. Names are made here
// from random identifiers; nothing of a client's becomes part of a path.
package audiodir

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"time"

	"github.com/google/uuid"

	"lessonkit.example/feedback"
)

// Store implements [feedback.AudioStore]. It is safe for concurrent use.
type Store struct {
	dir     string
	buffers sync.Pool // of *[2][copyBuffer]byte
}

var _ feedback.AudioStore = (*Store)(nil)

const incoming = "incoming"

// New returns a store in a directory, which is made where it is missing,
// readable by its owner only.
func New(dir string) (*Store, error) {
	if dir == "" {
		return nil, errors.New("audiodir: no directory given")
	}
	if err := os.MkdirAll(filepath.Join(dir, incoming), 0o700); err != nil {
		return nil, fmt.Errorf("audiodir: %w", err)
	}
	// All subdirectories are durable before the first file goes into one.
	for i := range 256 {
		if err := os.Mkdir(filepath.Join(dir, fmt.Sprintf("%02x", i)), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, fmt.Errorf("audiodir: %w", err)
		}
	}
	if err := syncDir(dir); err != nil {
		return nil, fmt.Errorf("audiodir: %w", err)
	}
	s := &Store{dir: dir}
	s.buffers.New = func() any { return new([2][copyBuffer]byte) }
	return s, nil
}

// validKey is the form of the names that Keep makes, as in
// "3f/0192f1c5-….mp3": a subdirectory of 256, an identifier, an extension.
var validKey = regexp.MustCompile(`^[0-9a-f]{2}/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\.[a-z0-9]{2,4}$`)

// newKey makes a name. The end of a version 7 identifier is random, its
// beginning is the time.
func newKey(extension string) (string, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return "", err
	}
	s := id.String()
	return s[len(s)-2:] + "/" + s + extension, nil
}

func (s *Store) path(key string) (string, error) {
	if !validKey.MatchString(key) {
		return "", feedback.NotFound("recording")
	}
	return filepath.Join(s.dir, filepath.FromSlash(key)), nil
}

// Open implements [feedback.AudioStore].
func (s *Store) Open(_ context.Context, key string) (feedback.AudioFile, error) {
	path, err := s.path(key)
	if err != nil {
		return nil, err
	}
	f, err := os.Open(path)
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
	path, err := s.path(key)
	if err != nil {
		return nil // never made here
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return storageError("delete", err)
	}
	return nil
}

// Keys implements [feedback.AudioStore].
func (s *Store) Keys(ctx context.Context, before time.Time) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		before := s.byItsClock(before)
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
			if sub.Name() == incoming || !sub.IsDir() {
				continue
			}
			if !s.keysIn(ctx, sub.Name(), before, yield) {
				return
			}
		}
	}
}

// clockDoubt is how far the clocks of two machines may be apart where it cannot
// be found out.
const clockDoubt = 24 * time.Hour

// byItsClock turns a time of this process into one of the file system, which
// stamps the files: the clocks of two machines that share a directory differ,
// and a clock that is fast must not make an upload in progress look old. On a
// full disk, where no file can be made to compare, it errs on the safe side.
func (s *Store) byItsClock(t time.Time) time.Time {
	probe, err := os.CreateTemp(filepath.Join(s.dir, incoming), "*")
	if err != nil {
		return t.Add(-clockDoubt)
	}
	defer os.Remove(probe.Name())
	defer probe.Close()
	info, err := probe.Stat()
	if err != nil {
		return t.Add(-clockDoubt)
	}
	return t.Add(time.Until(info.ModTime()))
}

func (s *Store) keysIn(ctx context.Context, sub string, before time.Time, yield func(string, error) bool) bool {
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
		if !validKey.MatchString(key) || !olderThan(e, before) {
			continue
		}
		if !yield(key, nil) {
			return false
		}
	}
	return true
}

// discardLeftovers removes uploads whose process died.
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

// olderThan is false for a file that went away meanwhile.
func olderThan(e fs.DirEntry, t time.Time) bool {
	info, err := e.Info()
	return err == nil && info.Mode().IsRegular() && info.ModTime().Before(t)
}

func storageError(op string, err error) error {
	return &feedback.Error{Kind: feedback.ErrStorage, Message: "the audio storage is not available",
		Err: fmt.Errorf("audiodir: %s: %w", op, err)}
}

// syncDir makes the entries of a directory durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
