package cli

import (
	"errors"
	"fmt"
	"slices"

	"lessonkit.example/capability"
	"lessonkit.example/capability/report"
	"lessonkit.example/capability/tomlfile"
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

func schema(c *command, args []string) (int, error) {
	c.flags.Var(&c.manifests, "manifest", "`FILE` acl-manifests.json: give the project's schema, with the identifiers it knows; may be repeated")
	if err := c.parse(args, "[-manifest FILE]...", "json"); err != nil {
		return 0, err
	}
	if len(c.args) > 0 {
		return 0, fmt.Errorf("schema takes no paths; for the schema of a project write -manifest %s", c.args[0])
	}
	text := capability.Schema()
	if len(c.manifests) > 0 {
		p := &project{manifests: capability.CoreManifests()}
		if err := c.loadManifests(p, ""); err != nil {
			return 0, err
		}
		if err := p.found.Err(); err != nil {
			return 0, err
		}
		text = capability.ProjectSchema(p.manifests)
	}
	_, err := c.env.Stdout.Write(text)
	return ExitClean, err
}

func format(c *command, args []string) (int, error) {
	write := c.flags.Bool("w", false, "write the files instead of printing them")
	list := c.flags.Bool("check", false, "only list the files that are not in canonical form; exit code 1 if there are any")
	if err := c.parse(args, "[-w | -check] [PATH...]", "text", "json"); err != nil {
		return 0, err
	}
	p, err := c.load(c.args)
	if err != nil {
		return 0, err
	}
	type result struct {
		File    string `json:"file"`
		Changed bool   `json:"changed"`
		Text    string `json:"text,omitempty"`
	}
	results := []result{}
	changed := false
	for _, d := range p.docs {
		text, err := reformat(d)
		if err != nil {
			return 0, fmt.Errorf("%s is left as it is: %w", d.Name(), err)
		}
		r := result{File: d.Name(), Changed: text != d.Source()}
		changed = changed || r.Changed
		switch {
		case *list:
			if r.Changed && c.format == "text" {
				fmt.Fprintln(c.env.Stdout, report.Printable(d.Name()))
			}
		case *write:
			if r.Changed {
				if err := rewrite(d.Name(), text); err != nil {
					return 0, err
				}
			}
		case c.format == "text":
			if len(p.docs) > 1 {
				fmt.Fprintf(c.env.Stdout, "==> %s <==\n", report.Printable(d.Name()))
			}
			fmt.Fprint(c.env.Stdout, text)
		default:
			r.Text = text
		}
		results = append(results, r)
	}
	if c.format == "json" {
		if err := report.Encode(c.env.Stdout, results); err != nil {
			return 0, err
		}
	}
	if *list && changed {
		return ExitFindings, nil
	}
	return ExitClean, nil
}

func reformat(d *capability.Document) (string, error) {
	if d.Format() == capability.TOML {
		return tomlfile.Reformat(d)
	}
	return capability.Reformat(d)
}
