package capability

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	"lessonkit.example/capability/internal/limit"
)

// App contains the files of an application that decide what its windows may call. Load one with
// [LoadApp]. To check other contents, such as those in an editor, copy it and replace Documents or
// Config.
type App struct {
	// Documents are the capability files in the order of their names.
	Documents []*Document
	// Config is tauri.conf.json, tauri.conf.json5 or Tauri.toml; nil if there is none.
	Config *Document
	// PlatformConfigs are the configurations for one platform, such as tauri.windows.conf.json.
	PlatformConfigs map[Platform]*Document
	// Manifests are those that the build wrote to gen/schemas/acl-manifests.json, or those that are
	// known without a build. They also contain the permissions in the application's own folder
	// permissions, which may be newer than the build.
	Manifests *Manifests
	// ManifestProblems are what is wrong with the files of manifests and permissions.
	ManifestProblems Diagnostics
	// Version is the framework's in Cargo.lock, or that of its npm package in package.json; zero if
	// neither names one release. The files are those of the application, or of the nearest folder
	// above it that has them; of a Cargo workspace that does not exclude the application it is the
	// Cargo.lock at its top.
	Version Version
	// PluginVersions are those of plugins in Cargo.lock, by the names that identifiers have.
	PluginVersions map[string]Version
	// JSON5 tells whether the application has the Cargo feature config-json5, without which the
	// build ignores JSON5 files; nil if it has no Cargo.toml. With it tauri.conf.json is JSON5 too.
	JSON5 *bool

	locked     map[string]Version // the packages in Cargo.lock, nil if it was not found
	ownPlugins bool               // some of them are plugins of the repository itself
	reader     *appReader
	dir        string
	chosen     bool                   // Documents are some of its files
	commands   func() []SourceCommand // nil without a folder
	// repository is the folder of the repository, "" without one.
	repository string
}

// AppOptions configures [LoadApp]. The zero AppOptions finds the application by itself.
type AppOptions struct {
	// Dir is the application's folder in the file system, the one with its configuration. Defaults
	// to the only application that [FindApps] finds.
	Dir string
	// Files are the capability files to read instead of those in the application's folder
	// capabilities. Without Dir they belong to no application: then nothing else is read.
	Files []string
	// NoManifests leaves out the application's manifests and permissions, and NoConfig its
	// configurations, for a caller that replaces them: their files are not read. Manifests are then
	// those that are known without a build, and Config is nil.
	NoManifests, NoConfig bool
	// Name returns the name that a file has in diagnostics. Defaults to its path in the file
	// system.
	Name func(path string) string
}

// LoadApp reads an application from a file system, such as that of an os.Root: its configuration,
// capabilities, manifests, permissions, and the versions of framework and plugins. For the versions
// in a Cargo workspace give a file system that contains the whole repository. With os.DirFS links
// are followed to any file of the computer, and diagnostics may quote it: use that only for files
// that you trust.
//
// It fails if a file cannot be read, if there is none or more than one application, or if there is
// too much: more than 100,000 files or folders to search, or 64 MiB in the files. What the files
// say is not an error: checking the App reports it.
func LoadApp(fsys fs.FS, o AppOptions) (*App, error) {
	r := &appReader{limit.Reader{FS: fsys, Name: o.Name}}
	a := &App{reader: r}
	if fsys == nil {
		return nil, errors.New("LoadApp needs a file system, such as os.DirFS(\".\")")
	}
	if o.Dir != "" {
		if a.dir = path.Clean(o.Dir); !fs.ValidPath(a.dir) {
			return nil, fmt.Errorf("%q is not in the file system; write such as src-tauri, without / or .. before it",
				o.Dir)
		}
	}
	files := o.Files
	a.chosen = files != nil
	if a.dir == "" && files == nil {
		apps, err := FindApps(fsys, ".")
		switch {
		case err != nil:
			return nil, err
		case len(apps) == 0:
			return nil, errors.New("there is no application: no folder has capabilities or a file " +
				"tauri.conf.json, tauri.conf.json5 or Tauri.toml")
		case len(apps) > 1:
			return nil, fmt.Errorf("there are %d applications; set Dir to one of them: %s", len(apps),
				strings.Join(apps, ", "))
		}
		a.dir = apps[0]
	}
	if files == nil {
		var err error
		if files, err = r.capabilityFiles(a.dir); err != nil {
			return nil, err
		}
	}
	var err error
	if a.Documents, err = r.documents(files, Parse); err != nil {
		return nil, err
	}
	a.findVersions()
	a.Manifests = knownManifests(a.PluginVersions)
	a.Manifests.locked, a.Manifests.ownPlugins = a.locked, a.ownPlugins
	if a.dir == "" {
		return a, nil
	}
	a.commands = sync.OnceValue(func() []SourceCommand { return r.sourceCommands(path.Join(a.dir, "src")) })
	if !o.NoManifests {
		if err := a.loadManifests(); err != nil {
			return nil, err
		}
	}
	if !o.NoConfig {
		if err := a.loadConfigs(); err != nil {
			return nil, err
		}
	}
	return a, nil
}

