package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"lessonkit.example/capability"
	"lessonkit.example/capability/lint"
	"lessonkit.example/capability/report"
)

func check(c *command, args []string) (int, error) {
	return c.check(args, lint.Rules(), func(p *project, o lint.Options) (capability.Diagnostics, error) {
		return lint.CheckApp(p.App, o), nil
	})
}

// find finds something in a project.
type find func(*project, lint.Options) (capability.Diagnostics, error)

// check reports what is found by some rules, and fixes it.
func (c *command) check(args []string, known []capability.Rule, find find) (int, error) {
	var levels []string
	c.sourceFlags()
	c.listFlag(&levels, "rule", "`CODE=LEVEL` sets a rule to off, note, warning or error; may be repeated")
	c.flags.StringVar(&c.failOn, "fail-on", "",
		"`level` of findings from which the exit code is 1: error, warning or note (default error, or that of the "+
			"project's rules)")
	c.flags.StringVar(&c.rulesFile, "rules", "",
		"`FILE` with the project's rules; \"none\" for none (default: "+rulesName+" in or above the application)")
	fix := c.flags.Bool("fix", false,
		"apply fixes to the files, except guesses, then check again")
	if err := c.parse(args, "[FLAGS] [PATH...]", "text", "json", "sarif", "github"); err != nil {
		return 0, err
	}
	o, err := c.lintOptions(levels)
	if err != nil {
		return 0, err
	}
	c.withOthers = true
	var r *result
	for pass := 0; ; pass++ { // one fix may reveal another problem
		if r, err = c.checked(o, known, find); err != nil {
			return 0, err
		}
		if !*fix || pass == 5 {
			break
		}
		changed, err := c.fix(r.projects, r.found)
		if err != nil {
			return 0, err
		}
		if !changed {
			break
		}
	}
	for _, text := range r.notes {
		c.note("%s", text)
	}
	switch c.format {
	case "json":
		err = report.Encode(c.env.Stdout, append(capability.Diagnostics{}, r.found...)) // none are [], not null
	case "sarif":
		err = report.SARIF(c.env.Stdout, r.found, known, report.SARIFOptions{Version: toolVersion(),
			Root: repository()})
	case "github":
		err = report.GitHub(c.env.Stdout, r.found, repository())
	default:
		files := c.files
		for _, p := range r.projects {
			if c.files > 0 {
				break
			}
			files += len(p.Documents) - len(p.others)
			for _, target := range p.Targets(o.Platform) {
				config := p.ConfigFor(target)
				if config != nil && len(capability.Inlined(config).Capabilities()) > 0 {
					files++
				}
			}
		}
		err = report.Text(c.env.Stdout, r.found, report.TextOptions{Color: c.env.Color, Files: files})
	}
	return exit(r.failed), err
}

func (c *command) lintOptions(levels []string) (o lint.Options, err error) {
	if o.Platform, err = c.target(); err != nil {
		return o, err
	}
	o.Severities = make(map[capability.Code]capability.Severity)
	for _, level := range levels {
		code, name, _ := strings.Cut(level, "=")
		if o.Severities[capability.Code(code)], err = ruleLevel(code, name); err != nil {
			return o, fmt.Errorf("-rule %s: write CODE=LEVEL: %w", level, err)
		}
	}
	return o, nil
}

// result is what a check found in all projects.
type result struct {
	projects []*project
	found    capability.Diagnostics
	notes    []string
	failed   bool // a finding is as serious as the project's rules say
}

// checked reads the files and checks each application.
func (c *command) checked(o lint.Options, known []capability.Rule, find find) (*result, error) {
	projects, err := c.load(c.args)
	if err != nil {
		return nil, err
	}
	all := &result{projects: projects}
	var rulesInUse []*rules // those of several projects in one file are one
	for _, p := range projects {
		r, err := c.rulesOf(p)
		if err != nil {
			return nil, err
		}
		same := func(other *rules) bool { return absolute(other.file) == absolute(r.file) }
		if i := slices.IndexFunc(rulesInUse, same); i >= 0 {
			r = rulesInUse[i]
		} else {
			rulesInUse = append(rulesInUse, r)
		}
		found, err := find(p, r.options(o))
		if err != nil {
			return nil, err
		}
		isOther := func(d capability.Diagnostic) bool { // what is not checked is said once, about all files
			return hasName(p.others, d.File) && d.Code != "unchecked-plugin"
		}
		found = slices.DeleteFunc(r.accepted(found, c.env.Now()), isOther)
		for _, d := range found {
			all.failed = all.failed || d.Severity >= r.failOn
		}
		all.found = append(all.found, found...)
	}
	for _, r := range rulesInUse {
		all.notes = append(all.notes, r.notes(known)...)
	}
	return all, nil
}

// options returns the options with the severities of the rules. Those of flags take precedence.
func (r *rules) options(o lint.Options) lint.Options {
	severities := make(map[capability.Code]capability.Severity)
	maps.Copy(severities, r.severities)
	maps.Copy(severities, o.Severities)
	o.Severities = severities
	return o
}

// fix applies the fixes that are not guesses and reports whether it changed a file. Of overlapping
// edits it makes the first; the next pass finds the others again.
func (c *command) fix(projects []*project, found capability.Diagnostics) (changed bool, err error) {
	for _, p := range projects {
		for _, d := range p.Files() {
			text, fixed := d.Fixed(found)
			if fixed == 0 {
				continue
			}
			if err := c.disk.rewrite(d.Name(), text); err != nil {
				return changed, err
			}
			changed = true
			c.note("%s: changes made: %d", d.Name(), fixed)
		}
	}
	return changed, nil
}
