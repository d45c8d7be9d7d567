package capdiff

import (
	"lessonkit.example/capability/internal/pattern"
)

// caller represents all callers that the patterns of two policies do not distinguish.
type caller struct {
	window, webview string
	byWebview       bool            // the label of the webview is the one in question
	address         pattern.Address // the zero Address is the application itself
	pattern         string          // instead of an address: the pattern for which none could be made
}

// callers contains a caller of each class, and the number of classes that each pattern matches: the
// pattern with the fewest describes a caller best.
type callers struct {
	list                    []caller
	windows, webviews, urls map[string]int
}

// mostCallers is a hundred times what a large project has.
const mostCallers = 200_000

// callersOf returns the callers that the grants of commands distinguish: each class of labels, for
// windows and for webviews, with each class of URLs. It returns false if there are too many.
func callersOf(commands []string, policies ...*policy) (*callers, bool) {
	var windows, webviews []pattern.Glob
	var urls []*pattern.URL
	sources := make(map[*labels]bool)
	remotes := map[*pattern.URL]bool{nil: true}
	for _, p := range policies {
		for g := range p.about(commands) {
			if !sources[g.labels] {
				sources[g.labels] = true
				windows = append(windows, g.windows...)
				webviews = append(webviews, g.webviews...)
			}
			if !remotes[g.remote] {
				remotes[g.remote] = true
				urls = append(urls, g.remote)
			}
		}
	}
	inWindows, ok := pattern.LabelClasses(windows)
	if !ok {
		return nil, false
	}
	inWebviews, ok := pattern.LabelClasses(webviews)
	if !ok {
		return nil, false
	}
	addresses, ok := pattern.AddressClasses(urls)
	if !ok {
		return nil, false
	}
	// A grant is for some windows or for some webviews. So with each label of one kind only those
	// of the other kind are needed that the fewest patterns match.
	var who []caller
	for _, view := range pattern.Least(inWebviews) {
		for _, w := range inWindows {
			who = append(who, caller{window: w.Label, webview: view})
		}
	}
	for _, window := range pattern.Least(inWindows) {
		for _, w := range inWebviews {
			who = append(who, caller{window: window, webview: w.Label, byWebview: true})
		}
	}
	if len(who)*(len(addresses)+1) > mostCallers {
		return nil, false
	}
	all := &callers{windows: countLabels(windows, inWindows), webviews: countLabels(webviews, inWebviews)}
	for _, c := range who {
		all.list = append(all.list, c)
		for _, a := range addresses {
			c.address, c.pattern = a.Address, a.Pattern
			all.list = append(all.list, c)
		}
	}
	if len(addresses)*len(urls) > mostCallers {
		return nil, false
	}
	all.urls = make(map[string]int)
	for _, a := range addresses {
		for _, u := range urls {
			if u.String() == a.Pattern || a.Pattern == "" && u.Match(a.Address) {
				all.urls[u.String()]++
			}
		}
	}
	return all, true
}

func countLabels(globs []pattern.Glob, classes []pattern.LabelClass) map[string]int {
	count := make(map[string]int)
	for i := range globs {
		for _, c := range classes {
			if globs[i].Match(c.Label) {
				count[globs[i].String()]++
			}
		}
	}
	return count
}
