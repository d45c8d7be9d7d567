package summary

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// corrected applies corrections in speech: of "on Thursday, no, Friday" only Friday remains.
func corrected(words []word) []word {
	out := make([]word, 0, len(words))
	drop := []reason{}
	for i := 0; i < len(words); i++ {
		t := termAt(words, i)
		if t.to == 0 {
			out, drop = append(out, words[i]), append(drop, kept)
			continue
		}
		next := following(words, t.to)
		from := t.reparandum(out, next)
		if from < 0 {
			r := t.withRemark(words)
			rest := following(words, r.to)
			if from = r.reparandum(out, rest); from < 0 {
				from = r.inPlace(out, rest)
			}
			if from >= 0 {
				t, next = r, rest
			}
		}
		switch {
		case from >= 0:
			n := shortRepair(out[from:], next)
			if n > 0 { // only the start of what was said is corrected: "ten times, no, five"
				copyKind(out[from:from+n], next[:n])
				i = t.to + n - 1
				if i+1 == len(words) || words[i].end != inside {
					out[len(out)-1].end, out[len(out)-1].mark = words[i].end, words[i].mark
				}
				continue
			}
			withdraw(out[from:], drop[from:])
		case t.retracts:
			from = lastStatement(out, clauseBefore(out), len(out))
			withdraw(out[from:], drop[from:])
		default:
			out, drop = append(out, words[i]), append(drop, kept)
			continue
		}
		out, drop = append(out, words[i:t.to]...), append(drop, make([]reason, t.to-i)...)
		withdraw(out[len(out)-(t.to-i):], drop[len(out)-(t.to-i):])
		i = t.to - 1
	}
	return without(out, drop)
}

// following returns the words from an index on that may correct others. It finds their items first,
// since those may go on after them.
func following(words []word, from int) []word {
	to := min(len(words), from+maxRepair)
	for i := from; i < to; i++ {
		itemAt(words[i:])
	}
	return words[from:to]
}

// withdraw marks words to be left out, so that nothing ends after them.
func withdraw(words []word, drop []reason) {
	mark(drop, spoken)
	for i := range words {
		words[i].end, words[i].mark = inside, ""
	}
}

// maxRepair is the length in words of what corrects and is corrected.
const maxRepair = 16

// term is what stands between what is corrected and what corrects it.
type term struct {
	from, to int
	link     int    // where a link begins, or to
	linked   string // its first word
	strong   bool   // it is nothing else
	alone    bool   // marks set it off
	retracts bool   // also without a correction
	ends     bool   // there is a mark after it
	negates  bool   // it may be a negation: 不, 不是
	question bool   // it follows one
	rejects  bool   // it says that something was wrong, and not only that the speaker thinks
	numbers  bool   // a number follows 不, which no negation has
	repeated int    // how many of the words before it are said again in it: "the 14th, not the 14th"
}

// termAt returns the term at words[i], with to 0 if there is none.
func termAt(words []word, i int) term {
	t := term{from: i, alone: i == 0 || words[i-1].end != inside}
	t.question = i > 0 && words[i-1].end == question
	j := i
	for j < len(words) && j-i < maxRepair {
		text, starts := plainText(words[j:min(len(words), j+8)])
		n := 0
		if m := strongTerm.FindStringSubmatch(text); m != nil {
			n = tokenAt(starts, len(m[1])-1) + 1
			t.strong = t.strong || t.alone || len(m[1]) > len("不对") || strings.Contains(m[1], " ")
			t.retracts = t.retracts || retracted.MatchString(m[1])
		}
		if m := weakTerm.FindStringSubmatch(text); m != nil {
			n = max(n, tokenAt(starts, len(m[1])-1)+1)
			if m[1] == "错了" && j+n < len(words) && words[j+n-1].end == inside && words[j+n].kind == number {
				n = 0 // "错了四道"
			}
		}
		if n == 0 {
			if length, same := negatedRepeat(words, i, j); length > 0 {
				j += length
				t.strong, t.ends, t.repeated = true, true, same
				continue
			}
			if m := linkTerm.FindStringSubmatch(text); m != nil && (j > i || words[i].pause) {
				t.link, t.linked = j, words[j].low
				j += tokenAt(starts, len(m[1])-1) + 1
				t.ends = words[j-1].end != inside
			}
			break
		}
		j += n
		t.ends = words[j-1].end != inside
	}
	if j > i {
		if t.to = j; t.link == 0 {
			t.link = j
		}
		text, _ := plainText(words[i:j])
		t.rejects = rejecting.MatchString(text)
		t.negates = strings.HasPrefix(text, "不") && !strings.HasPrefix(text, "不对") || strings.HasPrefix(text, "没")
		t.numbers = text == "不" && j+1 < len(words) && words[j].kind == number &&
			(utf8.RuneCountInString(words[j].low) > 1 || units[words[j+1].low])
	}
	return t
}

