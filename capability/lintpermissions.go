package capability

import (
	"slices"
	"strings"
)

// entries reports permissions of a capability that get in each other's way.
func (l *linter) entries(c *Capability) {
	bare := make(map[string]*Entry)
	scoped := make(map[string]*Entry)
	for i := range c.Permissions {
		e := &c.Permissions[i]
		if e.Identifier == "" {
			continue
		}
		if strings.Contains(e.Identifier, "--") {
			l.report(CodeDoubleHyphen, e.identifierValue(), "%q has two hyphens in a row, which older releases refuse.", e.Identifier)
		}
		if e.Allow == nil && e.Deny == nil {
			bare[e.Identifier] = e
		} else if first := scoped[e.Identifier]; first != nil && !first.value.Equal(e.value) {
			f := l.report(CodeScopedTwice, e.identifierValue(), "%q stands here with another scope than in line %d, and both add up; write one entry with both.", e.Identifier, first.value.Position().Line)
			f.Related = []Place{{File: e.value.doc.nameOr(), Start: first.value.Position(), Message: "the other entry"}}
		} else if first == nil {
			scoped[e.Identifier] = e
		}
		l.noEffect(c, e)
		denied := make(map[string]bool)
		for _, v := range e.Deny {
			denied[string(v.appendCanonical(nil))] = true
		}
		for _, v := range e.Allow {
			if len(denied) > 0 && denied[string(v.appendCanonical(nil))] {
				l.report(CodeAllowAndDeny, v, "The scope allows and denies the same value %s; a denial wins, so remove one of the two.", quoteShort(string(v.appendJSON(nil))))
			}
		}
	}
	for i := range c.Permissions {
		e := &c.Permissions[i]
		if other := bare[e.Identifier]; other != nil && scoped[e.Identifier] == e && l.hasCommands(e.Identifier) {
			l.report(CodeBareAndScoped, other.identifierValue(), "%q stands here without a scope and in line %d with one; both add up, so this one adds nothing and can be removed.", e.Identifier, e.value.Position().Line).Fix = other.value.doc.removeItemOf(other.value)
		}
	}
}

func (d *Document) nameOr() string {
	if d == nil {
		return ""
	}
	return d.name
}

func (d *Document) removeItemOf(v Value) *Fix {
	if d == nil {
		return nil
	}
	return d.removeItem("Remove the entry without a scope", v)
}

// expand unfolds an identifier without reporting anything.
func (l *linter) expand(identifier string) *expansion {
	if l.unfold == nil {
		l.unfold = &resolver{manifests: l.manifests, options: ResolveOptions{Partial: true}, expansions: make(map[string]*expansion), reported: make(map[Code]int)}
	}
	return l.unfold.expand(identifier)
}

func (l *linter) hasCommands(identifier string) bool {
	x := l.expand(identifier)
	return len(x.permissions) == 0 || slices.ContainsFunc(x.permissions, func(p expanded) bool { return len(p.allow)+len(p.deny) > 0 })
}

// noEffect reports permissions that are for other platforms than their capability.
func (l *linter) noEffect(c *Capability, e *Entry) {
	x := l.expand(e.Identifier)
	if len(x.permissions) == 0 || len(c.Platforms) == 0 {
		return
	}
	for _, p := range x.permissions {
		if p.permission.Platforms == nil || slices.ContainsFunc(c.Platforms, p.permission.on) {
			return
		}
	}
	l.report(CodePlatformMismatch, e.identifierValue(), "%q has an effect on %s only, and the capability is for %s.", e.Identifier, platformList(x.permissions[0].permission.Platforms), platformList(c.Platforms))
}

func platformList(platforms []Platform) string {
	names := make([]string, len(platforms))
	for i, p := range platforms {
		names[i] = string(p)
	}
	return strings.Join(names, ", ")
}

