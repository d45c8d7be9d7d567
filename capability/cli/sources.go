package cli

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"lessonkit.example/capability"
)

// lockedPackage describes a package in a Cargo.lock.
var lockedPackage = regexp.MustCompile(`(?m)^name = "([^"]+)"\r?\nversion = "([^"]+)"`)

// npmDependency describes the framework's package in a package.json.
var npmDependency = regexp.MustCompile(`"@tauri-apps/api"\s*:\s*"([^"]+)"`)

// versions returns the releases that an application uses, by the names of the packages in Rust:
// those of the flag, or those in the Cargo.lock of the application or of the workspace around it,
// or the one in its package.json, whose releases have the numbers of the framework's.
func (c *command) versions(p *project) (map[string]capability.Version, error) {
	if c.tauri != "" {
		v, err := capability.ParseVersion(c.tauri)
		return map[string]capability.Version{"tauri": v}, err
	}
	found := make(map[string]capability.Version)
	if p.root == "" {
		return found, nil
	}
	folders := []string{p.root, filepath.Join(p.root, ".."), filepath.Join(p.root, "..", "..")}
	for _, folder := range folders {
		text, err := readFile(filepath.Join(folder, "Cargo.lock"), folder)
		if err != nil {
			continue // there is none, or none that can be used
		}
		for _, match := range lockedPackage.FindAllSubmatch(text, -1) {
			if v, err := capability.ParseVersion(string(match[2])); err == nil {
				found[string(match[1])] = v
			}
		}
		return found, nil
	}
	for _, folder := range folders {
		text, err := readFile(filepath.Join(folder, "package.json"), folder)
		if err != nil {
			continue
		}
		if match := npmDependency.FindSubmatch(text); match != nil {
			if v, err := capability.ParseVersion(string(match[1])); err == nil {
				found["tauri"] = v
			}
			break
		}
	}
	return found, nil
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
