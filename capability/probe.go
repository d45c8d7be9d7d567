package capability

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// probe is a caller who stands for all that the patterns of two policies do
// not tell apart.
type probe struct {
	caller    Caller
	byWebview bool   // the webview's label is the one in question, not the window's
	pattern   string // in place of an origin: the URL pattern for which no URL could be made
}

// audience holds the probes of two policies, and how many callers each pattern
// stands for: the one with the fewest names a probe best.
type audience struct {
	probes                  []probe
	windows, webviews, urls map[string]int
}

// mostProbes is a hundred times what a large project has.
const mostProbes = 200_000

// audienceOf returns the callers that grants tell apart: each class of labels,
// for windows and for webviews, with each class of URLs. It returns false
// where there are too many of them.
func audienceOf(grants []Grant) (*audience, bool) {
	var windows, webviews []Glob
	var urls []*RemotePattern
	sources := make(map[*grantSource]bool)
	remotes := map[*RemotePattern]bool{nil: true}
	for _, g := range grants {
		if !sources[g.source] {
			sources[g.source] = true
			windows = append(windows, g.source.windows...)
			webviews = append(webviews, g.source.webviews...)
		}
		if !remotes[g.remote] {
			remotes[g.remote] = true
			urls = append(urls, g.remote)
		}
	}
	a := &audience{windows: make(map[string]int), webviews: make(map[string]int), urls: make(map[string]int)}
	inWindows, ok := labelsOf(windows, a.windows)
	if !ok {
		return nil, false
	}
	inWebviews, ok := labelsOf(webviews, a.webviews)
	if !ok {
		return nil, false
	}
	origins, ok := originsOf(urls, a.urls)
	if !ok {
		return nil, false
	}
	// A grant is for some windows or for some webviews. So with each label of one
	// kind only those of the other are needed that the fewest patterns take.
	var who []Caller
	for _, view := range least(inWebviews) {
		for _, w := range inWindows {
			who = append(who, Caller{Window: w.label, Webview: view})
		}
	}
	byWindow := len(who)
	for _, window := range least(inWindows) {
		for _, w := range inWebviews {
			who = append(who, Caller{Window: window, Webview: w.label})
		}
	}
	if len(who)*(len(origins)+1) > mostProbes {
		return nil, false
	}
	for i, caller := range who {
		a.probes = append(a.probes, probe{caller: caller, byWebview: i >= byWindow})
		for _, o := range origins {
			o.caller.Window, o.caller.Webview, o.byWebview = caller.Window, caller.Webview, i >= byWindow
			a.probes = append(a.probes, o)
		}
	}
	return a, true
}

// labelClass is a label with the patterns that match it.
type labelClass struct {
	label   string
	matches bits
}

// labelsOf returns a label of each class, and counts the classes of a pattern.
func labelsOf(globs []Glob, count map[string]int) ([]labelClass, bool) {
	globs = slices.Clone(globs)
	slices.SortFunc(globs, func(a, b Glob) int { return strings.Compare(a.text, b.text) })
	globs = slices.CompactFunc(globs, func(a, b Glob) bool { return a.text == b.text })
	// Characters between two of these are told apart by no pattern.
	bounds := []rune{0}
	patterns := make([][]globToken, len(globs))
	for i := range globs {
		patterns[i] = globs[i].allTokens()
		for _, t := range patterns[i] {
			switch t.kind {
			case tokenChar:
				bounds = append(bounds, t.char, after(t.char))
			case tokenRecursive:
				bounds = append(bounds, '/', after('/'))
			}
			for _, set := range t.ranges {
				bounds = append(bounds, set.low, after(set.high))
			}
		}
	}
	slices.Sort(bounds)
	bounds = slices.Compact(bounds)
	steps := make([][]step, len(globs))
	for i := range patterns {
		for k, t := range patterns[i] {
			steps[i] = append(steps[i], t.steps(bounds, k == len(patterns[i])-1)...)
		}
	}
	all, ok := classes(steps, len(bounds), nil)
	list := make([]labelClass, len(all))
	for i, c := range all {
		label := make([]rune, len(c.word))
		for k, letter := range c.word {
			label[k] = bounds[letter]
		}
		list[i] = labelClass{string(label), c.matches}
		for k := range globs {
			if globs[k].Match(list[i].label) {
				count[globs[k].text]++
			}
		}
	}
	return list, ok
}