// capabilityFiles returns the files in an application's folder capabilities, or in the one that its
// build script names instead, none without one.
func (r *appReader) capabilityFiles(dir string) ([]string, error) {
	folder := path.Join(dir, "capabilities")
	script, _ := r.Read(path.Join(dir, "build.rs"), maxScript) // what cannot be read is not there
	script = rustComment.ReplaceAll(script, nil)
	// A script that also builds as usual names another folder for a feature, such as one of tests.
	buildsAsUsual := strings.Contains(string(script), "tauri_build::build()")
	if match := otherFolder.FindSubmatch(script); match != nil && !buildsAsUsual {
		folder = path.Join(dir, string(match[1]))
	}
	if !exists(r.FS, folder, true) {
		if configIn(r.FS, dir, "") == "" {
			return nil, fmt.Errorf("%s is not an application: it has neither capabilities nor a configuration",
				r.Shown(dir))
		}
		return nil, nil
	}
	return r.filesBelow(folder)
}

func (a *App) loadManifests() error {
	r := a.reader
	file := path.Join(a.dir, "gen", "schemas", "acl-manifests.json")
	if exists(r.FS, file, false) {
		text, err := r.Read(file, limit.Bytes)
		if err != nil {
			return err
		}
		a.ManifestProblems = append(a.ManifestProblems, a.Manifests.Load(r.Shown(file), text)...)
	}
	// An application with its own permissions has a manifest even before the build has written it,
	// so its commands are checked.
	script, err := r.Read(path.Join(a.dir, "build.rs"), maxScript)
	script = rustComment.ReplaceAll(script, nil)
	var plugins []string
	inlined := inlinedPlugin.FindAllSubmatch(script, maxInlined)
	for _, match := range inlined {
		plugins = append(plugins, string(match[1]))
	}
	a.Manifests.inlined = plugins
	commandsOf := commandsIn(script)
	for i, plugin := range plugins {
		if m := a.Manifests.Get(plugin); m != nil && m.official { // an inlined one of the same name is another
			delete(a.Manifests.byKey, plugin)
		}
		twice := slices.Contains(plugins[:i], plugin) || slices.Contains(plugins[i+1:], plugin)
		if commands := commandsOf(inlined[i][2], inlined[i][3]); commands != nil && !twice {
			a.Manifests.addCommands(plugin, commands)
		}
	}
	// The build may be older than what the application's files say now.
	if a.Manifests.noOwn = attributes.Match(script) && !mayMakeManifest.Match(script); a.Manifests.noOwn {
		delete(a.Manifests.byKey, AppManifest)
	}
	wasBuilt := a.Manifests.Get(AppManifest) != nil
	if folder := path.Join(a.dir, "permissions"); exists(r.FS, folder, true) {
		if err := a.loadOwnPermissions(folder, plugins, err == nil); err != nil {
			return err
		}
	}
	if match := listedCommands.FindSubmatch(script); match != nil {
		commands := commandsOf(match[1], match[2])
		own := a.Manifests.addCommands(AppManifest, commands)
		own.mayHaveMore = commands == nil && !wasBuilt || own.mayHaveMore
	}
	// The build makes no manifest of files that define nothing.
	if own := a.Manifests.Get(AppManifest); own != nil && !own.mayHaveMore && own.Default == nil &&
		len(own.Permissions)+len(own.Sets) == 0 && !a.ManifestProblems.HasErrors() {
		delete(a.Manifests.byKey, AppManifest)
	}
	return nil
}

// loadOwnPermissions reads the folder of the application's own permissions. A folder in it may
// contain those of a plugin that is a part of the application, as the build script tells; without
// it a folder that contains a default set is taken for that of a plugin, as an application has only
// one.
func (a *App) loadOwnPermissions(folder string, plugins []string, hasScript bool) error {
	r := a.reader
	files, err := r.filesBelow(folder)
	if err != nil {
		return err
	}
	docs, err := r.documents(files, ParseValue)
	if err != nil {
		return err
	}
	for i, d := range docs {
		plugin := AppManifest
		below, _, nested := strings.Cut(strings.TrimPrefix(files[i], folder+"/"), "/")
		if nested && below != "autogenerated" &&
			(slices.Contains(plugins, below) || !hasScript && d.Root().Get("default").Exists()) {
			plugin = below
		}
		a.ManifestProblems = append(a.ManifestProblems, a.Manifests.LoadPermissions(plugin, d)...)
	}
	return nil
}

func (a *App) loadConfigs() error {
	read := func(platform Platform) (*Document, error) {
		file := configIn(a.reader.FS, a.dir, platform)
		if file == "" {
			return nil, nil
		}
		docs, err := a.reader.documents([]string{file}, func(text []byte, o Options) *Document {
			if a.JSON5 != nil && *a.JSON5 && formatOf(o.Name) == JSON {
				o.Format = JSON5
			}
			return ParseValue(text, o)
		})
		if err != nil {
			return nil, err
		}
		return docs[0], nil
	}
	var err error
	if a.Config, err = read(""); err != nil || a.Config == nil {
		return err
	}
	a.PlatformConfigs = make(map[Platform]*Document)
	for _, platform := range Platforms() {
		d, err := read(platform)
		if err != nil {
			return err
		}
		if d != nil {
			a.PlatformConfigs[platform] = d
		}
	}
	return nil
}

