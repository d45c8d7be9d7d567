package capdiff

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"lessonkit.example/capability"
)

// differ collects the differences between the two sides of each platform.
type differ struct {
	comparer
	labels map[audience]bool // those before, of any origin
	looked int               // how many of them new ones were compared with
	found  []*Change         // each of one command, one audience and one platform
}

func (d *differ) note(c Change, platform capability.Platform) {
	c.Audience.Platforms = []capability.Platform{platform}
	d.found = append(d.found, &c)
}

func (d *differ) compare(old, now *capability.Policy, platform capability.Platform) {
	before, after := grantsOf(old), grantsOf(now)
	was, comparable := d.access(before)
	is, alsoComparable := d.access(after)
	if old.TooLarge() || now.TooLarge() || !comparable || !alsoComparable {
		d.note(Change{Kind: Incomparable}, platform)
		return
	}
	isTold := d.compareApp(old, now, platform)
	d.labels = make(map[audience]bool)
	for _, audiences := range was {
		for a := range audiences {
			d.labels[audience{webview: a.webview, label: a.label}] = true
		}
	}
	for s := range union(was, is) {
		if s.command.Plugin() == "" && s.unknown == "" {
			maps.DeleteFunc(was[s], isTold)
			maps.DeleteFunc(is[s], isTold)
		}
		if !maps.EqualFunc(was[s], is[s], scope.equal) {
			d.compareSubject(s, was[s], is[s], after[s], platform)
		}
	}
	d.compareGlobal(old, now, is, platform)
}

// compareApp compares whether the application's own commands are subject to capabilities. The
// function that it returns reports whether an audience can call all of them on one of the sides.
func (d *differ) compareApp(old, now *capability.Policy, platform capability.Platform) func(audience, scope) bool {
	remote, _ := capability.ParseOrigin("https://example.com/")
	openedRemote := !old.AppOpen(remote) && now.AppOpen(remote)
	switch {
	case old.AppChecked() && !now.AppChecked():
		origins := []string{"local"}
		if openedRemote {
			origins = append(origins, "*")
		}
		d.note(Change{Kind: AppUnchecked, Audience: Audience{Origins: origins}}, platform)
	case !old.AppChecked() && now.AppChecked():
		d.note(Change{Kind: AppChecked}, platform)
	case openedRemote:
		d.note(Change{Kind: AppUnchecked, Audience: Audience{Origins: []string{"*"}}}, platform)
	case old.AppOpen(remote) && !now.AppOpen(remote):
		d.note(Change{Kind: AppChecked, Audience: Audience{Origins: []string{"*"}}}, platform)
	}
	return func(a audience, _ scope) bool {
		var page capability.Origin
		if a.remote {
			page = remote
		}
		return old.AppOpen(page) || now.AppOpen(page)
	}
}

// compareGlobal compares the scopes of whole plugins. One that is gone together with the plugin's
// commands allows nothing.
func (d *differ) compareGlobal(old, now *capability.Policy, is access, platform capability.Platform) {
	before, after := old.GlobalScopes(), now.GlobalScopes()
	granted, ofAny := make(map[string]bool), false
	for s := range is {
		plugin, name := capability.SplitIdentifier(s.unknown)
		granted[cmp.Or(s.command.Plugin(), plugin)] = true
		// A set of the application may contain permissions of any plugin.
		ofAny = ofAny || s.unknown != "" && plugin == capability.AppManifest &&
			!strings.HasPrefix(name, "allow-") && !strings.HasPrefix(name, "deny-")
	}
	for plugin := range union(before, after) {
		a, b := newScope(), newScope()
		a.add(before[plugin])
		b.add(after[plugin])
		if c := (Change{Kind: ScopeChanged, Plugin: plugin}); c.setScopes(a, b) {
			c.NoAllowList = c.NoAllowList && (ofAny || granted[plugin])
			d.note(c, platform)
		}
	}
}

// compareSubject compares what each audience is granted on both sides.
func (d *differ) compareSubject(s subject, was, is map[audience]scope, grants []capability.Grant,
	platform capability.Platform) {
	for _, audiences := range []map[audience]scope{was, is} {
		for a := range audiences {
			before, granted := d.at(was, a)
			after, still := d.at(is, a)
			c := Change{Commands: []string{s.String()}, Audience: a.described()}
			if s.unknown != "" {
				c.Commands, c.Unknown = nil, c.Commands
			}
			others := was
			switch {
			case still != granted && still != s.denies():
				c.Kind = CommandsGranted
				c.AllowAdded, c.DenyAdded = without(after.allow, nil), without(after.deny, nil)
				c.NewWindows = still && d.isNew(a)
			case still != granted:
				c.Kind, others = CommandsRevoked, is
			case !c.setScopes(before, after):
				continue
			}
			if c.Approximate = d.approximate(a, others); still {
				c.Grants = d.sources(grants, a)
			}
			d.note(c, platform)
		}
	}
}

