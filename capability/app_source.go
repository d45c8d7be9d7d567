package capability

import (
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
)

// The patterns of what is searched for in files that are not parsed.
var (
	// The framework's package in a package.json.
	npmTauri = regexp.MustCompile(`"@tauri-apps/api"\s*:\s*"([^"]+)"`)
	// A plugin that is a part of the application, in its build script.
	inlinedPlugin = regexp.MustCompile(`\.plugin\(\s*"([A-Za-z0-9_-]+)"`)
	// A function that is a command of the application.
	ownCommand = regexp.MustCompile(`(?m)^\s*#\[(?:tauri::)?command\b[^\]]*\]\s*(?:#\[[^\]]*\]\s*)*` +
		`(?:pub(?:\s*\([^)]*\))?\s+)?(?:async\s+)?(?:unsafe\s+)?fn\s+([A-Za-z_][A-Za-z0-9_]*)`)
)

// findVersions finds the versions of the framework and of plugins, beside the application or in the
// workspace around it. What cannot be read is skipped.
func (a *App) findVersions() {
	a.PluginVersions = make(map[string]Version)
	if a.dir == "" {
		return
	}
	folders := slices.Compact([]string{a.dir, path.Dir(a.dir), path.Dir(path.Dir(a.dir))})
	locked := false
	for _, folder := range folders {
		text, err := a.reader.read(path.Join(folder, "Cargo.lock"))
		if err != nil {
			continue
		}
		for name, v := range lockedVersions(string(text)) {
			if plugin, ok := strings.CutPrefix(name, "tauri-plugin-"); ok && !locked {
				a.PluginVersions[plugin] = v
			} else if name == "tauri" && a.Version == (Version{}) {
				a.Version = v
			}
		}
		locked = true
	}
	for _, folder := range folders {
		if a.Version != (Version{}) {
			return
		}
		// The npm package has the same numbers.
		if text, err := a.reader.read(path.Join(folder, "package.json")); err == nil {
			if match := npmTauri.FindSubmatch(text); match != nil {
				a.Version, _ = ParseVersion(string(match[1])) // zero for "workspace:*"
			}
		}
	}
}

// lockedVersions returns the versions of packages in a Cargo.lock, the last one of several.
func lockedVersions(lock string) map[string]Version {
	versions := make(map[string]Version)
	name := ""
	for line := range strings.Lines(lock) {
		key, value, _ := strings.Cut(strings.TrimRight(line, "\r\n"), " = ")
		value = strings.Trim(value, `"`)
		if key == "version" && name != "" {
			if v, err := ParseVersion(value); err == nil {
				versions[name] = v
			}
		}
		if name = ""; key == "name" && strings.HasPrefix(value, "tauri") {
			name = value
		}
	}
	return versions
}

// commands returns the commands that the source of an application defines, nil if none is found or
// if there is too much source to be sure. The source is read once.
func (a *App) commands() []string {
	if a.reader == nil || a.dir == "" {
		return nil
	}
	a.reader.once.Do(func() { a.reader.commands = a.reader.sourceCommands(path.Join(a.dir, "src")) })
	return a.reader.commands
}

func (r *appReader) sourceCommands(folder string) []string {
	r.bytes = 0 // the limit is for each of the files and the source
	var commands []string
	err := r.walk(folder, func(name string, entry fs.DirEntry) error {
		if entry.IsDir() || path.Ext(name) != ".rs" {
			return nil
		}
		text, err := r.read(name)
		for _, match := range ownCommand.FindAllSubmatch(text, -1) {
			commands = append(commands, string(match[1]))
		}
		return err
	})
	if err != nil {
		return nil
	}
	slices.Sort(commands)
	return slices.Compact(commands)
}
