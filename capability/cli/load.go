package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"lessonkit.example/capability"
)

// project contains the files of an application, or files that belong to none.
type project struct {
	root      string            // the application's folder, "" without one
	within    map[string]string // by the name of a file: the folder that it must be in
	docs      []*capability.Document
	manifests *capability.Manifests
	main      *capability.Document // the configuration and that of the platform, nil without one
	special   *capability.Document
	inlined   []*capability.Document // of the capabilities in the configuration, where there are any
	version   capability.Version     // of the framework
	found     capability.Diagnostics // in manifests and configuration
}

// load reads the capability files at paths, and for each application its manifests and its
// configuration. Without flags, manifests and configuration are read from their usual places.
func (c *command) load(paths []string) ([]*project, error) {
	platform, err := c.target()
	if err != nil {
		return nil, err
	}
	if len(paths) == 0 {
		app, err := here()
		if err != nil {
			return nil, err
		}
		paths = []string{app}
	}
	var projects []*project
	seen := make(map[string]bool)
	for _, path := range paths {
		places, err := locate(path)
		if err != nil {
			return nil, err
		}
		for _, at := range places {
			p := projectAt(&projects, at)
			for _, file := range at.files {
				name, err := filepath.Abs(file)
				if err != nil || seen[name] {
					continue
				}
				seen[name] = true
				d, err := read(file, at.within, capability.Parse)
				if err != nil {
					return nil, err
				}
				p.docs = append(p.docs, d)
				p.within[d.Name()] = at.within
			}
		}
	}
	for _, p := range projects {
		p.manifests = capability.KnownManifests(p.pluginVersions())
		if err := c.loadManifests(p); err != nil {
			return nil, err
		}
		if err := c.loadConfig(p, platform); err != nil {
			return nil, err
		}
		if p.version, err = c.frameworkVersion(p); err != nil {
			return nil, err
		}
		if p.config() != nil {
			if d := capability.Inlined(p.config()); len(d.Capabilities()) > 0 {
				p.inlined = append(p.inlined, d)
			}
		}
	}
	return projects, nil
}

// projectAt returns the project of a place, a new one if it is the first of its application.
func projectAt(projects *[]*project, at place) *project {
	root, _ := filepath.Abs(at.root)
	for _, p := range *projects {
		if known, _ := filepath.Abs(p.root); known == root && (p.root == "") == (at.root == "") {
			return p
		}
	}
	p := &project{root: at.root, within: map[string]string{"": at.within}}
	*projects = append(*projects, p)
	return p
}

// loadOne is load for commands that answer about one application.
func (c *command) loadOne(paths []string) (*project, error) {
	projects, err := c.load(paths)
	if err != nil {
		return nil, err
	}
	if len(projects) == 1 {
		return projects[0], nil
	}
	var roots []string
	for _, p := range projects {
		roots = append(roots, p.root)
	}
	return nil, fmt.Errorf("there are %d applications; name one of them: %s", len(roots), strings.Join(roots, ", "))
}

func (c *command) loadManifests(p *project) error {
	for _, name := range c.manifests {
		if err := loadManifest(p, name, ""); err != nil {
			return err
		}
	}
	if len(c.manifests) > 0 || p.root == "" {
		return nil
	}
	file := filepath.Join(p.root, "gen", "schemas", "acl-manifests.json")
	if _, err := os.Stat(file); err == nil {
		if err := loadManifest(p, shorten(file), p.within[""]); err != nil {
			return err
		}
	}
	// An application with its own permissions has a manifest even before the build has written it,
	// so its commands are checked.
	own := filepath.Join(p.root, "permissions")
	if p.manifests.Get(capability.AppManifest) != nil || !isDir(own) {
		return nil
	}
	return p.loadOwn(shorten(own))
}

// inlinedPlugin describes a plugin that is a part of the application, in its build script.
var inlinedPlugin = regexp.MustCompile(`\.plugin\(\s*"([A-Za-z0-9_-]+)"`)

