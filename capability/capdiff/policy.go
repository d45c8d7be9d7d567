package capdiff

import (
	"slices"

	"lessonkit.example/capability"
	"lessonkit.example/capability/internal/pattern"
)

// policy is one side of a comparison, with compiled patterns.
type policy struct {
	*capability.Policy
	denyByOrigin bool
	commands     map[string]access
}

type access struct{ allowed, denied []grant }

// labels contains the patterns of a capability.
type labels struct{ windows, webviews []pattern.Glob }

type grant struct {
	*labels
	capability *capability.Capability
	remote     *pattern.URL // nil for the application's own pages
	scope      capability.Scope
}

// compiler compiles each pattern once, so that equal ones are the same.
type compiler struct {
	labels map[*capability.Capability]*labels
	urls   map[string]*pattern.URL
}

func (c *compiler) policy(p *capability.Policy, denyByOrigin bool) *policy {
	compiled := &policy{Policy: p, denyByOrigin: denyByOrigin, commands: make(map[string]access)}
	for _, command := range p.Commands() {
		compiled.commands[command] = access{c.grants(p, p.Grants(command)), c.grants(p, p.Denials(command))}
	}
	return compiled
}

func (c *compiler) grants(p *capability.Policy, grants []capability.Grant) []grant {
	var list []grant
	for _, g := range grants {
		owner := g.Capability()
		if c.labels[owner] == nil {
			c.labels[owner] = &labels{globs(g.Windows()), globs(g.Webviews())}
		}
		compiled := grant{labels: c.labels[owner], capability: owner, scope: p.Scope(g.Scope())}
		if text := g.Remote(); !g.Local() {
			if c.urls[text] == nil {
				c.urls[text], _ = pattern.CompileURL(text) // a grant has valid patterns only
			}
			compiled.remote = c.urls[text]
		}
		list = append(list, compiled)
	}
	return list
}

func globs(texts []string) []pattern.Glob {
	var list []pattern.Glob
	for _, text := range texts {
		g, _ := pattern.CompileGlob(text) // a grant has valid patterns only
		list = append(list, g)
	}
	return list
}

// isFor reports whether a grant is for the origin of a caller.
func (g *grant) isFor(c caller) bool {
	switch {
	case c.pattern != "":
		return g.remote != nil && g.remote.String() == c.pattern
	case g.remote == nil:
		return c.address.Text == ""
	}
	return c.address.Text != "" && g.remote.Match(c.address)
}

func (g *grant) matchesLabels(c caller) bool {
	return pattern.MatchAny(g.webviews, c.webview) || pattern.MatchAny(g.windows, c.window)
}

// matching returns the grants that allow a command to a caller.
func (p *policy) matching(command string, c caller) []grant {
	a := p.commands[command]
	if len(a.denied) > 0 &&
		(!p.denyByOrigin || slices.ContainsFunc(a.denied, func(g grant) bool { return g.isFor(c) })) {
		return nil
	}
	var grants []grant
	for i := range a.allowed {
		if g := &a.allowed[i]; g.isFor(c) && g.matchesLabels(c) {
			grants = append(grants, *g)
		}
	}
	return grants
}

// merged returns the scopes of grants as the reference implementation passes them to a command: all
// allowed values and all denied ones.
func merged(grants []grant) capability.Scope {
	var s capability.Scope
	for _, g := range grants {
		s.Allow = append(s.Allow, g.scope.Allow...)
		s.Deny = append(s.Deny, g.scope.Deny...)
	}
	return s
}

// sameAccess reports whether two policies grant a command in the same words, so that it need not be
// compared for each caller.
func sameAccess(old, now *policy, command string) bool {
	a, inOld := old.commands[command]
	b, inNow := now.commands[command]
	same := func(g, h grant) bool {
		return slices.Equal(g.capability.Windows, h.capability.Windows) &&
			slices.Equal(g.capability.Webviews, h.capability.Webviews) &&
			g.remote == h.remote && equal(g.scope, h.scope)
	}
	return inOld && inNow && slices.EqualFunc(a.allowed, b.allowed, same) && slices.EqualFunc(a.denied, b.denied, same)
}

func equal(s, t capability.Scope) bool {
	return slices.EqualFunc(s.Allow, t.Allow, capability.Value.Equal) &&
		slices.EqualFunc(s.Deny, t.Deny, capability.Value.Equal)
}
