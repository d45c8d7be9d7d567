package summary

import (
	"cmp"
	"slices"
	"strings"
)

// correct applies the corrections whose words are all like some before them, so that what goes on
// after those stays: of "ten minutes every day, no, fifteen" not only "fifteen" does, but "fifteen
// minutes every day". It changes the order of words to that in which they are written, and drop
// with them.
func correct(v *view, drop []reason) {
	words := v.words
	var all []*repair
	for from := 0; from < len(words); from++ {
		to := from
		for to < len(words) && drop[to] == spoken {
			to++
		}
		if from == to {
			to = v.endOfCue(from)
		}
		var r *repair
		if from < to && to < len(words) {
			begin := v.beginOfHundreds(from, to)
			mark(drop[begin:from], spoken)
			from = begin
			r = v.repairOf(from, to)
		}
		if r == nil && drop[from] != spoken {
			r = v.repairBefore(from)
		}
		for i := from; i <= max(from, to-1); i++ {
			again := cmp.Or(v.repairDenied(i), v.repairClaimed(i), v.repairTaken(i), v.repairTitle(i),
				v.repairLimited(i), v.repairBoth(i), v.repairOrdinal(i, drop), v.repairDisowned(i))
			if again != nil {
				r, to = again, max(to, again.to)
			}
		}
		if r != nil && drop[r.from] != filler { // else what was said to others would stay
			all = append(all, r)
		}
		from = max(from, to-1)
	}
	v.keepMonths(drop)
	next := len(words)
	for _, r := range slices.Backward(all) {
		if r.end <= next { // else it is corrected once more
			r.apply(words, drop)
			next = r.from
		}
	}
	tidy(words, drop)
}

// tidy leaves out what makes no sense beside a correction: of "on Tuesday, I mean tonight" also
// "on", and a "sorry" after it.
func tidy(words []word, drop []reason) {
	corrected := false // in this sentence
	for i, w := range words {
		next := i + 1
		for next < len(words) && drop[next] == spoken {
			next++
		}
		if drop[i] == kept && i+1 < next && next < len(words) {
			tidyBefore(words, drop, i, next)
		}
		switch {
		case drop[i] != kept:
		case w.low == "times" && i > 0 && drop[i-1] == kept && (words[i-1].low == "once" || words[i-1].low == "twice"):
			words[i-1].end, words[i-1].mark, drop[i] = w.end, w.mark, spoken // of "three times, no, twice"
		case corrected && w.low == "sorry" && w.end != inside && words[i-1].end == clause:
			drop[i] = filler
		}
		corrected = w.end < sentence && (corrected || drop[i] == spoken)
	}
}

// tidyBefore does the same to words[i] before a correction at to.
func tidyBefore(words []word, drop []reason, i, to int) {
	w, again := &words[i], words[to]
	switch {
	case (w.low == "on" || w.low == "at") && relativeDays[again.low],
		to > i+2 && places[w.low] && places[again.low] && w.low != again.low:
		drop[i] = spoken // of "for the motion, sorry, against the motion"
	case i > 0 && w.low == "the" && places[words[i-1].low] && places[again.low]:
		drop[i-1], drop[i] = spoken, spoken // of "in the morning, sorry, at night"
	case w.kind == number && measures(again.low):
		drop[i] = spoken // of "ten metres, sorry, twelve-metre lengths"
	case i+2 < to && series[words[i+1].low] && words[i+2].kind == number && again.kind == number:
		drop[i+1] = kept // of "the first two, no, three"
	case w.low == "每" && words[i+1].kind == day && again.kind == number:
		drop[i+1] = kept // of 每周三次，不，四次
		words[i+1].text = strings.TrimRight(words[i+1].text, weekdays)
	case w.wide && w.kind == day && listWeekdays(words[i+1], again):
		w.text = strings.TrimRight(w.text, weekdays) // of 周一三五，不对，一三四
	}
}

// series are words before a number of those that follow each other.
var series = wordSet("first last next")

