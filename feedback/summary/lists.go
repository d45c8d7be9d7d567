package summary

import (
	"slices"
	"strconv"
	"strings"
)

// lists reports whether words[from:term] and the clause after them are statements of a list, such
// as "she can float, she can swim", rather than one that is begun again, which goes on for longer.
func (v *view) lists(from, term int) bool {
	if v.listsThings(from, term) {
		return true
	}
	next := v.clauseOf(term)
	for c := v.clause[from]; c < v.clause[term]; c++ {
		first, end := max(v.clauses[c].from, from), v.clauses[c].to
		n := end - first
		last := v.words[end-1]
		if first == v.clauses[c].from && last.mark != "" && v.words[first].kind == number &&
			v.low(first) == v.low(next.from) && v.low(first) == v.low(next.to) {
			return true // "four on the snare, four on the small one, four on the big one"
		}
		if v.isStatement(first, end) && next.to-next.from <= n+min(n-1, 2) &&
			textOf(v.words[first:end]) != textOf(v.words[next.from:min(next.to, next.from+n)]) {
			return true
		}
	}
	return false
}

// listsThings reports whether words[from:term] end one thing of a list in Chinese, the clause after
// them is another, and the next one begins with 还有: 头盔，护胸，护腿，还有护臂.
func (v *view) listsThings(from, term int) bool {
	c := v.clause[term]
	if !v.words[from].wide || c+1 >= len(v.clauses) || v.words[term-1].mark == "" {
		return false
	}
	i := v.clauses[c+1].from
	for i+1 < len(v.words) && v.hesitates(i) {
		i++
	}
	before, after := v.clauseOf(from), v.clauses[c]
	return v.low(i) == "还" && v.low(i+1) == "有" && after.from == term &&
		before.to-before.from <= maxThing && after.to-after.from <= maxThing
}

// maxThing is the length in characters of a thing in a list.
const maxThing = 4

// listsItems reports whether words[from:to] and those at to are of a list of three or more things
// that differ only in one word or in their numbers: "the blue pen, the red pen and the green pen",
// "eight nine and eleven". Numbers alone without marks must grow.
func (v *view) listsItems(from, to int) bool {
	n := to - from
	for begin := from; begin >= max(0, from-n+1) && n <= maxItem; begin-- {
		last := begin
		for last < begin+n*longList && v.isItem(last, last+n, n) {
			if last += n; tens[v.low(last+n-1)] && ones[v.low(last+n)] {
				last++ // "bar nine, bar twenty two and bar thirty"
			}
		}
		if last > begin && addsNumbers[v.low(last+n)] && v.isItem(begin, last+n+1, n) &&
			(n > 1 || v.low(last) != v.low(last+2)) { // of "88, 87 and 87" the first is wrong
			return true
		}
	}
	return false
}

// maxItem is the length in words of an item of a list.
const maxItem = 4

// isItem reports whether n words from j are those from i but for one word or their numbers.
func (v *view) isItem(i, j, n int) bool {
	words, numbers := 0, 0 // that differ
	for k := range n {
		if j+k >= len(v.words) || v.words[j+k].wide {
			return false
		}
		a, b := v.words[i+k], v.words[j+k]
		if a.low == b.low {
			continue
		}
		grows := n > 1 || a.mark != "" || v.value(i+k) < v.value(j+k) || isOrdinal(a.low) && isOrdinal(b.low)
		switch {
		case a.kind == plain && b.kind == plain && n > 2:
			words++
		case a.kind != number || b.kind != number || powers[a.low] || powers[b.low] || !grows:
			return false
		default:
			numbers++
		}
	}
	return words == 1 && numbers == 0 || words == 0 && numbers > 0
}

// listsOrdinals reports whether words[from:to] and those at to are of a list such as "the second,
// the third and the fourth".
func (v *view) listsOrdinals(from, to int) bool {
	return to == from+2 && isOrdinal(v.low(from+1)) &&
		isOrdinal(v.low(to+1)) && v.words[to+1].mark == "" && v.low(to+2) == "and" &&
		(v.low(to+3) == "the" || isOrdinal(v.low(to+3)))
}

