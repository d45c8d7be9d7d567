package capability

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"syscall"

	"lessonkit.example/capability/internal/limit"
)

// appReader reads files of an application up to the limits.
type appReader struct{ limit.Reader }

// exists reports whether a file system contains a folder, or with dir false a file. What cannot be
// examined counts too: reading it tells why.
func exists(fsys fs.FS, name string, dir bool) bool {
	info, err := fs.Stat(fsys, name)
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR)
	}
	return info.IsDir() == dir
}

// documents reads files. Those that are named twice are read once.
func (r *appReader) documents(files []string, parse func([]byte, Options) *Document) ([]*Document, error) {
	docs := make([]*Document, 0, len(files))
	seen := make(map[string]bool, len(files))
	for _, file := range files {
		if seen[file] {
			continue
		}
		seen[file] = true
		text, err := r.Read(file, limit.Bytes)
		if err != nil {
			return nil, err
		}
		docs = append(docs, parse(text, Options{Name: r.Shown(file)}))
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
		list, err := fs.ReadDir(r.FS, folder)
		if err != nil {
			return r.Named(folder, err)
		}
		if entries += len(list); entries > limit.Files {
			return r.TooMany(folder)
		}
		for _, entry := range list {
			name := path.Join(folder, entry.Name())
			isDir, below := entry.IsDir(), linked
			if entry.Type()&(fs.ModeSymlink|fs.ModeIrregular) != 0 {
				info, err := fs.Stat(r.FS, name)
				if err != nil {
					return r.Named(name, err)
				}
				if isDir = info.IsDir(); isDir {
					below++
				}
			}
			switch {
			case below > maxLinked:
				return fmt.Errorf("%s is behind more than %d linked folders, which may lead to each other",
					r.Shown(name), maxLinked)
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

// otherFile reports whether a file is known to contain something other than capabilities.
func otherFile(name string) bool {
	lower := strings.ToLower(name)
	return slices.Contains([]string{"package.json", "package-lock.json", "tsconfig.json", "cargo.toml",
		"capability.toml"}, lower) ||
		strings.HasPrefix(lower, "tauri.") && (strings.Contains(lower, ".conf.json") ||
			strings.HasSuffix(lower, ".toml"))
}

// FindFiles returns the capability or permission files in a folder and those below it, in order:
// .json, .json5 and .toml. In a folder capabilities, or below one, these are all that the build
// reads: what lies directly in a folder schemas is left out, links are followed, and what cannot be
// seen is an error. In other folders it does not follow links, and skips hidden ones, those of
// permissions, dependencies and build results, and files that are known to be something else. It
// has the limits of [LoadApp].
func FindFiles(fsys fs.FS, folder string) ([]string, error) {
	r := &appReader{limit.Reader{FS: fsys}}
	if slices.Contains(strings.Split(folder, "/"), "capabilities") {
		return r.filesBelow(folder)
	}
	var files []string
	err := r.Walk(folder, func(name string, entry fs.DirEntry) error {
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
	r := &appReader{limit.Reader{FS: fsys}}
	err := r.Walk(folder, func(name string, entry fs.DirEntry) error {
		if entry.Type()&fs.ModeIrregular != 0 && unseen == nil {
			_, err := fs.Stat(fsys, name)
			unseen = r.Named(name, err)
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
