package summary

import (
	"slices"
	"strings"
)

// isMeant reports whether words[from:term] are no mistake, whatever the model thinks of words[to:]
// after them, with words such as "no" from term on: those are no correction, or what remained would
// say something else.
func (v *view) isMeant(from, term, to int) bool {
	a, b := v.words[from], v.words[to]
	switch {
	case v.beginsAnew(from, term, to), v.takesTooMuch(from, term, to), v.losesFigure(from, term, to),
		v.losesBetween(from, term, to), v.isAnother(from, term, to), v.hasSentence(from, term),
		v.losesTitle(from, to), v.contrasts(from, term, to),
		term < to && v.inAmount(to) && v.words[to-1].low == a.low, // "at 5, actually 5:15"
		v.quoted[term] && (term < to || v.quoted[from] || v.words[term].open == ""):
		return true
	case b.kind == number && from < to-1 && v.words[to-1].low == "oh" && (v.readsOn(from, to) || v.readsOn(to-2, to)):
		return true // "on the 27th at two oh five"
	case a.low != b.low && (b.low == "ones" || a.low == "ones" && a.end != inside):
		return true // "old ones, not new. The badge is £3"
	case v.inAmount(to) && v.beginOfHundreds(from, to) < from:
		return true // "three hundred and ten, no, four hundred"
	case v.onlyHesitates(term, to) && (v.goesOnWith(from, term, to) || v.saysSo(from, term, to)):
		return true
	case b.kind == number && !b.wide && (v.listsAfter(term, to) || v.endsList(from, term, to)):
		return true
	case to == from+1 && a.kind == number && timesTables[b.low]:
		return true // "seven eights"
	case a.wide && v.asksAgain(from):
		return true // 我前面说周二是吧，说错了，是周三
	case term < to && (b.low == "been" || v.words[to-1].low == "been"):
		return true // "cash, um, scratch that, it's been paid"
	case term < to && b.low == "not" && b.end != inside && v.words[to-1].low == "it's":
		return true // "at ten, no, it's not, it's at eleven"
	case term < to && v.words[term].low == "not" && v.words[term].end == inside &&
		(term == to-1 || v.low(term+1) == b.low || limitsNot[v.low(term+1)] ||
			term == to-2 && v.words[to-1].low == "the"), // "the 2 o'clock, not the 5 o'clock"
		term < to && v.words[term].low == "rather" && v.low(term+1) == "than":
		return true // "from the hip, not from the, from the knee", "at home, not yet at school", "6 rather than 7"
	case term < to && v.words[term].wide && looks[v.low(term+1)] && v.alike(from, to) == 0:
		return true // 正确率，我看看啊，二十题
	case term < to && v.words[to-1].low == "mean" &&
		strings.Contains(textOf(v.words[max(0, from-4):term]), "don't mean"):
		return true // "I don't mean the pitch, I mean the shape"
	case term < to && (v.callsIn(term, to) || v.namesWhole(from, term, to)):
		return true // "of trousers, no, sorry, sweetheart"
	case v.has(v.classes[from]&v.set(from-1), "whole") && v.words[from-1].end == inside:
		return true // a part of one word
	case relative[v.low(from-1)] && b.kind == number:
		return true // "last week, no, two weeks ago"
	case from > 0 && !v.has(v.classes[from-1], "det") && term < to && v.has(v.classes[to-1], "det") &&
		v.has(v.in(to, to+3), "be"):
		return true // of "the test is today, no, the show is" would "the test" and "show is" remain
	case v.negates(from) && !(a.low == b.low && to == from+1 && a.end == inside):
		return true // of "not Monday, Tuesday" would "not Tuesday" remain
	case v.tellsOfDenied(term), v.returnsTo(from, term, to),
		v.hesitates(to-1) && b.low == "不" && v.low(to+1) == "是": // 绿萝喝水，哦，不是绿萝
		return true
	case term == to:
		return v.bothStay(from, to)
	}
	end := term + 1
	for end < to && v.words[end-1].end == inside && v.isCue(end) {
		end++
	}
	if end < to && v.isThen(to) && !v.isThen(from) ||
		end+1 < to && limits[v.low(end)] && v.clause[end] == v.clause[to] && !v.has(v.classes[end+1], "det") {
		return true // 先练音阶，不对，先热身，再练音阶; "pages one and two, no, just page one"
	}
	before, last := v.words[term-1], v.words[end-1]
	switch v.words[term].low {
	case "不": // "左手不对，右手很好", "不对的是第四题", "是周一，不是周三", "规则的会了，不规则的不会"
		return before.end == inside && last.mark != "" || v.low(end) == "的" ||
			to == term+1 && last.end == inside && b.kind == plain || v.onlyContrasts(term, to) ||
			before.end == inside && v.low(to-1) == "行" && says(textOf(v.words[to:v.clauseOf(to).to]), "zhFits") ||
			v.low(from-1) == "是" && to == term+2 && v.low(term+1) == "是" && last.end == inside
	case "no": // "two on Monday, no lessons on Tuesday"
		return before.mark != "" && last.end == inside && !v.isExact(end) &&
			(v.has(v.set(end+1), "prep") || !v.isExact(end+1)) &&
			v.set(end)&speakers == 0
	}
	return false
}

