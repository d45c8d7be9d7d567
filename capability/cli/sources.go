package cli

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"lessonkit.example/capability"
)

// lockedTauri describes the framework's package in a Cargo.lock, lockedPlugin those of plugins, and
// npmTauri the framework's in a package.json.
var (
	lockedTauri  = regexp.MustCompile(`(?m)^name = "tauri"\r?\nversion = "([^"]+)"`)
	lockedPlugin = regexp.MustCompile(`(?m)^name = "tauri-plugin-([a-z0-9-]+)"\r?\nversion = "([^"]+)"`)
	npmTauri     = regexp.MustCompile(`"@tauri-apps/api"\s*:\s*"([^"]+)"`)
)

// frameworkVersion returns the release of the framework that an application uses: that of the flag,
// or the one in the Cargo.lock of the application or of the workspace around it, or the one in its
// package.json, as the npm package has the same numbers. It is zero if there is none.
func (c *command) frameworkVersion(p *project) (capability.Version, error) {
	if c.tauri != "" {
		return capability.ParseVersion(c.tauri)
	}
	for _, source := range []struct {
		name    string
		version *regexp.Regexp
	}{{"Cargo.lock", lockedTauri}, {"package.json", npmTauri}} {
		for _, folder := range p.folders() {
			text, err := readFile(filepath.Join(folder, source.name), folder)
			if err != nil {
				continue // there is none, or none that can be used
			}
			if match := source.version.FindSubmatch(text); match != nil {
				if v, err := capability.ParseVersion(string(match[1])); err == nil {
					return v, nil
				}
			}
		}
	}
	return capability.Version{}, nil
}

// pluginVersions returns the versions of plugins in the Cargo.lock of an application, or of the
// workspace around it.
func (p *project) pluginVersions() map[string]capability.Version {
	versions := make(map[string]capability.Version)
	for _, folder := range p.folders() {
		text, err := readFile(filepath.Join(folder, "Cargo.lock"), folder)
		if err != nil {
			continue // there is none, or none that can be used
		}
		for _, match := range lockedPlugin.FindAllSubmatch(text, -1) {
			if v, err := capability.ParseVersion(string(match[2])); err == nil {
				versions[string(match[1])] = v
			}
		}
		break
	}
	return versions
}

// folders returns where the files that name versions may be: beside the application, or in the
// workspace around it.
func (p *project) folders() []string {
	if p.root == "" {
		return nil
	}
	return []string{p.root, filepath.Join(p.root, ".."), filepath.Join(p.root, "..", "..")}
}

// ownCommand describes a function that is a command of the application.
var ownCommand = regexp.MustCompile(`(?m)^\s*#\[(?:tauri::)?command\b[^\]]*\]\s*(?:#\[[^\]]*\]\s*)*` +
	`(?:pub(?:\s*\([^)]*\))?\s+)?(?:async\s+)?(?:unsafe\s+)?fn\s+([A-Za-z_][A-Za-z0-9_]*)`)

// mostSource limits how much of an application's source is searched for commands, in bytes.
const mostSource = 64 << 20

// ownCommands returns the commands that the source of an application defines, nil if none is found
// or if there is too much source to be sure.
func (p *project) ownCommands() []string {
	source := filepath.Join(p.root, "src")
	if p.root == "" || !isDir(source) {
		return nil
	}
	var commands []string
	size := 0
	err := walk(source, p.within[""], func(name string, entry fs.DirEntry) error {
		if entry.IsDir() || filepath.Ext(name) != ".rs" {
			return nil
		}
		text, err := readFile(name, p.within[""])
		if err != nil {
			return err
		}
		if size += len(text); size > mostSource {
			return os.ErrInvalid
		}
		for _, match := range ownCommand.FindAllSubmatch(text, -1) {
			commands = append(commands, string(match[1]))
		}
		return nil
	})
	if err != nil {
		return nil
	}
	slices.Sort(commands)
	return slices.Compact(commands)
}
