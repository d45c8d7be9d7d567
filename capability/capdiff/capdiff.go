// Package capdiff compares what two sets of capabilities grant.
package capdiff

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"strings"

	"lessonkit.example/capability"
	"lessonkit.example/capability/internal/pattern"
	"lessonkit.example/capability/internal/words"
)

// Change is a difference between two sets of capabilities: commands that an audience may call, or
// may no longer call, or with another scope.
type Change struct {
	Kind     ChangeKind `json:"kind"`
	Audience Audience   `json:"audience"`
	Commands []string   `json:"commands,omitempty"`
	// SameAs is a window that could call the same before and still can, "" if there is none. It is
	// set for windows that could call nothing before.
	SameAs string `json:"sameAs,omitempty"`
	// Plugin is set if the scope of a whole plugin changed, which applies to every audience.
	Plugin string `json:"plugin,omitempty"`
	// The scope values that came and went, as JSON.
	AllowAdded   []string `json:"allowAdded,omitempty"`
	AllowRemoved []string `json:"allowRemoved,omitempty"`
	DenyAdded    []string `json:"denyAdded,omitempty"`
	DenyRemoved  []string `json:"denyRemoved,omitempty"`
}

// ChangeKind is the kind of a [Change].
type ChangeKind string

// The kinds. AppUnchecked means that the application's own commands are no longer subject to
// capabilities, AppChecked that they became so, and Incomparable that there are too many labels and
// URLs to compare.
const (
	CommandsGranted ChangeKind = "granted"
	CommandsRevoked ChangeKind = "revoked"
	ScopeChanged    ChangeKind = "scope"
	AppUnchecked    ChangeKind = "app-unchecked"
	AppChecked      ChangeKind = "app-checked"
	Incomparable    ChangeKind = "incomparable"
)

// Audience is who a change concerns.
type Audience struct {
	// Windows and Webviews are the labels, or patterns of them. Anyone else is written as "*".
	Windows  []string `json:"windows,omitempty"`
	Webviews []string `json:"webviews,omitempty"`
	// Origins are "local" or URL patterns.
	Origins []string `json:"origins,omitempty"`
	// Platforms is empty for all platforms.
	Platforms []capability.Platform `json:"platforms,omitempty"`
}

// Widens reports whether the change may give more than there was before: what a review should look
// at. Scope values are not compared by what they match, as each plugin gives them its own meaning:
// "$HOME/notes/*" in place of "$HOME/**" widens too.
func (c Change) Widens() bool {
	return c.Kind == CommandsGranted || c.Kind == AppUnchecked || c.Kind == Incomparable || len(c.AllowAdded) > 0 ||
		len(c.DenyRemoved) > 0 ||
		// Without an allow list many plugins allow everything.
		c.Kind == ScopeChanged && len(c.AllowRemoved) > 0
}

// Side is one side of a comparison.
type Side struct {
	Capabilities []capability.Capability
	Manifests    *capability.Manifests
}

// Compare returns the differences between what two sets of capabilities grant, not between their
// texts: "*" in place of a label grants to more windows and revokes nothing. It compares for each
// platform, or for the one in the options, and for all labels and URLs that the patterns of the two
// sides distinguish, so the result is complete. Only URL patterns of more than plain hosts, ports,
// paths and stars are compared by samples.
func Compare(before, after Side, o capability.ResolveOptions) []Change {
	return compare(o, func(capability.Platform) (_, _ Side) { return before, after })
}

// CompareApps returns the differences between what two applications grant, as [Compare] does. On
// each platform it compares the capabilities that the configuration for that platform activates.
// The applications determine the options Partial, and Version unless that is set. If only one of
// them has complete manifests, both are resolved with those.
func CompareApps(before, after *capability.App, o capability.ResolveOptions) []Change {
	old, now := before.Manifests, after.Manifests
	if !old.Whole() && now.Whole() {
		old = now
	} else if old.Whole() && !now.Whole() {
		now = old
	}
	o.Partial = !now.Whole()
	if o.Version == (capability.Version{}) {
		o.Version = after.Version
	}
	return compare(o, func(platform capability.Platform) (_, _ Side) {
		a, _ := before.Capabilities(platform)
		b, _ := after.Capabilities(platform)
		return Side{a, old}, Side{b, now}
	})
}