// loadOwn reads the folder of the application's own permissions. A folder in it may contain those
// of a plugin that is a part of the application, as the build script tells; without it a folder
// that contains a default set is taken for that of a plugin, as an application has only one.
func (p *project) loadOwn(folder string) error {
	script, err := readFile(filepath.Join(p.root, "build.rs"), p.within[""])
	var plugins []string
	for _, match := range inlinedPlugin.FindAllSubmatch(script, -1) {
		plugins = append(plugins, string(match[1]))
	}
	files, walkErr := filesBelow(folder, p.within[""])
	if walkErr != nil {
		return walkErr
	}
	for _, file := range files {
		d, readErr := read(file, p.within[""], capability.ParseValue)
		if readErr != nil {
			return readErr
		}
		plugin := capability.AppManifest
		relative, _ := filepath.Rel(folder, file)
		if below, _, nested := strings.Cut(filepath.ToSlash(relative), "/"); nested && below != "autogenerated" &&
			(slices.Contains(plugins, below) || err != nil && d.Root().Get("default").Exists()) {
			plugin = below
		}
		p.found = append(p.found, p.manifests.LoadPermissions(plugin, d)...)
	}
	return nil
}

func loadManifest(p *project, name, within string) error {
	plugin, file, named := strings.Cut(name, "=")
	if !named {
		file = name
		if filepath.Ext(file) == ".toml" {
			return fmt.Errorf("-manifest %s: name the plugin of these permissions: PLUGIN=%s, or %s=%s for the "+
				"application", name, file, capability.AppManifest, file)
		}
		text, err := readFile(file, within)
		if err != nil {
			return err
		}
		p.found = append(p.found, p.manifests.Load(filepath.ToSlash(file), text)...)
		return nil
	}
	files := []string{file}
	if isDir(file) {
		var err error
		if files, err = filesBelow(file, within); err != nil {
			return err
		}
	}
	for _, file := range files {
		d, err := read(file, within, capability.ParseValue)
		if err != nil {
			return err
		}
		p.found = append(p.found, p.manifests.LoadPermissions(plugin, d)...)
	}
	return nil
}

func (c *command) loadConfig(p *project, platform capability.Platform) error {
	if c.config == "none" || c.config == "" && p.root == "" {
		return nil
	}
	readConfig := func(file, within string) (*capability.Document, error) {
		if file == "" {
			return nil, nil
		}
		d, err := read(file, within, capability.ParseValue)
		if err == nil {
			p.found = append(p.found, d.Check(capability.ModeReference)...)
		}
		return d, err
	}
	var err error
	if c.config != "" {
		p.main, err = readConfig(c.config, "")
		return err
	}
	within := p.within[""]
	if p.main, err = readConfig(shorten(configAt(p.root, "")), within); err != nil || p.main == nil {
		return err
	}
	if platform != "" {
		p.special, err = readConfig(shorten(configAt(p.root, platform)), within)
		return err
	}
	for _, platform := range capability.Platforms() {
		if file := shorten(configAt(p.root, platform)); file != "" {
			if d, err := read(file, within, capability.ParseValue); err == nil && capability.Configured(d).Exists() {
				c.note("%s lists other capabilities; with -platform %s they count", file, platform)
			}
		}
	}
	return nil
}

// config returns the file that lists the active capabilities, nil if there is none. The list of the
// platform replaces the general one.
func (p *project) config() *capability.Document {
	if p.special != nil && capability.Configured(p.special).Exists() {
		return p.special
	}
	return p.main
}

// capabilities returns the capabilities that are active according to the configuration, and the
// diagnostics about it.
func (p *project) capabilities() ([]capability.Capability, capability.Diagnostics) {
	var all []capability.Capability
	for _, d := range p.docs {
		all = append(all, d.Capabilities()...)
	}
	if p.config() == nil {
		return all, nil
	}
	return capability.Configure(p.config(), all)
}

// policy resolves the project for a decision. It fails if a file could not be read completely,
// because a decision based on a part of it would be misleading.
func (c *command) policy(p *project, platform capability.Platform, denyByOrigin bool) (*capability.Policy, error) {
	broken := slices.Clone(p.found)
	for _, d := range slices.Concat(p.docs, p.inlined) {
		broken = append(broken, d.Check(capability.ModeReference)...)
	}
	if err := broken.Err(); err != nil {
		return nil,
			fmt.Errorf("the files have mistakes that must be corrected first; \"capability check\" shows them all: %w",
				err)
	}
	capabilities, _ := p.capabilities()
	policy, found := capability.Resolve(capabilities, p.manifests,
		capability.ResolveOptions{Platform: platform, Partial: !p.manifests.Whole(), DenyByOrigin: denyByOrigin,
			Version: p.version, AppCommands: p.ownCommands()})
	if err := found.Err(); err != nil {
		c.note("the files have mistakes, see \"capability check\": %v", err)
	}
	return policy, nil
}
