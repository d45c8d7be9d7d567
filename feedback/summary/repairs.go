package summary

import (
	"slices"
	"strings"
)

// The lengths in words of what the model compares.
const (
	maxReparandum = 18 // what is corrected
	maxTerm       = 14 // what stands between that and the correction
)

// repairs returns the spans that may be corrected by what follows them, or are said again.
func (v *view) repairs() []span {
	var out []span
	n := len(v.words)
	cue := uint64(1) << classNumber["cue"]
	seen := make([]int, n+1) // the last j+1 for which a span from i was added
	add := func(from, term, to int) {
		if from >= 0 && from < term && term <= to && to < n && seen[from] != to+1 && !v.inAmount(from) &&
			(term < to || !v.countsOn(from, to)) {
			seen[from] = to + 1
			out = append(out, span{from: from, to: to, meant: v.isMeant(from, term, to),
				keys: v.repairFeatures(from, term, to)})
		}
	}
	for j := 1; j < n; j++ {
		for term := j - 1; term > max(0, j-maxTerm); term-- { // where words such as "no" begin
			if !v.beginsCue(term) {
				continue
			}
			last := term
			for last < j && v.classes[last]&cue != 0 {
				last++
			}
			if j > last+2 && v.words[j-1].end == inside && v.ids[j] != v.id(term-1) {
				continue
			}
			for i := term - 1; i >= max(0, term-maxReparandum); i-- {
				add(i, term, j)
			}
		}
		for i := j - 1; i >= max(0, j-maxReparandum); i-- {
			if v.alike(i, j) > 0 {
				add(i, v.termIn(i, j), j)
			}
		}
	}
	return out
}

// isMeant reports whether words[from:term] are no mistake, whatever the model thinks of words[to:]
// after them, with words such as "no" from term on: those are no correction, or what remained would
// say something else.
func (v *view) isMeant(from, term, to int) bool {
	a, b := v.words[from], v.words[to]
	if from > 0 && v.has(v.classes[from]&v.classes[from-1], "whole") && v.words[from-1].end == inside ||
		v.beginsAnew(from, term, to) || v.takesTooMuch(from, term, to) || v.losesFigure(from, term, to) ||
		v.losesBetween(from, term, to) || v.inDate(from) && b.kind != month {
		return true
	}
	if from > 0 && (relative[v.words[from-1].low] && b.kind == number || // "last week, no, two weeks ago"
		term < to && v.has(v.classes[to-1], "det") && v.has(v.in(to, to+3), "be") &&
			!v.has(v.classes[from-1], "det")) || v.isAnother(from, term, to) {
		return true
	}
	if v.negates(from) && !(a.low == b.low && to == from+1) {
		return true // of "not Monday, Tuesday" would "not Tuesday" remain
	}
	if term == to { // a lost figure would not be seen
		return isDigits(a.low) && isDigits(b.low) || v.isDate(to) && !v.isDate(from) || v.inRange(from) ||
			v.cutsOff(from, term) || v.lists(from, term) || v.joinsSentences(from, term) ||
			v.has(v.classes[from], "det") && b.low == "it's" || // "the party is, it's on Sunday"
			a.kind == number && b.kind == number && (results[v.low(from-1)] || ordinals[a.low] != ordinals[b.low]) ||
			a.low == "and" && b.low == "and" && v.alike(from+1, to+1) < 4 // "and five, and six"
	}
	end := term + 1
	for end < to && v.words[end-1].end == inside && v.isCue(end) {
		end++
	}
	before, last := v.words[term-1], v.words[end-1]
	switch v.words[term].low {
	case "不": // "左手不对，右手很好", "不对的是第四题"
		return before.end == inside && last.mark != "" || end < len(v.words) && v.words[end].low == "的"
	case "no": // "two on Monday, no lessons on Tuesday"
		return before.mark != "" && last.end == inside && !v.isExact(end) && !v.isExact(end+1) &&
			v.set(end)&speakers == 0
	}
	return false
}

// relative are words that go before a time, but not before a number and a time.
var relative = wordSet("last next this")

