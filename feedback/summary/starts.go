package summary

import (
	"slices"
	"strings"
)

// maxStart is the length in words of a false start.
const maxStart = 6

// leaveOutFalseStarts leaves out statements that end too soon before another one, where the model
// has left them: "the second page is, the last line is messy".
func leaveOutFalseStarts(v *view, drop []reason) {
	words := v.words
	for c := range len(v.clauses) - 1 {
		from, end := v.clauses[c].from, v.clauses[c].to
		if words[end-1].end == clause && end-from <= maxStart && v.begins(from) && v.begins(end) &&
			words[end-1].low != words[end].low && words[end].open == "" && v.endsTooSoon(from, end) &&
			drop[end] != filler && // "his bow was, you know, much better"
			!opensColon(words[end-1]) && // "we did can and can't: I can swim"
			!slices.Contains(drop[from:end], unsaid) &&
			!(v.has(v.classes[from], "det") && v.words[end].low == "it's") { // else what it is would be lost
			mark(drop[from:end], spoken)
		}
	}
	v.leaveOutSubjects(drop)
	v.leaveOutRepeated(drop)
	v.leaveOutRestated(drop)
}

// leaveOutSubjects leaves out subjects that are said once more: "she's, honestly she's a joy".
func (v *view) leaveOutSubjects(drop []reason) {
	for c := range len(v.clauses) - 1 {
		from, end := v.clauses[c].from, v.clauses[c].to
		w := v.words[from]
		if end > from+1 || w.end != clause || !pronouns[stem(w.low)] || drop[from] != kept {
			continue
		}
		next := v.words[end:min(end+4, v.clauses[c+1].to)]
		if slices.IndexFunc(next, func(again word) bool { return again.low == w.low }) > 0 {
			drop[from] = spoken
		}
	}
}

// leaveOutRestated leaves out the second of two subjects: of "the fee is, um, it's forty pounds"
// "the party is on the, it's on the tenth" the pronoun, its verb, and what is said again.
func (v *view) leaveOutRestated(drop []reason) {
	for last := 1; last+2 < len(v.words); last++ {
		be, subject := v.words[last].low, v.clauseOf(last).from
		if !restated[be] || v.words[last].end >= sentence || !v.has(v.classes[subject], "det") ||
			!v.isSubject(subject, last) || slices.Contains(drop[subject:last+2], unsaid) {
			continue
		}
		i := last + 1
		for i+2 < len(v.words) && drop[i] == filler && v.hesitates(i) {
			i++
		}
		n := 0
		for n < 2 && i+2*n+2 < len(v.words) && v.subjectAgain(i+n, be) == 0 {
			n++
		}
		again := v.subjectAgain(i+n, be)
		if again == 0 || textOf(v.words[i:i+n]) != textOf(v.words[i+n+again:min(len(v.words), i+2*n+again)]) {
			continue
		}
		replace(drop[subject:last+1], spoken, kept)
		mark(drop[i:i+n+again], spoken)
		v.words[last].end, v.words[last].mark = inside, ""
	}
}

// subjectAgain returns how many words from i say a subject and its verb again, as "it's" does.
func (v *view) subjectAgain(i int, be string) int {
	switch low := v.low(i); {
	case (low == "it's" || low == "its") && be == "is", low == "they're" && be == "are":
		return 1
	case (low == "it" || low == "they") && v.low(i+1) == be:
		return 2
	}
	return 0
}

// restated are verbs that are said again with a pronoun.
var restated = wordSet("is are was were")

// isSubject reports whether words[from:to] name a thing, of which more is said: of "the problem is,
// it's too fast" not the problem is too fast.
func (v *view) isSubject(from, to int) bool {
	for _, w := range v.words[from+1 : to] {
		if pronouns[w.low] || questions[w.low] || abstract[w.low] || w.kind == day {
			return false
		}
	}
	return from+1 < to
}

var abstract = wordSet("thing problem point trouble issue question truth fact reason only best worst")

// leaveOutRepeated leaves out the last words of a clause with which the next one begins, of words
// that end none: "with the pencil and, and he", 上周才，才五十.
func (v *view) leaveOutRepeated(drop []reason) {
	for c := range len(v.clauses) - 1 {
		from, end := v.clauses[c].from, v.clauses[c].to
		if v.words[end-1].end >= sentence {
			continue
		}
		for n := min(4, end-from, v.clauses[c+1].to-end-1); n > 0; n-- {
			if textOf(v.words[end-n:end]) == textOf(v.words[end:end+n]) {
				if v.low(end-n-1) == "比" && v.low(end+n) == "是" {
					replace(drop[from:end], kept, spoken) // 他比上个月，上个月是二十公分
				}
				if v.isRepeated(end-n, end) && !slices.Contains(drop[end-n:end+n], unsaid) {
					mark(drop[end-n:end], spoken)
				}
				break
			}
		}
	}
}

// isObject reports whether words[i] ends a clause after a preposition: "not to put a fine point on
// it, he".
func (v *view) isObject(i int) bool {
	return v.words[i].mark != "" && v.has(v.set(i-1), "prep") && v.low(i) == "it"
}

// isRepeated reports whether words[from:end], which follow once more, end no clause.
func (v *view) isRepeated(from, end int) bool {
	text, last := textOf(v.words[from:end]), v.words[end-1]
	if !last.wide {
		return stutters[text] && !v.isObject(from) || endsNone[text] ||
			end-from > 1 && !slices.ContainsFunc(v.words[from:end], func(w word) bool { return !proclitics[w.low] })
	}
	return beginsAgain[text] && !v.negates(from) && v.low(2*end-from) != "的" ||
		end-from == 2 && (last.low == "了" || last.low == "到" && !arrives[v.low(from)]) &&
			!resumes[v.low(2*end-from)]
}

var (
	endsNone = wordSet("or so of is are was be at by from it's he's she's they're we're that's only then and_then")
	// beginsAgain are words with which no clause ends in Chinese, resumes characters with which
	// another statement begins after 了.
	beginsAgain = wordSet(`是 才 就 和 没 在 从 往 又 只 就是 有点 有一点 第一次 特别 非常 比较 还是 应该 可以
		一直 已经 主要 主要是 老是 现在 把 自己 用 能 会 能不能`)
	resumes = wordSet("就 再 才 也 都 以 之 的 吗 吧")
	arrives = wordSet("迟 签 报 学") // before 到, of words that are whole
)

// stem returns what stands before an apostrophe: "she" of "she's".
func stem(low string) string {
	low, _, _ = strings.Cut(low, "'")
	return low
}

// begins reports whether a statement begins at i.
func (v *view) begins(i int) bool {
	subject := stem(v.words[i].low)
	return pronouns[subject] || subject == "there" || v.has(v.classes[i], "det") ||
		v.words[i].wide && v.has(v.classes[i], "they")
}

// endsTooSoon reports whether no statement ends as words[from:end] do.
func (v *view) endsTooSoon(from, end int) bool {
	for i := from + 1; i < end; i++ {
		if subject := stem(v.words[i].low); pronouns[subject] || questions[subject] {
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
