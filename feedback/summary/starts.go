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
			words[end-1].low != words[end].low && v.endsTooSoon(from, end) &&
			!slices.Contains(drop[from:end], unsaid) &&
			!(v.has(v.classes[from], "det") && v.words[end].low == "it's") { // else what it is would be lost
			mark(drop[from:end], spoken)
		}
	}
	for i := 1; i+2 < len(words); i++ {
		last, subject := i-1, v.clauses[v.clause[i-1]][0]
		be := words[last].low
		if be != "is" && be != "are" || drop[i] != filler {
			continue
		}
		for i+2 < len(words) && drop[i] == filler {
			i++
		}
		again := words[i].low
		if (again == "it's" || again == "its") && be == "is" && words[i+1].kind == number ||
			again == "they're" && be == "are" && v.has(v.classes[subject], "det") {
			drop[i] = spoken // "the fee is, um, it's forty pounds"
			words[last].end, words[last].mark = inside, ""
		}
	}
	v.leaveOutRepeated(drop)
}

// leaveOutRepeated leaves out the last words of a clause with which the next one begins, of words
// that end none: "with the pencil and, and he", 上周才，才五十.
func (v *view) leaveOutRepeated(drop []reason) {
	for c := range len(v.clauses) - 1 {
		from, end := v.clauses[c][0], v.clauses[c][1]
		if v.words[end-1].end >= sentence {
			continue
		}
		for n := min(4, end-from, v.clauses[c+1][1]-end-1); n > 0; n-- {
			if textOf(v.words[end-n:end]) == textOf(v.words[end:end+n]) {
				if v.isRepeated(end-n, end) && !slices.Contains(drop[end-n:end+n], unsaid) {
					mark(drop[end-n:end], spoken)
				}
				break
			}
		}
	}
}

// isRepeated reports whether words[from:end], which follow once more, end no clause.
func (v *view) isRepeated(from, end int) bool {
	text, last := textOf(v.words[from:end]), v.words[end-1]
	if !last.wide {
		return stutters[text] || text == "or" || text == "so"
	}
	return beginsAgain[text] && !v.negates(from)
}

// beginsAgain are words with which no clause ends in Chinese.
var beginsAgain = wordSet("是 才 就是 有点 有一点 第一次 特别 非常 比较 还是 应该 可以 一直 已经 主要 主要是")

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