// bothCount reports whether the numbers at i and j say how many of different things, without words
// such as "no" between.
func (v *view) bothCount(i, j int) bool {
	switch {
	case v.countsUp(i, j), v.pairs(i, j), v.enumerates(i, j), v.listsAmounts(i, j), v.areFar(i, j):
		return true
	}
	return v.words[j-1].low == "吧" && v.has(v.set(j+2), "they") // 十二拍，呃，八拍吧，十二拍她憋不住
}

// inRange reports whether words[i] is the last number of a range: "pages one to six".
func (v *view) inRange(i int) bool {
	return i > 1 && v.words[i].kind == number && joinsNumbers[v.words[i-1].low] &&
		(v.words[i-2].kind == number || i > 2 && v.words[i].wide && v.words[i-3].kind == number) // 四十六页到四十八页
}

// isNamedRange reports whether words[from:to] and those at to are a range such as "track one to
// track six".
func (v *view) isNamedRange(from, to int) bool {
	return to == from+3 && v.low(to-1) == "to" && v.words[to-1].end == inside && v.low(from) == v.low(to) &&
		!v.has(v.classes[from], "det") && to+1 < len(v.words) && v.words[from+1].kind == number &&
		v.words[to+1].kind == number && v.value(from+1) < v.value(to+1) && v.low(to+2) != "to"
}

// isPart reports whether a word is the second of a fraction such as "two thirds".
func isPart(low string) bool {
	one := strings.TrimSuffix(low, "s")
	return one != low && (ordinals[one] || one == "quarter")
}

// countsUp reports whether the numbers at i and j are of a list of growing ones, such as "five,
// six, seven and eight" and 一勺、两勺、三勺.
func (v *view) countsUp(i, j int) bool {
	last, n, reached := i, 1, false
	for k := v.higher(i); k > 0 && n < longList; k = v.higher(k) {
		last, n, reached = k, n+1, reached || k == j
	}
	for k := i - 1; k >= max(0, i-2) && n < longList; k-- {
		if v.higher(k) == i {
			n, i = n+1, k
		}
	}
	lists := n == longList || addsNumbers[v.low(last-1)]
	return reached && n > 2 && (lists || !slices.ContainsFunc(v.words[i:last], func(w word) bool {
		return w.mark != "" && w.mark != "、"
	}))
}

// longList is how many growing numbers are a list, whatever stands before the last.
const longList = 30

// pairs reports whether two or more figures of the clause from i on differ from those of the one
// from j on: 五点七的三条，五点八的两条, "five on Monday, six on Tuesday".
func (v *view) pairs(i, j int) bool {
	if v.words[i].kind != number {
		return false
	}
	n, last, end := 0, plain, min(len(v.words), j+maxUnsaid)
	for ; i < j && j < end && v.words[i].kind == v.words[j].kind; i, j = i+1, j+1 {
		a, b := v.words[i], v.words[j]
		switch {
		case a.kind == plain && a.low != b.low, a.low == "月",
			a.kind != plain && last != plain && a.wide == v.words[i-1].wide:
			return false
		case a.low != b.low:
			n++
		}
		if a.end != inside {
			return n > 1
		}
		last = a.kind
	}
	return false
}

// listsAmounts reports whether the numbers at i and j say how many of different things: "two in
// pencil, three in colour", "eight, two in pencil, three in colour", "ten quotes, two each", "the 7
// iron, the 9 iron and the driver".
func (v *view) listsAmounts(i, j int) bool {
	unit, next := v.low(j+1), v.clauseOf(j).to
	switch {
	case v.words[j].end != inside || v.words[j].wide:
		return false
	case unit == "each":
		return v.words[i+1].kind == plain && v.low(i+1) != unit
	case unit == "in" || unit == "for":
		return v.low(i+1) == unit && v.low(i+2) != v.low(j+2) && v.words[j-1].end == clause ||
			next+1 < len(v.words) && v.words[next].kind == number && v.low(next+1) == unit &&
				v.low(next+2) != v.low(j+2)
	case v.low(i+1) == unit && v.low(j+2) == "for" && payers[v.low(j+3)]:
		return true // "five pounds, three pounds for children"
	case v.low(i+1) == unit && j == i+3 && v.words[j-1].mark != "" && next == j+3:
		return v.low(i+2) != v.low(j+2) // "four counts in, eight counts out"
	}
	return v.low(i+1) == unit && v.low(i-1) == "the" && v.low(j-1) == "the" && v.low(j+2) == "and" &&
		v.words[j+1].end == inside
}

