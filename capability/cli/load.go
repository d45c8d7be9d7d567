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
	"lessonkit.example/capability/tomlfile"
)

// project is all that a command looks at.
type project struct {
	docs      []*capability.Document
	manifests *capability.Manifests
	config    *capability.Document
	found     capability.Diagnostics // in manifests and configuration
}

// load reads the files at paths, and manifests and configuration: those that
// flags name, or those that lie where a project has them.
func (c *command) load(paths []string) (*project, error) {
	if len(paths) == 0 {
		for _, dir := range []string{"capabilities", "src-tauri/capabilities"} {
			if info, err := os.Stat(dir); err == nil && info.IsDir() {
				paths = []string{dir}
				break
			}
		}
		if len(paths) == 0 {
			return nil, errors.New("there is no folder capabilities or src-tauri/capabilities here; name the files or the folder to look at")
		}
	}
	p := &project{manifests: capability.CoreManifests()}
	seen := make(map[string]bool)
	for _, path := range paths {
		files, err := filesAt(path)
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			if seen[file] {
				continue
			}
			seen[file] = true
			d, err := read(file, tomlfile.Parse, capability.Parse)
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
	return p, c.loadConfig(p, root)
}

// filesAt returns the capability files of a path. As for the reference
// implementation, folders named schemas hold none.
func filesAt(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, errors.New(plainError(err))
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	for _, inner := range []string{"src-tauri/capabilities", "capabilities"} {
		if info, err := os.Stat(filepath.Join(path, inner)); err == nil && info.IsDir() {
			path = filepath.Join(path, inner)
			break
		}
	}
	var files []string
	root := path + string(filepath.Separator) // with the separator a link is followed
	err = filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
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
		return nil, errors.New(plainError(err))
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("there is no .json, .json5 or .toml file in %s", path)
	}
	return files, nil
}

func plainError(err error) string {
	var path *fs.PathError
	if errors.As(err, &path) {
		return fmt.Sprintf("%s: %s", path.Path, path.Err)
	}
	return err.Error()
}

type parseFunc = func([]byte, capability.Options) *capability.Document

// mostBytes is far more than any real file has, and keeps one from filling the memory.
const mostBytes = 32 << 20

func read(file string, toml, other parseFunc) (*capability.Document, error) {
	info, err := os.Stat(file)
	if err == nil && info.Size() > mostBytes {
		return nil, fmt.Errorf("%s has %d bytes; at most %d are read", file, info.Size(), mostBytes)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, errors.New(plainError(err))
	}
	o := capability.Options{Name: filepath.ToSlash(file), Format: capability.FormatOf(file)}
	if o.Format == capability.TOML {
		return toml(text, o), nil
	}
	return other(text, o), nil
}

// projectRoot returns the folder around the folder of capabilities.
func projectRoot(path string) string {
	for _, inner := range []string{"src-tauri/capabilities", "capabilities"} {
		if info, err := os.Stat(filepath.Join(path, inner)); err == nil && info.IsDir() {
			return filepath.Dir(filepath.Join(path, inner))
		}
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

// shorten returns a file's name as seen from the working directory, where it
// lies in or near it.
func shorten(file string) string {
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
	own := filepath.Join(root, "permissions")
	if p.manifests.Get(capability.AppManifest) != nil {
		return nil
	}
	if files, err := filesAt(own); err != nil || len(files) == 0 {
		return nil
	}
	return c.loadManifest(p, capability.AppManifest+"="+shorten(own))
}

func (c *command) loadManifest(p *project, name string) error {
	plugin, file, named := strings.Cut(name, "=")
	if !named {
		file = name
		if capability.FormatOf(file) == capability.TOML {
			return fmt.Errorf("-manifest %s: say whose permissions these are: PLUGIN=%s, or %s=%s for the application's own", name, file, capability.AppManifest, file)
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return errors.New(plainError(err))
		}
		p.found = append(p.found, p.manifests.Load(filepath.ToSlash(file), text)...)
		return nil
	}
	files := []string{file}
	if info, err := os.Stat(file); err == nil && info.IsDir() {
		if files, err = filesAt(file); err != nil {
			return err
		}
	}
	for _, file := range files {
		d, err := read(file, tomlfile.ParseValue, capability.ParseValue)
		if err != nil {
			return err
		}
		p.found = append(p.found, p.manifests.LoadPermissions(plugin, d)...)
	}
	return nil
}

func (c *command) loadConfig(p *project, root string) error {
	file := c.config
	if file == "none" || file == "" && root == "" {
		return nil
	}
	if file == "" {
		file = filepath.Join(root, "tauri.conf.json")
		if _, err := os.Stat(file); err != nil {
			return nil
		}
		file = shorten(file)
	}
	d, err := read(file, tomlfile.ParseValue, capability.ParseValue)
	if err != nil {
		return err
	}
	p.config = d
	p.found = append(p.found, d.Check(capability.ModeReference)...)
	return nil
}

// capabilities returns those that are active by the configuration, and what
// was found in it.
func (p *project) capabilities() ([]capability.Capability, capability.Diagnostics) {
	var all []capability.Capability
	for _, d := range p.docs {
		all = append(all, d.Capabilities()...)
	}
	if p.config == nil {
		return all, nil
	}
	return capability.Configure(p.config, all)
}

// policy resolves the project for a decision. It refuses files that could not
// be read whole, as a decision about half of one would mislead.
func (c *command) policy(p *project, platform capability.Platform, denyByOrigin bool) (*capability.Policy, error) {
	broken := slices.Clone(p.found)
	for _, d := range p.docs {
		broken = append(broken, d.Check(capability.ModeReference)...)
	}
	if err := broken.Err(); err != nil {
		return nil, fmt.Errorf("the files have mistakes that must be corrected first; \"capability check\" shows them all: %w", err)
	}
	capabilities, _ := p.capabilities()
	policy, found := capability.Resolve(capabilities, p.manifests, capability.ResolveOptions{Platform: platform, Partial: !p.manifests.Whole(), DenyByOrigin: denyByOrigin})
	if err := found.Err(); err != nil {
		c.note("the files have mistakes, see \"capability check\": %v", err)
	}
	return policy, nil
}