// places are prepositions of which one is put for another.
var places = wordSet("for against in on at to from under over before after with without")

// relativeDays are days as seen from now.
var relativeDays = wordSet("today tonight tomorrow yesterday")

// keepMonths keeps the month of a date in Chinese of which only the day is corrected, as in
// 二月六号，不对，七号.
func (v *view) keepMonths(drop []reason) {
	for i := range drop {
		if i > 0 && drop[i-1] == spoken || v.words[i].kind != number || v.low(i+1) != "月" {
			continue
		}
		to := i + 1
		for to < len(drop) && (drop[to] == spoken || v.isCue(to)) {
			to++
		}
		if to > i+2 && to < len(drop) && v.words[to].kind == number && (v.low(to+1) == "号" || v.low(to+1) == "日") {
			drop[i], drop[i+1] = kept, kept
		}
	}
}

// endOfCue returns where words such as "no" end that begin at i, if they are set off or mean
// nothing else there, or i.
func (v *view) endOfCue(i int) int {
	if i == 0 || v.classes[i]&cues == 0 || v.classes[i-1]&cues != 0 && v.words[i-1].end == inside {
		return i
	}
	end := i + 1
	for end < len(v.words) && v.words[end-1].end == inside && v.isCue(end) {
		end++
	}
	first := v.words[i].low
	setOff := v.words[i-1].end != inside && v.words[end-1].end != inside
	if first == "that's" && v.classes[i-1]&cues == 0 && !slices.ContainsFunc(v.words[end:min(end+2, len(v.words))],
		isDay) {
		return i // of "he wrote six, that's wrong, five" the mistake is the student's
	}
	if setOff || corrects[first] || first == "no" && v.isExact(end) || first == "不" && v.words[end-1].low == "对" ||
		says(textOf(v.words[i:end]), "zhCue") { // 哦应该是
		return end
	}
	return i
}

// corrects are the first of words that are followed by a correction without a comma between.
var corrects = wordSet("actually sorry wait i or let's 说 应 或 我")

// repair is words[to:end], which stand for words[from:rest]. Words such as "no" begin at term, or
// stand between end and cue. What was left out from first to last stays, but for those.
type repair struct{ first, from, rest, term, to, end, cue, last int }

// repairOf finds the repair after words[from:last], which are left out: it follows words such as
// "no", and its words are all like some before those. It returns nil if there is none.
func (v *view) repairOf(from, last int) *repair {
	to := last
	for to > from+1 && !v.isCue(to-1) {
		to--
	}
	term := to
	for term > 0 && v.isCue(term-1) {
		term--
	}
	if to < last && v.clauseOf(to).to <= last {
		again := last + last - v.afterIs(to)
		if again > len(v.words) || textOf(v.words[v.afterIs(to):last]) != textOf(v.words[last:again]) {
			return nil // more than words such as "no" stands between
		}
		to = last // "no, that's Friday, Friday the fourth"
	}
	if term == 0 || term == to {
		return nil
	}
	if c := v.clauseOf(term - 1); c.from > 0 && v.says(c, "didISay") {
		term = c.from // "Did I say Tuesday? I meant Thursday"
	}
	to = v.afterIs(to)
	end, cue := v.endOfRepair(to)
	if v.words[term].low == "well" && v.words[term-1].end >= sentence && v.words[end-1].end < sentence {
		return nil // "three hundred words. Well, two, two minutes is"
	}
	if r := v.repairFor(repair{from: from, term: term, to: to, end: end, cue: cue, last: last}); r != nil {
		return r
	}
	if a := v.words[to]; a.wide && a.kind == number && to+2 < end { // 九点，我说错了，是十点在少年宫集合
		r := v.repairFor(repair{from: from, term: term, to: to, end: to + 2, cue: to + 2, last: last})
		if r != nil && r.from <= from && r.rest == term {
			return r
		}
	}
	return cmp.Or(v.repairOne(term, to), v.sameEnd(from, term, to, last), v.retracing(from, term, to, last),
		v.sameIs(from, term, to, last))
}