// withRemark returns the term with the clause after it, if that says why something is wrong, as in
// "on Monday, no, that's the other group, Tuesday".
func (t term) withRemark(words []word) term {
	from, to := t.link, t.link
	if !t.alone {
		return t
	}
	for to < len(words) && to-from < 8 && (to == from || words[to-1].end == inside) {
		to++
	}
	if text, _ := plainText(words[from:to]); to < len(words) && words[to-1].end != inside && remark.MatchString(text) {
		t.to, t.strong, t.ends = to, true, true
	}
	return t
}

// negatedRepeat returns the length of "not the 14th" at words[at] after "on the 14th", which ends
// before words[i], and how many words are the same, or 0.
func negatedRepeat(words []word, i, at int) (length, same int) {
	from := at
	if words[at].low == "not" {
		from++
	} else if at == i || words[at-1].low != "是" {
		return 0, 0
	}
	for n := min(4, i, len(words)-from); n > 0; n-- {
		ends := words[from+n-1].end != inside || from > at && at > i // "no not the 14th"
		if ends && slices.EqualFunc(words[i-n:i], words[from:from+n], sameWord) {
			return from + n - at, n
		}
	}
	return 0, 0
}

func sameWord(a, b word) bool { return a.low == b.low }

// reparandum returns where the words that next corrects start in before, or -1.
func (t term) reparandum(before, next []word) int {
	if t.question || len(next) == 0 || len(before) == 0 || t.negates && contrasts(before, next) {
		return -1
	}
	found, best := -1, 0.0
	ends := 0
	for p := len(before) - 1; p >= max(0, len(before)-maxRepair); p-- {
		if before[p].end >= sentence {
			if ends++; p < len(before)-1 || ends > 1 {
				break
			}
		}
		a := align(before[p:], next)
		a.from = p
		inItem := found >= 0 && itemAt(before[p:]).reaches(found-p)
		if found >= 0 && !inItem {
			a.score -= 0.2 * float64(found-p) // the nearest, if another is not much more like it
		}
		if (a.score > best || inItem && a.score == best && best < 1) && t.accepts(a, before, next) {
			found, best = p, a.score
		}
	}
	if found < 0 && t.repeated > 0 {
		return len(before) - t.repeated
	}
	return found
}

// contrasts reports whether next is no correction but says what something is not, and what it is
// once more: "on the second floor, not the third, the second".
func contrasts(before, next []word) bool {
	clauses := parts(next, clause)
	if len(clauses) < 2 {
		return false
	}
	again := clauses[1]
	for n := min(len(again), 3); n > 1; n-- {
		for i := max(0, len(before)-maxRepair); i+n <= len(before); i++ {
			if slices.EqualFunc(before[i:i+n], again[:n], sameWord) {
				return true
			}
		}
	}
	return false
}

