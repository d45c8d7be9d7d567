package capability

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// Change is a difference between two sets of capabilities: commands that an
// audience may call, or may no longer call, or with another scope.
type Change struct {
	Kind     ChangeKind `json:"kind"`
	Audience Audience   `json:"audience"`
	Commands []string   `json:"commands,omitempty"`
	// Plugin is set where the scope for a whole plugin changed; it holds for
	// every audience.
	Plugin string `json:"plugin,omitempty"`
	// The scope values that came and went, as JSON.
	AllowAdded   []string `json:"allowAdded,omitempty"`
	AllowRemoved []string `json:"allowRemoved,omitempty"`
	DenyAdded    []string `json:"denyAdded,omitempty"`
	DenyRemoved  []string `json:"denyRemoved,omitempty"`
}

// ChangeKind is the kind of a [Change].
type ChangeKind string

// The kinds. AppUnchecked means that the application's own commands are no
// longer subject to capabilities, AppChecked that they became so, and
// Incomparable that there are too many labels and URLs to compare.
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
	// Windows and Webviews are the labels, or patterns of them. Anyone else is
	// written as "*".
	Windows  []string `json:"windows,omitempty"`
	Webviews []string `json:"webviews,omitempty"`
	// Origins are "local" or URL patterns.
	Origins []string `json:"origins,omitempty"`
	// Platforms is empty for all platforms.
	Platforms []Platform `json:"platforms,omitempty"`
}

// Widens reports whether the change gives more than there was before: what a
// review should look at.
func (c Change) Widens() bool {
	return c.Kind == CommandsGranted || c.Kind == AppUnchecked || c.Kind == Incomparable || len(c.AllowAdded) > 0 || len(c.DenyRemoved) > 0 ||
		// Without an allow list many plugins allow everything.
		c.Kind == ScopeChanged && len(c.AllowRemoved) > 0
}

// Diff compares what two sets of capabilities grant, not how they are written:
// "*" in place of a label grants to more windows and revokes nothing. It
// compares for each platform, and for all labels and URLs that the patterns of
// the two sides tell apart: what is found is all there is. Only URL patterns of
// more than plain hosts, ports, paths and stars are compared by samples. The
// manifests are those of the old and the new side.
func Diff(before, after []Capability, beforeManifests, afterManifests *Manifests, o ResolveOptions) []Change {
	platforms := Platforms()
	if o.Platform != "" {
		platforms = []Platform{o.Platform}
	}
	d := &differ{cells: make(map[cell][]Platform)}
	for _, platform := range platforms {
		o.Platform = platform
		old, _ := Resolve(before, beforeManifests, o)
		now, _ := Resolve(after, afterManifests, o)
		d.compare(old, now, platform)
	}
	return d.changes(len(platforms))
}

// cell is one difference on one platform. All parts are text so that equal
// differences of several platforms fall together.
type cell struct {
	kind                    ChangeKind
	command, plugin         string
	window, webview, origin string
	allowMore, allowLess    string
	denyMore, denyLess      string
}

type differ struct{ cells map[cell][]Platform }

func (d *differ) note(c cell, p Platform) { d.cells[c] = append(d.cells[c], p) }

func (d *differ) compare(old, now *Policy, platform Platform) {
	if old.withdrawn || now.withdrawn {
		d.note(cell{kind: Incomparable}, platform)
		return
	}
	if old.appChecked != now.appChecked {
		kind := AppUnchecked
		if now.appChecked {
			kind = AppChecked
		}
		d.note(cell{kind: kind}, platform)
	}
	commands := slices.Concat(old.Commands(), now.Commands())
	slices.Sort(commands)
	commands = slices.DeleteFunc(slices.Compact(commands), func(command string) bool {
		return sameAccess(old, now, command) || old.appChecked != now.appChecked && !strings.HasPrefix(command, "plugin:")
	})
	a, ok := audienceOf(slices.Concat(old.about(commands), now.about(commands)))
	if !ok || len(a.probes)*len(commands) > mostCompared {
		d.note(cell{kind: Incomparable}, platform)
		return
	}
	for _, p := range a.probes {
		for _, command := range commands {
			was, is := old.matching(command, p), now.matching(command, p)
			c := cell{command: command}
			switch {
			case len(was) == 0 && len(is) > 0:
				c.kind = CommandsGranted
			case len(was) > 0 && len(is) == 0:
				c.kind = CommandsRevoked
			case len(was) == 0 || !c.scopes(old.merged(was), now.merged(is)):
				continue
			}
			if c.name(a, p, slices.Concat(was, is)) {
				d.note(c, platform)
			}
		}
	}
	for _, plugin := range slices.Sorted(maps.Keys(mergeKeys(old.global, now.global))) {
		var a, b Scope
		if s := old.global[plugin]; s != nil {
			a = *s
		}
		if s := now.global[plugin]; s != nil {
			b = *s
		}
		if c := (cell{plugin: plugin}); c.scopes(a, b) {
			d.note(c, platform)
		}
	}
}

// mostCompared keeps a hostile file from making a comparison endless.
const mostCompared = 20_000_000

// sameAccess reports whether two policies say the same about a command in the
// same words, which spares most commands a closer look.
func sameAccess(old, now *Policy, command string) bool {
	a, b := old.commands[command], now.commands[command]
	same := func(g, h Grant) bool {
		return slices.Equal(g.source.capability.Windows, h.source.capability.Windows) && slices.Equal(g.source.capability.Webviews, h.source.capability.Webviews) &&
			(g.remote == nil) == (h.remote == nil) && (g.remote == nil || g.remote.text == h.remote.text) &&
			old.Scope(g.Scope()).equal(now.Scope(h.Scope()))
	}
	return a != nil && b != nil && slices.EqualFunc(a.allowed, b.allowed, same) && slices.EqualFunc(a.denied, b.denied, same)
}