// isTime reports whether words[i] is a day, a number or one such as 今天.
func (v *view) isTime(i int) bool { return v.figures(i, i+1) != 0 || v.has(v.classes[i], "time") }

// endOfRepair returns where the words end that correct from i on, and a word "sorry" after them.
func (v *view) endOfRepair(i int) (end, cue int) {
	end = v.clauseOf(i).to
	for j := i + 1; j < end; j++ {
		switch {
		case v.words[j].low == "sorry":
			return j, j + 1
		case v.words[j].low == "就" && suffices[v.low(j+1)]:
			return j, j // 四个姿势，算了，三个就够了
		}
	}
	if end+1 < len(v.words) && v.words[end-1].end == clause && v.low(end) == "sorry" && v.words[end].end != inside {
		return end, end + 1
	}
	return end, end
}

// suffices are characters after 就 that say that a number is enough.
var suffices = wordSet("够 行 好 可")

// retracing finds the repair that begins as what is corrected does, or puts a word before that, of
// which the model leaves out too many or too few: "all the, no, nearly all the answers",
// 降E，不不不，降B.
func (v *view) retracing(from, term, to, last int) *repair {
	before, after := v.clauseOf(term-1), v.clauseOf(to)
	for n := min(4, term-before.from, after.to-to); n > 1; n-- {
		for i, j := term-n, to; j <= to+1 && j+n <= after.to; j++ {
			if v.alike(i, j) < 4 || to == last && from == i || v.negates(i) ||
				v.words[j].wide && (j > to || v.words[term-1].end == inside) { // 第三题不对，第四题
				continue
			}
			if score, same := v.likeness(i, j, n); same && j > to || !same && score > 0 {
				return &repair{first: min(from, i), from: i, rest: term, term: term, to: to, end: to, cue: to,
					last: last}
			}
		}
	}
	return nil
}

// repairBefore finds the repair that is followed by words such as "actually", which begin at cue,
// in its clause or in one of their own.
func (v *view) repairBefore(cue int) *repair {
	c := v.clause[cue]
	from, end := v.clauses[c].from, v.clauses[c].to
	if cue == from && c > 0 {
		from = v.clauses[c-1].from
	}
	if from == 0 || from == cue || cue < end-3 || v.words[cue-1].end >= sentence ||
		v.has(v.classes[from], "join") || !follows[textOf(v.words[cue:end])] {
		return nil
	}
	term := v.termIn(max(0, from-3), from) // "twice, um, once actually"
	return v.repairFor(repair{from: from, term: term, to: from, end: cue, cue: end, last: from})
}

// repairDenied finds the repair of what 不是 denies in the clause from term on, which is said before
// it, by the clause after it: 周三前交，不是周三，是周五.
func (v *view) repairDenied(term int) *repair {
	not := term
	for not+2 < len(v.words) && exclaims[v.low(not)] {
		not++
	}
	if term == 0 || v.low(not) != "不" || v.low(not+1) != "是" || v.words[term-1].end == inside && not == term {
		return nil
	}
	c := v.clauseOf(not + 1)
	to := not + 2
	for to < c.to && v.words[to].low != "是" { // where there are no commas
		to++
	}
	n, text := to-not-2, textOf(v.words[not+2:to])
	for v.low(to) == "应" || v.low(to) == "该" {
		to++
	}
	if n < 1 || v.low(to) != "是" || to+1 >= len(v.words) || v.words[c.to-1].end >= sentence && to >= c.to {
		return nil
	}
	to++
	end := v.clauseOf(to).to
	for i := term - n; i >= max(0, term-maxReparandum); i-- {
		if textOf(v.words[i:i+n]) != text {
			continue
		}
		r := &repair{first: i, from: i, rest: i + n, term: term, to: to, end: end, cue: end, last: to}
		for k := min(term-r.rest, end-to-1); k > 0; k-- {
			if textOf(v.words[end-k:end]) == textOf(v.words[r.rest:r.rest+k]) {
				r.rest += k // of 四十二号床的果果, 二十四号床
				break
			}
		}
		return r
	}
	return nil
}