// beginsAnew reports whether words[to:] have a verb of their own, which those from the start of the
// clause to from have, too: "we read chapter one, chapter two actually was homework".
func (v *view) beginsAnew(from, term, to int) bool {
	start := v.clauses[v.clause[from]][0]
	twoSubjects := v.has(v.in(start, from), "det") && v.has(v.in(max(term, to-1), to+1), "det")
	if from == start || v.words[term-1].mark == "" && !twoSubjects {
		return false
	}
	subject, _, _ := strings.Cut(v.words[start].low, "'")
	isVerb := func(w word) bool { return verbs[w.low] }
	return (pronouns[subject] || subject == "please" || verbs[subject] ||
		twoSubjects && slices.ContainsFunc(v.words[start:from], isVerb)) &&
		!slices.ContainsFunc(v.words[from:term], isVerb) &&
		slices.ContainsFunc(v.words[to:v.clauses[v.clause[to]][1]], isVerb)
}

// takesTooMuch reports whether words[to:] correct only the last clause of words[from:term], because
// both end alike: "forty pounds, due by Monday, no, paid by Monday".
func (v *view) takesTooMuch(from, term, to int) bool {
	before, end := v.clauses[v.clause[term-1]][0], v.clauses[v.clause[to]][1]
	return from < before && end-to > 1 && (v.words[from].kind == number || v.words[from].low != v.words[to].low) &&
		v.words[end-1].low == v.words[term-1].low && v.words[end-2].low == v.words[term-2].low
}

// verbs are those that are never something else.
var verbs = wordSet("is are was were has have had can could will would should must may might does did")

// losesFigure reports whether words[from:term] have a number, a day or a month for which none
// stands in as many words and two more after them: "by Monday, by card". After words such as "no"
// nothing may stand for any: "on Monday, no, after the holidays".
func (v *view) losesFigure(from, term, to int) bool {
	before := v.figures(from, term)
	after := v.figures(to, min(to+term-from+2, len(v.words)))
	return before&^after != 0 && (term == to || before&after != 0)
}

// losesBetween reports whether something is said only between words such as "no" and words[to:]: a
// day or a month that is new, or what one is of. Of "the play is on Friday, no, the show is
// on Friday, the play is on Monday" only the first clause is corrected.
func (v *view) losesBetween(from, term, to int) bool {
	among := func(w word, from, to int) bool {
		return slices.ContainsFunc(v.words[from:to], func(other word) bool { return other.low == w.low })
	}
	subject, of, wrong := to, false, false
	for i := term; i < to; i++ {
		w := v.words[i]
		if v.has(v.classes[i], "det") {
			subject = i
		}
		of = of || subject < i && v.has(v.classes[i], "be")
		wrong = wrong || w.low == "that's" // "no, that's the Wednesday"
		if (w.kind == day || w.kind == month) && !wrong &&
			(of || !among(w, from, term) && !among(w, to, min(to+term-from+2, len(v.words)))) {
			return true
		}
	}
	a := v.words[from]
	return subject+1 < to && v.words[to-1].end == inside && (a.kind != plain || v.has(v.classes[from], "be")) &&
		a.low == v.words[to].low
}

// isAnother reports whether words[from] and words[to] are figures of two things, of which one more
// is said between them that words[to] may correct: "page two, three times slowly, no, four times".
func (v *view) isAnother(from, term, to int) bool {
	a, b := v.words[from], v.words[to]
	unit := v.low(to + 1)
	if a.kind != b.kind || a.kind == plain || a.kind == name {
		return false
	}
	if labels[v.low(from-1)] && a.end != inside && b.end == inside && v.set(to+1)&units != 0 {
		return true
	}
	ended := a.end != inside
	for i := from + 1; i < term && v.classes[i]&cues == 0; i++ {
		w := v.words[i]
		if ended && w.kind == a.kind && (w.kind != number || w.end == inside && v.low(i+1) == unit) {
			return true
		}
		ended = ended || w.end != inside
	}
	for i := term; i < to; i++ {
		w := v.words[i]
		if w.kind == a.kind && !ambiguous[w.low] && w.low != a.low && w.end == clause && v.in(i+1, to)&cues == 0 {
			return true // "the third, no, the tenth, at five"
		}
	}
	return false
}

