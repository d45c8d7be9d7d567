package capdiff

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"lessonkit.example/capability"
	"lessonkit.example/capability/internal/pattern"
)

// audience is who a grant is for, by the texts of its patterns.
type audience struct {
	webview bool   // whether label is the pattern of a webview, not of a window
	label   string // the pattern
	remote  bool
	url     string // the pattern of a remote origin
}

// scope contains the values of a scope as JSON, by their canonical texts.
type scope struct{ allow, deny map[string]string }

func newScope() scope { return scope{make(map[string]string), make(map[string]string)} }

func (s scope) add(values capability.Scope) {
	for _, v := range values.Allow {
		s.allow[v.Canonical()] = v.String()
	}
	for _, v := range values.Deny {
		s.deny[v.Canonical()] = v.String()
	}
}

func (s scope) equal(t scope) bool { return !new(Change).setScopes(s, t) }

// subject is what is granted: a command, or a permission that no manifest explains.
type subject struct {
	command capability.Command
	unknown string // the permission
}

func (s subject) String() string { return cmp.Or(s.unknown, s.command.String()) }

// denies reports whether a permission that no manifest explains denies something, by its name.
func (s subject) denies() bool {
	_, name := capability.SplitIdentifier(s.unknown)
	return strings.HasPrefix(name, "deny-")
}

// grantsOf returns what a policy grants, by subject. A denial revokes a command everywhere.
func grantsOf(p *capability.Policy) map[subject][]capability.Grant {
	all := make(map[subject][]capability.Grant)
	for _, command := range p.Commands() {
		if len(p.Denials(command)) == 0 {
			all[subject{command: command}] = p.Grants(command)
		}
	}
	for _, g := range p.Unknown() {
		s := subject{unknown: g.Entry().Identifier}
		all[s] = append(all[s], g)
	}
	return all
}

// access is what one side grants: for each subject the audiences with their scopes.
type access map[subject]map[audience]scope

// maxCompared bounds a comparison, so that a hostile file cannot make it endless: the pairs of
// audiences of the commands, and more for each value of a scope.
const maxCompared = 20_000_000

// comparer compares the patterns of audiences. It compiles each once.
type comparer struct {
	labels map[string]*pattern.Glob
	urls   map[string]*pattern.URL
}

// access returns what grants are for whom, and false if that is too much to compare.
func (c *comparer) access(granted map[subject][]capability.Grant) (access, bool) {
	all := make(access)
	effort := 0
	for subject, grants := range granted {
		size, values := 0, 0
		for _, g := range grants {
			labels, s := len(g.Capability().Windows)+len(g.Capability().Webviews), g.Scope()
			size += labels
			values += labels * (len(s.Allow) + len(s.Deny))
		}
		if effort += size * (size + 30*values); size > maxCompared || values > maxCompared || effort > maxCompared {
			return nil, false
		}
		audiences := make(map[audience]scope)
		for _, g := range grants {
			for _, a := range audiencesOf(g) {
				c.add(audiences, a, g.Scope())
			}
		}
		if len(audiences) > 0 {
			all[subject] = audiences
		}
	}
	return all, true
}

func audiencesOf(g capability.Grant) (all []audience) {
	for _, label := range g.Windows() {
		all = append(all, audience{false, label, !g.Local(), g.Remote()})
	}
	for _, label := range g.Webviews() {
		all = append(all, audience{true, label, !g.Local(), g.Remote()})
	}
	return all
}

// sources returns the entries that grant something to an audience.
func (c *comparer) sources(grants []capability.Grant, to audience) (found []Grant) {
	for _, g := range grants {
		if slices.ContainsFunc(audiencesOf(g), func(a audience) bool { return c.contains(a, to) }) {
			v := g.Entry().Value()
			found = append(found, Grant{v.File(), v.Position().Line, v.Position().Column, g.Capability().Identifier,
				g.Entry().Identifier})
		}
	}
	return found
}

// add adds a grant. Its patterns are well-formed, as those of all grants are.
func (c *comparer) add(to map[audience]scope, a audience, values capability.Scope) {
	if c.labels[a.label] == nil {
		g, _ := pattern.CompileGlob(a.label)
		c.labels[a.label] = &g
	}
	if a.remote && c.urls[a.url] == nil {
		c.urls[a.url], _ = pattern.CompileURL(a.url)
	}
	if _, ok := to[a]; !ok {
		to[a] = newScope()
	}
	to[a].add(values)
}

// contains reports whether an audience contains another one. All windows contain all webviews, and
// the other way round.
func (c *comparer) contains(a, b audience) bool {
	if a.remote != b.remote || a.label != "*" &&
		(a.webview != b.webview || !c.labels[a.label].Contains(c.labels[b.label])) {
		return false
	}
	return !a.remote || c.urls[a.url].Contains(c.urls[b.url])
}

// at returns the scope that an audience has by all grants that contain it, as the reference
// implementation passes them to a command together; false if there is none.
func (c *comparer) at(audiences map[audience]scope, a audience) (s scope, granted bool) {
	s = newScope()
	for other, part := range audiences {
		if c.contains(other, a) {
			maps.Copy(s.allow, part.allow)
			maps.Copy(s.deny, part.deny)
			granted = true
		}
	}
	return s, granted
}

// approximate reports whether the comparison of an audience with others may depend on the texts of
// patterns.
func (c *comparer) approximate(a audience, others map[audience]scope) bool {
	for other := range others {
		if other.remote != a.remote {
			continue
		}
		label, otherLabel := c.labels[a.label], c.labels[other.label]
		if strings.ContainsAny(a.label, "*?[") && !(label.Comparable() && otherLabel.Comparable()) ||
			a.remote && !(c.urls[a.url].Simple() && c.urls[other.url].Simple()) {
			return true
		}
	}
	return false
}
