package summary

import (
	"cmp"
	"strings"
)

// What is said once more, with another figure, subject or thing, shows by itself what it corrects.

// repairClaimed finds the repair of a figure that "I said" names at i, and that was said before, by
// the clause after it: "The bus is at five. Oh, I said five, it's six".
func (v *view) repairClaimed(i int) *repair {
	c, said := v.clauseOf(i), i
	for n := 5; n > 1 && said == i; n-- {
		if i+n < c.to && claims[textOf(v.words[i:i+n])] {
			said = i + n
		}
	}
	if said == i || c.to == len(v.words) || v.quoted[i] {
		return nil
	}
	to, term := v.afterIs(c.to), i
	for to+1 < len(v.words) && v.isCue(to) {
		to++
	}
	for term > 1 && v.isCue(term-1) {
		term--
	}
	n, text, end := c.to-said, textOf(v.words[said:c.to]), v.clauseOf(to).to
	if to == c.to || to == c.to+1 && term == i || v.figures(said, c.to)&v.figures(to, end) == 0 ||
		term > 0 && v.words[term-1].end == inside {
		return nil
	}
	for k := term - n; k >= max(0, term-2*maxReparandum); k-- {
		if textOf(v.words[k:k+n]) != text {
			continue
		}
		r := &repair{first: term, from: k, rest: k + n, term: term, to: to, end: end, cue: end, last: to}
		if v.clauseOf(k).to == term {
			r.first = k
		}
		return r
	}
	return nil
}

// claims are words with which a speaker names what was said before.
var claims = wordSet("i_said i_just_said did_i_say 我说 我刚说 我刚才说 我刚刚说 我前面说")

// repairTaken finds the repair of a figure that is something else, as is said after words such as
// "no" at i: "it's on the fourth, no, the fourth's a holiday, it's on the fifth".
func (v *view) repairTaken(i int) *repair {
	again := v.afterCues(i)
	if again == i {
		return nil
	}
	begin := v.beginOfFigure(i)
	if begin == i || v.isCue(begin) || !v.tells(begin, i, again) {
		return nil
	}
	first := begin
	for first > 0 && v.words[first-1].end == inside && v.set(first-1)&leadIn != 0 {
		first--
	}
	for k := again + i - begin; k < min(len(v.words)-1, again+maxReparandum); k++ {
		to := v.afterIs(k)
		begins := to > k || v.words[k-1].end == clause && !v.isSaidOf(k) // "the fourth's a holiday, the fifth"
		if begins && v.figures(begin, i)&v.figures(to, min(to+2, len(v.words))) != 0 {
			return &repair{first: first, from: begin, rest: i, term: i, to: to, end: to, cue: to, last: to}
		}
	}
	return nil
}

// namesWhole reports whether what follows words such as "no" at term is only the beginning of a
// thing said before, of which the rest would be lost: "the left side of the chest, I mean the left
// side as he wears it".
func (v *view) namesWhole(from, term, to int) bool {
	for of := max(2, v.clauseOf(from).from); of+1 < term; of++ {
		for i := term; i <= min(to+1, len(v.words)-3) && v.low(of) == "of" && v.words[of].end == inside; i++ {
			if v.low(i) == v.low(of-2) && v.low(i+1) == v.low(of-1) && v.low(i+2) != "of" {
				return true
			}
		}
	}
	return false
}

// leadIn are the classes of words before a figure: "is on".
var leadIn = classSet("be prep")

// repairLimited finds the repair of what is said twice, the second time after "only", by what
// follows words such as "no" at i: "the first half of it, only the first half, no, both halves".
func (v *view) repairLimited(i int) *repair {
	to, only := v.afterCues(i), i-1
	for only > i-maxHead && only > 0 && !limits[v.low(only)] {
		only--
	}
	n := i - only - 1
	if to == i || to+1 >= len(v.words) || only < 1 || !limits[v.low(only)] || n < 2 {
		return nil
	}
	end := v.clauseOf(to).to
	if v.low(to) == "both" {
		end = min(end, to+2)
	} else if end-to > n+1 || v.figures(only, i)&v.figures(to, end) == 0 {
		return nil
	}
	for k := only - n; k >= max(0, only-maxReparandum); k-- {
		if textOf(v.words[k:k+n]) == textOf(v.words[only+1:i]) {
			return &repair{first: k, from: k, rest: k + n, term: only, to: to, end: end, cue: end, last: to}
		}
	}
	return nil
}

// repairBoth finds the repair of one of two things by both after words such as "no" at i, but for
// "not": "the left foot, sorry, both feet".
func (v *view) repairBoth(i int) *repair {
	to, one := v.afterCues(i), v.low(i-1)
	if i == 0 || to == i || v.low(to) != "both" || negations[v.low(to-1)] || verbs[v.low(to+2)] ||
		v.low(to+1) != cmp.Or(irregular[one], one+"s") {
		return nil
	}
	from := v.lastDet(max(v.clauseOf(i-1).from, i-maxHead), i-1)
	if from < 0 {
		return nil
	}
	return &repair{first: from, from: from, rest: i, term: i, to: to, end: to, cue: to, last: to}
}