// labels are words that are followed by the number of a thing, not by how many there are.
var labels = wordSet("page pages chapter paper bar bars exercise question unit lesson level grade line lines number")

var units = classSet("unit time")

// low returns the word at i, or "" outside the text.
func (v *view) low(i int) string {
	if i < 0 || i >= len(v.words) {
		return ""
	}
	return v.words[i].low
}

// results are words that two numbers follow: "he lost six four".
var results = wordSet("won win lost lose")

// joinsSentences reports whether the sentence before words[from] would go on after the end of
// another: of "before the concert. And the concert is on Sunday" not "the concert. And" goes.
func (v *view) joinsSentences(from, term int) bool {
	for i := from; i < term-1; i++ {
		if w := v.words[i]; w.end >= sentence && w.mark != "" && !proclitics[w.low] {
			return from > 0 && v.words[from-1].end == inside
		}
	}
	return false
}

// inDate reports whether words[i] is the month of a date, of which the rest would say nothing.
func (v *view) inDate(i int) bool {
	return i > 0 && v.words[i].kind == month && (v.words[i-1].low == "of" || v.words[i-1].kind == number)
}

// inRange reports whether words[i] is the last number of a range: "pages one to six".
func (v *view) inRange(i int) bool {
	return i > 1 && v.words[i].kind == number && joinsNumbers[v.words[i-1].low] && v.words[i-2].kind == number
}

// figures returns the kinds of the numbers, days and months in words[from:to].
func (v *view) figures(from, to int) (set uint) {
	for _, w := range v.words[from:to] {
		switch {
		case w.kind == number && !ambiguous[w.low] || w.kind == day || w.kind == month:
			set |= 1 << w.kind
		case w.kind == plain && !w.wide && ordinals[w.low]: // the model has not learnt that they are numbers
			set |= 1 << number
		}
	}
	return set
}

// isDate reports whether words[i] is the number of a date or a time in Chinese.
func (v *view) isDate(i int) bool {
	w := v.words[i]
	return w.kind == number && w.end == inside && i+1 < len(v.words) && strings.Contains("年月号日点", v.words[i+1].low)
}

// cutsOff reports whether a sentence would end without words[from:term], and be no sentence then:
// of "we are proud of her. Her bow" not "her" goes, but of "he plays the. The first" "the" does.
func (v *view) cutsOff(from, term int) bool {
	last := v.words[term-1]
	return last.mark != "" && last.end >= sentence && from > 0 && v.words[from-1].end == inside &&
		(!proclitics[last.low] || proclitics[v.words[from-1].low])
}

// lists reports whether words[from:term] and the clause after them are statements of a list, such
// as "she can float, she can swim", rather than one that is begun again, which goes on for longer.
func (v *view) lists(from, term int) bool {
	next := v.clauses[v.clause[term]]
	for c := v.clause[from]; c < v.clause[term]; c++ {
		first, end := max(v.clauses[c][0], from), v.clauses[c][1]
		n := end - first
		last := v.words[end-1]
		if first == v.clauses[c][0] && last.mark != "" && v.words[first].kind == number &&
			v.low(first) == v.low(next[0]) && v.low(first) == v.low(next[1]) {
			return true // "four on the snare, four on the small one, four on the big one"
		}
		if v.isStatement(first, end) && next[1]-next[0] <= n+min(n-1, 2) &&
			textOf(v.words[first:end]) != textOf(v.words[next[0]:min(next[1], next[0]+n)]) {
			return true
		}
	}
	return false
}

// isStatement reports whether a clause has a subject, a mark at its end, and seems to be complete.
func (v *view) isStatement(from, end int) bool {
	first, last := v.words[from], v.words[end-1]
	if last.mark == "" || proclitics[last.low] || v.classes[end-1]&unfinished != 0 {
		return false
	}
	if first.wide {
		return end-from > 2 && v.has(v.classes[from], "they")
	}
	subject, _, _ := strings.Cut(first.low, "'")
	return end-from > 1 && (pronouns[subject] || v.has(v.classes[from], "det") && v.has(v.in(from, end), "be"))
}