// isThen reports whether words[i] is "then", or follows it.
func (v *view) isThen(i int) bool { return thens[v.low(i)] || thens[v.low(i-1)] }

var (
	thens  = wordSet("再 然后 then")
	limits = wordSet("just only") // of what stays of a list
)

// limitsNot are words after "not" that say how far something is not so.
var limitsNot = wordSet("yet always quite just even often")

// timesTables are numbers of which there are several.
var timesTables = wordSet("twos threes fours fives sixes sevens eights nines tens elevens twelves")

// callsIn reports whether words[from:to] or words[to] call somebody.
func (v *view) callsIn(from, to int) bool {
	return slices.ContainsFunc(v.words[from:to+1], func(w word) bool { return addressees[w.low] })
}

// addressees are words with which only somebody in the room is called.
var addressees = wordSet("sweetheart sweetie darling mate dude buddy")

// goesOnWith reports whether words[to] only go on with what is said before a hesitation at term.
func (v *view) goesOnWith(from, term, to int) bool {
	a, b, last := v.words[from], v.words[to], v.words[term-1]
	switch {
	case !a.wide && a.kind == day && b.kind == day && v.listsDays(from, term, to):
		return true // "on Monday, Wednesday and, um, Friday"
	case from == term-1:
		return false
	case a.kind == number && b.kind == number && v.words[term-2].end != inside && v.has(v.classes[term-1], "prep"):
		return true // "at eleven, with, um, two copies"
	case b.kind == number && v.words[term-2].kind == number && last.low != "and" && joinsNumbers[last.low]:
		return true // "6:30 to, uh, 7:15"
	}
	return term < to && last.low == b.low // "three quarters by two, uh, two thirds"
}

// saysSo reports whether a person of whom a clause speaks says something in the next one:
// 交到王老师那里，啊王老师说不用交了.
func (v *view) saysSo(from, term, to int) bool {
	n := 0
	for from+n < term && to+n < len(v.words) && v.words[from+n].low == v.words[to+n].low {
		n++
	}
	return n > 1 && v.words[from].wide && !proclitics[v.low(from)] && sayings[v.low(to+n)] && !sayings[v.low(from+n)]
}

var sayings = wordSet("说 讲")

