package capability

import (
	"fmt"
	"slices"
	"strings"
)

// LintOptions say how files are checked together.
type LintOptions struct {
	ResolveOptions
	// Severities replaces the weight of rules; Off silences one.
	Severities map[Code]Severity
}

// LintAll checks files, what they refer to, and how they go together: all that
// [Document.Check] and [Resolve] report, and in mode lint the rules about
// likely mistakes and risks. The diagnostics come file by file, in the order of
// their places.
func LintAll(docs []*Document, manifests *Manifests, o LintOptions) Diagnostics {
	var found Diagnostics
	var capabilities []Capability
	for _, d := range docs {
		found = append(found, d.Check(o.Mode)...)
		capabilities = append(capabilities, d.capabilities...)
	}
	if o.Mode != ModeSchema {
		policy, refers := Resolve(capabilities, manifests, o.ResolveOptions)
		found = append(found, refers...)
		if o.Mode == ModeLint {
			l := &linter{policy: policy, manifests: manifests, reported: make(map[Code]int)}
			for _, d := range docs {
				l.unknownKeys(d)
				if d.format == JSON5 && len(d.capabilities) > 0 {
					l.report(CodeJSON5Feature, d.Root(), "Files in JSON5 are ignored unless the build has the Cargo feature config-json5.")
				}
			}
			for i := range capabilities {
				l.capability(&capabilities[i])
			}
			l.denials()
			l.missingScopes(capabilities)
			found = append(found, l.found...)
		}
	}
	return found.Weigh(o.Severities).sorted()
}

// Weigh replaces severities, as those of [LintOptions] do, and leaves out what
// is silenced.
func (ds Diagnostics) Weigh(severities map[Code]Severity) Diagnostics {
	kept := Diagnostics{}
	for _, d := range ds {
		if s, ok := severities[d.Code]; ok {
			d.Severity = s
		}
		if d.Severity != Off {
			kept = append(kept, d)
		}
	}
	return kept
}

type linter struct {
	policy    *Policy
	manifests *Manifests
	unfold    *resolver
	reported  map[Code]int
	found     Diagnostics
}

func (l *linter) report(code Code, v Value, format string, args ...any) *Diagnostic {
	if l.reported[code]++; l.reported[code] > mostReported {
		return &Diagnostic{}
	}
	f := Diagnostic{Code: code, Severity: ruleOf(code).Lint, Message: fmt.Sprintf(format, args...), doc: v.doc}
	if v.doc != nil {
		nd := v.doc.nodes[v.n]
		f.at = span{nd.start, nd.end}
		if nd.kind == Object || nd.kind == Array {
			f.at.end = f.at.start + 1 // a long value is marked where it begins
		}
		f.Path = v.Path()
	}
	l.found = append(l.found, f)
	return &l.found[len(l.found)-1]
}

func (l *linter) capability(c *Capability) {
	l.reach(c)
	l.labels(c)
	l.remotes(c)
	l.dangers(c)
	l.entries(c)
	l.redundant(c)
	for i := range c.Permissions {
		l.scopes(&c.Permissions[i])
	}
}

// reach reports capabilities that reach nobody. What has the wrong type was
// reported already, and is not taken for missing.
func (l *linter) reach(c *Capability) {
	if len(c.Permissions) == 0 && c.holds("permissions", Array) == 0 {
		l.report(CodeEmptyPermissions, c.at("permissions"), "The capability %q has no permissions, so it grants nothing.", c.Identifier)
	}
	if len(c.Windows)+len(c.Webviews) == 0 && !c.resembles("windows", "webviews") && c.holds("windows", Array)+c.holds("webviews", Array) == 0 {
		l.report(CodeNoWindows, c.at("identifier"), `The capability %q names neither windows nor webviews, so its commands reach none; add "windows": ["main"].`, c.Identifier)
	}
	if !c.Local && len(c.Remote) == 0 && c.holds("remote", Object) == 0 {
		l.report(CodeNoOrigin, c.at("local"), `The capability %q is not for the application's own pages, and "remote" lists no URL; leave "local" out, or add "remote": {"urls": [...]}.`, c.Identifier)
	}
	if c.Platforms != nil && len(c.Platforms) == 0 && c.holds("platforms", Array) == 0 {
		l.report(CodeEmptyPlatforms, c.at("platforms"), `An empty "platforms" keeps the capability %q from ever being active; leave it out for all platforms.`, c.Identifier)
	}
}

