package capability

import (
	"cmp"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"lessonkit.example/capability/internal/limit"
	"lessonkit.example/capability/internal/syntax"
)

// The patterns of what is searched for in files that are not parsed.
var (
	// The framework's package in a package.json; a range of releases is none.
	npmTauri = regexp.MustCompile(`"@tauri-apps/api"\s*:\s*"=?v?(\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?)"`)
	// A package in a Cargo.lock; one of the repository itself has no source.
	lockedPackage = regexp.MustCompile(`\nname = "([^"\n]+)"\r?\nversion = "([^"\n]+)"(\r?\nsource = )?`)
	// What the Cargo.toml at the top of a workspace has.
	workspaceTable = regexp.MustCompile(`(?m)^\s*\[workspace[.\]]`)
	excludedList   = regexp.MustCompile(`(?m)^\s*exclude\s*=\s*\[([^\]]*)\]`)
	excludedFolder = regexp.MustCompile(`["'](?:\./)?([^"'\\]+?)/*["']`)
	// The Cargo feature with which the build reads JSON5.
	json5Feature = regexp.MustCompile(`(?m)^[^#\n]*"config-json5"`)
	// The application's own commands in its build script: a list, or the name of one.
	listedCommands = regexp.MustCompile(`AppManifest::(?:new|default)\(\)(?:\s*\.\w+\([^()]*\))*?\s*` +
		`\.commands\(\s*&?\s*(?:\[([^\]]*)\]|(\w+))`)
	rustComment = regexp.MustCompile(`//[^\n]*`)
	rustString  = regexp.MustCompile(`"([^"\\]*)"`)
	// A list of nothing but strings, and a constant, with its list if it has one. An optional end
	// of a pattern must not go on beyond the next match, or a script of many takes forever.
	stringList   = regexp.MustCompile(`^(?:\s*"[^"\\]*"\s*(?:,|$))*\s*$`)
	rustConstant = regexp.MustCompile(`\b(?:const|static|let)\s+(\w+)(?:\s*:[^=;:]*=\s*&?\s*\[([^\][]*)\])?`)
	// What a build script gives to the framework directly, and what may add a manifest of the
	// application, perhaps in another file. Another crate's function may add one too.
	attributes = regexp.MustCompile(`\btauri_build::build\(\)|` +
		`\btry_build\(\s*(?:tauri_build::)?Attributes::(?:new|default)\(\)`)
	mayMakeManifest = regexp.MustCompile(`(?i)app_?manifest|\bmod\s|\binclude!`)
	// The folder of the capabilities in the build script; not one outside of the application.
	otherFolder = regexp.MustCompile(`\.capabilities_path_pattern\(\s*"(?:\./)?((?:[\w-]+/)+)\*\*/\*"`)
	// A plugin that is a part of the application, in its build script, and the list of its commands
	// if no rule for a default set follows.
	inlinedPlugin = regexp.MustCompile(`\.plugin\(\s*"([A-Za-z0-9_-]+)"(?:\s*,\s*(?:\w+::)?InlinedPlugin::new\(\)` +
		`\s*\.commands\(\s*&?\s*(?:\[([^\][]*)\]|(\w+))\s*,?\s*\)\s*[,)])?`)
	// A function that is a command of the application.
	ownCommand = regexp.MustCompile(`(?m)^\s*#\[(?:tauri::)?command\b[^\]]*\]\s*(?:(?:#\[[^\]]*\]|//[^\n]*)\s*)*` +
		`(?:pub(?:\s*\([^)]*\))?\s+)?(?:async\s+)?(?:unsafe\s+)?fn\s+([A-Za-z_][A-Za-z0-9_]*)`)
)

// findVersions finds the versions of the framework and of plugins, in the application's folder or
// in the nearest one above it, as Cargo does, up to the top of the repository. What cannot be read
// is skipped.
func (a *App) findVersions() {
	a.PluginVersions = make(map[string]Version)
	if a.dir == "" {
		return
	}
	var npm Version
	inWorkspace := false
	for folder := a.dir; ; folder = path.Dir(folder) {
		isTop := false // of the workspace, whose Cargo.lock counts
		if text, err := a.reader.Read(path.Join(folder, "Cargo.toml"), limit.Bytes); err == nil {
			reads := json5Feature.Match(text) || a.JSON5 != nil && *a.JSON5
			a.JSON5 = &reads
			isTop = !inWorkspace && workspaceTable.Match(text) && !excludes(text, folder, a.dir)
			inWorkspace = inWorkspace || isTop
		}
		text, err := a.reader.Read(path.Join(folder, "Cargo.lock"), limit.Bytes)
		if err == nil && (a.locked == nil || isTop) {
			if versions, own := lockedVersions(string(text)); versions["tauri"] != (Version{}) {
				a.locked, a.ownPlugins, a.Version = versions, own, versions["tauri"]
			}
		}
		// The npm package has the same numbers.
		text, err = a.reader.Read(path.Join(folder, "package.json"), limit.Bytes)
		if err == nil && npm == (Version{}) {
			if match := npmTauri.FindSubmatch(text); match != nil {
				npm, _ = ParseVersion(string(match[1])) // it has the form
			}
		}
		if _, err := fs.Stat(a.reader.FS, path.Join(folder, ".git")); err == nil || folder == "." {
			if err == nil {
				a.repository = folder
			}
			break
		}
	}
	a.Version = cmp.Or(a.Version, npm)
	for name, v := range a.locked {
		if plugin, ok := strings.CutPrefix(name, "tauri-plugin-"); ok {
			a.PluginVersions[plugin] = v
		}
	}
}

