package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

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
			"not, on any platform.\n", "text", "json"); err != nil {
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
			sides[i], err = c.loadOne([]string{name})
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
		for _, target := range sides[i].Targets(platform) {
			if _, err := c.policy(sides[i], target); err != nil {
				return 0, err
			}
		}
	}
	changes := capdiff.Compare(sides[0].App, sides[1].App, platform)
	widens := slices.ContainsFunc(changes, capdiff.Change.Widens)
	if c.format == "json" {
		err = report.Encode(c.env.Stdout, map[string]any{"changes": append([]capdiff.Change{}, changes...),
			"widens": widens})
	} else {
		err = report.Changes(c.env.Stdout, changes, report.TextOptions{Color: c.env.Color})
	}
	return exit(widens), err
}

// loadRevision is loadOne for a folder of a revision.
func (c *command) loadRevision(r *revision, folder string) (*project, error) {
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