var payers = wordSet("children kids adults members siblings under over two three")

// listsAfter reports whether a list of numbers begins after words such as "no" at term, and goes on
// at j: "exercises 3 and 4, no, 3, 4 and 6".
func (v *view) listsAfter(term, j int) bool {
	term = min(j, v.afterCues(term))
	if term == j || v.words[term].kind != number {
		return false
	}
	for ; term < j; term++ {
		w := v.words[term]
		if w.kind != number && !addsNumbers[w.low] && w.low != "the" ||
			w.kind == number && w.end == inside && !addsNumbers[v.low(term+1)] {
			return false
		}
	}
	return true
}

// endsList reports whether words[from:term] are a list such as "A1 and B3" or "at 11.40 and again
// at 2.15", of which the one number at j corrects only the last.
func (v *view) endsList(from, term, j int) bool {
	if v.words[from].kind != number || addsNumbers[v.low(j+1)] || addsNumbers[v.low(j+2)] {
		return false
	}
	for k := from + 1; k < term; k++ {
		if powers[v.words[k].low] {
			return false
		}
		if v.words[k].low == "and" {
			return slices.ContainsFunc(v.words[k:term], func(w word) bool { return w.kind == number })
		}
	}
	return false
}

// beginOfHundreds returns where the number begins of which words[i] follows "hundred", or i if
// words[to] go on with it: of "one hundred and eighty, no, ninety" only "ninety" stays, but more
// does of "one hundred and five, no, six", "a hundred and ten, um, ten" and "two thousand one
// hundred, no, two hundred".
func (v *view) beginOfHundreds(i, to int) int {
	j, a, b := i, v.words[i], v.words[to]
	if v.low(j-1) == "and" {
		j--
	}
	if a.kind != number && a.low != "and" || b.kind != number || v.alike(i, to) > 2 ||
		!powers[v.low(j-1)] || v.words[j-1].end != inside || j == i && v.low(j-1) == "thousand" ||
		a.end != inside && v.value(i) < 20 && v.value(to) < 20 {
		return i
	}
	for j > 0 && v.words[j-1].end == inside &&
		(v.words[j-1].kind == number || powers[v.low(j-1)] || v.low(j-1) == "a") {
		j--
	}
	return j
}

// isExact reports whether words[i] is not what there may be none of: of "no three", "no G
// minor" and "no on Friday", but not of "no one" and "no scales".
func (v *view) isExact(i int) bool {
	if i >= len(v.words) {
		return false
	}
	low := v.words[i].low
	return v.words[i].kind != plain && !ambiguous[low] && !ordinals[low] ||
		len(low) == 1 && low != "i" || v.has(v.classes[i], "det") || v.has(v.classes[i], "prep")
}

// powers are numbers that go on with "and".
var powers = wordSet("hundred thousand")

// listsDays reports whether the days at i and j are of a list such as "Monday, Wednesday and
// Friday", with at most hesitations between from term on.
func (v *view) listsDays(i, term, j int) bool {
	if v.words[i].end >= sentence {
		return false
	}
	if addsNumbers[v.low(term-1)] {
		return true
	}
	next := j + 1
	if addsNumbers[v.low(next)] {
		next++
	}
	for next < len(v.words) && v.hesitates(next) {
		next++
	}
	return next > j+1 && next < len(v.words) && v.words[next].kind == day
}

// listsDayNames reports whether words[from:to] and those at to are two days in Chinese, of a list
// or of two sentences: 下周二下周四照常.
func (v *view) listsDayNames(from, to int) bool {
	last := v.words[to-1]
	return to == from+2 && to+1 < len(v.words) && thisOrNext[v.low(from)] && v.low(from) == v.low(to) &&
		last.kind == day && v.words[to+1].kind == day && last.low != v.words[to+1].low &&
		(last.end == inside || last.end >= sentence && last.mark != "")
}

