package cli

import (
	"fmt"
	"slices"
	"strings"

	"lessonkit.example/capability"
	"lessonkit.example/capability/lint"
	"lessonkit.example/capability/report"
)

func check(c *command, args []string) (int, error) {
	var rules list
	c.sourceFlags()
	mode := c.flags.String("mode", "lint",
		"`rules` to apply: lint (mistakes and risks), schema (the JSON Schema), reference (what the build "+
			"accepts)")
	c.flags.Var(&rules, "rule", "`CODE=LEVEL` sets a rule to off, info, warning or error; may be repeated")
	fix := c.flags.Bool("fix", false,
		"apply fixes to the files, except guesses, then check again")
	if err := c.parse(args, "[FLAGS] [PATH...]", "text", "json", "sarif"); err != nil {
		return 0, err
	}
	o, err := c.lintOptions(*mode, rules)
	if err != nil {
		return 0, err
	}
	projects, found, err := c.checked(o)
	if err != nil {
		return 0, err
	}
	// One fix may reveal another problem.
	for pass := 0; *fix && pass < 5; pass++ {
		changed, err := c.fix(projects, found)
		if err != nil {
			return 0, err
		}
		if !changed {
			break
		}
		if projects, found, err = c.checked(o); err != nil {
			return 0, err
		}
	}
	switch c.format {
	case "json":
		err = report.JSON(c.env.Stdout, found)
	case "sarif":
		err = report.SARIF(c.env.Stdout, found, lint.Rules())
	default:
		files := 0
		for _, p := range projects {
			files += len(p.docs) + len(p.inlined)
		}
		err = report.Text(c.env.Stdout, found, report.TextOptions{Color: c.env.Color, Files: files})
	}
	return exit(found.HasErrors()), err
}

func (c *command) lintOptions(mode string, rules list) (o lint.Options, err error) {
	if o.Platform, err = c.target(); err != nil {
		return o, err
	}
	modes := []capability.Mode{capability.ModeLint, capability.ModeSchema, capability.ModeReference}
	at := slices.IndexFunc(modes, func(m capability.Mode) bool { return m.String() == mode })
	if at < 0 {
		return o, fmt.Errorf("unknown mode %q; use lint, schema and reference", mode)
	}
	o.Mode = modes[at]
	o.Severities = make(map[capability.Code]capability.Severity)
	for _, rule := range rules {
		code, level, _ := strings.Cut(rule, "=")
		if !slices.ContainsFunc(lint.Rules(), func(r capability.Rule) bool { return string(r.Code) == code }) {
			return o, fmt.Errorf("-rule %s: there is no rule %q; findings show their rule in brackets", rule, code)
		}
		var s capability.Severity
		if err := s.UnmarshalText([]byte(level)); err != nil {
			return o, fmt.Errorf("-rule %s: write CODE=LEVEL with a level of off, info, warning or error", rule)
		}
		o.Severities[capability.Code(code)] = s
	}
	return o, nil
}

// checked reads the files and checks each application.
func (c *command) checked(o lint.Options) ([]*project, capability.Diagnostics, error) {
	projects, err := c.load(c.args)
	if err != nil {
		return nil, nil, err
	}
	var found capability.Diagnostics
	for _, p := range projects {
		found = append(found, p.check(o)...)
	}
	return projects, found, nil
}

func (p *project) check(o lint.Options) capability.Diagnostics {
	o.Partial, o.Version = !p.manifests.Whole(), p.version
	found := slices.Clone(p.found)
	if o.Mode == capability.ModeSchema {
		found = nil
	} else if p.config() != nil {
		_, configured := p.capabilities()
		for _, d := range configured {
			if d.Severity == capability.Error || o.Mode == capability.ModeLint {
				found = append(found, d)
			}
		}
	}
	found = append(lint.Weigh(found, o.Severities), lint.Check(p.docs, p.manifests, o)...)
	if o.Mode != capability.ModeSchema {
		found = append(found, lint.Check(p.inlined, p.manifests, o)...)
	}
	return found
}

// fix applies the fixes that are not guesses and reports whether it changed a file. Of overlapping
// edits it makes the first; the next pass finds the others again.
func (c *command) fix(projects []*project, found capability.Diagnostics) (changed bool, err error) {
	for _, p := range projects {
		for _, d := range p.docs {
			text, fixed := fixed(d, found)
			if fixed == 0 {
				continue
			}
			if err := rewrite(d.Name(), p.within[d.Name()], text); err != nil {
				return changed, err
			}
			changed = true
			c.note("%s: %d changes made", d.Name(), fixed)
		}
	}
	return changed, nil
}

// fixed returns the text of a document with its fixes, and their number.
func fixed(d *capability.Document, found capability.Diagnostics) (text string, count int) {
	var edits []capability.Edit
	for _, f := range found {
		if f.File != d.Name() || f.Fix == nil || f.Fix.Guess || overlap(edits, f.Fix.Edits) {
			continue
		}
		edits = append(edits, f.Fix.Edits...)
		count++
	}
	text, err := capability.Apply(d.Source(), edits)
	if err != nil {
		return d.Source(), 0 // a fix whose own edits overlap
	}
	return text, count
}

func overlap(edits, more []capability.Edit) bool {
	for _, a := range edits {
		for _, b := range more {
			if a.Start < b.End && b.Start < a.End {
				return true
			}
		}
	}
	return false
}