// bothStay does the same without words such as "no" between: a lost figure would not be seen.
func (v *view) bothStay(from, to int) bool {
	a, b := v.words[from], v.words[to]
	numbers := a.kind == number && b.kind == number
	switch {
	case numbers && (v.bothCount(from, to) || v.readsOn(from, to)):
		return true
	case numbers && a.wide && v.set(from-1)&learntCues != 0 && !v.hesitates(from-1) && v.words[to-1].end != inside:
		return true // 四点到，不是，三点到，四点开始
	case from < to-1 && (b.low == "then" || v.words[to-1].low == "then") && v.figures(from, to) != 0:
		return true // "nine minutes, then twelve, then nine again"
	case a.low == "the" && b.low == "the" && v.words[to-1].end == clause && to+1 < len(v.words) &&
		hasCapital(v.words[from+1]) && hasCapital(v.words[to+1]) && v.figures(from+1, from+2) == 0:
		return true // "the Bach, the Minuet"
	case a.low == "the" && b.low == "the" && to+1 < len(v.words) && v.words[to+1].kind == number &&
		v.words[from+1].kind == number && v.listsAmounts(from+1, to+1):
		return true
	case a.low == "twice" && to == from+1 && a.end == inside && v.has(v.set(to+1), "time") && v.low(to+1) != "times":
		return true // "twice ten minutes"
	case v.words[to-1].kind == number && v.words[to-1].end == inside && (isPart(b.low) || b.kind == month):
		return true // "two thirds", "in June, the 21 June"
	case students[a.low] && a.low == b.low && a.mark != "" && to == from+1 && from > v.clauseOf(from).from+1:
		return true // 别催他，他一急就乱
	case (a.low+b.low == "左右" || a.low+b.low == "右左") && from > v.clauseOf(from).from:
		return true // 写在左边，右边改正
	case isDigits(a.low) && isDigits(b.low), v.isDate(to) && !v.isDate(from), v.inRange(from), v.cutsOff(from, to),
		v.lists(from, to), v.listsOrdinals(from, to), v.listsItems(from, to), v.joinsSentences(from, to),
		v.isTotal(from, to), v.listsDayNames(from, to):
		return true
	case numbers && !a.wide && v.words[from+1].kind == plain && v.low(from-1) == v.low(to-1) &&
		v.low(from+1) == v.low(to+1):
		return true // "first speed, four times, second speed, two times"
	case b.low == "it's":
		return v.has(v.classes[from], "det") || a.low == "is" // "the fee is, it's ten"
	case a.low == "to" && b.low == "to" && v.isNamedRange(from+1, to+1):
		return true
	case a.low == "it" && b.low == "it":
		return v.isObject(from) && verbs[v.low(to+1)] // "of it, it was good"
	case a.low == "by" && b.low == "by":
		return v.words[to-1].kind == number && v.words[to-1].mark == "" // "30 by 20 by 25"
	case a.low == "and" && b.low == "and":
		return v.alike(from+1, to+1) < 4 // "and five, and six"
	case b.low == a.low+"'s" && v.low(from-1) == "no":
		return true // "no whispering, whispering's worse"
	case v.low(from-1) == "what" && pronouns[a.low]:
		return true // "what we did today, we did the routine"
	case len(a.low) == 1 && a.kind == plain && a.mark != "" && a.low != "i" && a.low != "a" && a.low != b.low:
		return true // "with s, so st and sp"
	case needsNext[v.low(from-1)] && v.has(v.classes[from], "prep") && a.low != b.low:
		return true // "up to the end"
	case numbers && (results[v.low(from-1)] || isOrdinal(a.low) != isOrdinal(b.low)):
		return true
	}
	return numbers && (v.words[to-1].end != inside || a.wide) && v.isSaidOf(to) // "at five, four is taken"
}

// readsOn reports whether the numbers from one to another are read as one: "three sixty", "twenty
// fifteen", "twenty-eight fifty", "two oh five", "two hundreds".
func (v *view) readsOn(from, to int) bool {
	for i := from; i < to; i++ {
		w := v.words[i]
		if w.wide || w.end != inside || w.kind != number && (w.low != "oh" || i == from) {
			return false
		}
	}
	if v.words[to-1].low == "oh" {
		return labels[v.low(from-1)] || v.has(v.set(from-1), "prep")
	}
	first, last := v.words[from].low, v.words[to].low
	if isCompound(last) {
		return hours[first] || teens[first] // "nineteen forty-five"
	}
	return first != last &&
		(tens[last] && (to > from+1 || !tens[first]) || teens[last] && tens[first] || last == "hundreds")
}

