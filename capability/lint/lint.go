// Package lint reports likely mistakes and risks in capability files: permissions that have no
// effect or contradict each other, windows and URLs that get more than was probably intended, and
// scopes that their plugin does not accept. [Check] does so for loose files.
//
//	app, err := capability.LoadApp(os.DirFS("."), capability.AppOptions{})
//	if err != nil {
//		return err
//	}
//	for _, finding := range lint.CheckApp(app, lint.Options{}) {
//		fmt.Println(finding)
//	}
package lint

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"lessonkit.example/capability"
	"lessonkit.example/capability/internal/limit"
	"lessonkit.example/capability/internal/pattern"
	"lessonkit.example/capability/internal/syntax"
	"lessonkit.example/capability/internal/words"
)

// Options configures [Check].
type Options struct {
	capability.ResolveOptions
	// Severities replaces the severities of rules; Off silences one. Codes of no rule, see [Rules],
	// are ignored.
	Severities map[capability.Code]capability.Severity
}

// Check checks files, what they refer to, and how they fit together: all that
// [capability.Document.Check] and [capability.Resolve] report, and likely mistakes and risks. The
// manifests are those of Resolve. The diagnostics are sorted by file and position.
func Check(docs []*capability.Document, manifests *capability.Manifests, o Options) capability.Diagnostics {
	found, all := findings(docs, manifests, o)
	return withSeverities(append(found, mistakes(docs, []together{all}, manifests)...), o.Severities)
}

// together are capabilities that are active at one time, what they grant, and what is wrong with
// the list of them.
type together struct {
	capabilities []capability.Capability
	policy       *capability.Policy
	listed       capability.Diagnostics
}

// findings returns what is wrong in files, and all of their capabilities.
func findings(docs []*capability.Document, manifests *capability.Manifests, o Options,
) (found capability.Diagnostics, all together) {
	for _, d := range docs {
		found = append(found, d.Check()...)
		all.capabilities = append(all.capabilities, d.Capabilities()...)
	}
	policy, references := capability.Resolve(all.capabilities, manifests, o.ResolveOptions)
	all.policy = policy
	return append(found, references...), all
}

// CheckApp checks an application: its capability files and those in its configuration as [Check]
// does, and also its configuration, manifests and permissions. The application determines the
// options Partial, and Version unless that is set.
func CheckApp(app *capability.App, o Options) capability.Diagnostics {
	o.Partial = !app.Manifests.Whole()
	if o.Version == (capability.Version{}) {
		o.Version = app.Version
	}
	found := slices.Clone(app.ManifestProblems)
	for _, config := range app.Configs(o.Platform) {
		found = append(found, config.Check()...)
	}
	// The build refuses a name that two capabilities have only in files that it reads: one in a
	// configuration takes the place of others.
	var docs, others []*capability.Document
	for _, d := range app.Documents {
		if d.Format() == capability.JSON5 && app.JSON5 != nil && !*app.JSON5 {
			others = append(others, d)
		} else {
			docs = append(docs, d)
		}
	}
	var active []together // on each target
	for _, target := range app.Targets(o.Platform) {
		if config := app.ConfigFor(target); config != nil {
			others = append(others, capability.Inlined(config))
		}
		capabilities, listed := app.Capabilities(target)
		options := o.ResolveOptions
		options.Platform = target
		policy, _ := capability.Resolve(capabilities, app.Manifests, options)
		active = append(active, together{capabilities, policy, listed})
	}
	found = slices.Concat(found, configured(active), localServers(app, active, o))
	docs = append(docs, others...)
	ofFiles, _ := findings(docs, app.Manifests, o)
	for _, d := range append(ofFiles, mistakes(docs, active, app.Manifests)...) {
		isOfFile := func(other *capability.Document) bool { return other.Name() == d.File }
		switch {
		case d.Code == "duplicate-capability" && slices.ContainsFunc(others, isOfFile):
		case d.Code == "json5-feature" && app.JSON5 != nil && *app.JSON5:
		default:
			found = append(found, d)
		}
	}
	return withSeverities(found, o.Severities)
}

// configured returns what is wrong with the lists of active capabilities. A capability that is
// inactive on some platforms only is so by intention.
func configured(active []together) (kept capability.Diagnostics) {
	inactive := make(map[capability.Place]int) // on how many targets
	for _, a := range active {
		for _, d := range a.listed {
			if d.Code == "inactive-capability" {
				at := capability.Place{File: d.File, Start: d.Start}
				if inactive[at]++; inactive[at] < len(active) {
					continue
				}
			}
			kept = append(kept, d)
		}
	}
	return kept
}

