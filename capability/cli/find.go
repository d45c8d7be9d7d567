package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"lessonkit.example/capability"
)

// place is what a path of the command line leads to: capability files, and the application they
// belong to, by their names in a disk.
type place struct {
	dir   string   // the application's folder, "" for files that belong to none
	files []string // nil for all of the application
}

// locate returns the places of a path: a file, a folder of files, an application, or a folder above
// applications. It allows files there to be read and written.
func (c *command) locate(path string) ([]place, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, plainError(path, err)
	}
	dir := ""
	root := projectRoot(path)
	if root != "" {
		dir = nameOnDisk(root)
	}
	if !info.IsDir() {
		if root == "" {
			root = filepath.Dir(path)
		}
		c.disk.allow(root)
		return []place{{dir, []string{nameOnDisk(path)}}}, nil
	}
	if app := capability.AppIn(&c.disk, nameOnDisk(path)); app != "" {
		c.disk.allow(path)
		return []place{{dir: app}}, nil
	}
	if root != "" {
		c.disk.allow(root)
		return c.filesIn(path, dir)
	}
	c.disk.allow(path)
	apps, err := capability.FindApps(&c.disk, nameOnDisk(path))
	if err != nil {
		return nil, err
	}
	var places []place
	for _, app := range apps {
		places = append(places, place{dir: app})
	}
	if places == nil {
		return c.filesIn(path, "")
	}
	return places, nil
}

// filesIn returns the place of the files in a folder.
func (c *command) filesIn(path, dir string) ([]place, error) {
	files, err := capability.FindFiles(&c.disk, nameOnDisk(path))
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("there is no .json, .json5 or .toml file in %s", path)
	}
	return []place{{dir, files}}, err
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
			return filepath.Dir(dir)
		}
	}
	return ""
}

// currentApp returns the application of the working directory, or of the nearest folder above it.
// The search ends at the top of a repository.
func currentApp() (string, error) {
	dir, err := filepath.Abs(".")
	if err != nil {
		return "", err
	}
	for {
		if capability.AppIn(&disk{}, nameOnDisk(dir)) != "" {
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