// excludes reports whether the Cargo.toml in a folder keeps dir, which is below it, out of its
// workspace.
func excludes(cargo []byte, folder, dir string) bool {
	for _, list := range excludedList.FindAllSubmatch(cargo, -1) {
		for _, name := range excludedFolder.FindAllSubmatch(list[1], -1) {
			if strings.HasPrefix(dir+"/", path.Join(folder, string(name[1]))+"/") {
				return true
			}
		}
	}
	return false
}

// The bounds of a build script: bytes, and plugins in it.
const (
	maxScript  = 1 << 20
	maxInlined = 100
)

// commandsIn returns a function for the commands that a build script has in a list or in the
// constant of a name, nil unless it is certain that these are all.
func commandsIn(script []byte) func(list, name []byte) []string {
	commands := func(list []byte) (commands []string) {
		if stringList.Match(list) {
			for _, text := range rustString.FindAllSubmatch(list, -1) {
				commands = append(commands, string(text[1]))
			}
		}
		return commands
	}
	constants := make(map[string][]string)
	for _, match := range rustConstant.FindAllSubmatch(script, -1) {
		name := string(match[1])
		if _, twice := constants[name]; twice { // such as one for each platform
			constants[name] = nil
		} else {
			constants[name] = commands(match[2])
		}
	}
	return func(list, name []byte) []string {
		if len(name) > 0 {
			return constants[string(name)]
		}
		return commands(list)
	}
}

// lockedVersions returns the versions of packages in a Cargo.lock, the last one of several, and
// whether a plugin is of the repository itself.
func lockedVersions(lock string) (versions map[string]Version, ownPlugins bool) {
	versions = make(map[string]Version)
	for _, match := range lockedPackage.FindAllStringSubmatch(lock, -1) {
		if v, err := ParseVersion(match[2]); err == nil {
			versions[match[1]] = v
		}
		ownPlugins = ownPlugins || match[3] == "" && strings.HasPrefix(match[1], "tauri-plugin-")
	}
	return versions, ownPlugins
}

// SourceCommand is a command that the source of an application defines.
type SourceCommand struct {
	Name  string
	Place Place // of the function
}

// SourceCommands returns the commands of the application's own that its folder src defines, sorted
// by name, nil if none is found or if there is too much source to be sure. Functions of one name,
// each for a platform, are one command, at the place of the first. The source is read once.
func (a *App) SourceCommands() []SourceCommand {
	if a.commands == nil {
		return nil
	}
	return a.commands()
}

func (r *appReader) sourceCommands(folder string) []SourceCommand {
	r.Reset() // the limit is for each of the files and the source
	var commands []SourceCommand
	err := r.Walk(folder, func(name string, entry fs.DirEntry) error {
		if entry.IsDir() || path.Ext(name) != ".rs" {
			return nil
		}
		text, err := r.Read(name, limit.Bytes)
		source := syntax.Text(r.Shown(name), text)
		for _, match := range ownCommand.FindAllSubmatchIndex(text, -1) {
			commands = append(commands, SourceCommand{string(text[match[2]:match[3]]),
				Place{File: source.Name(), Start: positionAt(source, match[2])}})
		}
		return err
	})
	if err != nil {
		return nil
	}
	slices.SortStableFunc(commands, func(a, b SourceCommand) int { return cmp.Compare(a.Name, b.Name) })
	return slices.CompactFunc(commands, func(a, b SourceCommand) bool { return a.Name == b.Name })
}

// Dir returns the application's folder in the file system it was loaded from, "" without one.
func (a *App) Dir() string { return a.dir }

// Repository returns the folder of the repository that the application is in, "" if it is in none.
func (a *App) Repository() string { return a.repository }
