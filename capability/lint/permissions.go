package lint

import (
	"fmt"
	"slices"

	"lessonkit.example/capability"
	"lessonkit.example/capability/internal/limit"
	"lessonkit.example/capability/internal/words"
)

// entries reports permissions of a capability that get in each other's way. It returns those that
// it proposes to remove.
func (l *linter) entries(c *capability.Capability) (needless map[*capability.Entry]bool) {
	needless = make(map[*capability.Entry]bool)
	bare := make(map[string]*capability.Entry)
	scoped := make(map[string]*capability.Entry)
	for i := range c.Permissions {
		e := &c.Permissions[i]
		if e.Identifier == "" {
			continue
		}
		if e.Allow == nil && e.Deny == nil {
			bare[e.Identifier] = e
		} else if first := scoped[e.Identifier]; first != nil && !first.Value().Equal(e.Value()) {
			l.group("scoped-twice", e.IdentifierValue(), quoted(e.Identifier),
				"%s [has|have] another scope in an entry before, and the scopes add up; write one entry with "+
					"both scopes.").also = []capability.Place{first.Value().Place("the other entry")}
		} else if first == nil {
			scoped[e.Identifier] = e
		}
		l.noEffect(c, e)
		denied := make(map[string]bool)
		for _, v := range e.Deny {
			denied[v.Canonical()] = true
		}
		for _, v := range e.Allow {
			if len(denied) > 0 && denied[v.Canonical()] {
				l.report("allow-and-deny", v,
					"The scope allows and denies the same value %s; a denial takes precedence, so remove one of "+
						"the two.",
					words.Quote(v.String()))
			}
		}
	}
	for i := range c.Permissions {
		e := &c.Permissions[i]
		if other := bare[e.Identifier]; other != nil && scoped[e.Identifier] == e && l.hasCommands(e.Identifier) {
			it := l.group("bare-and-scoped", other.IdentifierValue(), quoted(e.Identifier),
				"%s [has|have] no scope here and one in another entry; the two add up, so the [entry|entries] "+
					"without a scope [adds|add] nothing and can be removed.")
			it.remove = other.Value()
			needless[other] = true
			it.also = []capability.Place{e.Value().Place("the entry with a scope")}
		}
	}
	return needless
}

func (l *linter) expand(identifier string) *expansion {
	x := l.expansions[identifier]
	if x == nil {
		x = &expansion{}
		// Each of many sets can contain all others. Beyond the limit Resolve reports an error.
		if l.expanded < limit.Grants {
			x.permissions, x.complete = l.manifests.Expand(identifier)
			l.expansions[identifier] = x
			l.expanded += len(x.permissions)
		}
		x.ids = make(map[string]bool, len(x.permissions))
		for _, p := range x.permissions {
			x.first = p.Chain[len(p.Chain)-1]
			x.ids[x.first] = true
			x.set = x.set || len(p.Chain) > 1
		}
	}
	return x
}

func (l *linter) hasCommands(identifier string) bool {
	x := l.expand(identifier)
	return len(x.permissions) == 0 ||
		slices.ContainsFunc(x.permissions, func(p capability.Expansion) bool {
			return len(p.Permission.Allow)+len(p.Permission.Deny) > 0
		})
}

// noEffect reports permissions that are for other platforms than their capability.
func (l *linter) noEffect(c *capability.Capability, e *capability.Entry) {
	x := l.expand(e.Identifier)
	if len(x.permissions) == 0 || len(c.Platforms) == 0 {
		return
	}
	for _, p := range x.permissions {
		if p.Permission.Platforms == nil || slices.ContainsFunc(c.Platforms, func(on capability.Platform) bool {
			return slices.Contains(p.Permission.Platforms, on)
		}) {
			return
		}
	}
	l.report("platform-mismatch", e.IdentifierValue(),
		"%q has an effect on %s only, and the capability is for %s; move it to a capability for the right platform.",
		e.Identifier, words.Join(x.permissions[0].Permission.Platforms), words.Join(c.Platforms))
}

