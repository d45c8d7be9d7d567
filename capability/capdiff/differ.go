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

// difference is one on one platform: a change with one command and one audience.
type difference struct {
	Change
	platform capability.Platform
}

// differ collects the differences between the two sides of each platform.
type differ struct {
	comparer
	sides []struct{ old, now access }
	found []difference
}

func (d *differ) note(c Change, platform capability.Platform) {
	d.found = append(d.found, difference{c, platform})
}

func (d *differ) compare(old, now *capability.Policy, platform capability.Platform) {
	was, comparable := d.access(old)
	is, alsoComparable := d.access(now)
	if old.TooLarge() || now.TooLarge() || !comparable || !alsoComparable {
		d.note(Change{Kind: Incomparable}, platform)
		return
	}
	appDiffers := old.AppChecked() != now.AppChecked()
	if appDiffers && now.AppChecked() {
		d.note(Change{Kind: AppChecked}, platform)
	} else if appDiffers {
		d.note(Change{Kind: AppUnchecked}, platform)
	}
	d.sides = append(d.sides, struct{ old, now access }{was, is})
	for command := range union(was, is) {
		if !maps.EqualFunc(was[command], is[command], scope.equal) &&
			(!appDiffers || command.Plugin() != "") {
			d.compareCommand(command, was[command], is[command], platform)
		}
	}
	before, after := old.GlobalScopes(), now.GlobalScopes()
	for plugin := range union(before, after) {
		a, b := newScope(), newScope()
		a.add(before[plugin])
		b.add(after[plugin])
		if c := (Change{Kind: ScopeChanged, Plugin: plugin}); c.setScopes(a, b) {
			d.note(c, platform)
		}
	}
}

// compareCommand compares what each audience of a command is granted on both sides.
func (d *differ) compareCommand(command capability.Command, was, is map[audience]scope, platform capability.Platform) {
	for _, audiences := range []map[audience]scope{was, is} {
		for a := range audiences {
			before, granted := d.at(was, a)
			after, still := d.at(is, a)
			c := Change{Commands: []string{command.String()}}
			others := was
			switch {
			case still && !granted:
				c.Kind = CommandsGranted
			case granted && !still:
				c.Kind, others = CommandsRevoked, is
			case !c.setScopes(before, after):
				continue
			}
			c.Approximate = d.approximate(a, others)
			c.Audience = a.described()
			d.note(c, platform)
		}
	}
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
	for k := range a {
		keys[k] = true
	}
	for k := range b {
		keys[k] = true
	}
	return keys
}

// joined puts differences into one change that differ in one thing only: first the platforms, then
// the commands, windows, webviews and origins.
func joined(found []difference, platforms int) []Change {
	var changes []Change
	for _, f := range found {
		f.Audience.Platforms = []capability.Platform{f.platform}
		changes = append(changes, f.Change)
	}
	join(&changes, func(c *Change) *[]capability.Platform { return &c.Audience.Platforms })
	for i := range changes {
		if len(changes[i].Audience.Platforms) == platforms {
			changes[i].Audience.Platforms = nil
		}
	}
	join(&changes, func(c *Change) *[]string { return &c.Commands })
	join(&changes, func(c *Change) *[]string { return &c.Audience.Windows })
	join(&changes, func(c *Change) *[]string { return &c.Audience.Webviews })
	join(&changes, func(c *Change) *[]string { return &c.Audience.Origins })
	order := []ChangeKind{Incomparable, AppUnchecked, CommandsGranted, ScopeChanged, CommandsRevoked, AppChecked}
	slices.SortFunc(changes, func(a, b Change) int {
		return cmp.Or(cmp.Compare(slices.Index(order, a.Kind), slices.Index(order, b.Kind)),
			strings.Compare(a.text(), b.text()))
	})
	return changes
}

// text returns the same text for equal changes only.
func (c Change) text() string {
	text, err := json.Marshal(c)
	if err != nil {
		panic(err) // a change consists of texts
	}
	return string(text)
}

// join joins the changes that differ in one list only.
func join[T cmp.Ordered](changes *[]Change, list func(*Change) *[]T) {
	var kept []Change
	at := make(map[string]int)
	for _, c := range *changes {
		values := *list(&c)
		*list(&c) = nil
		key := fmt.Sprint(len(values) > 0, c.text())
		i, ok := at[key]
		if !ok {
			i = len(kept)
			at[key] = i
			kept = append(kept, c)
		}
		*list(&kept[i]) = append(*list(&kept[i]), values...)
	}
	for i := range kept {
		all := list(&kept[i])
		slices.Sort(*all)
		*all = slices.Compact(*all)
	}
	*changes = kept
}