// isNew reports whether the windows of an audience could call nothing before.
func (d *differ) isNew(a audience) bool {
	label := audience{webview: a.webview, label: a.label}
	if d.labels[label] {
		return false
	}
	if d.looked += len(d.labels); d.looked > maxCompared {
		return false
	}
	for known := range d.labels {
		if d.contains(known, label) || d.contains(label, known) {
			return false
		}
	}
	return true
}

func (a audience) described() (described Audience) {
	described.Origins = []string{"local"}
	if a.remote {
		described.Origins = []string{cmp.Or(a.url, "*")} // the empty pattern matches every URL
	}
	if a.webview {
		described.Webviews = []string{a.label}
	} else {
		described.Windows = []string{a.label}
	}
	return described
}

// setScopes notes the differences between two scopes and reports whether there are any.
func (c *Change) setScopes(was, is scope) bool {
	c.Kind = ScopeChanged
	c.AllowAdded, c.AllowRemoved = without(is.allow, was.allow), without(was.allow, is.allow)
	c.DenyAdded, c.DenyRemoved = without(is.deny, was.deny), without(was.deny, is.deny)
	c.NoAllowList = len(is.allow) == 0 && len(was.allow) > 0
	return len(c.AllowAdded)+len(c.AllowRemoved)+len(c.DenyAdded)+len(c.DenyRemoved) > 0
}

// without returns the values that are not among others, in order.
func without(values, others map[string]string) (left []string) {
	for key, text := range values {
		if _, ok := others[key]; !ok {
			left = append(left, text)
		}
	}
	slices.Sort(left)
	return left
}

// union returns the keys of two maps.
func union[K comparable, V any](a, b map[K]V) map[K]bool {
	keys := make(map[K]bool)
	for _, m := range []map[K]V{a, b} {
		for k := range m {
			keys[k] = true
		}
	}
	return keys
}

// joined puts changes into one that differ in one thing only: first the platforms, then the
// commands, windows, webviews and origins.
func joined(found []*Change, platforms int) []Change {
	found = join(found, func(c *Change) *[]capability.Platform { return &c.Audience.Platforms })
	for _, c := range found {
		if len(c.Audience.Platforms) == platforms {
			c.Audience.Platforms = nil
		}
	}
	found = join(found, func(c *Change) *[]string { return &c.Commands })
	found = join(found, func(c *Change) *[]string { return &c.Unknown })
	found = join(found, func(c *Change) *[]string { return &c.Audience.Windows })
	found = join(found, func(c *Change) *[]string { return &c.Audience.Webviews })
	found = join(found, func(c *Change) *[]string { return &c.Audience.Origins })
	order := []ChangeKind{Incomparable, AppUnchecked, CommandsGranted, ScopeChanged, CommandsRevoked, AppChecked}
	slices.SortFunc(found, func(a, b *Change) int {
		return cmp.Or(cmp.Compare(slices.Index(order, a.Kind), slices.Index(order, b.Kind)),
			strings.Compare(a.text(), b.text()))
	})
	changes := make([]Change, len(found))
	for i, c := range found {
		changes[i] = *c
	}
	return changes
}

// text returns the same text for equal changes only.
func (c *Change) text() string {
	text, err := json.Marshal(c)
	if err != nil {
		panic(err) // a change consists of texts
	}
	return string(text)
}

// join joins the changes that differ in one list only, and in where they are granted. It changes
// the slice that it is given.
func join[T cmp.Ordered](changes []*Change, list func(*Change) *[]T) []*Change {
	kept := changes[:0]
	first := make(map[string]*Change)
	for _, c := range changes {
		values, grants := *list(c), c.Grants
		*list(c), c.Grants = nil, nil
		key := fmt.Sprint(len(values) > 0, c.text())
		into, ok := first[key]
		if !ok {
			into, first[key] = c, c
			kept = append(kept, c)
		}
		*list(into) = append(*list(into), values...)
		into.Grants = append(into.Grants, grants...)
	}
	for _, c := range kept {
		all := list(c)
		slices.Sort(*all)
		*all = slices.Compact(*all)
		slices.SortFunc(c.Grants, func(a, b Grant) int {
			return cmp.Or(strings.Compare(a.File, b.File), a.Line-b.Line, a.Column-b.Column,
				strings.Compare(a.Permission, b.Permission), strings.Compare(a.Capability, b.Capability))
		})
		c.Grants = slices.Compact(c.Grants)
	}
	return kept
}
