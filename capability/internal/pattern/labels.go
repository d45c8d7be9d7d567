package pattern

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// LabelClass is a label that represents all labels that the same patterns match.
type LabelClass struct {
	Label   string
	matches bits
}

// LabelClasses returns one label of each class that the patterns distinguish. It returns false if
// there are too many.
func LabelClasses(globs []Glob) ([]LabelClass, bool) {
	globs = slices.Clone(globs)
	slices.SortFunc(globs, func(a, b Glob) int { return strings.Compare(a.text, b.text) })
	globs = slices.CompactFunc(globs, func(a, b Glob) bool { return a.text == b.text })
	// No pattern distinguishes characters between two of these.
	bounds := []rune{0}
	patterns := make([][]globToken, len(globs))
	for i := range globs {
		patterns[i] = globs[i].tokens
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
	// What uses the classes compares each with each, and with each pattern.
	if n := len(all); n*n*(len(globs)/64+1) > mostCompared || n*len(globs) > mostWork {
		return nil, false
	}
	list := make([]LabelClass, len(all))
	for i, c := range all {
		label := make([]rune, len(c.word))
		for k, letter := range c.word {
			label[k] = bounds[letter]
		}
		list[i] = LabelClass{string(label), c.matches}
	}
	return list, ok
}

// mostCompared limits the comparisons of classes; a thousand windows are within it.
const mostCompared = 50_000_000

// after returns the next character, 0 after the last one.
func after(r rune) rune {
	switch r {
	case 0xd7ff:
		return 0xe000 // after the surrogates
	case utf8.MaxRune:
		return 0
	}
	return r + 1
}

// Least returns the labels whose patterns include those of no other label as a smaller set.
func Least(list []LabelClass) []string {
	var labels []string
	for i := range list {
		if !slices.ContainsFunc(list, func(c LabelClass) bool {
			return c.matches.within(list[i].matches) && !list[i].matches.within(c.matches)
		}) {
			labels = append(labels, list[i].Label)
		}
	}
	return labels
}

// steps returns the steps of a token over characters, each given by its index.
func (t globToken) steps(letters []rune, last bool) []step {
	switch {
	case t.kind == tokenSequence, t.kind == tokenRecursive && last:
		return []step{{repeat: true}}
	case t.kind == tokenRecursive: // nothing, or anything up to a slash
		return []step{{skip: 3}, {repeat: true}, {takes: func(i int) bool { return letters[i] == '/' }}}
	}
	return []step{{takes: func(i int) bool { return t.matches(letters[i]) }, cost: len(t.ranges) / 8}}
}