// unfinished are the classes of words with which no statement ends.
var unfinished = classSet("degreeword prep")

// speakers are the classes of words with which a sentence begins after "no".
var speakers = classSet("they me you be say wait filler thanks hesitation ask command join not")

// negates reports whether there is a word such as "not" before words[i].
func (v *view) negates(i int) bool {
	if i == 0 || v.words[i-1].end != inside {
		return false
	}
	switch v.words[i-1].low {
	case "not", "不", "没":
		return true
	case "是", "有":
		return v.negates(i - 1)
	}
	return false
}

// countsOn reports whether the number at i and that at j, which follows it without a word such as
// "no", are one or belong together: "forty five", "6 30", "line five twice", "two and four", "the
// 27th to the 31st".
func (v *view) countsOn(i, j int) bool {
	a, b := v.words[i], v.words[j]
	if a.kind != number || b.kind != number || a.low == b.low {
		return false
	}
	switch between := v.words[i+1 : j]; len(between) {
	case 0:
		return tens[a.low] && ones[b.low] || isHour(a.low) && isMinutes(b.low) || timesOrParts[b.low]
	case 1:
		return joinsNumbers[between[0].low]
	case 2:
		return between[0].low == "to" && between[1].low == "the"
	}
	return false
}

var (
	tens = wordSet(`twenty thirty forty fifty sixty seventy eighty ninety`)
	ones = wordSet(`one two three four five six seven eight nine first second third fourth fifth sixth seventh
		eighth ninth`)
	hours        = wordSet(`one two three four five six seven eight nine ten eleven twelve`)
	minutes      = wordSet(`ten fifteen twenty thirty forty fifty`)
	timesOrParts = wordSet(`once twice half quarter hundred`)
	joinsNumbers = wordSet(`and or to 和 或 到 至`)
)

func isHour(s string) bool { return hours[s] || len(s) <= 2 && isDigits(s) }

func isMinutes(s string) bool { return minutes[s] || len(s) == 2 && s < "60" && isDigits(s) }

func isDigits(s string) bool { return strings.Trim(s, "0123456789") == "" }

// inAmount reports whether words[i] goes on with a number or a time, of which the rest alone would
// say something else: of "1分零5，不对，58秒" "1分58秒" must not remain.
func (v *view) inAmount(i int) bool {
	if i == 0 || v.words[i-1].end != inside || v.words[i].kind != number {
		return false
	}
	before := v.words[i-1]
	return before.kind == number ||
		i > 1 && v.words[i-2].kind == number && v.words[i-2].end == inside && amountParts[before.low]
}

// amountParts stand between the numbers of an amount or a time.
var amountParts = wordSet(`past point pounds dollars 点 點 分 秒 小时 月 年 块 元 毛 米`)

// hesitates reports whether a hesitation begins at i.
func (v *view) hesitates(i int) bool { return v.has(v.classes[i], "hesitation") }

// beginsCue reports whether words such as "no" and "I mean" begin at i.
func (v *view) beginsCue(i int) bool {
	cue := uint64(1) << classNumber["cue"]
	return v.classes[i]&cue != 0 && (i == 0 || v.classes[i-1]&cue == 0 || v.words[i-1].end != inside)
}

// termIn returns where such words begin after i, or j.
func (v *view) termIn(i, j int) int {
	for t := i + 1; t < j; t++ {
		if v.beginsCue(t) {
			for t > i+1 && v.hesitates(t-1) {
				t--
			}
			return t
		}
	}
	t := j
	for t > i+1 && v.hesitates(t-1) {
		t--
	}
	return t
}