// withSeverities replaces severities, as [Options] does, drops the diagnostics whose rule is off,
// and sorts the others.
func withSeverities(ds capability.Diagnostics, severities map[capability.Code]capability.Severity,
) capability.Diagnostics {
	kept := capability.Diagnostics{}
	for _, d := range ds {
		if s, ok := severities[d.Code]; ok {
			d.Severity = s
		}
		if d.Severity != capability.Off {
			kept = append(kept, d)
		}
	}
	kept.Sort()
	return kept
}

// linter applies the rules of this package.
type linter struct {
	active     []together
	manifests  *capability.Manifests
	expansions map[string]*expansion
	expanded   int // permissions in all expansions
	schemas    map[string]*scopeSchema
	limit      limit.Findings
	renamed    map[capability.Position]bool // keys of a file that were reported instead of a missing one
	damaged    bool                         // the syntax of the file is wrong, so what is missing may be there
	groups     map[string]*group            // by what they have in common
	ordered    []*group
	reported   map[reported]bool
	found      capability.Diagnostics
}

// reported is what is reported once, though it is wrong on several targets.
type reported struct {
	code capability.Code
	e    *capability.Entry
}

func (l *linter) once(code capability.Code, e *capability.Entry) bool {
	first := !l.reported[reported{code, e}]
	l.reported[reported{code, e}] = true
	return first
}

// expansion contains what an identifier of a permission expands to.
type expansion struct {
	permissions []capability.Expansion
	complete    bool
	ids         map[string]bool // identifiers of the permissions
	first       string          // one of them
	set         bool            // whether it is a set
}

func mistakes(docs []*capability.Document, active []together, manifests *capability.Manifests,
) capability.Diagnostics {
	l := &linter{
		active:     active,
		manifests:  manifests,
		expansions: make(map[string]*expansion),
		schemas:    make(map[string]*scopeSchema),
		groups:     make(map[string]*group),
		reported:   make(map[reported]bool),
	}
	for _, d := range docs {
		l.unknownKeys(d)
		if d.Format() == capability.JSON5 && len(d.Capabilities()) > 0 {
			l.report("json5-feature", d.Root(),
				"JSON5 files are ignored unless the build has the Cargo feature config-json5; add it, or write JSON.")
		}
		own := d.Capabilities()
		for i := range own {
			l.capability(&own[i])
		}
	}
	for _, a := range active {
		l.denials(a.policy)
		l.missingScopes(a.capabilities)
	}
	l.finish()
	return l.found
}

func (l *linter) report(code capability.Code, v capability.Value, format string, args ...any) *capability.Diagnostic {
	message := fmt.Sprintf(format, args...)
	if l.full(code, v) {
		return &capability.Diagnostic{}
	}
	l.found = append(l.found, capability.NewDiagnostic(v, code, severityOf(code), message))
	return &l.found[len(l.found)-1]
}

// full reports whether there are too many findings of a rule to list one more, and lists that there
// are more.
func (l *linter) full(code capability.Code, v capability.Value) bool {
	over := l.limit.Over(string(code))
	if over == 1 {
		l.found = append(l.found, capability.NewDiagnostic(v, code, severityOf(code), limit.More))
	}
	return over > 0
}

func (l *linter) capability(c *capability.Capability) {
	l.reach(c)
	l.labels(c)
	l.remotes(c)
	l.dangers(c)
	l.redundant(c, l.entries(c))
	for i := range c.Permissions {
		l.scopes(&c.Permissions[i])
	}
}

// reach reports capabilities that no window or page can use. What has the wrong type was reported
// already, and is not taken for missing.
func (l *linter) reach(c *capability.Capability) {
	isEmpty := func(v capability.Value) bool { return v.Kind() == capability.Array && v.Len() == 0 }
	isMissing := func(v capability.Value) bool { return !v.Exists() || isEmpty(v) }
	object := c.Value()
	if v := object.Get("permissions"); isEmpty(v) {
		l.report("empty-permissions", v, "The capability %q has no permissions, so it grants nothing; add some, or "+
			"remove it.", c.Identifier)
	}
	if !l.damaged && isMissing(object.Get("windows")) && isMissing(object.Get("webviews")) &&
		!resembles(c, "windows", "webviews") {
		l.report("no-windows", object.Get("identifier").Or(object),
			`The capability %q names neither windows nor webviews, so its commands reach none; add "windows": `+
				`["main"].`, c.Identifier)
	}
	remote := object.Get("remote")
	if !c.Local && isMissing(remote.Get("urls")) &&
		slices.Contains([]capability.Kind{capability.Absent, capability.Null, capability.Object}, remote.Kind()) {
		l.report("no-origin", object.Get("local").Or(object),
			`The capability %q is not for the application's own pages, and "remote" lists no URL; leave "local" `+
				`out, or add "remote": {"urls": [...]}.`, c.Identifier)
	}
	if v := object.Get("platforms"); isEmpty(v) {
		l.report("empty-platforms", v, `An empty "platforms" keeps the capability %q from ever being active; leave `+
			`it out for all platforms.`, c.Identifier)
	}
}

