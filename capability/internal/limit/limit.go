// Package limit counts findings, so that a hostile file does not fill the memory with them.
package limit

import "fmt"

// Most is the number of findings of one rule that are listed.
const Most = 200

// Findings counts those of each rule. The zero Findings has none. V is what a finding is about.
type Findings[V any] struct {
	listed map[string]int
	rest   []*Rest[V]
}

// Rest is what is not listed of one rule.
type Rest[V any] struct {
	Rule  string
	First V // what the first of them is about
	count int
}

// Full reports whether there are too many findings of a rule to list one more. It counts the finding.
func (f *Findings[V]) Full(rule string, about V) bool {
	if f.listed == nil {
		f.listed = make(map[string]int)
	}
	if f.listed[rule]++; f.listed[rule] <= Most {
		return false
	}
	for _, r := range f.rest {
		if r.Rule == rule {
			r.count++
			return true
		}
	}
	f.rest = append(f.rest, &Rest[V]{rule, about, 1})
	return true
}

// Rest returns what is not listed, one for each rule.
func (f *Findings[V]) Rest() []*Rest[V] { return f.rest }

// Message tells how many findings are not listed.
func (r *Rest[V]) Message() string {
	return fmt.Sprintf("There are %d more findings of this rule than the %d that are listed; correct those first.",
		r.count, Most)
}