// after returns the next character; none comes after the last one.
func after(r rune) rune {
	switch r {
	case 0xd7ff:
		return 0xe000 // behind the surrogates
	case utf8.MaxRune:
		return 0
	}
	return r + 1
}

// least returns the labels that match no more than others do.
func least(list []labelClass) []string {
	var labels []string
	for i := range list {
		if !slices.ContainsFunc(list, func(c labelClass) bool {
			return c.matches.within(list[i].matches) && !list[i].matches.within(c.matches)
		}) {
			labels = append(labels, list[i].label)
		}
	}
	return labels
}

// steps returns a part of a pattern for characters by their number.
func (t globToken) steps(letters []rune, last bool) []step {
	switch {
	case t.kind == tokenSequence, t.kind == tokenRecursive && last:
		return []step{{repeat: true}}
	case t.kind == tokenRecursive: // nothing, or anything up to a slash
		return []step{{skip: 3}, {repeat: true}, {takes: func(i int) bool { return letters[i] == '/' }}}
	}
	return []step{{takes: func(i int) bool { return t.matches(letters[i]) }}}
}

// originsOf returns a URL of each class of those that patterns match, and counts
// the classes of a pattern. Patterns beyond plain hosts, ports, paths and stars
// are sampled.
func originsOf(urls []*RemotePattern, count map[string]int) ([]probe, bool) {
	urls = slices.Clone(urls)
	slices.SortFunc(urls, func(a, b *RemotePattern) int { return strings.Compare(a.text, b.text) })
	urls = slices.CompactFunc(urls, func(a, b *RemotePattern) bool { return a.text == b.text })
	var simple []*RemotePattern
	var probes []probe
	for _, p := range urls {
		if p.slow == nil {
			simple = append(simple, p)
			continue
		}
		samples := p.samples()
		for _, o := range samples {
			probes = append(probes, probe{caller: Caller{Origin: o}})
		}
		if len(samples) == 0 {
			probes = append(probes, probe{pattern: p.text})
		}
	}
	all, ok := originClasses(simple)
	for _, o := range all {
		probes = append(probes, probe{caller: Caller{Origin: o}})
	}
	for _, pr := range probes {
		for _, p := range urls {
			if p.text == pr.pattern || p.Match(pr.caller.Origin) {
				count[p.text]++
			}
		}
	}
	return probes, ok
}

// originClasses returns a URL of each class. Scheme and port, host and path are
// matched apart from one another, so the classes of a URL are what is left of
// those of its parts.
func originClasses(patterns []*RemotePattern) ([]Origin, bool) {
	if len(patterns) == 0 {
		return nil, true
	}
	hosts, ok := hostClasses(patterns)
	if !ok {
		return nil, false
	}
	paths, ok := pathClasses(patterns)
	if !ok {
		return nil, false
	}
	ports := []string{""}
	for _, p := range patterns {
		if p.port != "" && p.port != "*" {
			ports = append(ports, p.port)
		}
	}
	ports = distinct(ports)
	unused := 61387
	for slices.Contains(ports, strconv.Itoa(unused)) {
		unused++
	}
	ports = append(ports, strconv.Itoa(unused))
	all := []part{{matches: everything(len(patterns))}}
	var starts []part
	for _, protocol := range []string{"https", "http", "other"} {
		for _, port := range ports {
			o := Origin{protocol: protocol, port: port}
			if protocol == "https" && port == "443" || protocol == "http" && port == "80" {
				continue // the same as none
			}
			matches := newBits(len(patterns))
			for i, p := range patterns {
				if matchStars(p.protocol, o.protocol) && (p.port == "*" || p.port == o.port) {
					matches.set(i)
				}
			}
			starts = append(starts, part{protocol: protocol, port: port, matches: matches})
		}
	}
	for _, next := range [][]part{starts, hosts, paths} {
		if len(all)*len(next) > mostProbes {
			return nil, false
		}
		all = combine(all, next)
	}
	var origins []Origin
	for _, u := range all {
		url := u.protocol + "://" + u.host
		if u.port != "" {
			url += ":" + u.port
		}
		o, err := ParseOrigin(url + u.path)
		if err != nil {
			return nil, false
		}
		origins = append(origins, o)
	}
	return origins, true
}

// part is a part of a URL with the patterns that it leaves possible.
type part struct {
	protocol, host, port, path string
	matches                    bits
}