// repairOrdinal finds the repair of an ordinal, of which the model knows only some, by the one
// after words such as "no" at i: "the fifteenth no sorry the sixteenth".
func (v *view) repairOrdinal(i int, drop []reason) *repair {
	from, to := i-1, v.afterCues(i)
	next := to
	if v.low(to) == "the" {
		if next++; v.low(from-1) == "the" {
			from--
		}
	}
	if i == 0 || v.onlyHesitates(i, to) || negations[v.low(to-1)] || v.words[i-1].wide || drop[i-1] != kept ||
		!isOrdinal(v.low(i-1)) || !isOrdinal(v.low(next)) || drop[next] != kept || v.words[i-1].end >= sentence ||
		ambiguous[v.low(next)] || from > 0 && v.words[from-1].kind == number && v.words[from-1].end == inside {
		return nil
	}
	return &repair{first: from, from: from, rest: i, term: i, to: to, end: to, cue: to, last: next}
}

// repairDisowned finds the repair at i of "at the park, no, not the park, at the hall".
func (v *view) repairDisowned(i int) *repair {
	not := i
	for not < len(v.words) && v.isCue(not) && v.words[not].low != "not" {
		not++
	}
	if i == 0 || v.words[i-1].end >= sentence || proclitics[v.low(i-1)] || v.low(not) != "not" ||
		v.onlyHesitates(i, not) {
		return nil
	}
	for n := min(maxHead, i); n > 0; n-- {
		to := not + 1 + n
		if to >= len(v.words) || v.words[to-1].end >= sentence || v.negates(i-n) ||
			v.words[to-1].end == inside && v.alike(i-1, to) != 2 || // "no, not ready for that"
			v.set(to)&speakers != 0 || // "every day, well, not every day, but often"
			textOf(v.words[i-n:i]) != textOf(v.words[not+1:to]) {
			continue
		}
		from := i - n
		if places[v.low(from-1)] && places[v.low(to)] {
			from--
		}
		return &repair{first: from, from: from, rest: i, term: i, to: to, end: to, cue: to, last: to}
	}
	return nil
}

var irregular = map[string]string{"foot": "feet", "half": "halves"}

// beginOfFigure returns where the figure before words[i] begins, such as "the twenty third", or i.
func (v *view) beginOfFigure(i int) int {
	begin := i
	for begin > 0 && v.figures(begin-1, begin) != 0 && (begin == i || v.words[begin-1].end == inside) {
		begin--
	}
	if begin < i && v.low(begin-1) == "the" {
		begin--
	}
	return begin
}

// tells reports whether a statement of the figure words[from:term] begins at to: "the fourth's a
// holiday".
func (v *view) tells(from, term, to int) bool {
	n := term - from
	return to+n < len(v.words) && v.figures(term-1, term) != 0 &&
		textOf(v.words[from:term])+"'s" == textOf(v.words[to:to+n])
}

// maxHead is the length in words of what comes before that which two clauses have in common.
const maxHead = 5

// sameEnd finds the repair of a clause by one that ends alike after words such as "no": of a time
// with which both begin, as in 周二发给你，不是，今天晚上发给你, of a whole statement, as in "he
// was absent, sorry, the twins were absent", or of a thing, as in "the adult group, I mean, the
// teenager group".
func (v *view) sameEnd(from, term, to, last int) *repair {
	before, after := v.clauseOf(term-1), v.clauseOf(to)
	n := 0 // words at the end that are the same
	for term-n > before.from && after.to-n > to && v.words[term-1-n].low == v.words[after.to-1-n].low {
		n++
	}
	first, second := term-n-before.from, after.to-n-to
	if n == 0 || first == 0 || second == 0 || second > maxHead || before.to != term || v.low(term) == "well" {
		return nil
	}
	isThing := v.has(v.classes[term-n], "det") || v.has(v.classes[term-n], "prep")
	states := (v.begins(to) || v.low(to) == "both") && (n > 1 && !isThing || v.states(to, after.to))
	begin := before.from
	same := after.to - to - 3 // words after the numbers of 漏了六个零，不，少了一个零
	switch verb := term - same - 3; {
	case v.words[to].wide && verb >= begin && same > 0 && same <= n && v.low(verb+1) == "了" && v.low(to+1) == "了" &&
		v.words[verb+2].kind == number && v.words[to+2].kind == number:
		begin = verb
	case !v.words[to].wide && !states:
		begin = v.beginOfThing(before.from, term, to, n)
	case first > maxHead, states && !v.begins(begin),
		v.words[to].wide && (n < 2 || !v.isTime(begin) || !v.isTime(to)):
		return nil
	}
	if begin < 0 {
		return nil
	}
	return &repair{first: min(from, begin), from: begin, rest: term, term: term, to: to, end: to, cue: to, last: last}
}