// alike returns how words may be forms of one: 4 the same, 3 begun, 2 of one kind, 1 of one class.
func (v *view) alike(i, j int) uint32 {
	if i < 0 || j >= len(v.words) {
		return 0
	}
	a, b := &v.words[i], &v.words[j]
	switch {
	case a.low == b.low:
		return 4
	case a.wide != b.wide:
		return 0
	case isForm(*a, *b), !a.wide && len(a.low) < len(b.low) && b.low[:len(a.low)] == a.low:
		return 3
	case a.kind == b.kind && a.kind != plain:
		return 2
	case v.classes[i]&v.classes[j]&fields != 0:
		return 1
	}
	return 0
}

// continues reports whether a phrase of a class goes on at i, so that nothing begins there.
func (v *view) continues(i int) bool { return v.set(i)>>63 == 1 }

func (v *view) suffixAt(i int) uint32 {
	if i >= len(v.words) {
		return 0
	}
	return suffix(v.words[i])
}

// isForm reports whether words are forms of one, as page and pages.
func isForm(a, b word) bool {
	return a.low == b.low || !a.wide && len(a.low) > 3 &&
		strings.TrimSuffix(a.low, "s") == strings.TrimSuffix(b.low, "s")
}

// fields are the classes of which one word may replace another.
var fields = classSet("kin colour side finger degree unit det prep be degreeword time")

