package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// tempDir is a directory for the temporary files of this process. It is locked while the process
// lives, so that a later one can delete what a process left that was killed.
type tempDir struct {
	path string
	lock *os.File
}

// tempPrefix begins the names of the directories.
const tempPrefix = "speech-server-"

// newTempDir makes a directory below parent, and deletes those of processes that have died.
func newTempDir(parent string) (*tempDir, error) {
	d, err := makeTempDir(parent)
	if err != nil {
		return nil, fmt.Errorf("temporary files: %w", err)
	}
	others, err := filepath.Glob(filepath.Join(parent, tempPrefix+"*"))
	if err != nil {
		return nil, errors.Join(err, d.remove())
	}
	for _, path := range others {
		// That of a process that has just started, and of another user, has no lock to take.
		lock, err := os.OpenFile(filepath.Join(path, "lock"), os.O_RDWR, 0)
		if err != nil {
			continue
		}
		if path != d.path && tryLock(lock) == nil {
			_ = os.RemoveAll(path)
		}
		lock.Close()
	}
	return d, nil
}

func makeTempDir(parent string) (*tempDir, error) {
	path, err := os.MkdirTemp(parent, tempPrefix)
	if err != nil {
		return nil, err
	}
	// The lock has its name only once it is held.
	lock, err := os.CreateTemp(path, "new-")
	if err == nil {
		err = errors.Join(tryLock(lock), os.Rename(lock.Name(), filepath.Join(path, "lock")))
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(path))
	}
	return &tempDir{path: path, lock: lock}, nil
}

// remove deletes the directory.
func (d *tempDir) remove() error { return errors.Join(os.RemoveAll(d.path), d.lock.Close()) }