var teens = wordSet("ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen")

// asksAgain reports whether words[i] are only said again, in a clause such as 我前面说周二是吧.
func (v *view) asksAgain(i int) bool {
	c := v.clauseOf(i)
	return c.from < i && v.says(c, "didISay")
}

// looks are the second characters of words such as 我看看 and 等等.
var looks = wordSet("看 等 一")

// onlyHesitates reports whether words[from:to] say nothing.
func (v *view) onlyHesitates(from, to int) bool {
	for i := from; i < to; i++ {
		if !v.hesitates(i) {
			return false
		}
	}
	return true
}

// isSaidOf reports whether a statement follows of the number at i, or of so much of a unit.
func (v *view) isSaidOf(i int) bool {
	for range 2 {
		if v.words[i].end != inside {
			return false
		}
		i++
		if low := v.low(i); restated[low] || low == "是" || low == "太" || low == "有" && v.low(i+1) == "点" {
			return true
		}
		if i >= len(v.words) || v.set(i)&units == 0 && !v.words[i].wide {
			return false
		}
	}
	return false
}

// needsNext are words of which the preposition after them is a part.
var needsNext = wordSet("up out because next due close away back instead")

// relative are words that go before a time, but not before a number and a time.
var relative = wordSet("last next this")

// beginsAnew reports whether words[to:] have a verb of their own, which those from the start of the
// clause to from have, too: "we read chapter one, chapter two actually was homework".
func (v *view) beginsAnew(from, term, to int) bool {
	start := v.clauseOf(from).from
	twoSubjects := v.has(v.in(start, from), "det") && v.has(v.in(max(term, to-1), to+1), "det")
	if from == start || v.words[term-1].mark == "" && !twoSubjects {
		return false
	}
	subject := stem(v.words[start].low)
	isVerb := func(w word) bool { return verbs[w.low] }
	return (pronouns[subject] || subject == "please" || verbs[subject] ||
		twoSubjects && slices.ContainsFunc(v.words[start:from], isVerb)) &&
		!slices.ContainsFunc(v.words[from:term], isVerb) &&
		slices.ContainsFunc(v.words[to:v.clauseOf(to).to], isVerb)
}

// takesTooMuch reports whether words[to:] correct only the last clause of words[from:term], because
// both end alike: "forty pounds, due by Monday, no, paid by Monday".
func (v *view) takesTooMuch(from, term, to int) bool {
	before, end := v.clauseOf(term-1).from, v.clauseOf(to).to
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
	return before&^after != 0 && (term == to || before&after != 0 ||
		v.words[term].low == "sorry" && pronouns[stem(v.low(term+1))] &&
			v.words[from].low != v.words[to].low || // "half seven, sorry, they've moved it"
		explains[textOf(v.words[term:min(term+3, len(v.words))])])
}

// explains are words of which "sorry" corrects nothing: "the 29th. Sorry, that was the bell".
var explains = wordSet("sorry_i_know sorry_that_was")

// onlyContrasts reports whether words[term:to] are 不是 and the clause between marks ends with what
// they deny: 改到周四，不是周五。
func (v *view) onlyContrasts(term, to int) bool {
	end := v.clauseOf(to).to
	return to == term+2 && v.low(term+1) == "是" && v.words[to-1].end == inside && v.words[term-1].mark != "" &&
		v.words[end-1].mark != ""
}

// contrasts reports whether words[to:] are a statement of another thing than words[from:] in the
// clause before: "practise the left hand, the right hand is fine".
func (v *view) contrasts(from, term, to int) bool {
	end := v.clauseOf(to).to
	return term == to && from+1 < term && v.words[from].low == v.words[to].low && v.has(v.classes[to], "det") &&
		v.words[to-1].end == clause && from > v.clauseOf(from).from && to+2 < end && v.states(to+2, end) &&
		!v.states(from, term)
}