var thisOrNext = wordSet("这 本 下 上")

// enumerates reports whether the clauses of words[i] and words[j] both begin with words such as 一次:
// 一次8秒4，一次8秒3.
func (v *view) enumerates(i, j int) bool {
	a, b := v.clauseOf(i).from, v.clauseOf(j).from
	return a < b && v.words[a].low == "一" && v.words[b].low == "一" && v.low(a+1) == v.low(b+1) && turnsOf[v.low(a+1)]
}

var turnsOf = wordSet("次 个 张 条 支 盘 局 场")

// higher returns where the next number of a list is that is higher than that at i, or 0.
func (v *view) higher(i int) int {
	if v.words[i].kind != number || v.value(i) == 0 {
		return 0
	}
	next := i + 1
	if v.words[i].end == inside {
		if next++; !addsNumbers[v.low(i+1)] && v.low(i+1) != v.low(i+3) {
			return 0
		}
	}
	if next < len(v.words) && v.words[next].kind == number && v.value(next) > v.value(i) {
		return next
	}
	return 0
}

// areFar reports whether one of the numbers at i and, after a mark, at j is more than ten times the
// other, as in "the fee is 140, four lessons at 35".
func (v *view) areFar(i, j int) bool {
	a, b := v.value(i), v.value(j)
	isOne := ambiguous[v.words[i].low] || j+1 < len(v.words) && v.words[j].end == inside && v.words[j+1].kind == number
	return v.words[j-1].mark != "" && !isOne && a > 0 && b > 0 && (a > 10*b || b > 10*a)
}

// addsNumbers stand before the last number of a list.
var addsNumbers = wordSet("and or 和 或")

// isTotal reports whether words[from:to] are a sum, of which the parts follow: "thirty pounds in
// all, ten pounds for the book and twenty for the lesson".
func (v *view) isTotal(from, to int) bool {
	for i := from; i < to; i++ {
		low := v.words[i].low
		if totals[low] || low == "all" && v.low(i-1) == "in" {
			return v.figures(from, i) != 0
		}
	}
	return false
}

var totals = wordSet("altogether overall total")

// value returns the number at i, or 0 if it is not one or there are several.
func (v *view) value(i int) int {
	n, known := v.values[i]
	if !known {
		if all := figures(v.words[i].text); len(all) == 1 {
			n, _ = strconv.Atoi(all[0].value)
		}
		v.values[i] = n
	}
	return n
}

// isDayNumber reports whether a number is one such as "sixteenth".
func isDayNumber(w word) bool { return isOrdinal(w.low) && !ambiguous[w.low] }

// sameSort reports whether two numbers are both days, both prices, or both neither.
func sameSort(a, b word) bool {
	return isDayNumber(a) == isDayNumber(b) && (isDayNumber(a) || isPrice(a) == isPrice(b))
}

func isPrice(w word) bool { return strings.ContainsAny(w.open, "£$€¥") }

// measures reports whether a word is one such as "twelve-metre".
func measures(low string) bool {
	n, unit, _ := strings.Cut(low, "-")
	return n != "" && (isDigits(n) || kinds[n] == number) && !isDigits(unit) && kinds[unit] == plain
}

// listWeekdays reports whether a is of weekdays after the first, as in 周一三五, and b are all that
// stand for them.
func listWeekdays(a, b word) bool {
	return strings.Trim(a.low+b.low, weekdays) == "" && len(b.low) > len(a.low) && len(b.low) > len("一") &&
		(a.end != inside || len(a.low) > len("一"))
}

const weekdays = "一二三四五六"

// isStatement reports whether a clause has a subject, a mark at its end, and seems to be complete.
func (v *view) isStatement(from, end int) bool {
	first, last := v.words[from], v.words[end-1]
	if last.mark == "" || proclitics[last.low] || v.classes[end-1]&unfinished != 0 {
		return false
	}
	if first.wide {
		return end-from > 2 && v.has(v.classes[from], "they")
	}
	return end-from > 1 && (pronouns[stem(first.low)] || v.has(v.classes[from], "det") && v.has(v.in(from, end), "be"))
}

// unfinished are the classes of words with which no statement ends.
var unfinished = classSet("degreeword prep")