// redundant reports bare entries all of which is in a set that is listed too, except those that are
// needless for another reason.
func (l *linter) redundant(c *capability.Capability, needless map[*capability.Entry]bool) {
	type unfolded struct {
		entry *capability.Entry
		*expansion
	}
	var bare, sets []unfolded
	seen := make(map[string]bool)
	for i := range c.Permissions {
		e := &c.Permissions[i]
		if e.Allow != nil || e.Deny != nil || seen[e.Identifier] || needless[e] {
			continue
		}
		seen[e.Identifier] = true
		x := l.expand(e.Identifier)
		if len(x.permissions) == 0 || !x.complete {
			continue
		}
		bare = append(bare, unfolded{e, x})
		if x.set {
			sets = append(sets, unfolded{e, x})
		}
	}
	compared := 0
	for _, small := range bare {
		for _, large := range sets {
			if compared++; compared > limit.Grants {
				return
			}
			if small.entry == large.entry || len(small.ids) > len(large.ids) || !large.ids[small.first] {
				continue
			}
			// Of two that are the same the set is kept, and of two sets the first.
			if len(small.ids) == len(large.ids) && small.set &&
				small.entry.Value().Position().Offset < large.entry.Value().Position().Offset {
				continue
			}
			compared += len(small.ids)
			if containsAll(large.ids, small.ids) {
				l.group("redundant-permission", small.entry.IdentifierValue(),
					fmt.Sprintf("%q is already in %q", small.entry.Identifier, large.entry.Identifier),
					"%s; [it|they] can be removed.").remove = small.entry.Value()
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
func (l *linter) denials(policy *capability.Policy) {
	for _, command := range policy.Denied() {
		denied, allowed := policy.Denials(command), policy.Grants(command)
		needless := len(allowed) == 0 && !slices.ContainsFunc(l.active, func(a together) bool {
			return a.policy.MayAllow(command) || len(a.policy.Grants(command)) > 0
		})
		for _, g := range denied {
			c, e := g.Capability(), g.Entry()
			if len(allowed) == 0 {
				if needless && l.once("dead-deny", e) {
					l.group("dead-deny", e.IdentifierValue(), quoted(e.Identifier),
						"%s [denies|deny] what nothing allows; remove [it|them], unless it is needed later.")
				}
				continue
			}
			// Denying some commands of a set is the way to have the rest of it; only both written
			// out contradict each other.
			if own := slices.IndexFunc(allowed, func(a capability.Grant) bool {
				return a.Capability() == c && len(a.Chain()) == 1
			}); own >= 0 && len(g.Chain()) == 1 {
				if l.once("allow-and-deny", e) {
					l.report("allow-and-deny", e.IdentifierValue(),
						"%q denies %s, which %q of the same capability allows; a denial takes precedence, so remove "+
							"one of the two.",
						e.Identifier, command, allowed[own].Entry().Identifier)
				}
			}
			other := slices.IndexFunc(allowed, func(a capability.Grant) bool { return a.Capability() != c })
			if other >= 0 && l.once("deny-everywhere", e) {
				l.group("deny-everywhere", e.IdentifierValue(), quoted(e.Identifier),
					"%s [denies|deny] in every window and on every page, not only in those of the capability %q: "+
						"also where %q allows it; instead of denying here, allow it only where it is needed.",
					c.Identifier, allowed[other].Capability().Identifier)
			}
		}
	}
}

// scopedPlugins refuse everything outside their scope.
var scopedPlugins = map[string]string{
	"fs":   `{"path": "$APPDATA/**"}`,
	"http": `{"url": "https://api.example.com/*"}`,
}

// missingScopes reports plugins that can do nothing because no scope is given anywhere. Dialogs,
// and files that are dropped on a window, extend the scope of fs at run time: beside permissions of
// dialog it needs none, and without them it may not.
func (l *linter) missingScopes(capabilities []capability.Capability) {
	hasScope := make(map[string]bool)
	first := make(map[string]*capability.Entry)
	for i := range capabilities {
		for k := range capabilities[i].Permissions {
			e := &capabilities[i].Permissions[k]
			plugin, _ := capability.SplitIdentifier(e.Identifier)
			if plugin == "dialog" {
				hasScope["fs"] = true
			}
			if scopedPlugins[plugin] == "" {
				continue
			}
			x := l.expand(e.Identifier)
			if l.manifests.Get(plugin) == nil || len(e.Allow) > 0 ||
				slices.ContainsFunc(x.permissions,
					func(p capability.Expansion) bool { return len(p.Permission.ScopeAllow) > 0 }) {
				hasScope[plugin] = true
			}
			if first[plugin] == nil &&
				slices.ContainsFunc(x.permissions,
					func(p capability.Expansion) bool { return len(p.Permission.Allow) > 0 }) {
				first[plugin] = e
			}
		}
	}
	for _, plugin := range []string{"fs", "http"} {
		e := first[plugin]
		if e == nil || hasScope[plugin] || !l.once("missing-scope", e) {
			continue
		}
		refused := "all calls"
		if plugin == "fs" {
			refused = "all files but those that are dropped on a window"
		}
		d := l.report("missing-scope", e.IdentifierValue(),
			"The plugin %s works only within a scope, and none is given, so it refuses %s; write "+
				"{\"identifier\": %q, \"allow\": [%s]}.", plugin, refused, e.Identifier, scopedPlugins[plugin])
		if plugin == "fs" {
			d.Severity = capability.Info
		}
	}
}
