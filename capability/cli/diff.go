package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"lessonkit.example/capability"
	"lessonkit.example/capability/capdiff"
	"lessonkit.example/capability/report"
)

// maxGit is how long Git may take to read the revisions of a diff.
const maxGit = time.Minute

func diff(c *command, args []string) (int, error) {
	c.sourceFlags()
	if err := c.parse(args,
		"[FLAGS] OLD [NEW]\n\nOLD and NEW are files, folders, or revisions of the Git repository here; NEW is "+
			"the application here if\nit is left out. The exit code is 1 where NEW grants something that OLD does "+
			"not, on any platform.\n", "text", "json", "github"); err != nil {
		return 0, err
	}
	switch len(c.args) {
	case 1:
		c.args = append(c.args, ".")
	case 2:
	default:
		return 0, errors.New("diff needs one or two files, folders or revisions, such as: capability diff main, or: " +
			"capability diff old/capabilities src-tauri/capabilities")
	}
	platform, err := c.target()
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeoutCause(context.Background(), maxGit, errors.New("it takes too long"))
	defer cancel()
	var sides [2]*project
	for i, name := range c.args {
		if exists(name) {
			sides[i], err = c.loadSide(name)
		} else {
			r, folder, openErr := openRevision(ctx, name)
			if openErr != nil {
				return 0, openErr
			}
			defer r.close()
			sides[i], err = c.loadRevision(r, folder)
		}
		if err != nil {
			return 0, err
		}
		if err := complete(sides[i], platform); err != nil {
			return 0, err
		}
	}
	if sides[0].root == "" && sides[1].root == "" && len(sides[0].Documents)+len(sides[1].Documents) == 0 {
		return 0, fmt.Errorf("neither %s nor %s has an application here", c.args[0], c.args[1])
	}
	changes := capdiff.Compare(sides[0].App, sides[1].App, platform)
	widens := slices.ContainsFunc(changes, capdiff.Change.Widens)
	switch c.format {
	case "github":
		root := repository()
		if !exists(c.args[1]) { // a revision, whose files are named from the top of the repository
			root = ""
			for _, change := range changes {
				for i, g := range change.Grants {
					change.Grants[i].File = strings.TrimPrefix(g.File, c.args[1]+":")
				}
			}
		}
		err = report.GitHubChanges(c.env.Stdout, changes, root)
	case "json":
		err = report.Encode(c.env.Stdout, map[string]any{"changes": append([]capdiff.Change{}, changes...),
			"widens": widens})
	default:
		err = report.Changes(c.env.Stdout, changes, report.TextOptions{Color: c.env.Color})
	}
	return exit(widens), err
}

// complete returns an error if a side cannot be compared because not all of it could be read. What
// no manifest explains is compared by its name.
func complete(p *project, platform capability.Platform) error {
	for _, target := range p.Targets(platform) {
		err := p.Err(target)
		if err == nil {
			policy, found := p.Resolve(capability.ResolveOptions{Platform: target})
			err = slices.DeleteFunc(found, func(d capability.Diagnostic) bool {
				return d.Code == "unknown-permission" || d.Code == "unknown-plugin" || policy.TooLarge()
			}).Err()
		}
		if err != nil {
			return mistakes(err)
		}
	}
	return nil
}

// loadSide is loadOne for a side of a diff. The working directory may have no application.
func (c *command) loadSide(name string) (*project, error) {
	if name == "." {
		if none, err := c.noApplication(&c.disk, nameOnDisk(name)); none != nil || err != nil {
			return none, err
		}
	}
	return c.loadOne([]string{name})
}

// loadRevision is loadOne for a folder of a revision, which may have no application.
func (c *command) loadRevision(r *revision, folder string) (*project, error) {
	none, err := c.noApplication(r, folder)
	if err != nil {
		return nil, fmt.Errorf("in the revision %s: %w", r.name, err)
	}
	if none != nil {
		return none, nil
	}
	places, err := placesIn(r, folder, r.shownName)
	if err != nil {
		return nil, fmt.Errorf("in the revision %s: %w", r.name, err)
	}
	projects, err := c.projects(r, places, r.shownName)
	if err != nil {
		return nil, err
	}
	return only(projects)
}

// noApplication returns a side that grants nothing, nil for a folder that is in an application or
// contains one.
func (c *command) noApplication(fsys fs.FS, folder string) (*project, error) {
	apps, err := capability.FindApps(fsys, folder)
	if exists := !errors.Is(err, fs.ErrNotExist); exists && (err != nil || len(apps) > 0 || appAbove(folder) != "") {
		return nil, err
	}
	app, err := capability.LoadApp(&c.disk, capability.AppOptions{Files: []string{}})
	return &project{App: app}, err
}
