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

// project contains the files that a command reads.
type project struct {
	docs      []*capability.Document
	manifests *capability.Manifests
	main      *capability.Document // the configuration and that of the platform, nil without one
	special   *capability.Document
	inlined   []*capability.Document // of the capabilities in the configuration, where there are any
	found     capability.Diagnostics // in manifests and configuration
}

// load reads the capability files at paths, the manifests and the configuration. Without flags,
// manifests and configuration are read from their usual places in a project.
func (c *command) load(paths []string) (*project, error) {
	platform, err := c.target()
	if err != nil {
		return nil, err
	}
	if len(paths) == 0 {
		app := appAt(".")
		if app == "" {
			return nil,
				errors.New("there is no folder capabilities or src-tauri/capabilities here; name the files or " +
					"the folder")
		}
		paths = []string{app}
	}
	p := &project{manifests: capability.CoreManifests()}
	seen := make(map[string]bool)
	for _, path := range paths {
		files, err := filesAt(path)
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			name, err := filepath.Abs(file)
			if err != nil || seen[name] {
				continue
			}
			seen[name] = true
			d, err := read(file, capability.Parse)
			if err != nil {
				return nil, err
			}
			p.docs = append(p.docs, d)
		}
	}
	root := projectRoot(paths[0])
	if err := c.loadManifests(p, root); err != nil {
		return nil, err
	}
	if err := c.loadConfig(p, root, platform); err != nil {
		return nil, err
	}
	if p.config() != nil {
		if d := capability.Inlined(p.config()); len(d.Capabilities()) > 0 {
			p.inlined = append(p.inlined, d)
		}
	}
	return p, nil
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
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

// filesAt returns the capability files of a path. An application may have none, because its
// configuration may contain all capabilities.
func filesAt(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, plainError(err)
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	if app := appAt(path); app != "" {
		path = filepath.Join(app, "capabilities")
		if !isDir(path) {
			return nil, nil
		}
	}
	return filesBelow(path)
}

// filesBelow returns the files of a folder. Like the reference implementation, it skips folders
// named schemas.
func filesBelow(path string) ([]string, error) {
	root := path + string(filepath.Separator) // with the separator a link is followed
	var files []string
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if entry.Name() == "schemas" && name != root {
				return filepath.SkipDir
			}
			return nil
		}
		switch filepath.Ext(name) {
		case ".json", ".json5", ".toml":
			files = append(files, name)
		}
		return nil
	})
	if err != nil {
		return nil, plainError(err)
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("there is no .json, .json5 or .toml file in %s", path)
	}
	return files, nil
}

// plainError leaves the name of the system call out of an error.
func plainError(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return fmt.Errorf("%s: %w", path.Path, path.Err)
	}
	return err
}

// mostBytes limits the memory that a file takes; real files are far smaller.
const mostBytes = 32 << 20

func read(file string, parse func([]byte, capability.Options) *capability.Document) (*capability.Document, error) {
	info, err := os.Stat(file)
	if err == nil && info.Size() > mostBytes {
		return nil, fmt.Errorf("%s has %d bytes; at most %d are read", file, info.Size(), mostBytes)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, plainError(err)
	}
	return parse(text, capability.Options{Name: filepath.ToSlash(file)}), nil
}

// projectRoot returns the folder that contains the capabilities folder.
func projectRoot(path string) string {
	if app := appAt(path); app != "" {
		return app
	}
	absolute, err := filepath.Abs(path)
	if err != nil {
		return filepath.Dir(path)
	}
	for dir := absolute; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if filepath.Base(dir) == "capabilities" {
			return filepath.Dir(dir)
		}
	}
	return ""
}

// shorten returns the name of a file relative to the working directory if the file is in or near
// it.
func shorten(file string) string {
	if !filepath.IsAbs(file) {
		return file
	}
	dir, err := os.Getwd()
	if err != nil {
		return file
	}
	relative, err := filepath.Rel(dir, file)
	if err != nil || strings.HasPrefix(relative, filepath.Join("..", "..", "..")) {
		return file
	}
	return relative
}

func (c *command) loadManifests(p *project, root string) error {
	for _, name := range c.manifests {
		if err := c.loadManifest(p, name); err != nil {
			return err
		}
	}
	if len(c.manifests) > 0 || root == "" {
		return nil
	}
	file := filepath.Join(root, "gen", "schemas", "acl-manifests.json")
	if _, err := os.Stat(file); err == nil {
		if err := c.loadManifest(p, shorten(file)); err != nil {
			return err
		}
	}
	// An application with its own permissions has a manifest even before the build has written it,
	// so its commands are checked.
	own := filepath.Join(root, "permissions")
	if p.manifests.Get(capability.AppManifest) != nil || !isDir(own) {
		return nil
	}
	return c.loadManifest(p, capability.AppManifest+"="+shorten(own))
}

func (c *command) loadManifest(p *project, name string) error {
	plugin, file, named := strings.Cut(name, "=")
	if !named {
		file = name
		if filepath.Ext(file) == ".toml" {
			return fmt.Errorf("-manifest %s: name the plugin of these permissions: PLUGIN=%s, or %s=%s for the "+
				"application", name, file, capability.AppManifest, file)
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return plainError(err)
		}
		p.found = append(p.found, p.manifests.Load(filepath.ToSlash(file), text)...)
		return nil
	}
	files := []string{file}
	if isDir(file) {
		var err error
		if files, err = filesBelow(file); err != nil {
			return err
		}
	}
	for _, file := range files {
		d, err := read(file, capability.ParseValue)
		if err != nil {
			return err
		}
		p.found = append(p.found, p.manifests.LoadPermissions(plugin, d)...)
	}
	return nil
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

func (c *command) loadConfig(p *project, root string, platform capability.Platform) error {
	if c.config == "none" || c.config == "" && root == "" {
		return nil
	}
	readConfig := func(file string) (*capability.Document, error) {
		if file == "" {
			return nil, nil
		}
		d, err := read(file, capability.ParseValue)
		if err == nil {
			p.found = append(p.found, d.Check(capability.ModeReference)...)
		}
		return d, err
	}
	var err error
	if c.config != "" {
		p.main, err = readConfig(c.config)
		return err
	}
	if p.main, err = readConfig(shorten(configAt(root, ""))); err != nil || p.main == nil {
		return err
	}
	if platform != "" {
		p.special, err = readConfig(shorten(configAt(root, platform)))
		return err
	}
	for _, platform := range capability.Platforms() {
		if file := shorten(configAt(root, platform)); file != "" {
			if d, err := read(file, capability.ParseValue); err == nil && capability.Configured(d).Exists() {
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
		capability.ResolveOptions{Platform: platform, Partial: !p.manifests.Whole(), DenyByOrigin: denyByOrigin})
	if err := found.Err(); err != nil {
		c.note("the files have mistakes, see \"capability check\": %v", err)
	}
	return policy, nil
}
