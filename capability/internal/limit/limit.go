// Package limit has the bounds within which hostile files are read, and counts findings, so that
// they do not fill the memory.
package limit

import "fmt"

// The bounds. Real applications have a hundredth of them.
const (
	Bytes   = 64 << 20 // in all files that are read of an application
	Files   = 100_000  // files and folders that are looked at
	Items   = 1000     // capabilities in a file, and window patterns or URLs of a capability
	Grants  = 500_000  // permissions, commands and scope values that manifests list and capabilities grant
	PerRule = 200      // findings of one rule that are listed
)

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

// Full reports whether there are too many findings of a rule to list one more. It counts the
// finding.
func (f *Findings[V]) Full(rule string, about V) bool {
	if f.listed == nil {
		f.listed = make(map[string]int)
	}
	if f.listed[rule]++; f.listed[rule] <= PerRule {
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
		r.count, PerRule)
}
