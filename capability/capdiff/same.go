package capdiff

import (
	"slices"
	"strings"

	"lessonkit.example/capability"
)

// sides are the two policies of a platform.
type sides struct{ old, now *policy }

// mostLabels limits the windows with which a new one is compared.
const mostLabels = 50

// nameEquals sets SameAs of what new windows are granted, if a window that was there before may
// call exactly the same.
func nameEquals(changes []Change, on []sides, labels []string) {
	for i := range changes {
		c := &changes[i]
		if c.Kind != CommandsGranted || len(c.Audience.Windows) == 0 || len(c.Audience.Webviews) > 0 ||
			len(c.Audience.Platforms) > 0 || !slices.Equal(c.Audience.Origins, []string{"local"}) {
			continue
		}
		for _, known := range labels {
			if slices.Contains(c.Audience.Windows, known) {
				continue
			}
			if slices.IndexFunc(c.Audience.Windows, func(window string) bool {
				return !isLabel(window) || !sameEverywhere(on, window, known, c.Commands)
			}) < 0 {
				c.SameAs = known
				break
			}
		}
	}
}

// sameEverywhere reports whether a window that could call nothing may now call commands, and no
// others, as another window could before and still can.
func sameEverywhere(on []sides, window, known string, commands []string) bool {
	a, b := caller{window: window}, caller{window: known}
	for _, s := range on {
		all := slices.Concat(s.old.Commands(), s.now.Commands())
		slices.Sort(all)
		for _, command := range slices.Compact(all) {
			was, is := s.now.matching(command, b), s.now.matching(command, a)
			before := s.old.matching(command, b)
			if len(s.old.matching(command, a)) > 0 || (len(is) > 0) != slices.Contains(commands, command) ||
				!sameScope(was, is) || !sameScope(before, was) {
				return false
			}
		}
	}
	return true
}

func sameScope(a, b []grant) bool {
	return (len(a) > 0) == (len(b) > 0) && !new(cell).scopes(merged(a), merged(b))
}

// labelsOf returns the windows that capabilities name without a pattern, in order.
func labelsOf(capabilities []capability.Capability) []string {
	var labels []string
	for _, c := range capabilities {
		for _, w := range c.Windows {
			if isLabel(w) && !slices.Contains(labels, w) && len(labels) < mostLabels {
				labels = append(labels, w)
			}
		}
	}
	slices.Sort(labels)
	return labels
}

func isLabel(window string) bool { return !strings.ContainsAny(window, "*?[") }
