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

// More is the message of the first finding of a rule that is one too many.
var More = fmt.Sprintf("There are more findings of this rule than the %d that are listed; correct those first.",
	PerRule)

// Findings counts those of each rule. The zero Findings has none.
type Findings struct{ counts map[string]int }

// Over counts a finding of a rule. It returns 0 if there is room in the list, else how many of the
// rule had none, with this one.
func (f *Findings) Over(rule string) int {
	if f.counts == nil {
		f.counts = make(map[string]int)
	}
	f.counts[rule]++
	return max(f.counts[rule]-PerRule, 0)
}

// Full reports whether a finding of a rule had no room.
func (f *Findings) Full(rule string) bool { return f.counts[rule] > PerRule }
