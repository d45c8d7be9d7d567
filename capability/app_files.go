package capability

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"syscall"

	"lessonkit.example/capability/internal/limit"
)

// appReader reads files of an application up to the limits.
type appReader struct {
	fsys  fs.FS
	name  func(string) string // nil for names in the file system
	bytes int                 // read so far

	once     sync.Once
	commands []SourceCommand // in the source of the application
}

// shownName returns the name of a file in diagnostics and errors.
func (r *appReader) shownName(name string) string {
	if r.name == nil {
		return name
	}
	return r.name(name)
}

// exists reports whether a file system contains a folder, or with dir false a file. What cannot be
// examined counts too: reading it tells why.
func exists(fsys fs.FS, name string, dir bool) bool {
	info, err := fs.Stat(fsys, name)
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR)
	}
	return info.IsDir() == dir
}

// pathError names the file of an error, without the system call.
func (r *appReader) pathError(name string, err error) error {
	if err == nil {
		return nil
	}
	if name = r.shownName(name); name == "." {
		name = "the application folder"
	}
	var in *fs.PathError
	if errors.As(err, &in) {
		if err = in.Err; r.name == nil && in.Path != "." {
			name = in.Path
		}
	}
	return fmt.Errorf("%s: %w", name, err)
}

// read returns the content of a regular file. It opens no other: opening a pipe waits, and opening
// a device may have an effect.
func (r *appReader) read(name string) ([]byte, error) {
	info, err := fs.Stat(r.fsys, name)
	switch {
	case err != nil:
		return nil, r.pathError(name, err)
	case !info.Mode().IsRegular():
		return nil, permanentf("%s is not a regular file", r.shownName(name))
	case info.Size() > limit.Bytes:
		return nil, permanentf("%s has %d bytes; at most %d are read", r.shownName(name), info.Size(), limit.Bytes)
	}
	f, err := r.fsys.Open(name)
	if err != nil {
		return nil, r.pathError(name, err)
	}
	text, err := io.ReadAll(io.LimitReader(f, limit.Bytes+1))
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, r.pathError(name, err)
	}
	if r.bytes += len(text); r.bytes > limit.Bytes {
		return nil, permanentf("the files of the application have more than %d bytes, with %s", limit.Bytes,
			r.shownName(name))
	}
	return text, nil
}

// documents reads files. Those that are named twice are read once.
func (r *appReader) documents(files []string, parse func([]byte, Options) *Document) ([]*Document, error) {
	docs := make([]*Document, 0, len(files))
	for i, file := range files {
		if slices.Contains(files[:i], file) {
			continue
		}
		text, err := r.read(file)
		if err != nil {
			return nil, err
		}
		docs = append(docs, parse(text, Options{Name: r.shownName(file)}))
	}
	return docs, nil
}

// maxLinked bounds the linked folders in each other: links may lead to each other in a circle.
const maxLinked = 8

// filesBelow returns what the build reads as capabilities or permissions in a folder and those
// below it, in order: hidden files and folders too, and what links lead to. It leaves out what lies
// directly in a folder schemas. It fails if it cannot see what a folder contains.
func (r *appReader) filesBelow(folder string) ([]string, error) {
	var files []string
	entries := 0
	var read func(folder string, linked int) error
	read = func(folder string, linked int) error {
		list, err := fs.ReadDir(r.fsys, folder)
		if err != nil {
			return r.pathError(folder, err)
		}
		if entries += len(list); entries > limit.Files {
			return r.tooManyFiles(folder)
		}
		for _, entry := range list {
			name := path.Join(folder, entry.Name())
			isDir, below := entry.IsDir(), linked
			if entry.Type()&(fs.ModeSymlink|fs.ModeIrregular) != 0 {
				info, err := fs.Stat(r.fsys, name)
				if err != nil {
					return r.pathError(name, err)
				}
				if isDir = info.IsDir(); isDir {
					below++
				}
			}
			switch {
			case below > maxLinked:
				return permanentf("%s is behind more than %d linked folders, which may lead to each other",
					r.shownName(name), maxLinked)
			case hasFormat(entry.Name()) && path.Base(folder) != "schemas":
				files = append(files, name) // a folder too, which fails the build
			case isDir:
				if err := read(name, below); err != nil {
					return err
				}
			}
		}
		return nil
	}
	return files, read(folder, 0)
}

// hasFormat reports whether a file has the extension of one of the formats.
func hasFormat(base string) bool {
	ext := path.Ext(base)
	return ext != base && slices.Contains([]string{".json", ".json5", ".toml"}, ext)
}

