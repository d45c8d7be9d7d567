package cli

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"lessonkit.example/capability"
)

// project contains the files of an application, or files that belong to none.
type project struct {
	*capability.App
	root   string                 // the application's folder, "" without one
	others []*capability.Document // that were not named, but are read beside those that were
}

func hasName(docs []*capability.Document, name string) bool {
	return slices.ContainsFunc(docs, func(d *capability.Document) bool { return d.Name() == name })
}

// load reads the capability files at paths, and the applications that they belong to. Flags replace
// what the application says.
func (c *command) load(paths []string) ([]*project, error) {
	if len(paths) == 0 {
		app, err := currentApp()
		if err != nil {
			return nil, err
		}
		paths = []string{app}
	}
	var places []place // one for each application
	for _, path := range paths {
		found, err := c.locate(path)
		if err != nil {
			return nil, err
		}
		for _, at := range found {
			same := func(p place) bool { return p.dir == at.dir }
			switch i := slices.IndexFunc(places, same); {
			case i < 0:
				places = append(places, at)
			case places[i].files == nil || at.files == nil:
				places[i].files = nil // all of the application
			default:
				places[i].files = append(places[i].files, at.files...)
			}
		}
	}
	return c.projects(&c.disk, places, shownName)
}

// projects reads the applications at places.
func (c *command) projects(fsys fs.FS, places []place, shown func(string) string) ([]*project, error) {
	var projects []*project
	isOfAll := func(manifest string) bool { return !strings.Contains(manifest, "=") } // else they are added
	for _, at := range places {
		o := capability.AppOptions{Dir: at.dir, Files: at.files, NoConfig: c.config != "", Name: shown,
			NoManifests: slices.ContainsFunc(c.manifests, isOfAll)}
		named := o
		withOthers := c.withOthers && at.dir != "" && at.files != nil
		if withOthers { // the rest is loaded with them
			named.NoManifests, named.NoConfig = true, true
		}
		app, err := capability.LoadApp(fsys, named)
		if err != nil {
			return nil, err
		}
		p := &project{App: app}
		if at.dir != "" {
			p.root = filepath.FromSlash(shown(at.dir))
		}
		if withOthers {
			o.Files = nil
			if p.App, err = capability.LoadApp(fsys, o); err != nil {
				return nil, err
			}
			isNamed := func(d *capability.Document) bool { return hasName(app.Documents, d.Name()) }
			p.others = slices.DeleteFunc(p.Documents, isNamed)
			p.Documents = slices.Concat(p.others, app.Documents) // of two with one name the second is wrong
		}
		if err := c.override(p); err != nil {
			return nil, err
		}
		projects = append(projects, p)
	}
	return projects, nil
}

// override replaces what an application says by what flags say.
func (c *command) override(p *project) (err error) {
	if c.tauri != "" {
		if p.Version, err = capability.ParseVersion(c.tauri); err != nil {
			return err
		}
	}
	for _, name := range c.manifests {
		if err := loadManifest(p, name); err != nil {
			return err
		}
	}
	if c.config != "" && c.config != "none" {
		p.Config, err = parseFlag(c.config)
	}
	return err
}

// loadOne is load for commands that answer about one application.
func (c *command) loadOne(paths []string) (*project, error) {
	projects, err := c.load(paths)
	if err != nil {
		return nil, err
	}
	return only(projects)
}

func only(projects []*project) (*project, error) {
	if len(projects) == 1 {
		return projects[0], nil
	}
	var roots []string
	for _, p := range projects {
		roots = append(roots, p.root)
	}
	return nil, fmt.Errorf("there are %d applications; run this in the folder of one, or name one of them: %s",
		len(roots), strings.Join(roots, ", "))
}

// loadManifest adds the manifest that a flag names.
func loadManifest(p *project, name string) error {
	plugin, file, named := strings.Cut(name, "=")
	if !named {
		file = name
		if filepath.Ext(file) == ".toml" {
			return fmt.Errorf("-manifest %s: name the plugin of these permissions: PLUGIN=%s, or %s=%s for the "+
				"application", name, file, capability.AppManifest, file)
		}
		text, err := readFlag(file)
		if err != nil {
			return err
		}
		p.ManifestProblems = append(p.ManifestProblems, p.Manifests.Load(filepath.ToSlash(file), text)...)
		return nil
	}
	d, err := parseFlag(file)
	if err != nil {
		return err
	}
	p.ManifestProblems = append(p.ManifestProblems, p.Manifests.LoadPermissions(plugin, d)...)
	return nil
}

// parseFlag reads a file that a flag names and that contains something other than capabilities.
func parseFlag(name string) (*capability.Document, error) {
	text, err := readFlag(name)
	if err != nil {
		return nil, err
	}
	return capability.ParseValue(text, capability.Options{Name: filepath.ToSlash(name)}), nil
}

// mistakes says of an error in files where to see all of them.
func mistakes(err error) error {
	return fmt.Errorf("the files have mistakes that must be corrected first; \"capability check\" shows them all: %w",
		err)
}