// inPlace returns where the words start that next replaces because of where they stand, or -1:
// those from a word of the class of its first on, as of "the hall, I mean, a church", or else those
// after the last word with which no clause ends.
func (t term) inPlace(before, next []word) int {
	if t.question || len(next) == 0 || !t.alone && (!t.strong || next[0].wide) ||
		!t.ends && !t.strong || len(before) == 0 ||
		before[len(before)-1].end >= sentence || t.negates && contrasts(before, next) {
		return -1
	}
	if !t.rejects {
		return -1
	}
	last, first := before[len(before)-1], next[0]
	c := parts(next, clause)[0]
	text, _ := plainText(c)
	start := clauseBefore(before)
	for i := len(before) - 1; i > start && t.linked != ""; i-- {
		if before[i-1].low == t.linked {
			return i // "it is X, no, it is Y"
		}
	}
	if last.wide != first.wide || reporting[last.low] || isStatement(c) || isEmptyClause(text) ||
		slices.ContainsFunc(c[:min(4, len(c))], func(w word) bool { return auxiliaries[w.low] }) { // "drinks are fine"
		return -1
	}
	for i := len(before) - 2; i >= max(start, len(before)-6) && classOf(first) != plainClass; i-- {
		if classOf(before[i]) == classOf(first) {
			return i
		}
	}
	if proclitics[first.low] || last.end == inside && proclitics[last.low] {
		return -1
	}
	most := 3
	if last.wide {
		most = 5
	}
	for i := len(before) - 1; i > start && len(before)-i <= most; i-- {
		if w := before[i-1]; last.wide && (takesObject[w.low] || proclitics[w.low]) || classOf(w) != plainClass {
			if len(before)-i > 1 && !last.wide && len(before)-i > len(c) {
				break // "in the new hall, no, church": not more words than replace them
			}
			return i
		}
	}
	switch {
	case !last.wide && t.alone && len(before)-start > 1:
		return len(before) - 1
	case last.wide && len(before)-start <= 4 && (start == 0 || before[start-1].end >= clause):
		return start // "免费的，不对，收一半": one short clause for another
	}
	return -1
}

// isStatement reports whether a clause says something of its own and replaces no word of another.
func isStatement(c []word) bool {
	two, _ := plainText(c[:min(2, len(c))])
	first := c[0].low
	return nominative.MatchString(first) || subjects[two] ||
		c[0].wide && (subjects[first] || first == "不" || first == "没") ||
		conjunctions[first] || subordinators[first] || statementStarts[first]
}

// class is what a word may be replaced by, with what follows it.
type class byte

const (
	plainClass class = iota
	determiner
	preposition
	degree
)

var classes = func() map[string]class {
	m := map[string]class{}
	for i, words := range phrases["classes"] {
		for _, w := range strings.Fields(words) {
			m[w] = class(i) + determiner
		}
	}
	return m
}()

func classOf(w word) class { return classes[w.low] }

var (
	takesObject     = wordSet(strings.Join(phrases["takes object"], " "))
	auxiliaries     = wordSet("is are was were has have had can will would should did does isn't aren't wasn't")
	statementStarts = wordSet(strings.Join(phrases["statement starts"], " "))
)

// accepts reports whether the words before a term and after it are alike enough to be a correction.
func (t term) accepts(a alignment, before, next []word) bool {
	switch {
	case t.strong:
		return true
	case t.alone && (t.ends || !before[len(before)-1].wide):
		return (a.differ && a.score >= 1 || a.typed) && (t.ends || !isStatement(next)) ||
			a.differ && t.rejects && t.ends && !isStatement(next)
	case t.negates:
		return t.numbers && a.typed
	}
	last := before[len(before)-1]
	if n := len(before); n > 2 && a.differ && a.score > 0 && a.from == n-2 && proclitics[before[n-2].low] {
		return true // "from Lucy no from Helen"
	}
	if !last.wide && a.typed && itemAt(before[a.from:]).reaches(len(before)-1-a.from) {
		return true // "the red no the blue folder"
	}
	return a.typed && (last.kind != plain || units[last.low] || !last.wide && a.score >= 2)
}

