package cli

import (
	"errors"
	"slices"

	"lessonkit.example/capability"
	"lessonkit.example/capability/report"
)

func diff(c *command, args []string) (int, error) {
	c.sourceFlags()
	if err := c.parse(args, "[FLAGS] OLD NEW\n\nOLD and NEW are files or folders. The exit code is 1 where NEW grants something that OLD does not.\n", "text", "json"); err != nil {
		return 0, err
	}
	if len(c.args) != 2 {
		return 0, errors.New("diff needs two files or folders, such as: capability diff old/capabilities src-tauri/capabilities")
	}
	platform, err := c.target()
	if err != nil {
		return 0, err
	}
	var sides [2]*project
	var capabilities [2][]capability.Capability
	for i, path := range c.args {
		if sides[i], err = c.load([]string{path}); err != nil {
			return 0, err
		}
		if _, err := c.policy(sides[i], platform, false); err != nil {
			return 0, err
		}
		capabilities[i], _ = sides[i].capabilities()
	}
	// Where only one side has manifests, both are read by them.
	old, now := sides[0].manifests, sides[1].manifests
	if !old.Whole() && now.Whole() {
		old = now
	} else if old.Whole() && !now.Whole() {
		now = old
	}
	changes := capability.Diff(capabilities[0], capabilities[1], old, now, capability.ResolveOptions{Platform: platform, Partial: !now.Whole()})
	if c.format == "json" {
		err = report.Encode(c.env.Stdout, map[string]any{"changes": append([]capability.Change{}, changes...), "widens": slices.ContainsFunc(changes, capability.Change.Widens)})
	} else {
		err = report.Changes(c.env.Stdout, changes, report.TextOptions{Color: c.env.Color})
	}
	if err != nil {
		return 0, err
	}
	if slices.ContainsFunc(changes, capability.Change.Widens) {
		return ExitFindings, nil
	}
	return ExitClean, nil
}