// compare compares the two sides of each platform.
func compare(o capability.ResolveOptions, sidesOn func(capability.Platform) (before, after Side)) []Change {
	platforms := capability.Platforms()
	if o.Platform != "" {
		platforms = []capability.Platform{o.Platform}
	}
	d := &differ{cells: make(map[cell][]capability.Platform)}
	c := compiler{labels: make(map[*capability.Capability]*labels), urls: make(map[string]*pattern.URL)}
	var known []capability.Capability
	for _, platform := range platforms {
		o.Platform = platform
		before, after := sidesOn(platform)
		known = append(known, before.Capabilities...)
		old, _ := capability.Resolve(before.Capabilities, before.Manifests, o)
		now, _ := capability.Resolve(after.Capabilities, after.Manifests, o)
		d.compare(c.policy(old, o.DenyByOrigin), c.policy(now, o.DenyByOrigin), platform)
	}
	changes := d.changes(len(platforms))
	nameEquals(changes, d.sides, labelsOf(known))
	return changes
}

// cell is one difference on one platform. All parts are text so that equal differences of several
// platforms fall together.
type cell struct {
	kind                    ChangeKind
	command, plugin         string
	window, webview, origin string
	allowMore, allowLess    string
	denyMore, denyLess      string
}

type differ struct {
	sides []sides // those that were compared
	cells map[cell][]capability.Platform
}

func (d *differ) note(c cell, p capability.Platform) { d.cells[c] = append(d.cells[c], p) }

func (d *differ) compare(old, now *policy, platform capability.Platform) {
	if old.TooLarge() || now.TooLarge() {
		d.note(cell{kind: Incomparable}, platform)
		return
	}
	if old.AppChecked() != now.AppChecked() {
		kind := AppUnchecked
		if now.AppChecked() {
			kind = AppChecked
		}
		d.note(cell{kind: kind}, platform)
	}
	commands := slices.Concat(old.Commands(), now.Commands())
	slices.Sort(commands)
	commands = slices.DeleteFunc(slices.Compact(commands), func(command string) bool {
		return sameAccess(old, now, command) || old.AppChecked() != now.AppChecked() &&
			!strings.HasPrefix(command, "plugin:")
	})
	who, ok := callersOf(commands, old, now)
	if !ok || len(who.list)*(old.effort(commands)+now.effort(commands)) > mostCompared {
		d.note(cell{kind: Incomparable}, platform)
		return
	}
	d.sides = append(d.sides, sides{old, now})
	for _, one := range who.list {
		for _, command := range commands {
			was, is := old.matching(command, one), now.matching(command, one)
			c := cell{command: command}
			switch {
			case len(was) == 0 && len(is) > 0:
				c.kind = CommandsGranted
			case len(was) > 0 && len(is) == 0:
				c.kind = CommandsRevoked
			case len(was) == 0 || !c.scopes(merged(was), merged(is)):
				continue
			}
			if c.describe(who, one, slices.Concat(was, is)) {
				d.note(c, platform)
			}
		}
	}
	before, after := old.GlobalScopes(), now.GlobalScopes()
	plugins := make(map[string]bool)
	for _, scopes := range []map[string]capability.Scope{before, after} {
		for plugin := range scopes {
			plugins[plugin] = true
		}
	}
	for plugin := range plugins {
		if c := (cell{plugin: plugin}); c.scopes(before[plugin], after[plugin]) {
			d.note(c, platform)
		}
	}
}

// mostCompared keeps a hostile file from making a comparison endless: the number of callers times
// the effort for one.
const mostCompared = 20_000_000

// effort returns what it takes to find out what one caller may call: the number of grants, and more
// for each value of a scope.
func (p *policy) effort(commands []string) int {
	effort := len(commands)
	for g := range p.about(commands) {
		effort += 1 + 8*(len(g.scope.Allow)+len(g.scope.Deny))
	}
	return effort
}

// about yields all grants and denials of commands.
func (p *policy) about(commands []string) iter.Seq[*grant] {
	return func(yield func(*grant) bool) {
		for _, command := range commands {
			a := p.commands[command]
			for _, grants := range [][]grant{a.allowed, a.denied} {
				for i := range grants {
					if !yield(&grants[i]) {
						return
					}
				}
			}
		}
	}
}

// describe sets the audience of a difference, by the narrowest patterns of the grants that make it.
// It returns false if none of them is for the label in question: another caller shows it then.
func (c *cell) describe(who *callers, one caller, grants []grant) bool {
	narrowest := func(name *string, pattern string, count map[string]int) {
		if *name == "" || count[pattern] < count[*name] || count[pattern] == count[*name] && pattern < *name {
			*name = pattern
		}
	}
	if one.pattern == "" && one.address.Text == "" {
		c.origin = "local"
	}
	for _, g := range grants {
		if g.remote != nil {
			narrowest(&c.origin, g.remote.String(), who.urls)
		}
		for i := range g.windows {
			if w := &g.windows[i]; !one.byWebview && w.Match(one.window) {
				narrowest(&c.window, w.String(), who.windows)
			}
		}
		for i := range g.webviews {
			if w := &g.webviews[i]; one.byWebview && w.Match(one.webview) {
				narrowest(&c.webview, w.String(), who.webviews)
			}
		}
	}
	c.origin = cmp.Or(c.origin, "*") // the empty pattern matches every URL
	return c.window != "" || c.webview != ""
}