// states reports whether there is a verb among words[from:to] that is never something else, or a
// pronoun before one.
func (v *view) states(from, to int) bool {
	return slices.ContainsFunc(v.words[from:to], func(w word) bool {
		return verbs[w.low] || pronouns[stem(w.low)] || ofThings[w.low]
	})
}

// ofThings are verbs that tell of things.
var ofThings = wordSet("stays goes comes needs starts ends costs takes means looks sounds feels works")

// losesTitle reports whether words[from:to] have a title in the marks of one, and as many after
// them have none.
func (v *view) losesTitle(from, to int) bool {
	hasTitle := func(from, to int) bool {
		return slices.ContainsFunc(v.words[from:to], func(w word) bool { return strings.Contains(w.open, "《") })
	}
	return hasTitle(from, to) && !hasTitle(to, min(2*to-from, len(v.words)))
}

// losesBetween reports whether something is said only between words such as "no" and words[to:]: a
// day or a month that is new, or what one is of. Of "the play is on Friday, no, the show is on
// Friday, the play is on Monday" only the first clause is corrected.
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
	if v.has(v.classes[from], "prep") && !a.wide && from+1 < term && v.words[from+1].kind == b.kind {
		return v.correctsBetween(from+1, term, to)
	}
	if a.kind != b.kind || a.kind == plain || a.kind == name {
		return false
	}
	if labels[v.low(from-1)] && (a.end != inside || to == from+1) && b.end == inside &&
		(v.set(to+1)&units != 0 || term == to && !b.wide && a.end != inside && v.countsThings(to)) {
		return true // "page five, six lines", "question two, three marks each"
	}
	if term == to && v.has(v.set(from-1), "prep") && a.end != inside && unit == "times" {
		return true // "at 66, five times"
	}
	ended := a.end != inside
	for i := from + 1; i < term && v.classes[i]&cues == 0; i++ {
		w := v.words[i]
		if w.kind == number && sameSort(w, b) && !sameSort(a, b) {
			return true // "on the 16th, at four, no, five"
		}
		if ended && w.kind == a.kind && (w.kind != number || w.end == inside && v.low(i+1) == unit) {
			return true
		}
		ended = ended || w.end != inside
	}
	return v.correctsBetween(from, term, to)
}

// countsThings reports whether the number at i tells how many there are of what follows.
func (v *view) countsThings(i int) bool {
	if i+1 == len(v.words) { // a long sentence is cut
		return false
	}
	next := v.words[i+1]
	return next.kind == plain && strings.HasSuffix(next.low, "s") && v.set(i+1)&speakers == 0 &&
		!v.has(v.classes[i+1], "prep")
}

// correctsBetween reports whether the figure at i is corrected by one before words[to]: "the third,
// no, the tenth, at five".
func (v *view) correctsBetween(i, term, to int) bool {
	a := v.words[i]
	for j := term; j < to; j++ {
		w := v.words[j]
		if w.kind == a.kind && w.kind != plain && !ambiguous[w.low] && w.low != a.low && w.end == clause &&
			v.in(j+1, to)&cues == 0 {
			return true
		}
	}
	return false
}

// labels are words that are followed by the number of a thing, not by how many there are.
var labels = wordSet(`page pages chapter paper bar bars exercise question unit lesson level grade line lines number
	sheet size lane scale room bus track`)

var units = classSet("unit time")

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

// hasSentence reports whether words[from:term] begin within a sentence and have another one.
func (v *view) hasSentence(from, term int) bool {
	n := 0
	for _, w := range v.words[from:term] {
		if w.end >= sentence && w.mark != "" && w.mark != "?" {
			n++
		}
	}
	return n > 1 && from > 0 && v.words[from-1].end < sentence
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