// exclaims are characters before 不是.
var exclaims = wordSet("嗯 呃 哦 喔 啊 诶 欸 哎")

// repairFor returns a repair with the words for which it stands, or nil if there are none.
func (v *view) repairFor(r repair) (best *repair) {
	from, term, to := r.from, r.term, r.to
	first := max(0, term-maxReparandum)
	for i := term - 1; i >= first; i-- {
		if v.isCue(i) && !negations[v.words[i].low] || i < term-1 && v.words[i].end >= sentence {
			first = i + 1
		}
	}
	n, most := r.end-to, uint32(0)
	isNumber := v.words[to].kind == number
	if isNumber && n == 2 && v.words[to+1].kind == plain && v.words[term-1].kind == number && !v.inAmount(term-1) {
		n = 1 // of "twelve, no, fourteen pounds"
	}
	for i := term - n; i >= first; i-- {
		score, same := v.likeness(i, to, n)
		if same {
			return nil
		}
		if score == 0 || score < most || score == most && (i != from || isNumber) || !v.goesOn(i+n, term) ||
			v.inAmount(i) && v.words[i-1].low != "月" && v.beginOfHundreds(i, to) == i || v.negates(i) ||
			isNumber && i+1 < term && isDayNumber(v.words[i]) != isDayNumber(v.words[to]) || // "the 16th, at four"
			i > 2 && v.words[i-2].low == "out" && v.words[i-1].low == "of" && v.words[i-3].kind == number {
			continue
		}
		most = score
		r.first, r.from, r.rest = max(min(from, term), first), v.beginOfHundreds(i, to), v.endOfAmount(i+n, term)
		if v.low(r.end-1) == "一半" && r.rest < term && (v.low(r.rest) == "成" || v.set(r.rest)&units != 0) {
			r.rest++ // of 占三成，不是，占一半
		}
		best = &r
		if isNumber && n > 1 && i+n == term {
			break // of "5 to 3, and 4 to 5, no, 5 to 4" the second one
		}
	}
	return best
}

// goesOn reports whether words[i:end] go on with what is said before them. Of "five to nine" and
// "Monday or" the second is corrected; what follows a comma goes on if it tells of a time or an
// amount.
func (v *view) goesOn(i, end int) bool {
	if i < end && joinsNumbers[v.words[i].low] &&
		(i+1 == end || v.words[i+1].kind != plain || v.alike(i-1, i+1) > 0) {
		return false
	}
	for j := i - 1; j < end-1; j++ {
		if v.words[j].end != inside {
			return v.has(v.in(i, end), "time") || slices.ContainsFunc(v.words[i:end], func(w word) bool {
				return w.kind != plain && w.kind != name
			})
		}
	}
	return true
}

// isCue reports whether words[i] is one such as "no", or a hesitation.
func (v *view) isCue(i int) bool { return v.classes[i]&cues != 0 || v.hesitates(i) }

// afterCues returns where such words end that begin at i, or i.
func (v *view) afterCues(i int) int {
	for i < len(v.words) && v.isCue(i) {
		i++
	}
	return i
}

var cues = classSet("cue corrects")

// follows are such words that follow what they correct.
var follows = wordSet(`actually rather sorry i_mean i_should_say i_tell_a_lie i_beg_her_pardon i_beg_his_pardon
	i_beg_your_pardon 其实 才对 说错了 不好意思`)

// afterIs returns where what follows words such as "it is" begins, if they are at i.
func (v *view) afterIs(i int) int {
	for n := min(3, len(v.words)-i-1); n > 0; n-- {
		if i+n < v.clauseOf(i).to && introduces[textOf(v.words[i:i+n])] {
			return i + n
		}
	}
	return i
}

// introduces are words between those such as "no" and a correction.
var introduces = wordSet("that_should_be it_should_be that's it's it_is it_was 应该是 其实是 是")