// units are words after a number in what is corrected without a pause.
var units = wordSet(`pm am pounds dollars euros seconds minutes hours days weeks times metres meters lengths pages bars
	lines words points goals o'clock 页 点 月 号 日 天 钟 分 秒 块 元 午 前
	遍 次 组 个 种 下 题 道 张 首 行 格 节 篇 段`)

// alignment compares words with others that may correct them.
type alignment struct {
	score  float64
	typed  bool // words of one kind differ, such as days
	differ bool // words differ
	from   int  // where in the words before
}

func align(before, next []word) alignment {
	var r alignment
	a, b := items(before), items(next)
	miss := 0.5
	if b[0].field != 0 {
		miss = 1 // of several numbers, the last one
	}
	misses := 0.0
	for i := 0; i < min(len(a), len(b)); i++ {
		switch {
		case a[i].field == b[i].field && len(a[i].words)+len(b[i].words) == 2 && isForm(a[i].words[0], b[i].words[0]):
			r.score++
			r.differ = r.differ || a[i].low() != b[i].low()
		case a[i].field != 0 && a[i].field == b[i].field || a[i].field == int(number) && b[i].field == timeField:
			r.score += a[i].likeness(b[i])
			if a[i].low() != b[i].low() {
				r.typed, r.differ = true, true
			}
		case i == 0 && (len(a) < 2 || len(b) < 2 || a[1].low() != b[1].low()):
			return alignment{}
		default:
			if r.differ = true; i == 1 && len(a) == 2 {
				misses += 0.5 // "one fist, no, two fingers"
			} else {
				misses += miss
			}
			if i > 0 && i+1 < len(b) && isForm(a[i].words[0], b[i+1].words[0]) {
				b = b[1:] // "the first page, or rather, the first two pages"
				r.score++
			}
		}
		if b[i].end() != inside {
			break
		}
		if a[i].end() != inside && i+1 < len(a) {
			misses += 0.5
		}
	}
	misses = min(misses, 1.5) // what follows may be another sentence
	if first := next[0]; r.score > 0 && before[0].low == first.low && !isStatement(next) &&
		(proclitics[first.low] || first.kind == number) {
		misses = min(misses, r.score-0.1) // "in the hall, no, in church"
	}
	r.score -= misses
	return r
}

// item is a word, or words that mean one thing, such as "half past six".
type item struct {
	words []word
	field int // those of its field replace it; 0 if there is none
}

// timeField is the field of times, which numbers may be before they are corrected.
const timeField = int(name) + 2

func (t item) low() string {
	text, _ := plainText(t.words)
	return text
}

func (t item) end() end { return t.words[len(t.words)-1].end }

// reaches reports whether an item has a word i.
func (t item) reaches(i int) bool { return t.field != 0 && i < len(t.words) }

// likeness returns how much an item is like another one of its field.
func (t item) likeness(o item) float64 {
	if len(t.words) == 1 && len(o.words) == 1 {
		return 1
	}
	n := 0.5
	if len(t.words) == len(o.words) {
		n += 0.5
	}
	for _, w := range t.words {
		if slices.ContainsFunc(o.words, func(v word) bool { return isForm(v, w) }) {
			n += 0.5
		}
	}
	return n
}

func items(words []word) []item {
	var out []item
	for len(words) > 0 && len(out) < maxRepair {
		t := itemAt(words)
		out, words = append(out, t), words[len(t.words):]
	}
	return out
}

// maxItem is the length in words of an item.
const maxItem = 9

// itemAt returns the item with which words begin.
func itemAt(words []word) item {
	if words[0].span == 0 {
		t := findItem(words)
		words[0].span, words[0].field = len(t.words), t.field
	}
	return item{words[:min(words[0].span, len(words))], words[0].field}
}