// repairFeatures returns what is seen of words[from:term], which words[to:] may correct, with
// words[term:to] between them.
func (v *view) repairFeatures(from, term, to int) keys {
	k := make(keys, 0, 64)
	rep, gap := term-from, to-term
	kind := bit(gap > 0)<<1 | v.wide
	if gap > 0 && v.words[term-1].end != inside {
		kind |= 4
	}
	if gap > 0 && v.in(term, to)>>classNumber["cue"]&1 == 0 {
		kind |= 8 // only a hesitation
	}
	pattern := uint32(0)
	for m := range 4 {
		a := uint32(5)
		if m < rep {
			a = v.alike(from+m, to+m)
		}
		pattern = pattern*6 + a
	}
	clauseEnd := v.clauses[v.clause[to]][1]
	nextSize := clauseEnd - to
	first, second := v.alike(from, to), v.alike(from+1, to+1)
	if rep < 2 {
		second = 5
	}
	same := 0
	for same < rep && to+same < len(v.words) && v.words[from+same].low == v.words[to+same].low {
		same++
	}
	whole := bit(same == rep)
	last := v.ends(term)
	crossed, sentences := 0, 0
	for i := from; i < to; i++ {
		if v.words[i].end != inside {
			crossed++
		}
		if v.words[i].end >= sentence {
			sentences++
		}
	}
	typed, differ, found := uint32(0), false, 0
	for i := from; i < term; i++ {
		for j := to; j < min(len(v.words), to+rep+4); j++ {
			if v.words[i].low == v.words[j].low {
				found++
				break
			}
		}
		if a := v.words[i]; a.kind != plain {
			for j := to; j < min(len(v.words), to+4); j++ {
				if b := v.words[j]; b.kind == a.kind {
					typed = uint32(a.kind)
					differ = differ || a.low != b.low
				}
			}
		}
	}
	share := uint32(4 * found / rep)
	nearest := bit(true)
	for i := from + 1; i < term; i++ {
		if v.alike(i, to) >= max(first, 1) {
			nearest = 0
		}
	}
	b, c, d := v.id(from-1), v.id(from), v.id(term-1)
	e := v.id(to)
	k.add(200, kind)
	k.add(201, kind, bucket(rep))
	k.add(202, kind, bucket(gap))
	k.add(203, kind, first, second)
	k.add(204, kind, first, bucket(rep))
	k.add(205, kind, uint32(min(same, 5)), whole)
	k.add(206, kind, uint32(min(same, 3)), bucket(rep))
	k.add(207, kind, typed, bit(differ))
	k.add(208, kind, typed, bit(differ), bucket(rep))
	k.add(209, kind, share, bucket(rep))
	k.add(210, kind, uint32(min(crossed, 4)), uint32(min(sentences, 2)))
	k.add(211, kind, v.ends(from)/4)
	k.add(212, kind, last)
	k.add(213, kind, v.ends(to))
	k.add(214, kind, nearest, first)
	k.add(215, v.ends(from)/4, v.ends(to)/4, kind, bit(first == 4))
	k.add(216, kind, b, bit(first > 0))
	k.add(217, kind, d)
	k.add(218, kind, e)
	k.add(219, kind, c, first)
	k.add(220, d, e, kind)
	k.each(222, v.set(from-1), kind, bit(first > 0))
	k.each(223, v.set(term-1), kind)
	k.each(224, v.set(to), kind, bit(first > 0))
	k.each(225, v.set(from), kind, bit(first > 0))
	k.each(226, v.set(from)&v.set(to), kind)
	k.add(227, kind, first, v.ends(from)/4, uint32(min(sentences, 1)))
	k.add(260, pattern, kind)
	k.add(261, pattern/6, kind, nearest)
	k.add(262, pattern/36, kind, v.ends(from)/4, v.ends(to)/4)
	k.add(263, pattern/6, uint32(v.words[from].kind), uint32(v.words[to].kind), kind&1)
	k.add(264, pattern/36, c, e)
	k.add(265, b, c)
	k.add(266, c, e)
	k.add(274, suffix(v.words[from]), suffix(v.words[to]), kind&3)
	k.add(275, kind, bit(suffix(v.words[term-1]) == v.suffixAt(to+rep-1)), bucket(rep), bit(first > 0))
	k.add(267, kind, bit(v.continues(from)), bit(v.continues(to)), bit(first > 0))
	k.add(268, kind, bucket(rep), bucket(nextSize), v.ends(to)/4)
	k.add(269, kind, uint32(min(crossed, 4)), bit(first > 1), bit(second > 1), v.ends(to)/4)
	k.add(270, kind, v.alike(term-1, to+rep-1), bucket(rep), bit(first > 0))
	k.add(271, kind, v.alike(term-1, clauseEnd-1), bit(first > 0), v.ends(to)/4)
	k.each(272, v.set(from)&v.set(to)&fields, kind, second)
	k.add(273, uint32(v.words[from].kind), uint32(v.words[to].kind), kind, v.ends(to)/4, second)
	if gap == 0 {
		if rep <= 4 && whole == 1 {
			k.add(230, hashOf(textOf(v.words[from:term])))
			k.add(231, uint32(rep), last, v.wide)
			k.add(232, uint32(rep), last, v.ends(to+rep), v.wide)
			k.add(233, uint32(rep), last, c)
		}
		k.add(234, last, uint32(min(same, 4)), whole, v.wide)
		k.add(235, last, first, bucket(rep), v.wide)
		k.add(236, last, v.ends(from)/4, uint32(min(same, 3)), v.wide)
		k.add(237, last, v.ends(to+same)/4, uint32(min(same, 3)), whole)
		k.add(238, v.id(to+same), d, bit(same > 0))
		return k
	}
	text := hashOf(textOf(v.words[term:min(to, term+6)]))
	k.add(240, text)
	k.add(241, text, last/4, v.ends(to)/4)
	k.add(242, text, first)
	k.add(243, v.id(term), last/4, v.ends(to)/4)
	k.add(244, v.id(term), v.id(term+1), v.wide)
	k.add(245, v.id(to-1), v.ends(to)/4)
	k.add(246, v.id(to-1), v.id(to-2))
	for i := term; i < to; i++ {
		k.add(247, v.ids[i])
	}
	k.each(248, v.in(term, to), v.wide)
	inter := uint32(0)
	for i := term; i < to; i++ {
		inter += bit(v.words[i].end != inside)
	}
	k.add(249, kind, min(inter, 3), bucket(gap))
	k.add(250, kind, first, typed, bit(differ), v.ends(to)/4)
	k.add(251, kind, first, nearest, bucket(rep))
	k.add(252, kind, bit(v.alike(term-1, to) > 0), bucket(rep))
	k.add(253, kind, v.ends(from)/4, bucket(rep))
	k.add(254, kind, bit(v.id(from-1) == v.id(to-1)), bit(first > 0))
	return k
}