func (s Scope) equal(t Scope) bool {
	return slices.EqualFunc(s.Allow, t.Allow, Value.Equal) && slices.EqualFunc(s.Deny, t.Deny, Value.Equal)
}

func mergeKeys(a, b map[string]*Scope) map[string]bool {
	keys := make(map[string]bool)
	for k := range a {
		keys[k] = true
	}
	for k := range b {
		keys[k] = true
	}
	return keys
}

// about returns all that is said about commands.
func (p *Policy) about(commands []string) []Grant {
	var grants []Grant
	for _, command := range commands {
		if a := p.commands[command]; a != nil {
			grants = append(append(grants, a.allowed...), a.denied...)
		}
	}
	return grants
}

// name says who a difference concerns, by the narrowest patterns of the grants
// that make it. It returns false where none of them is about the label in
// question: then another probe tells of it.
func (c *cell) name(a *audience, p probe, grants []Grant) bool {
	narrowest := func(name *string, pattern string, count map[string]int) {
		if *name == "" || count[pattern] < count[*name] || count[pattern] == count[*name] && pattern < *name {
			*name = pattern
		}
	}
	c.origin = "local"
	if p.pattern != "" || !p.caller.Origin.IsLocal() {
		c.origin = ""
	}
	for _, g := range grants {
		if g.remote != nil {
			narrowest(&c.origin, g.remote.text, a.urls)
		}
		for i := range g.source.windows {
			if w := &g.source.windows[i]; !p.byWebview && w.Match(p.caller.Window) {
				narrowest(&c.window, w.text, a.windows)
			}
		}
		for i := range g.source.webviews {
			if w := &g.source.webviews[i]; p.byWebview && w.Match(p.caller.Webview) {
				narrowest(&c.webview, w.text, a.webviews)
			}
		}
	}
	return c.window != "" || c.webview != ""
}

// matching returns the grants that let a probe call a command.
func (p *Policy) matching(command string, pr probe) []Grant {
	a := p.commands[command]
	if a == nil || len(a.denied) > 0 && (!p.denyByOrigin || slices.ContainsFunc(a.denied, pr.isFrom)) {
		return nil
	}
	var grants []Grant
	for _, g := range a.allowed {
		if pr.isFrom(g) && g.labelMatches(pr.caller.Window, pr.caller.Webview) {
			grants = append(grants, g)
		}
	}
	return grants
}

// isFrom reports whether a grant is for the probe's origin.
func (pr probe) isFrom(g Grant) bool {
	if pr.pattern != "" {
		return g.remote != nil && g.remote.text == pr.pattern
	}
	return g.originMatches(&pr.caller.Origin)
}

// merged returns the scopes of grants as the reference hands them to a
// command: all allowed values and all denied ones.
func (p *Policy) merged(grants []Grant) Scope {
	var s Scope
	for _, g := range grants {
		own := p.Scope(g.Scope())
		s.Allow = append(s.Allow, own.Allow...)
		s.Deny = append(s.Deny, own.Deny...)
	}
	return s
}

// scopes notes the differences between two scopes and reports whether there are any.
func (c *cell) scopes(was, is Scope) bool {
	c.kind = ScopeChanged
	c.allowMore, c.allowLess = valuesDiff(was.Allow, is.Allow)
	c.denyMore, c.denyLess = valuesDiff(was.Deny, is.Deny)
	return c.allowMore+c.allowLess+c.denyMore+c.denyLess != ""
}

// valuesDiff returns what came and what went, one JSON text a line.
func valuesDiff(was, is []Value) (more, less string) {
	index := func(values []Value) map[string]string {
		m := make(map[string]string)
		for _, v := range values {
			m[string(v.appendCanonical(nil))] = string(v.appendJSON(nil))
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
		key := strings.Join([]string{string(c.kind), c.plugin, c.window, c.webview, c.origin, c.allowMore, c.allowLess, c.denyMore, c.denyLess, platformList(on)}, "\x00")
		change := merged[key]
		if change == nil {
			change = &Change{Kind: c.kind, Plugin: c.plugin, AllowAdded: splitLines(c.allowMore), AllowRemoved: splitLines(c.allowLess), DenyAdded: splitLines(c.denyMore), DenyRemoved: splitLines(c.denyLess)}
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

// joinAudiences joins changes that are the same for several windows, webviews
// or origins.
func joinAudiences(list []Change) []Change {
	for pass := range 3 {
		var joined []Change
		at := make(map[string]int)
		for _, c := range list {
			a := c.Audience
			parts := []string{strings.Join(a.Windows, "\x01"), strings.Join(a.Webviews, "\x01"), strings.Join(a.Origins, "\x01")}
			if parts[pass] == "" {
				joined = append(joined, c)
				continue
			}
			parts[pass] = "\x02"
			key := strings.Join(slices.Concat(parts, []string{string(c.Kind), c.Plugin, platformList(a.Platforms)}, c.Commands,
				c.AllowAdded, []string{"\x03"}, c.AllowRemoved, []string{"\x03"}, c.DenyAdded, []string{"\x03"}, c.DenyRemoved), "\x00")
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