func findItem(words []word) item {
	n := 1
	for n < min(len(words), maxItem) && words[n-1].end == inside {
		n++
	}
	text, at := plainText(words[:n])
	if m := alike.FindStringSubmatchIndex(text); m != nil {
		to := tokenAt(at, m[1]-1) + 1
		whole := m[1] == len(text) || text[m[1]] == ' ' || to < n && at[to] == m[1]
		for i := 2; i < len(m) && whole; i += 2 {
			if m[i] >= 0 {
				return item{words[:to], int(name) + i/2}
			}
		}
	}
	to := 1
	for to < n && words[0].kind == number && (words[to].kind == number || units[words[to].low]) {
		to++
	}
	return item{words[:to], int(words[0].kind)}
}

// isForm reports whether words are forms of one, as page and pages.
func isForm(a, b word) bool {
	return a.low == b.low || !a.wide && len(a.low) > 3 &&
		strings.TrimSuffix(a.low, "s") == strings.TrimSuffix(b.low, "s")
}

// shortRepair returns how many words a correction has, if it is shorter than what it corrects and
// a clause of its own, or 0.
func shortRepair(corrected, next []word) int {
	for i, w := range next {
		if i == len(corrected)-1 || w.kind == plain || w.kind != corrected[i].kind {
			return 0
		}
		if w.end != inside {
			return i + 1
		}
	}
	return 0
}

func copyKind(to, from []word) {
	for i, w := range from {
		to[i].text, to[i].low = w.text, w.low
	}
}

// clauseBefore returns where the last clause of words starts.
func clauseBefore(words []word) int {
	i := len(words)
	for i > 0 && (i == len(words) || words[i-1].end == inside) {
		i--
	}
	return i
}

// maxRepeat is the length in words of what is looked for at once again.
const maxRepeat = 20

// withoutRepeats leaves out words that are said again at once, as by a speaker who stutters or
// begins again. Repetitions for emphasis, numbers and rhythms are no such.
func withoutRepeats(words []word) []word {
	drop := make([]reason, len(words))
	for i := 0; i < len(words); i++ {
		if i > 0 && words[i].low == "so" && words[i-1].end == inside {
			continue // "she was so so proud"
		}
		if n := restated(words[i:]); n > 0 {
			mark(drop[i:i+n], spoken)
			i += n - 1
			continue
		}
		for n := min(maxRepeat, (len(words)-i)/2); n > 0; n-- {
			starts := i == 0 || words[i-1].end != inside
			if isRepeat(words[i:i+n], words[i+n:i+2*n], starts) {
				mark(drop[i:i+n], spoken)
				i += n - 1
				break
			}
		}
	}
	return without(words, drop)
}

// restated returns how many words make an amount that another one replaces after a hesitation:
// "thirty, um, thirty-five", "30 seconds, um, 60 seconds"; or 0.
func restated(words []word) int {
	if words[0].kind != number {
		return 0
	}
	again := func(i int) bool { // said again, or begun
		return i < len(words) && (words[i].low == words[0].low || strings.HasPrefix(words[i].low, words[0].low+"-"))
	}
	if again(1) && (words[1].pause || words[0].end == clause) && (words[1].low != words[0].low || again(2) ||
		len(words) > 2 && words[1].end == inside && words[2].kind == number && !words[0].wide) {
		return 1 // "thirty, thirty-two"
	}
	if len(words) > 1 && words[1].pause && words[1].kind == number && words[1].low != words[0].low &&
		(strings.HasPrefix(words[1].low, words[0].low) || isLike(words[0].low, words[1].low)) {
		return 1 // 九十，呃，九十五, and 两百二，呃，两百四
	}
	if len(words) > 3 && words[2].pause && words[2].kind == number && words[1].low == words[3].low &&
		(words[1].wide || units[words[1].low]) {
		return 2
	}
	return 0
}

// isLike reports whether two Chinese numbers of three characters or more differ in the last one.
func isLike(a, b string) bool {
	n := len(a) - len("一")
	return n >= len("一百") && len(a) == len(b) && a[:n] == b[:n] && isNumeral(a) && isNumeral(b)
}

