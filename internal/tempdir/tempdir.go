// Package tempdir makes directories for temporary files that do not outlive their process for long.
package tempdir

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Dir is a directory for the temporary files of this process. On Unix it is locked while the
// process lives, so that a later one can delete what a process left that was killed.
type Dir struct {
	Path string
	lock *os.File // nil where nothing is swept
}

// New makes a directory below parent whose name begins with prefix, and deletes those of processes
// that have died. An empty parent is os.TempDir.
func New(parent, prefix string) (*Dir, error) {
	Sweep(parent, prefix)
	d, err := newDir(parent, prefix)
	if err != nil {
		return nil, fmt.Errorf("temporary files: %w", err)
	}
	return d, nil
}

// maxUnlocked is more than the time from making a directory to locking it.
const maxUnlocked = time.Hour

// Sweep deletes the directories that New made with the same arguments in processes that have died.
// It does nothing on systems other than Unix, where the directories of the living cannot be told
// from theirs.
func Sweep(parent, prefix string) {
	if !canSweep {
		return
	}
	parent = cmp.Or(parent, os.TempDir())
	entries, _ := os.ReadDir(parent) // an error means that there are none
	for _, entry := range entries {
		random, ok := strings.CutPrefix(entry.Name(), prefix)
		if !ok || random == "" || strings.Trim(random, "0123456789") != "" {
			continue // os.MkdirTemp adds digits
		}
		path := filepath.Join(parent, entry.Name())
		lock, err := os.OpenFile(filepath.Join(path, "lock"), os.O_RDWR, 0)
		dead := err == nil && tryLock(lock) == nil
		if info, statErr := os.Stat(path); errors.Is(err, fs.ErrNotExist) && statErr == nil {
			dead = time.Since(info.ModTime()) > maxUnlocked // it ended while it deleted the directory
		}
		if dead {
			_ = os.RemoveAll(path)
		}
		lock.Close()
	}
}

func newDir(parent, prefix string) (*Dir, error) {
	path, err := os.MkdirTemp(parent, prefix)
	if err == nil {
		path, err = filepath.Abs(path) // for programs that run in it
	}
	if err != nil {
		return nil, err
	}
	if !canSweep {
		return &Dir{Path: path}, nil // Windows neither renames nor deletes an open file
	}
	// The lock has its name only once it is held.
	lock, err := os.CreateTemp(path, "new-")
	if err == nil {
		err = errors.Join(tryLock(lock), os.Rename(lock.Name(), filepath.Join(path, "lock")))
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(path))
	}
	return &Dir{Path: path, lock: lock}, nil
}

// Remove deletes the directory.
func (d *Dir) Remove() error {
	err := os.RemoveAll(d.Path)
	if d.lock != nil {
		err = errors.Join(err, d.lock.Close())
	}
	return err
}
