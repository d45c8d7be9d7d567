package summary

import (
	"slices"
	"strings"
)

// maxStart is the length in words of a false start.
const maxStart = 6

// leaveOutFalseStarts leaves out statements that end too soon before another one, where the model
// has left them: "the second page is, the last line is messy".
func leaveOutFalseStarts(words []word, drop []reason) {
	v := newView(words)
	for c := range len(v.clauses) - 1 {
		from, end := v.clauses[c][0], v.clauses[c][1]
		if words[end-1].end == clause && end-from <= maxStart && v.begins(from) && v.begins(end) &&
			v.endsTooSoon(from, end) && !slices.Contains(drop[from:end], unsaid) &&
			!(v.has(v.classes[from], "det") && v.words[end].low == "it's") { // else what it is would be lost
			mark(drop[from:end], spoken)
		}
	}
	for i := 1; i+2 < len(words); i++ {
		if words[i-1].low != "is" || drop[i] != filler {
			continue
		}
		for i+2 < len(words) && drop[i] == filler {
			i++
		}
		if again := words[i].low; (again == "it's" || again == "its") && words[i+1].kind == number {
			drop[i] = spoken // "the fee is, um, it's forty pounds"
		}
	}
}

// begins reports whether a statement begins at i.
func (v *view) begins(i int) bool {
	subject, _, _ := strings.Cut(v.words[i].low, "'")
	return pronouns[subject] || subject == "there" || v.has(v.classes[i], "det") ||
		v.words[i].wide && v.has(v.classes[i], "they")
}

// endsTooSoon reports whether no statement ends as words[from:end] do.
func (v *view) endsTooSoon(from, end int) bool {
	for i := from + 1; i < end; i++ {
		if subject, _, _ := strings.Cut(v.words[i].low, "'"); pronouns[subject] || questions[subject] {
			return false // "that's who he is, he wins"
		}
	}
	if end-from < 2 {
		return false
	}
	last := v.words[end-1]
	return unfinishedAt[last.low] || last.wide && v.has(v.classes[end-1], "degreeword") && v.continues(end-1)
}

var (
	// unfinishedAt are words with which no statement ends, but for those with one of questions.
	unfinishedAt = wordSet(`the a an my your our their very quite and but because of is are was were has have had can
		could will would should must may don't didn't isn't wasn't can't 把 被 给 跟 很 更 最 比`)
	questions = wordSet("who what how where when why that as than if")
)
