package cli

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"

	"lessonkit.example/capability"
	"lessonkit.example/capability/calls"
	"lessonkit.example/capability/lint"
	"lessonkit.example/capability/report"
)

// rulesName is the name of the file with a project's own rules.
const rulesName = "capability.toml"

// rules are a project's own: which findings count, and how much.
type rules struct {
	FailOn   string            `toml:"fail-on"`
	Severity map[string]string `toml:"severity"`
	Ignore   []ignore          `toml:"ignore"`

	file       string // "" without one
	severities map[capability.Code]capability.Severity
	failOn     capability.Severity
	ignored    int // findings that were accepted so far
}

// ignore is a finding that is accepted.
type ignore struct {
	Rule   string          `toml:"rule"`
	File   string          `toml:"file"` // a pattern, relative to the file of rules
	Text   string          `toml:"text"` // a part of the message
	Reason string          `toml:"reason"`
	Until  *toml.LocalDate `toml:"until"`

	used, expired bool // by the findings so far
}

// rulesOf reads the rules of a project: the file that -rules names, or the one in the application's
// folder or in the folder above it.
func (c *command) rulesOf(p *project) (*rules, error) {
	r := &rules{failOn: capability.Error}
	file, read := c.rulesFile, readFlag
	if file == "" && p.root != "" {
		for _, folder := range []string{p.root, filepath.Join(p.root, "..")} {
			if name := filepath.Join(folder, rulesName); exists(name) {
				file, read = shorten(name), c.disk.read
				break
			}
		}
	}
	if file == "none" || file == "" {
		return r, r.setFailOn(c.failOn)
	}
	text, err := read(file)
	if err != nil {
		return nil, err
	}
	d := toml.NewDecoder(bytes.NewReader(text)).DisallowUnknownFields()
	if err := d.Decode(r); err != nil {
		return nil, fmt.Errorf("%s: %w", file, tomlError(err))
	}
	r.file = file
	if err := r.complete(); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return r, r.setFailOn(c.failOn)
}

// setFailOn sets the level of findings from which the exit code is 1, if there is a text.
func (r *rules) setFailOn(text string) error {
	if text == "" {
		return nil
	}
	if err := r.failOn.UnmarshalText([]byte(text)); err != nil || r.failOn == capability.Off {
		return fmt.Errorf("fail-on is %q; write error, warning or note", text)
	}
	return nil
}

// complete checks the rules and converts their texts.
func (r *rules) complete() error {
	if err := r.setFailOn(r.FailOn); err != nil {
		return err
	}
	r.severities = make(map[capability.Code]capability.Severity)
	for code, level := range r.Severity {
		s, err := ruleLevel(code, level)
		if err != nil {
			return fmt.Errorf("severity: %w", err)
		}
		r.severities[capability.Code(code)] = s
	}
	for i, g := range r.Ignore {
		if !isRule(g.Rule) {
			return fmt.Errorf("ignore %d: there is no rule %q; findings show their rule in brackets", i+1, g.Rule)
		}
		if strings.TrimSpace(g.Reason) == "" {
			return fmt.Errorf("ignore %d, of %s, has no reason; write why it is accepted", i+1, g.Rule)
		}
		if _, err := path.Match(g.File, ""); err != nil {
			return fmt.Errorf("ignore %d: %q is not a pattern of files", i+1, g.File)
		}
	}
	return nil
}

func isRule(code string) bool { return isOf(slices.Concat(lint.Rules(), calls.Rules()), code) }

func isOf(rules []capability.Rule, code string) bool {
	return slices.ContainsFunc(rules, func(r capability.Rule) bool { return string(r.Code) == code })
}

// ruleLevel reads the severity of a rule.
func ruleLevel(code, level string) (s capability.Severity, err error) {
	if !isRule(code) {
		return s, fmt.Errorf("there is no rule %q; findings show their rule in brackets", code)
	}
	if err := s.UnmarshalText([]byte(level)); err != nil {
		return s, fmt.Errorf("the level of %s is %q; write off, note, warning or error", code, level)
	}
	return s, nil
}

// tomlError says where a file of rules is wrong.
func tomlError(err error) error {
	var unknown *toml.StrictMissingError
	if errors.As(err, &unknown) && len(unknown.Errors) > 0 {
		row, _ := unknown.Errors[0].Position()
		return fmt.Errorf("line %d: there is no setting %q; there are fail-on, severity and ignore with rule, "+
			"file, text, reason and until", row, strings.Join(unknown.Errors[0].Key(), "."))
	}
	var wrong *toml.DecodeError
	if errors.As(err, &wrong) {
		row, column := wrong.Position()
		return fmt.Errorf("line %d, column %d: %w", row, column, err)
	}
	return err
}

// accepted returns the findings of a project that the rules do not accept, and notes which rules
// were used.
func (r *rules) accepted(found capability.Diagnostics, now time.Time) (left capability.Diagnostics) {
	for _, d := range found {
		drop := false
		for i := range r.Ignore {
			g := &r.Ignore[i]
			if !g.matches(d, filepath.Dir(r.file)) {
				continue
			}
			g.used = true
			if g.Until != nil && !now.Before(g.Until.AsTime(now.Location()).AddDate(0, 0, 1)) {
				g.expired = true
				continue
			}
			drop = true
		}
		if drop {
			r.ignored++
		} else {
			left = append(left, d)
		}
	}
	return left
}

// notes returns what is to be said after the check, by some of all rules, of all projects that
// share these: which are out of date, and how many findings they accepted.
func (r *rules) notes(known []capability.Rule) (notes []string) {
	for i, g := range r.Ignore {
		switch {
		case !isOf(known, g.Rule):
		case g.expired:
			notes = append(notes, fmt.Sprintf("%s: ignore %d, of %s (%s), was valid until %s", r.file, i+1, g.Rule,
				g.Reason, g.Until))
		case !g.used:
			notes = append(notes, fmt.Sprintf("%s: ignore %d, of %s (%s), matches no finding; remove it", r.file, i+1,
				g.Rule, g.Reason))
		}
	}
	if r.ignored > 0 {
		notes = append(notes, fmt.Sprintf("%s: %d findings are accepted", r.file, r.ignored))
	}
	return notes
}

func (g *ignore) matches(d capability.Diagnostic, folder string) bool {
	if string(d.Code) != g.Rule || !strings.Contains(d.Message, g.Text) {
		return false
	}
	if g.File == "" {
		return true
	}
	matched, _ := path.Match(g.File, report.RelativeTo(folder, d.File))
	return matched
}
