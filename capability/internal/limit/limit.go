// Package limit counts findings, so that a hostile file does not fill the memory with them.
package limit

import (
	"fmt"
	"hash/fnv"

	"lessonkit.example/capability/internal/syntax"
)

// Most is the number of findings of one rule that are listed.
const Most = 200

// Findings counts those of each rule. The zero Findings has none.
type Findings struct {
	listed map[string]int
	rest   []*Rest
}

// Rest is what is not listed of one rule.
type Rest struct {
	Rule  string
	First syntax.Value // where the first of them is
	count int
	sum   uint64 // of hashes, which tells another set of as many findings apart
}

// Listed returns how many findings of a rule are listed.
func (f *Findings) Listed(rule string) int { return f.listed[rule] }

// Full reports whether a finding is one too many to be listed. It counts the finding.
func (f *Findings) Full(rule string, v syntax.Value, message string) bool {
	if f.listed == nil {
		f.listed = make(map[string]int)
	}
	if f.listed[rule] < Most {
		f.listed[rule]++
		return false
	}
	var r *Rest
	for _, known := range f.rest {
		if known.Rule == rule {
			r = known
		}
	}
	if r == nil {
		r = &Rest{Rule: rule, First: v}
		f.rest = append(f.rest, r)
	}
	hash := fnv.New64a()
	_, _ = fmt.Fprintf(hash, "%s\n%s", v.File(), message) // a hash takes everything
	r.count++
	r.sum += hash.Sum64()
	return true
}

// Rest returns what is not listed, one for each rule.
func (f *Findings) Rest() []*Rest { return f.rest }

// Message tells how many findings are not listed.
func (r *Rest) Message() string {
	return fmt.Sprintf("There are %d more findings of this rule than the %d that are listed; correct those first.",
		r.count, Most)
}

// Parts identifies the findings that are not listed, whatever their order.
func (r *Rest) Parts() []string { return []string{fmt.Sprintf("%x", r.sum)} }