// combine joins parts of URLs, one of each class that some pattern matches.
func combine(a, b []part) []part {
	var joined []part
	seen := map[string]bool{make(bits, len(a[0].matches)).key(): true}
	for _, x := range a {
		for _, y := range b {
			matches := x.matches.and(y.matches)
			if key := matches.key(); !seen[key] {
				seen[key] = true
				joined = append(joined, part{x.protocol + y.protocol, x.host + y.host, x.port + y.port, x.path + y.path, matches})
			}
		}
	}
	return joined
}

// hostClasses takes whole labels for letters, as stars stand for whole ones.
func hostClasses(patterns []*RemotePattern) ([]part, bool) {
	var labels []string
	for _, p := range patterns {
		labels = append(labels, strings.Split(p.host, ".")...)
	}
	labels = distinct(labels)
	other := "other"
	for slices.Contains(labels, other) {
		other += "s"
	}
	labels = append(labels, other)
	steps := make([][]step, len(patterns))
	for i, p := range patterns {
		for label := range strings.SplitSeq(p.host, ".") {
			if label == "*" { // one or more
				steps[i] = append(steps[i], step{}, step{repeat: true})
			} else {
				steps[i] = append(steps[i], step{takes: func(k int) bool { return labels[k] == label }})
			}
		}
	}
	all, ok := classes(steps, len(labels), func(_, next int) bool { return labels[next] != "*" })
	var hosts []part
	for _, c := range all {
		var host []string
		for _, k := range c.word {
			host = append(host, labels[k])
		}
		hosts = append(hosts, part{host: strings.Join(host, "."), matches: c.matches})
	}
	return hosts, ok
}

// pathClasses leaves out paths that are not what they seem: those with a
// component of dots.
func pathClasses(patterns []*RemotePattern) ([]part, bool) {
	letters := []string{"/"}
	for _, p := range patterns {
		letters = append(letters, strings.Split(p.path, "")...)
	}
	letters = distinct(letters)
	for _, other := range strings.Split("zyxwvutsrqponmlkjihgfedcbaZYXWVUTSRQPONMLKJIHGFEDCBA9876543210-_", "") {
		if !slices.Contains(letters, other) {
			letters = append(letters, other)
			break
		}
	}
	steps := make([][]step, len(patterns))
	for i, p := range patterns {
		for letter := range strings.SplitSeq(p.path, "") {
			if letter == "*" {
				steps[i] = append(steps[i], step{repeat: true})
			} else {
				steps[i] = append(steps[i], step{takes: func(k int) bool { return letters[k] == letter }})
			}
		}
	}
	all, ok := classes(steps, len(letters), func(before, next int) bool {
		switch letters[next] {
		case "*":
			return false
		case ".":
			return before >= 0 && letters[before] != "/" && letters[before] != "."
		}
		return before >= 0 || letters[next] == "/"
	})
	var paths []part
	for _, c := range all {
		var path strings.Builder
		for _, k := range c.word {
			path.WriteString(letters[k])
		}
		paths = append(paths, part{path: path.String(), matches: c.matches})
	}
	return paths, ok
}

func distinct(list []string) []string {
	slices.Sort(list)
	return slices.Compact(list)
}

// samples makes URLs that a pattern matches: for each star in turn some that
// only a star takes.
func (p *RemotePattern) samples() []Origin {
	parts := p.parts()
	fill := func(s string, all ...string) []string {
		if s == "*" {
			return all
		}
		return []string{strings.ReplaceAll(s, "*", "any-other")}
	}
	choices := [][]string{
		fill(parts.protocol, "https", "http", "other"),
		fill(parts.host, "any.other.example", "other"),
		fill(parts.port, "", "61387"),
		fill(parts.path, "/any/other", "/"),
	}
	var origins []Origin
	for vary := range choices {
		for _, choice := range choices[vary] {
			u := [4]string{choices[0][0], choices[1][0], choices[2][0], choices[3][0]}
			u[vary] = choice
			if u[2] != "" {
				u[2] = ":" + u[2]
			}
			if !strings.HasPrefix(u[3], "/") {
				u[3] = "/" + u[3]
			}
			if o, err := ParseOrigin(u[0] + "://" + u[1] + u[2] + u[3]); err == nil && p.Match(o) && !slices.Contains(origins, o) {
				origins = append(origins, o)
			}
		}
	}
	return origins
}
