package cli

import (
	"errors"
	"os"
	"slices"

	"lessonkit.example/capability/capdiff"
	"lessonkit.example/capability/report"
)

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
	var sides [2]*project
	for i, path := range c.args {
		if _, err := os.Lstat(path); err != nil {
			folder, outer, err := c.revision(path)
			if err != nil {
				return 0, err
			}
			defer os.RemoveAll(outer)
			path = folder
		}
		if sides[i], err = c.loadOne([]string{path}); err != nil {
			return 0, err
		}
		for _, target := range sides[i].Targets(platform) {
			if _, err := c.policy(sides[i], target, false); err != nil {
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
