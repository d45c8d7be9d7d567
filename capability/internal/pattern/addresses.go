package pattern

import (
	"slices"
	"strconv"
	"strings"
)

// AddressClass is an address that represents all those that the same patterns match.
type AddressClass struct {
	Address Address
	Pattern string // instead of an address: the pattern for which none could be made
}

// mostAddresses bounds the number of classes, and mostSampled that of the addresses of patterns
// that are not simple, which the pattern library matches a thousand times as slowly.
const (
	mostAddresses = 200_000
	mostSampled   = 1000
)

// AddressClasses returns an address of each class that some pattern matches. It returns false if
// there are too many. Patterns that are not simple are represented by samples.
func AddressClasses(urls []*URL) ([]AddressClass, bool) {
	urls = slices.Clone(urls)
	slices.SortFunc(urls, func(a, b *URL) int { return strings.Compare(a.text, b.text) })
	urls = slices.CompactFunc(urls, func(a, b *URL) bool { return a.text == b.text })
	var simple []*URL
	var list []AddressClass
	for _, p := range urls {
		if p.Simple() {
			simple = append(simple, p)
			continue
		}
		if len(list) > mostSampled {
			return nil, false
		}
		samples := p.samples()
		for _, a := range samples {
			list = append(list, AddressClass{Address: a})
		}
		if len(samples) == 0 {
			list = append(list, AddressClass{Pattern: p.text})
		}
	}
	all, ok := simpleClasses(simple)
	for _, a := range all {
		list = append(list, AddressClass{Address: a})
	}
	return list, ok
}

// simpleClasses returns an address of each class. Scheme and port, host, and path are matched
// independently, so the classes of an address are combinations of those of its parts.
func simpleClasses(patterns []*URL) ([]Address, bool) {
	if len(patterns) == 0 {
		return nil, true
	}
	hosts, ok := hostAlphabet.classes(patterns, func(p *URL) string { return p.host })
	if !ok {
		return nil, false
	}
	paths, ok := pathAlphabet.classes(patterns, func(p *URL) string { return p.path })
	if !ok {
		return nil, false
	}
	all := []part{{matches: everything(len(patterns))}}
	outset, ok := schemesAndPorts(patterns)
	if !ok {
		return nil, false
	}
	for _, next := range [][]part{outset, hosts, paths} {
		if len(all)*len(next) > mostAddresses || len(all)*len(next)*len(all[0].matches) > mostWork {
			return nil, false
		}
		all = combine(all, next)
	}
	var addresses []Address
	for _, u := range all {
		scheme, port, _ := strings.Cut(u.text[0], ":")
		if port != "" {
			port = ":" + port
		}
		a, err := ParseAddress(scheme + "://" + u.text[1] + port + u.text[2])
		if err != nil {
			return nil, false
		}
		addresses = append(addresses, a)
	}
	return addresses, true
}

func schemesAndPorts(patterns []*URL) ([]part, bool) {
	ports := []string{""}
	for _, p := range patterns {
		if p.port != "" && p.port != "*" {
			ports = append(ports, p.port)
		}
	}
	ports = distinct(ports)
	if 3*len(ports)*len(patterns) > mostWork {
		return nil, false
	}
	unused := 61387
	for slices.Contains(ports, strconv.Itoa(unused)) {
		unused++
	}
	var parts []part
	for _, protocol := range []string{"https", "http", "other"} {
		for _, port := range append(ports, strconv.Itoa(unused)) {
			if protocol == "https" && port == "443" || protocol == "http" && port == "80" {
				continue // the same as no port
			}
			matches := newBits(len(patterns))
			for i, p := range patterns {
				if MatchStars(p.protocol, protocol) && (p.port == "*" || p.port == port) {
					matches.set(i)
				}
			}
			parts = append(parts, part{text: []string{protocol + ":" + port}, matches: matches})
		}
	}
	return parts, true
}

// part is the beginning of an address, or a part of it, with the patterns that still can match.
type part struct {
	text    []string
	matches bits
}

