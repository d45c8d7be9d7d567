package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"lessonkit.example/imagegen"
)

// Dir returns a Store in a directory, which it creates if necessary: tasks as JSON files in tasks,
// bytes in blobs. Files are written under a temporary name, synced and renamed, so after a crash
// each is complete or absent. Dir deletes references that a crash left without a task. Only one
// process at a time may use the directory.
func Dir(path string) (Store, error) {
	d := &dir{tasks: filepath.Join(path, "tasks"), blobs: filepath.Join(path, "blobs")}
	for _, p := range []string{d.tasks, d.blobs} {
		if err := os.MkdirAll(p, 0o700); err != nil {
			return nil, fmt.Errorf("gateway: open store: %w", err)
		}
	}
	if err := d.clear(); err != nil {
		return nil, fmt.Errorf("gateway: open store: %w", err)
	}
	return d, nil
}

// clear deletes incomplete files, and references that belong to no task. It never deletes images:
// they are paid.
func (d *dir) clear() error {
	used := map[string]bool{}
	for t, err := range d.Tasks(context.Background()) {
		if err != nil {
			return err
		}
		for _, b := range t.References {
			used[b.Name] = true
		}
	}
	for _, p := range []string{d.tasks, d.blobs} {
		entries, err := os.ReadDir(p)
		if err != nil {
			return err
		}
		for _, e := range entries {
			name := e.Name()
			if strings.HasPrefix(name, temporary) || strings.HasPrefix(name, refPrefix) && !used[name] {
				if err := remove(filepath.Join(p, name)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

const temporary = ".new-"

type dir struct {
	mu           sync.Mutex // serializes creating and updating tasks
	tasks, blobs string
}

// checkName returns ErrNotFound for a name that could lead out of the directory.
func checkName(name string) error {
	const allowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_"
	forbidden := func(r rune) bool { return !strings.ContainsRune(allowed, r) }
	if name == "" || name[0] == '.' || len(name) > 200 || strings.ContainsFunc(name, forbidden) {
		return ErrNotFound
	}
	return nil
}

func (d *dir) taskFile(id string) (string, error) {
	return filepath.Join(d.tasks, id+".json"), checkName(id)
}

func (d *dir) CreateTask(_ context.Context, t Task) error { return d.write(t, false) }
func (d *dir) UpdateTask(_ context.Context, t Task) error { return d.write(t, true) }

func (d *dir) write(t Task, exists bool) error {
	name, err := d.taskFile(t.ID)
	if err != nil {
		return fmt.Errorf("store task %q: %w", t.ID, err)
	}
	data, err := json.Marshal(t)
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	switch _, err := os.Stat(name); {
	case err == nil && !exists:
		return ErrExists
	case errors.Is(err, fs.ErrNotExist) && exists:
		return ErrNotFound
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	}
	b, err := create(name)
	if err != nil {
		return err
	}
	if _, err := b.Write(data); err != nil {
		return errors.Join(err, b.Abort())
	}
	return b.Commit()
}

func (d *dir) Task(_ context.Context, id string) (t Task, err error) {
	name, err := d.taskFile(id)
	if err != nil {
		return Task{}, err
	}
	data, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return Task{}, ErrNotFound
	}
	if err != nil {
		return Task{}, err
	}
	if err := json.Unmarshal(data, &t); err != nil {
		return Task{}, fmt.Errorf("task file %s: %w", name, err)
	}
	return t, nil
}

func (d *dir) Tasks(ctx context.Context) iter.Seq2[Task, error] {
	return func(yield func(Task, error) bool) {
		entries, err := os.ReadDir(d.tasks)
		if err != nil {
			yield(Task{}, err)
			return
		}
		for _, e := range entries {
			id, ok := strings.CutSuffix(e.Name(), ".json")
			if !ok || checkName(id) != nil {
				continue
			}
			t, err := d.Task(ctx, id)
			if errors.Is(err, ErrNotFound) {
				continue
			}
			if !yield(t, err) {
				return
			}
		}
	}
}

func (d *dir) DeleteTask(_ context.Context, id string) error {
	name, err := d.taskFile(id)
	if err != nil {
		return nil
	}
	return remove(name)
}

func (d *dir) CreateBlob(_ context.Context, name string) (imagegen.Blob, error) {
	if err := checkName(name); err != nil {
		return nil, fmt.Errorf("store bytes as %q: %w", name, err)
	}
	return create(filepath.Join(d.blobs, name))
}

func (d *dir) OpenBlob(_ context.Context, name string) (io.ReadSeekCloser, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	f, err := os.Open(filepath.Join(d.blobs, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	return f, nil
}

func (d *dir) DeleteBlob(_ context.Context, name string) error {
	if checkName(name) != nil {
		return nil
	}
	return remove(filepath.Join(d.blobs, name))
}

func remove(name string) error {
	if err := os.Remove(name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// pending is a file that gets its final name when it is complete.
type pending struct {
	*os.File
	name string
}

func create(name string) (*pending, error) {
	f, err := os.CreateTemp(filepath.Dir(name), temporary+"*")
	if err != nil {
		return nil, err
	}
	return &pending{f, name}, nil
}

func (p *pending) Commit() error {
	err := p.Sync()
	if closed := p.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(p.File.Name(), p.name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(p.File.Name()))
	}
	d, err := os.Open(filepath.Dir(p.name))
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close()) // makes the new name durable
}

func (p *pending) Abort() error { return errors.Join(p.Close(), os.Remove(p.File.Name())) }