// redundant reports bare entries all of which is in a set that is listed too.
func (l *linter) redundant(c *Capability) {
	type unfolded struct {
		entry *Entry
		ids   map[string]bool
	}
	var bare []unfolded
	seen := make(map[string]bool)
	for i := range c.Permissions {
		e := &c.Permissions[i]
		if e.Allow != nil || e.Deny != nil || seen[e.Identifier] {
			continue
		}
		seen[e.Identifier] = true
		x := l.expand(e.Identifier)
		if len(x.permissions) == 0 || len(x.faults) > 0 {
			continue
		}
		ids := make(map[string]bool)
		for _, p := range x.permissions {
			ids[p.chain[len(p.chain)-1]] = true
		}
		bare = append(bare, unfolded{e, ids})
	}
	for i, small := range bare {
		for k, large := range bare {
			if i == k || len(small.ids) > len(large.ids) || len(small.ids) == len(large.ids) && i < k {
				continue
			}
			if containsAll(large.ids, small.ids) {
				f := l.report(CodeRedundantPermission, small.entry.identifierValue(), "%q is already in %q; it can be removed.", small.entry.Identifier, large.entry.Identifier)
				if d := small.entry.value.doc; d != nil {
					f.Fix = d.removeItem("Remove it", small.entry.value)
				}
				break
			}
		}
	}
}

func containsAll(large, small map[string]bool) bool {
	for id := range small {
		if !large[id] {
			return false
		}
	}
	return true
}

// denials reports what denials do beyond, or against, what is likely meant.
func (l *linter) denials() {
	type key struct {
		code Code
		e    *Entry
	}
	seen := make(map[key]bool)
	once := func(code Code, g Grant) bool {
		k := key{code, g.Entry()}
		first := !seen[k]
		seen[k] = true
		return first
	}
	for _, command := range l.policy.Commands() {
		allowed, denied := l.policy.commands[command].allowed, l.policy.commands[command].denied
		for _, g := range denied {
			c, e := g.Capability(), g.Entry()
			if len(allowed) == 0 {
				if once(CodeDeadDeny, g) {
					l.report(CodeDeadDeny, e.identifierValue(), "%q denies %s, which nothing allows; it has no effect now.", e.Identifier, command)
				}
				continue
			}
			if own := slices.IndexFunc(allowed, func(a Grant) bool { return a.Capability() == c }); own >= 0 {
				if once(CodeAllowAndDeny, g) {
					l.report(CodeAllowAndDeny, e.identifierValue(), "%q denies %s, which %q of the same capability allows; a denial wins, so it is denied.", e.Identifier, command, allowed[own].Entry().Identifier)
				}
			}
			other := slices.IndexFunc(allowed, func(a Grant) bool { return a.Capability() != c })
			if other >= 0 && !l.policy.denyByOrigin && once(CodeDenyEverywhere, g) {
				l.report(CodeDenyEverywhere, e.identifierValue(), "%q denies %s in every window and on every page, not only in those of the capability %q: also where %q allows it.", e.Identifier, command, c.Identifier, allowed[other].Capability().Identifier)
			}
		}
	}
}

// scopedPlugins refuse everything outside their scope.
var scopedPlugins = map[string]string{
	"fs":   `{"path": "$APPDATA/**"}`,
	"http": `{"url": "https://api.example.com/*"}`,
}

// missingScopes reports plugins that can do nothing because no scope is given anywhere.
func (l *linter) missingScopes(capabilities []Capability) {
	hasScope := make(map[string]bool)
	first := make(map[string]*Entry)
	for i := range capabilities {
		for k := range capabilities[i].Permissions {
			e := &capabilities[i].Permissions[k]
			plugin, _ := splitIdentifier(e.Identifier)
			if scopedPlugins[plugin] == "" {
				continue
			}
			x := l.expand(e.Identifier)
			if l.manifests.Get(plugin) == nil || len(e.Allow) > 0 || slices.ContainsFunc(x.permissions, func(p expanded) bool { return len(p.permission.ScopeAllow) > 0 }) {
				hasScope[plugin] = true
			}
			if first[plugin] == nil && slices.ContainsFunc(x.permissions, func(p expanded) bool { return len(p.allow) > 0 }) {
				first[plugin] = e
			}
		}
	}
	for _, plugin := range []string{"fs", "http"} {
		if e := first[plugin]; e != nil && !hasScope[plugin] {
			l.report(CodeMissingScope, e.identifierValue(), "The plugin %s works only within a scope, and none is given, so it refuses all calls; write {\"identifier\": %q, \"allow\": [%s]}.", plugin, e.Identifier, scopedPlugins[plugin])
		}
	}
}