// combine joins parts, one of each class that some pattern matches.
func combine(a, b []part) []part {
	var joined []part
	seen := map[string]bool{make(bits, len(a[0].matches)).key(): true}
	for _, x := range a {
		for _, y := range b {
			matches := x.matches.and(y.matches)
			if key := matches.key(); !seen[key] {
				seen[key] = true
				joined = append(joined, part{slices.Concat(x.text, y.text), matches})
			}
		}
	}
	return joined
}

// alphabet describes what a part of an address is composed of.
type alphabet struct {
	separator string // between letters
	first     []string
	star      []step                      // what "*" matches
	unused    func(taken []string) string // a letter that no pattern contains, "" if there is none
	follows   func(before, letter string) bool
}

// The letters of a host are its labels, as a star represents whole ones.
var hostAlphabet = alphabet{
	separator: ".",
	star:      []step{{}, {repeat: true}}, // one or more
	unused: func(taken []string) string {
		other := "other"
		for slices.Contains(taken, other) {
			other += "s"
		}
		return other
	},
	follows: func(string, string) bool { return true },
}

// The letters of a path are its characters. Components of dots are left out: they are resolved
// before a path is matched.
var pathAlphabet = alphabet{
	first: []string{"/"},
	star:  []step{{repeat: true}},
	unused: func(taken []string) string {
		for _, c := range "zyxwvutsrqponmlkjihgfedcbaZYXWVUTSRQPONMLKJIHGFEDCBA9876543210-_" {
			if !slices.Contains(taken, string(c)) {
				return string(c)
			}
		}
		return ""
	},
	follows: func(before, letter string) bool {
		if letter == "." {
			return before != "" && before != "/" && before != "."
		}
		return before != "" || letter == "/"
	},
}

func (k alphabet) classes(patterns []*URL, partOf func(*URL) string) ([]part, bool) {
	letters := slices.Clone(k.first)
	for _, p := range patterns {
		letters = append(letters, strings.Split(partOf(p), k.separator)...)
	}
	letters = distinct(letters)
	if letter := k.unused(letters); letter != "" {
		letters = append(letters, letter)
	}
	steps := make([][]step, len(patterns))
	for i, p := range patterns {
		for letter := range strings.SplitSeq(partOf(p), k.separator) {
			if letter == "*" {
				steps[i] = append(steps[i], k.star...)
			} else {
				steps[i] = append(steps[i], step{takes: func(n int) bool { return letters[n] == letter }})
			}
		}
	}
	all, ok := classes(steps, len(letters), func(before, next int) bool {
		if before < 0 {
			return letters[next] != "*" && k.follows("", letters[next])
		}
		return letters[next] != "*" && k.follows(letters[before], letters[next])
	})
	var parts []part
	for _, c := range all {
		word := make([]string, len(c.word))
		for i, letter := range c.word {
			word[i] = letters[letter]
		}
		parts = append(parts, part{[]string{strings.Join(word, k.separator)}, c.matches})
	}
	return parts, ok
}

func distinct(list []string) []string {
	slices.Sort(list)
	return slices.Compact(list)
}

// samples returns addresses that a pattern matches: for each star some that nothing but a star
// matches.
func (p *URL) samples() []Address {
	parts := p.Parts()
	fill := func(s string, all ...string) []string {
		if s == "*" {
			return all
		}
		return []string{strings.ReplaceAll(s, "*", "any-other")}
	}
	choices := [][]string{
		fill(parts.Protocol, "https", "http", "other"),
		fill(parts.Host, "any.other.example", "other"),
		fill(parts.Port, "", "61387"),
		fill(parts.Path, "/any/other", "/"),
	}
	var addresses []Address
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
			a, err := ParseAddress(u[0] + "://" + u[1] + u[2] + u[3])
			if err == nil && p.Match(a) && !slices.Contains(addresses, a) {
				addresses = append(addresses, a)
			}
		}
	}
	return addresses
}