// resembles reports whether an unknown key looks like one of keys. It is reported itself, so what
// is missing because of it is not.
func resembles(c *capability.Capability, keys ...string) bool {
	for key := range c.Value().Members() {
		name := key.Text()
		if !slices.Contains(syntax.CapabilityKeys, name) &&
			slices.Contains(keys, words.Closest(name, syntax.CapabilityKeys)) {
			return true
		}
	}
	return false
}

// characterClass describes those of patterns: the first character in one is never its end.
var characterClass = regexp.MustCompile(`(?s)\[.[^\]]*\]`)

// labels reports patterns with characters that labels cannot have.
func (l *linter) labels(c *capability.Capability) {
	check := func(key string, patterns []string) {
		for i, text := range patterns {
			place := func() capability.Value { return c.Value().Get(key).Item(i).Or(c.Value()) }
			if strings.TrimSpace(text) == "" {
				l.report("impossible-label", place(),
					"No window has the label %q; write its label, or \"*\" for all.", text)
				continue
			}
			if _, err := pattern.CompileGlob(text); err != nil {
				continue // reported as a pattern
			}
			rest := characterClass.ReplaceAllString(text, "")
			if at := strings.IndexAny(rest, `{}, .\^()+|$@#%&"'`); at >= 0 {
				l.report("impossible-label", place(),
					"%q has no special meaning in a pattern, and labels cannot contain it: "+
						"they consist of letters, digits, - / : and _. Patterns have *, ? and [abc]; write each "+
						"label as a separate item.", rest[at:at+1])
			}
		}
	}
	check("windows", c.Windows)
	check("webviews", c.Webviews)
}

// unknownKeys reports keys that are ignored, in every object of the format.
func (l *linter) unknownKeys(d *capability.Document) {
	l.renamed, l.damaged = make(map[capability.Position]bool), false
	for _, f := range d.Check() {
		l.damaged = l.damaged || f.Code == "syntax"
		if f.Code == "missing-field" {
			l.renamed[f.Start] = true
		}
	}
	root := d.Root()
	if root.Kind() == capability.Object && root.Get("capabilities").Exists() {
		l.keys(root, "the list", []string{"capabilities"}, nil)
	}
	capabilities := d.Capabilities()
	for i := range capabilities {
		c := &capabilities[i]
		l.keys(c.Value(), "a capability", syntax.CapabilityKeys, nil)
		if remote := c.Value().Get("remote"); remote.Kind() == capability.Object {
			l.keys(remote, "\"remote\"", []string{"urls"}, nil)
		}
		for k := range c.Permissions {
			if v := c.Permissions[k].Value(); v.Kind() == capability.Object {
				l.keys(v, "a permission", syntax.EntryKeys, syntax.CapabilityKeys)
			}
		}
	}
}

func (l *linter) keys(object capability.Value, owner string, known, outside []string) {
	for key := range object.Members() {
		name := key.Text()
		if len(l.renamed) > 0 && l.renamed[key.Position()] {
			continue // reported instead of the missing key that it resembles
		}
		if slices.Contains(known, name) || name == "$schema" && object.Path() == "" || strings.HasPrefix(name, "//") ||
			name == "$comment" {
			continue
		}
		if owner == "a permission" && name == "scope" {
			l.report("unknown-key", key,
				`"scope" has no effect in a permission; put "allow" and "deny" beside "identifier".`)
			continue
		}
		if slices.Contains(outside, name) {
			l.group("unknown-key", key, quoted(name),
				"%s [has|have] no effect in a permission; move [it|them] to the capability around it.")
			continue
		}
		like := words.Closest(name, known)
		if like == "" || object.Get(like).Exists() {
			l.report("unknown-key", key, "The key %q has no meaning in %s and is ignored; the keys are %s.", name,
				owner, strings.Join(known, ", "))
			continue
		}
		f := l.report("unknown-key", key, "The key %q has no meaning in %s and is ignored; did you mean %q?", name,
			owner, like)
		f.Fix = key.Rename(like)
		f.Fix.Guess = true
	}
}