func (r *appReader) tooManyFiles(folder string) error {
	return permanentf("%s contains more than %d files and folders; choose a folder in it", r.shownName(folder),
		limit.Files)
}

// otherFile reports whether a file is known to contain something other than capabilities.
func otherFile(name string) bool {
	lower := strings.ToLower(name)
	return slices.Contains([]string{"package.json", "package-lock.json", "tsconfig.json", "cargo.toml",
		"capability.toml"}, lower) ||
		strings.HasPrefix(lower, "tauri.") && (strings.Contains(lower, ".conf.json") ||
			strings.HasSuffix(lower, ".toml"))
}

// walk visits a folder and what is below it, in order. It does not follow links, except at the
// folder, and skips folders of build results, dependencies and hidden ones.
func (r *appReader) walk(folder string, visit func(name string, entry fs.DirEntry) error) error {
	entries := 0
	return fs.WalkDir(r.fsys, folder, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return r.pathError(name, err)
		}
		base := entry.Name()
		if name != folder && entry.IsDir() &&
			(base == "node_modules" || base == "target" || strings.HasPrefix(base, ".")) {
			return fs.SkipDir
		}
		if entries++; entries > limit.Files {
			return r.tooManyFiles(folder)
		}
		return visit(name, entry)
	})
}

// FindFiles returns the capability or permission files in a folder and those below it, in order:
// .json, .json5 and .toml. In a folder capabilities, or below one, these are all that the build
// reads: what lies directly in a folder schemas is left out, links are followed, and what cannot be
// seen is an error. In other folders it does not follow links, and skips hidden ones, those of
// permissions, dependencies and build results, and files that are known to be something else. It
// has the limits of [LoadApp].
func FindFiles(fsys fs.FS, folder string) ([]string, error) {
	r := &appReader{fsys: fsys}
	if slices.Contains(strings.Split(folder, "/"), "capabilities") {
		return r.filesBelow(folder)
	}
	var files []string
	err := r.walk(folder, func(name string, entry fs.DirEntry) error {
		base := entry.Name()
		switch {
		case entry.IsDir() && name != folder && (base == "schemas" || base == "permissions"):
			return fs.SkipDir
		case !entry.IsDir() && hasFormat(base) && !otherFile(base):
			files = append(files, name)
		}
		return nil
	})
	return files, err
}

// AppIn returns the folder of the application in a folder, which is that folder or src-tauri in it:
// the one with the application's configuration or its folder capabilities. It returns "" if there
// is none.
func AppIn(fsys fs.FS, folder string) string {
	for _, dir := range []string{path.Join(folder, "src-tauri"), path.Clean(folder)} {
		if exists(fsys, path.Join(dir, "capabilities"), true) || configIn(fsys, dir, "") != "" {
			return dir
		}
	}
	return ""
}

// FindApps returns the folders of applications: the one that [AppIn] finds in a folder or, if there
// is none, all below it that have a configuration, in order. It has the limits of [LoadApp]. If it
// finds none, a submodule of a revision, which may contain one, is an error.
func FindApps(fsys fs.FS, folder string) ([]string, error) {
	if app := AppIn(fsys, folder); app != "" {
		return []string{app}, nil
	}
	var apps []string
	var unseen error
	r := &appReader{fsys: fsys}
	err := r.walk(folder, func(name string, entry fs.DirEntry) error {
		if entry.Type()&fs.ModeIrregular != 0 && unseen == nil {
			_, err := fs.Stat(fsys, name)
			unseen = r.pathError(name, err)
		}
		if entry.IsDir() && configIn(fsys, name, "") != "" {
			apps = append(apps, name)
			return fs.SkipDir
		}
		return nil
	})
	if err == nil && len(apps) == 0 {
		err = unseen
	}
	return apps, err
}

// configIn returns the configuration file in a folder, or the one for a platform. It tries the
// names in the same order as the build.
func configIn(fsys fs.FS, dir string, platform Platform) string {
	names := []string{"tauri.conf.json", "tauri.conf.json5", "Tauri.toml"}
	if platform != "" {
		of := strings.ToLower(string(platform))
		names = []string{"tauri." + of + ".conf.json", "tauri." + of + ".conf.json5", "Tauri." + of + ".toml"}
	}
	for _, name := range names {
		if file := path.Join(dir, name); exists(fsys, file, false) {
			return file
		}
	}
	return ""
}