// isRepeat reports whether b says a again. What ends a clause and begins the next one is not
// repeated, as in "don't press the pedal, the pedal is late", unless a starts a clause or the
// speaker hesitated.
func isRepeat(a, b []word, starts bool) bool {
	function, different := false, map[string]bool{}
	for i, w := range a {
		if w.low != b[i].low || w.end >= sentence && (i+1 < len(a) || w.mark != "" || !starts || b[i].end != inside) {
			return false
		}
		function = function || stuttered[w.low]
		if w.kind != number {
			different[w.low] = true
		}
	}
	restart := starts || b[0].pause
	last := len(a) - 1
	again := b[last].end == inside && a[last].end == clause // it is gone on with only now
	long := restart && (again && a[0].wide && len(a) == 2 && len(different) == 1 ||
		len(different) >= 3 || len(different) == len(a) && a[len(a)-1].end != inside &&
		b[len(b)-1].end == inside) // "the scale, the scale is"
	first := a[0]
	switch {
	case len(a) == 1 && first.wide:
		return stutteredChars[first.low]
	case len(a) == 1:
		return function || b[0].pause && first.kind != number
	case a[last].end == clause && !restart:
		return again && classOf(first) == preposition // "for two, for two of them"
	case emphatic[first.low]:
		return false
	case len(a) == 2 && first.wide:
		text := a[0].low + a[1].low
		return long || function && !slices.ContainsFunc(a, func(w word) bool { return w.kind == number }) &&
			!emphatic[text] ||
			restarted[text]
	}
	return function || long
}

// stuttered are words and characters one of which at least is in what a speaker who stutters says
// again. Alone only some characters are, because others begin or end many words.
var (
	stuttered = wordSet(`a an the of to for in at with from and or if as but so because then my your his her its our
		their this these i we he she they it it's is are was were be can will would must should could do does did
		don't has have had he's she's they're we're that's i'm you there when what which who into by not there's
		also just
		我 你 他 她 它 们 这 那 就 都 也 还 跟 和 把 被 给 让 从 在 是 的 第`)
	stutteredChars = wordSet(`第 我 你 他 她 它 这 那 就 也 跟 把 被 给 让 从 呃 嗯`)
	restarted      = wordSet(`今天 明天 昨天 然后 但是 所以 因为 首先 最后 现在 下次 上次 老师 孩子 如果 还有 可以 没有 应该 觉得 后来
		其实 接着 我们 作业 节奏 左手 右手 不过 而且 回家 重新 下周 上周 大概 一共`)
	emphatic = wordSet(`that had 真的 是的 好的 慢的`)
)

// unfinished are words after which a speaker who pauses begins again.
var unfinished = wordSet(`still just also really even always had has have 的 把 跟 和 是 在 被 让 给 很 比 从`)

// articles are words after which something must come.
var articles = wordSet(`the a an of`)

// withoutFalseStarts leaves out a clause that breaks off and is begun again: "She was the, she
// played".
func withoutFalseStarts(words []word) []word {
	drop := make([]reason, len(words))
	at := 0
	for _, s := range parts(words, sentence) {
		clauses := parts(s, clause)
		for i, c := range clauses[:len(clauses)-1] {
			from := at
			for from < at+len(c)-1 && conjunctions[words[from].low] {
				from++
			}
			last, next := c[len(c)-1], clauses[i+1][0].low
			switch {
			case len(c) > 6:
			case last.mark == "-" && strings.HasPrefix(next, last.low): // "pra- practise"
				mark(drop[at+len(c)-1:at+len(c)], spoken)
			case len(c) <= 4 && articles[last.low]:
				mark(drop[from:at+len(c)], spoken)
			case (unfinished[last.low] || !last.wide && proclitics[last.low]) && words[from].low == next:
				mark(drop[from:at+len(c)], spoken)
			}
			at += len(c)
		}
		at += len(clauses[len(clauses)-1])
	}
	return without(words, drop)
}