// beginOfThing returns where the thing begins in the clause words[from:term] that one with an
// article at to replaces, as both end with the same n words, or -1.
func (v *view) beginOfThing(from, term, to, n int) int {
	last := v.words[term-1]
	if !v.has(v.classes[to], "det") || last.kind != plain || proclitics[last.low] || v.has(v.classes[from], "join") {
		return -1
	}
	begin := v.lastDet(max(from, term-n-maxHead), term-n)
	if begin < 0 && term-n-from <= 2 {
		return from // "adult group"
	}
	return begin
}

// lastDet returns where the last word such as "the" stands in words[from:to], or -1.
func (v *view) lastDet(from, to int) int {
	for i := to - 1; i >= from; i-- {
		if v.has(v.classes[i], "det") {
			return i
		}
	}
	return -1
}

// repairOne finds the repair of a thing by one of its kind: "the grey skirt, oh no, the navy one".
func (v *view) repairOne(term, to int) *repair {
	one, noun := v.clauseOf(to).to-1, term-1
	if v.words[one].low != "one" || one > to+3 || one < to+2 || !v.has(v.classes[to], "det") ||
		v.words[noun].end == inside || v.words[noun].kind != plain {
		return nil
	}
	from := v.lastDet(max(v.clauseOf(noun).from, noun-maxHead), noun)
	if from < 0 || from == noun-1 {
		return nil
	}
	return &repair{first: from, from: from, rest: noun, term: term, to: to, end: one, cue: one + 1, last: one + 1}
}

// sameIs finds the repair of what something is: 上的是大提琴，不对，是钢琴.
func (v *view) sameIs(from, term, to, last int) *repair {
	begin, c := term-1, v.clauseOf(term-1)
	for begin > c.from && v.words[begin].low != "是" {
		begin--
	}
	isVerb := func(i int) bool { return v.low(i) == "是" && !endsAlike[v.low(i-1)+"是"] } // not in 但是
	if !isVerb(begin) || !isVerb(to-1) || begin == term-1 || term == to-1 || v.clauseOf(to).to-to > maxThing ||
		v.low(term) == "应" {
		return nil
	}
	return &repair{first: min(from, begin+1), from: begin + 1, rest: term, term: term, to: to, end: to, cue: to,
		last: last}
}

// tellsOfDenied reports whether 不是 at term denies what was not said before, and of which more is
// said soon after: 个人组150，不是组合组，组合组是260, 下节课周四不是周三老师周三有演出.
func (v *view) tellsOfDenied(term int) bool {
	from := term + 2
	for from < min(len(v.words), term+4) && v.words[from].kind == plain && v.words[from].end == inside {
		from++ // of 前四单元 the number tells
	}
	if from < len(v.words) && v.words[from].kind == plain {
		from = term + 2
	}
	to := from + 2
	if term == 0 || v.low(term) != "不" || v.low(term+1) != "是" || v.words[term+1].end != inside ||
		to >= len(v.words) || v.words[term-1].mark == "" && v.words[from].kind == plain { // 小兔子不是大兔子大兔子
		return false
	}
	if v.words[from].kind == day {
		to--
	}
	denied := textOf(v.words[from:to])
	return !strings.Contains(textOf(v.words[max(0, term-2*maxReparandum):term]), denied) &&
		strings.Contains(textOf(v.words[to:min(len(v.words), to+maxReparandum)]), denied)
}

// returnsTo reports whether what follows words such as 等等 at term begins before words[to] as
// something before words[from], which it corrects: 装框40，付了30，还差，等等，装框60，付了30.
func (v *view) returnsTo(from, term, to int) bool {
	term = min(to, v.afterCues(term))
	for i := max(0, from-maxReparandum); i+1 < from && term+1 < to && v.words[term].wide; i++ {
		if textOf(v.words[i:i+2]) == textOf(v.words[term:term+2]) {
			return true
		}
	}
	return false
}

// repairTitle finds the repair of a title at i by another one: 《城南旧事》，不对，是《呼兰河传》.
func (v *view) repairTitle(i int) *repair {
	term := v.endOfTitle(i)
	to := term
	for to < len(v.words) && v.isCue(to) && v.words[to].open == "" {
		to++
	}
	contrasts := v.low(to-2)+v.low(to-1) == "不是" && v.words[to-1].end == inside
	if term == i || v.onlyHesitates(term, to) || v.negates(i) || contrasts {
		return nil
	}
	to = v.afterIs(min(to, len(v.words)-1))
	end := v.endOfTitle(to)
	if end == to {
		return nil
	}
	return &repair{first: i, from: i, rest: term, term: term, to: to, end: end, cue: end, last: to}
}

// endOfTitle returns where a title in the marks of one ends that begins at i, or i.
func (v *view) endOfTitle(i int) int {
	if i >= len(v.words) || !strings.HasSuffix(v.words[i].open, "《") {
		return i
	}
	for j := i; j < min(len(v.words), i+maxReparandum); j++ {
		if strings.Contains(v.words[j].mark, "》") {
			return j + 1
		}
	}
	return i
}
