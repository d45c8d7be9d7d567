package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"

	"lessonkit.example/capability"
)

// place is what a path of the command line leads to: capability files, and the application they
// belong to, by their names in a disk.
type place struct {
	dir   string   // the application's folder, "" for files that belong to none
	files []string // nil for all of the application
}

// configName matches the names of configurations that the build reads by itself.
var configName = regexp.MustCompile(`^(?:tauri\.` + ofPlatform + `conf\.json5?|Tauri\.` + ofPlatform + `toml)$`)

const ofPlatform = `(?:(?:linux|macos|windows|android|ios)\.)?`

// locate returns the places of a path: a file, a folder of files, an application or its
// configuration, or a folder above applications. It allows files there to be read and written.
func (c *command) locate(path string) ([]place, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, plainError(path, err)
	}
	name := nameOnDisk(path)
	app := appAbove(name)
	if !info.IsDir() {
		folder, base := filepath.Split(absolute(path))
		if app != "" {
			folder = systemName(app)
		}
		c.disk.allow(folder)
		if app == "" && configName.MatchString(base) {
			return []place{{dir: nameOnDisk(folder)}}, nil
		}
		return []place{{app, []string{name}}}, nil
	}
	if app != "" && capability.AppIn(&c.disk, name) == "" {
		path = systemName(app)
	}
	c.disk.allow(path)
	return placesIn(&c.disk, name, shownName)
}

// placesIn returns the places of a folder.
func placesIn(fsys fs.FS, folder string, shown func(string) string) ([]place, error) {
	app := appAbove(folder)
	if app == "" || capability.AppIn(fsys, folder) != "" {
		apps, err := capability.FindApps(fsys, folder)
		if err != nil {
			return nil, err
		}
		var places []place
		for _, app := range apps {
			places = append(places, place{dir: app})
		}
		if places != nil {
			return places, nil
		}
	}
	files, err := capability.FindFiles(fsys, folder)
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("there is no .json, .json5 or .toml file in %s", shown(folder))
	}
	return []place{{app, files}}, err
}

// appAbove returns the folder that contains the folder capabilities that a file is in, "" if it is
// in none.
func appAbove(file string) string {
	for file != "." {
		base := path.Base(file)
		if file = path.Dir(file); base == "capabilities" {
			return file
		}
	}
	return ""
}

// currentApp returns the application of the working directory, or of the nearest folder above it.
// The search ends at the top of a repository.
func currentApp() (string, error) {
	for dir := absolute("."); ; {
		if capability.AppIn(&disk{}, nameOnDisk(dir)) != "" {
			return shorten(dir), nil
		}
		up := filepath.Dir(dir)
		if up == dir || exists(filepath.Join(dir, ".git")) {
			return "", errors.New("there is no folder capabilities or src-tauri/capabilities here or above; " +
				"name the files or the folder, such as . for the applications below")
		}
		dir = up
	}
}