// resembles reports whether an unknown key looks like one of those: it is
// reported itself, and what is missing because of it is not.
func (c *Capability) resembles(keys ...string) bool {
	for key := range c.value.Members() {
		if name := key.Text(); !slices.Contains(capabilityKeys, name) && slices.Contains(keys, closest(name, capabilityKeys)) {
			return true
		}
	}
	return false
}

// blamed reports whether a key was reported in place of one that is missing.
func (d *Document) blamed(key Value) bool {
	for i := range d.found {
		if d.found[i].Code == CodeMissingField && d.found[i].at.start == d.nodes[key.n].start {
			return true
		}
	}
	return false
}

// holds returns how much a member holds, and 1 for one of the wrong kind.
func (c *Capability) holds(key string, kind Kind) int {
	v := c.value.Get(key)
	switch {
	case !v.Exists() || v.Kind() == Null:
		return 0
	case v.Kind() != kind:
		return 1
	case kind == Object:
		if urls := v.Get("urls"); urls.Exists() && urls.Kind() != Array || urls.Len() > 0 {
			return 1
		}
		return 0
	}
	return v.Len()
}

// labels reports patterns with characters that labels cannot have.
func (l *linter) labels(c *Capability) {
	check := func(key string, patterns []string) {
		for i, pattern := range patterns {
			place := func() Value { return c.item(c.value.Get(key), i) }
			if strings.TrimSpace(pattern) == "" {
				l.report(CodeImpossibleLabel, place(), "No window has the label %q; write its label, or \"*\" for all.", pattern)
				continue
			}
			if _, err := CompileGlob(pattern); err != nil {
				continue // reported as a pattern
			}
			if at := strings.IndexAny(withoutClasses(pattern), `{}, .\^()+|$@#%&"'`); at >= 0 {
				l.report(CodeImpossibleLabel, place(), "%q stands for itself in a pattern, and no label has it: labels consist of letters, digits, - / : and _. There are *, ? and [abc]; give each label an item of its own.", string([]rune(pattern[at:])[0]))
			}
		}
	}
	check("windows", c.Windows)
	check("webviews", c.Webviews)
}

// withoutClasses blanks out character classes, keeping the offsets.
func withoutClasses(pattern string) string {
	b := []byte(pattern)
	open := -1
	for i := range b {
		switch {
		case open < 0 && b[i] == '[':
			open = i
		case open >= 0 && b[i] == ']' && i > open+1:
			for k := open; k <= i; k++ {
				b[k] = 'x'
			}
			open = -1
		}
	}
	return string(b)
}

// unknownKeys reports keys that are ignored, in every object of the format.
func (l *linter) unknownKeys(d *Document) {
	root := d.Root()
	if root.Kind() == Object && root.Get("capabilities").Exists() {
		l.keys(root, "the list", []string{"capabilities"}, nil)
	}
	for i := range d.capabilities {
		c := &d.capabilities[i]
		l.keys(c.value, "a capability", capabilityKeys, nil)
		if remote := c.value.Get("remote"); remote.Kind() == Object {
			l.keys(remote, "\"remote\"", []string{"urls"}, nil)
		}
		for k := range c.Permissions {
			if v := c.Permissions[k].value; v.Kind() == Object {
				l.keys(v, "a permission", entryKeys, capabilityKeys)
			}
		}
	}
}

func (l *linter) keys(object Value, owner string, known, outside []string) {
	for key := range object.Members() {
		name := key.Text()
		if key.doc.blamed(key) {
			continue // taken for the missing key it resembles
		}
		if slices.Contains(known, name) || name == "$schema" && object.n == 0 || strings.HasPrefix(name, "//") || name == "$comment" {
			continue
		}
		if owner == "a permission" && name == "scope" {
			l.report(CodeUnknownKey, key, `"scope" has no effect in a permission; put "allow" and "deny" beside "identifier".`)
			continue
		}
		if slices.Contains(outside, name) {
			l.report(CodeUnknownKey, key, "%q has no effect in a permission; it belongs to the capability around it.", name)
			continue
		}
		like := closest(name, known)
		if like == "" || object.Get(like).Exists() {
			l.report(CodeUnknownKey, key, "The key %q means nothing in %s and is ignored; there are %s.", name, owner, strings.Join(known, ", "))
			continue
		}
		f := l.report(CodeUnknownKey, key, "The key %q means nothing in %s and is ignored; did you mean %q?", name, owner, like)
		nd := key.doc.nodes[key.n]
		f.Fix = &Fix{Title: fmt.Sprintf("Rename it to %q", like), Edits: []Edit{{Start: int(nd.start), End: int(nd.end), Text: key.doc.quoteLike(key.n, like)}}, Guess: true}
	}
}