// scopes notes the differences between two scopes and reports whether there are any.
func (c *cell) scopes(was, is capability.Scope) bool {
	c.kind = ScopeChanged
	c.allowMore, c.allowLess = valuesDiff(was.Allow, is.Allow)
	c.denyMore, c.denyLess = valuesDiff(was.Deny, is.Deny)
	return c.allowMore+c.allowLess+c.denyMore+c.denyLess != ""
}

// valuesDiff returns what came and what went, one JSON text a line.
func valuesDiff(was, is []capability.Value) (more, less string) {
	index := func(values []capability.Value) map[string]string {
		m := make(map[string]string)
		for _, v := range values {
			text, _ := v.MarshalJSON()
			m[v.Canonical()] = string(text)
		}
		return m
	}
	a, b := index(was), index(is)
	only := func(in, out map[string]string) string {
		var lines []string
		for key, text := range in {
			if _, ok := out[key]; !ok {
				lines = append(lines, text)
			}
		}
		slices.Sort(lines)
		return strings.Join(lines, "\n")
	}
	return only(b, a), only(a, b)
}

// changes puts cells that differ in one thing only into one change.
func (d *differ) changes(platforms int) []Change {
	merged := make(map[string]*Change)
	for c, on := range d.cells {
		slices.Sort(on)
		on = slices.Compact(on)
		key := strings.Join([]string{string(c.kind), c.plugin, c.window, c.webview, c.origin, c.allowMore, c.allowLess,
			c.denyMore, c.denyLess, words.Join(on)}, "\x00")
		change := merged[key]
		if change == nil {
			change = &Change{Kind: c.kind, Plugin: c.plugin, AllowAdded: splitLines(c.allowMore),
				AllowRemoved: splitLines(c.allowLess), DenyAdded: splitLines(c.denyMore),
				DenyRemoved: splitLines(c.denyLess)}
			change.Audience = Audience{Windows: oneOf(c.window), Webviews: oneOf(c.webview), Origins: oneOf(c.origin)}
			if len(on) < platforms {
				change.Audience.Platforms = on
			}
			merged[key] = change
		}
		if c.command != "" {
			change.Commands = append(change.Commands, c.command)
		}
	}
	list := make([]Change, 0, len(merged))
	for _, key := range slices.Sorted(maps.Keys(merged)) {
		slices.Sort(merged[key].Commands)
		list = append(list, *merged[key])
	}
	return joinAudiences(list)
}

func splitLines(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, "\n")
}

func oneOf(s string) []string {
	if s == "" {
		return nil
	}
	return []string{s}
}

// joinAudiences joins changes that are the same for several windows, webviews or origins.
func joinAudiences(list []Change) []Change {
	for pass := range 3 {
		var joined []Change
		at := make(map[string]int)
		for _, c := range list {
			a := c.Audience
			parts := []string{strings.Join(a.Windows, "\x01"), strings.Join(a.Webviews, "\x01"),
				strings.Join(a.Origins, "\x01")}
			if parts[pass] == "" {
				joined = append(joined, c)
				continue
			}
			parts[pass] = "\x02"
			key := strings.Join(slices.Concat(parts, []string{string(c.Kind), c.Plugin, words.Join(a.Platforms)},
				c.Commands,
				c.AllowAdded, []string{"\x03"}, c.AllowRemoved, []string{"\x03"}, c.DenyAdded, []string{"\x03"},
				c.DenyRemoved), "\x00")
			if i, ok := at[key]; ok {
				b := &joined[i].Audience
				switch pass {
				case 0:
					b.Windows = append(slices.Clone(b.Windows), a.Windows...)
				case 1:
					b.Webviews = append(slices.Clone(b.Webviews), a.Webviews...)
				case 2:
					b.Origins = append(slices.Clone(b.Origins), a.Origins...)
				}
				continue
			}
			at[key] = len(joined)
			joined = append(joined, c)
		}
		list = joined
	}
	order := []ChangeKind{Incomparable, AppUnchecked, CommandsGranted, ScopeChanged, CommandsRevoked, AppChecked}
	slices.SortStableFunc(list, func(a, b Change) int {
		return cmp.Compare(slices.Index(order, a.Kind), slices.Index(order, b.Kind))
	})
	return list
}
