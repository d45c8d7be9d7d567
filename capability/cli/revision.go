package cli

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"lessonkit.example/capability/internal/limit"
)

// revision is the file system of a commit, from the top of its repository.
type revision struct {
	*gitObjects
	name  string
	top   object
	trees map[string]map[string]object // those that were read, by their ids
	names int                          // in all of them
}

// object is a file or a folder of a revision.
type object struct {
	id   string
	mode fs.FileMode
}

// Trees may be nested without end, and links may lead to each other.
const (
	maxPath  = 4096 // bytes
	maxLinks = 40
)

// openRevision opens a revision. It also returns the folder in it that is the working directory.
func openRevision(ctx context.Context, name string) (r *revision, folder string, err error) {
	objects, prefix, err := openObjects(ctx)
	if err != nil {
		return nil, "", fmt.Errorf("%s is neither a file or folder nor a revision: %w", name, err)
	}
	r = &revision{gitObjects: objects, name: name, trees: make(map[string]map[string]object)}
	err = errNoObject
	if !strings.Contains(name, "\n") {
		r.top.mode = fs.ModeDir
		r.top.id, _, err = r.read(name+"^{commit}^{tree}", "tree")
	}
	if err != nil {
		r.close()
		return nil, "", fmt.Errorf("%s is neither a file or folder nor a revision of the Git repository here: %w",
			name,
			err)
	}
	return r, path.Clean(prefix), nil
}

// shownName returns the name that a file has in messages, as in git show.
func (r *revision) shownName(name string) string { return r.name + ":" + name }

// Open implements [fs.FS].
func (r *revision) Open(name string) (fs.File, error) {
	o, err := r.find(name)
	var content []byte
	if err == nil && o.mode.IsRegular() {
		_, content, err = r.read(o.id, "blob")
	}
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return &revisionFile{path.Base(name), o.mode, bytes.NewReader(content)}, nil
}

// ReadDir implements [fs.ReadDirFS].
func (r *revision) ReadDir(name string) ([]fs.DirEntry, error) {
	o, err := r.find(name)
	var tree map[string]object
	if err == nil {
		tree, err = r.tree(o)
	}
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	var entries []fs.DirEntry
	for _, name := range slices.Sorted(maps.Keys(tree)) {
		entries = append(entries, fs.FileInfoToDirEntry(&revisionFile{name, tree[name].mode, bytes.NewReader(nil)}))
	}
	return entries, nil
}

// find returns the object at a path. It follows links inside the revision.
func (r *revision) find(name string) (object, error) {
	if !fs.ValidPath(name) || len(name) > maxPath {
		return object{}, fs.ErrInvalid
	}
	at, links := r.top, 0
	for rest := name; rest != "" && rest != "."; {
		base, after, _ := strings.Cut(rest, "/")
		tree, err := r.tree(at)
		if err != nil {
			return object{}, err
		}
		next, ok := tree[base]
		switch {
		case !ok:
			return object{}, fs.ErrNotExist
		case next.mode == fs.ModeIrregular:
			return object{}, errors.New("is a submodule, whose files the revision does not have")
		case next.mode != fs.ModeSymlink:
			at, rest = next, after
			continue
		}
		_, target, err := r.read(next.id, "blob")
		if err != nil {
			return object{}, err
		}
		name = path.Join(strings.TrimSuffix(name, rest), string(target), after)
		if links++; path.IsAbs(string(target)) || !fs.ValidPath(name) || len(name) > maxPath || links > maxLinks {
			return object{}, errors.New("is a link that leads out of the revision")
		}
		at, rest = r.top, name
	}
	return at, nil
}

// tree returns what a folder contains.
func (r *revision) tree(o object) (map[string]object, error) {
	if !o.mode.IsDir() {
		return nil, fs.ErrNotExist
	}
	if tree := r.trees[o.id]; tree != nil {
		return tree, nil
	}
	_, content, err := r.read(o.id, "tree")
	if err != nil {
		return nil, err
	}
	tree := make(map[string]object)
	for size := len(r.top.id) / 2; len(content) > 0; {
		mode, rest, _ := bytes.Cut(content, []byte(" "))
		name, rest, _ := bytes.Cut(rest, []byte{0})
		if _, twice := tree[string(name)]; twice || len(rest) < size {
			return nil, errors.New("is a damaged folder")
		}
		if r.names++; r.names > limit.Files {
			return nil, r.end(fmt.Errorf("it has more than %d files and folders; run diff in the folder of the "+
				"application", limit.Files))
		}
		tree[string(name)] = object{hex.EncodeToString(rest[:size]), modeOf(string(mode))}
		content = rest[size:]
	}
	r.trees[o.id] = tree
	return tree, nil
}

// modeOf returns the mode of an object from that in a tree.
func modeOf(mode string) fs.FileMode {
	switch mode {
	case "40000":
		return fs.ModeDir
	case "120000":
		return fs.ModeSymlink
	case "160000": // a commit of another repository
		return fs.ModeIrregular
	}
	return 0
}

// revisionFile is an open file or folder, and what [fs.File.Stat] returns of it.
type revisionFile struct {
	name string
	mode fs.FileMode
	*bytes.Reader
}

func (f *revisionFile) Stat() (fs.FileInfo, error) { return f, nil }
func (f *revisionFile) Close() error               { return nil }
func (f *revisionFile) Name() string               { return f.name }
func (f *revisionFile) Mode() fs.FileMode          { return f.mode }
func (f *revisionFile) IsDir() bool                { return f.mode.IsDir() }
func (f *revisionFile) ModTime() time.Time         { return time.Time{} }
func (f *revisionFile) Sys() any                   { return nil }