// ConfigFor returns the configuration that lists the active capabilities on a platform, for ""
// Config. The list of a platform's configuration replaces that of Config. It returns nil if
// there is none.
func (a *App) ConfigFor(platform Platform) *Document {
	if d := a.PlatformConfigs[platform]; d != nil && (configuredList(d).Exists() || removesList(d)) {
		return d
	}
	return a.Config
}

// Targets returns the platforms to look at for a complete answer: the one given, or for "" both
// "", which is every platform without a configuration of its own, and those whose configuration
// lists the active capabilities.
func (a *App) Targets(platform Platform) []Platform {
	targets := []Platform{platform}
	if platform == "" {
		for _, p := range Platforms() {
			if a.ConfigFor(p) != a.Config {
				targets = append(targets, p)
			}
		}
	}
	return targets
}

// Configs returns the configurations that count on a platform, for "" all of them.
func (a *App) Configs(platform Platform) []*Document {
	var configs []*Document
	if a.Config != nil {
		configs = append(configs, a.Config)
	}
	for _, p := range Platforms() {
		if d := a.PlatformConfigs[p]; d != nil && (platform == "" || p == platform) {
			configs = append(configs, d)
		}
	}
	return configs
}

// Files returns the capability files and the configurations: all documents that diagnostics have
// fixes for; see [Document.Fixed].
func (a *App) Files() []*Document {
	return slices.Concat(a.Documents, a.Configs(""))
}

// Capabilities returns the capabilities that are active on a platform, or with "" on those that
// have no configuration of their own; see [App.Targets]. They are all of the Documents, unless the
// configuration lists some at app.security.capabilities. Then only those are active that it lists,
// by name or as objects, and of two with the same name the one listed last.
// The diagnostics report the inactive ones, names that do not exist or are listed twice, and
// objects that take the place of others; check the objects with [Inlined].
func (a *App) Capabilities(platform Platform) ([]Capability, Diagnostics) {
	if a.firstVersion() {
		return nil, Diagnostics{NewDiagnostic(a.Config.Root(), codeFirstVersion, severityOf(codeFirstVersion),
			firstVersionMessage)}
	}
	var all []Capability
	for _, d := range a.Documents {
		if d.Format() != JSON5 || a.JSON5 == nil || *a.JSON5 {
			all = append(all, d.Capabilities()...)
		}
	}
	config := a.ConfigFor(platform)
	if config == nil || config != a.Config && removesList(config) {
		return all, nil
	}
	active, found := configure(config, all)
	if a.chosen || slices.ContainsFunc(a.Documents, func(d *Document) bool { return d.text.Damaged() }) {
		// Another file, or one that is unreadable, may define what seems to be missing.
		found = slices.DeleteFunc(found, func(d Diagnostic) bool { return d.Code == codeUnknownCapability })
	}
	return active, found
}

// Resolve resolves the active capabilities with the manifests of the application, as the function
// [Resolve] does. The application determines Partial, and Version and AppCommands unless they are
// set.
func (a *App) Resolve(o ResolveOptions) (*Policy, Diagnostics) {
	o.Partial = !a.Manifests.Whole()
	if o.Version == (Version{}) {
		o.Version = a.Version
	}
	if o.AppCommands == nil {
		for _, c := range a.SourceCommands() {
			o.AppCommands = append(o.AppCommands, c.Name)
		}
	}
	capabilities, found := a.Capabilities(o.Platform)
	policy, references := Resolve(capabilities, a.Manifests, o)
	found = append(slices.Clip(found), references...)
	found.Sort()
	return policy, found
}

const firstVersionMessage = "This is an application of Tauri 1, which has an allowlist and no capabilities; " +
	"\"tauri migrate\" makes one of Tauri 2 of it."

// firstVersion reports whether this is an application of Tauri 1, by the form of its configuration.
func (a *App) firstVersion() bool {
	return a.Config != nil && a.Config.Root().Get("tauri").Kind() == Object && !a.Config.Root().Get("app").Exists()
}

// Err returns the errors in files of the application that keep them from being read completely on a
// platform, "" for all, as one error; nil if there are none. A decision that is based on a
// part of a file would be misleading, and so would one about an application of Tauri 1, which is an
// error too.
func (a *App) Err(platform Platform) error {
	if a.firstVersion() {
		return fmt.Errorf("%s: %s", a.Config.Name(), firstVersionMessage)
	}
	found := slices.Clone(a.ManifestProblems)
	docs := slices.Concat(a.Documents, a.Configs(platform))
	for _, target := range a.Targets(platform) {
		if config := a.ConfigFor(target); config != nil {
			docs = append(docs, Inlined(config))
		}
	}
	for _, d := range docs {
		found = append(found, d.Check()...)
	}
	return found.Err()
}
