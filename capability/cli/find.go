package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"lessonkit.example/capability"
)

// place is what a path of the command line leads to: capability files, and the application they
// belong to.
type place struct {
	root   string   // the application's folder, "" for files that belong to none
	within string   // the folder that nothing is read or written outside of
	files  []string // may be none: an application's configuration may contain all capabilities
}

// locate returns the places of a path: a file, a folder of files, an application, or a folder above
// applications.
func locate(path string) ([]place, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, plainError(err)
	}
	root := projectRoot(path)
	if !info.IsDir() {
		within := root
		if within == "" {
			within = filepath.Dir(path)
		}
		return []place{{root, within, []string{path}}}, nil
	}
	if app := appAt(path); app != "" {
		one, err := applicationAt(app, path)
		return []place{one}, err
	}
	if root != "" {
		files, err := filesBelow(path, root)
		return []place{{root, root, files}}, err
	}
	apps, err := appsBelow(path)
	if err != nil {
		return nil, err
	}
	var places []place
	for _, app := range apps {
		one, err := applicationAt(app, path)
		if err != nil {
			return nil, err
		}
		places = append(places, one)
	}
	if places == nil {
		files, err := filesBelow(path, path)
		return []place{{"", path, files}}, err
	}
	return places, nil
}

// applicationAt returns the place of an application in the folder root.
func applicationAt(root, within string) (place, error) {
	folder := filepath.Join(root, "capabilities")
	if !isDir(folder) {
		return place{root, within, nil}, nil
	}
	files, err := filesBelow(folder, within)
	return place{root, within, files}, err
}

// appAt returns the folder of an application at a path: the one with its capabilities or its
// configuration. It returns "" if there is none.
func appAt(path string) string {
	for _, dir := range []string{filepath.Join(path, "src-tauri"), path} {
		if isDir(filepath.Join(dir, "capabilities")) || configAt(dir, "") != "" {
			return dir
		}
	}
	return ""
}

// projectRoot returns the folder that contains the capabilities folder that a path is in, "" if the
// path is in none.
func projectRoot(path string) string {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return ""
	}
	for dir := absolute; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if filepath.Base(dir) == "capabilities" {
			return shorten(filepath.Dir(dir))
		}
	}
	return ""
}

// appsBelow returns the folders below a path that contain the configuration of an application.
func appsBelow(path string) ([]string, error) {
	var apps []string
	err := walk(path, path, func(name string, entry fs.DirEntry) error {
		if entry.IsDir() && configAt(name, "") != "" {
			apps = append(apps, name)
			return filepath.SkipDir
		}
		return nil
	})
	return apps, err
}

// filesBelow returns the capability files of a folder. Like the reference implementation, it skips
// folders named schemas. It also skips what is known to be something else.
func filesBelow(path, within string) ([]string, error) {
	var files []string
	err := walk(path, within, func(name string, entry fs.DirEntry) error {
		if entry.IsDir() {
			if base := entry.Name(); name != path && (base == "schemas" || base == "permissions") {
				return filepath.SkipDir
			}
			return nil
		}
		if !slices.Contains([]string{".json", ".json5", ".toml"}, filepath.Ext(name)) || otherFile(entry.Name()) {
			return nil
		}
		if files = append(files, name); len(files) > mostFiles {
			return fmt.Errorf("%s contains more than %d files; name a part of it", path, mostFiles)
		}
		return nil
	})
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("there is no .json, .json5 or .toml file in %s", path)
	}
	return files, err
}

// otherFile reports whether a file is known to contain something other than capabilities.
func otherFile(name string) bool {
	lower := strings.ToLower(name)
	return slices.Contains(
		[]string{"package.json", "package-lock.json", "tsconfig.json", "cargo.toml", rulesName},
		lower,
	) ||
		strings.HasPrefix(lower, "tauri.") && (strings.Contains(lower, ".conf.json") ||
			strings.HasSuffix(lower, ".toml"))
}

// walk visits a folder and what is below it, in order. It does not follow links, except at the
// path, and skips folders of build results, dependencies and hidden ones.
func walk(path, within string, visit func(name string, entry fs.DirEntry) error) error {
	if _, err := inside(path, within); err != nil {
		return err
	}
	start := path + string(filepath.Separator) // with the separator a link is followed
	return plainError(filepath.WalkDir(start, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name == start {
			return visit(path, entry)
		}
		if base := entry.Name(); entry.IsDir() && (base == "node_modules" || base == "target" ||
			strings.HasPrefix(base, ".")) {
			return filepath.SkipDir
		}
		return visit(name, entry)
	}))
}

// configAt returns the configuration file in a folder, or the one for a platform. It tries the
// names in the same order as the build.
func configAt(dir string, platform capability.Platform) string {
	names := []string{"tauri.conf.json", "tauri.conf.json5", "Tauri.toml"}
	if platform != "" {
		of := strings.ToLower(string(platform))
		names = []string{"tauri." + of + ".conf.json", "tauri." + of + ".conf.json5", "Tauri." + of + ".toml"}
	}
	for _, name := range names {
		file := filepath.Join(dir, name)
		if info, err := os.Stat(file); err == nil && !info.IsDir() {
			return file
		}
	}
	return ""
}

// here returns the application of the working directory, or of the nearest folder above it. The
// search ends at the top of a repository.
func here() (string, error) {
	dir, err := filepath.Abs(".")
	if err != nil {
		return "", err
	}
	for {
		if appAt(dir) != "" {
			return shorten(dir), nil
		}
		up := filepath.Dir(dir)
		if up == dir || exists(filepath.Join(dir, ".git")) {
			return "", errors.New(
				"there is no folder capabilities or src-tauri/capabilities here or above; name the " +
					"files or the folder",
			)
		}
		dir = up
	}
}