// negations are also such words, but more often others.
var negations = wordSet("not rather 不 没 有 是 止")

// likeness returns how much n words from i and from j are alike, 0 if two of them are not or none
// stands for another, and whether they are the same.
func (v *view) likeness(i, j, n int) (all uint32, same bool) {
	same, stands := true, false
	for k := range n {
		one := v.alike(i+k, j+k)
		a, b := v.words[i+k], v.words[j+k]
		if rangeEnds[a.low] && rangeEnds[b.low] && a.low != b.low {
			return 0, false // 从第一小节到第二小节，到第四小节
		}
		if one == 0 && (areLetters(a, b) || areDays(a, b) ||
			ordinals[a.low] && ordinals[b.low]) || one == 3 && a.kind == number { // twenty and twenty-two
			one = 2
		}
		if one == 0 || one == 1 && k > 0 && v.words[j+k].wide && v.words[j+k-1].kind == number { // another unit
			return 0, false
		}
		all += one
		same = same && one == 4
		stands = stands || one == 2 || one == 1 && v.classes[i+k]&v.classes[j+k]&replaced != 0
	}
	if !stands {
		return 0, same
	}
	return all, false
}

// rangeEnds stand before the first and the last number of a range.
var rangeEnds = wordSet("from to 从 到")

// replaced are the classes of words that stand for each other by themselves.
var replaced = classSet("kin colour side finger degree time")

// areLetters reports whether both words are letters, such as keys and groups.
func areLetters(a, b word) bool {
	isLetter := func(w word) bool { return len(w.low) == 1 && w.kind == plain && w.low != "i" }
	return isLetter(a) && isLetter(b)
}

// areDays reports whether both words are days.
func areDays(a, b word) bool {
	return (a.kind == day || relativeDays[a.low]) && (b.kind == day || relativeDays[b.low])
}

// endOfAmount returns where the time, amount or date ends that is corrected up to i: of "half past
// four, no, five" nothing stays.
func (v *view) endOfAmount(i, limit int) int {
	switch last := v.words[i-1]; {
	case last.kind == number || amountParts[last.low]:
		for ; i < limit; i++ {
			w := v.words[i]
			if w.kind != number && !(amountParts[w.low] && i+1 < limit && v.words[i+1].kind == number) {
				break
			}
		}
	case last.kind == day:
		for j := i; j < limit; j++ {
			if w := v.words[j]; w.kind == month || isOrdinal(w.low) {
				i = j + 1
			} else if w.low != "the" && w.low != "of" && w.kind != number {
				break
			}
		}
	}
	return i
}

// ordinals end the number of a day, or are one.
var ordinals = wordSet(`st nd rd th first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth
	thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth thirtieth 号 日`)

// isOrdinal reports whether a word is one such as "third" or "3rd".
func isOrdinal(low string) bool { return ordinals[strings.TrimLeft(low, "0123456789")] }

// apply applies a repair to words and to why each is left out.
func (r *repair) apply(words []word, drop []reason) {
	mark(drop[r.first:r.last], kept)
	mark(drop[r.from:r.rest], spoken)
	mark(drop[r.term:r.to], spoken)
	mark(drop[r.end:r.cue], spoken)
	switch {
	case r.rest == r.term:
	case r.end < len(words) && words[r.rest].low == words[r.end].low &&
		words[r.rest-1].end < sentence: // what goes on is said again
		mark(drop[r.rest:r.term], spoken)
	default:
		last, replaced, repaired := &words[r.term-1], &words[r.rest-1], &words[r.cue-1]
		last.end, last.mark, repaired.end, repaired.mark = repaired.end, repaired.mark, replaced.end, replaced.mark
		swap(words[r.rest:r.end], r.term-r.rest)
		swap(drop[r.rest:r.end], r.term-r.rest)
	}
}

// swap puts the first n items of a list behind the others.
func swap[T any](list []T, n int) {
	copy(list, slices.Concat(list[n:], list[:n]))
}
