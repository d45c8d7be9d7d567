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
		next := words[t.to:min(len(words), t.to+maxRepair)]
		from := t.reparandum(out, next)
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
	strong   bool // it is nothing else
	alone    bool // marks set it off
	retracts bool // also without a correction
	ends     bool // there is a mark after it
	negates  bool // it may be a negation: 不, 不是
	question bool // it follows one
	numbers  bool // a number follows 不, which no negation has
	repeated int  // how many of the words before it are said again in it: "the 14th, not the 14th"
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
			t.strong = t.strong || t.alone || len(m[1]) > len("不对")
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
				j += tokenAt(starts, len(m[1])-1) + 1
				t.ends = words[j-1].end != inside
			}
			break
		}
		j += n
		t.ends = words[j-1].end != inside
	}
	if j > i {
		t.to = j
		text, _ := plainText(words[i:j])
		t.negates = strings.HasPrefix(text, "不") && !strings.HasPrefix(text, "不对") || strings.HasPrefix(text, "没")
		t.numbers = text == "不" && j+1 < len(words) && words[j].kind == number &&
			(utf8.RuneCountInString(words[j].low) > 1 || units[words[j+1].low])
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
		if found >= 0 {
			a.score -= 0.2 * float64(found-p) // the nearest, if another is not much more like it
		}
		if a.score > best && t.accepts(a, before) {
			found, best = p, a.score
		}
	}
	switch {
	case found >= 0:
		return found
	case t.repeated > 0:
		return len(before) - t.repeated
	case t.alone && t.ends && !t.question:
		if n := sameForm(before, next); n > 0 {
			return len(before) - n
		}
	}
	switch {
	case t.strong && t.alone:
		return bareRepair(before, next)
	}
	return -1
}

// sameForm returns how many words at the end of before the first of next replaces in Chinese: a
// word of letters another one, or a word of two characters one with the same last character, as
// 紫色 and 粉红色.
func sameForm(before, next []word) int {
	last := before[len(before)-1]
	if !last.wide && !next[0].wide && len(before) > 1 && before[len(before)-2].wide {
		return 1
	}
	if len(before) < 3 || !last.wide || proclitics[last.low] || stuttered[last.low] {
		return 0
	}
	for i := 1; i < min(4, len(next)); i++ {
		if next[i].low == last.low && (before[len(before)-2].wide || !next[0].wide) {
			return 2
		}
		if next[i].end != inside {
			break
		}
	}
	return 0
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

// bareRepair returns where the words start that a clause of one to three words replaces, after the
// last word with which no clause ends: of "in the hall, I mean, church" it is "hall".
func bareRepair(before, next []word) int {
	n := 0
	for n < len(next) && next[n].end == inside {
		n++
	}
	for i := len(before) - 1; i > 0 && len(before)-i <= 3; i-- {
		if before[i-1].end != inside {
			if before[i-1].end == clause && before[i].wide && n < 3 && next[0].wide {
				return i // "免费的，不对，收一半": one short clause for another
			}
			break
		}
		if proclitics[before[i-1].low] && !proclitics[before[i].low] && n < 3 && !proclitics[next[0].low] {
			return i
		}
	}
	return -1
}

// accepts reports whether the words before a term and after it are alike enough to be a correction.
func (t term) accepts(a alignment, before []word) bool {
	switch {
	case t.strong:
		return true
	case t.alone && (t.ends || !before[len(before)-1].wide):
		return a.differ && a.score >= 1 || a.typed
	case t.negates:
		return t.numbers && a.typed
	}
	last := before[len(before)-1]
	if n := len(before); n > 2 && a.differ && a.score > 0 && a.from == n-2 && proclitics[before[n-2].low] {
		return true // "from Lucy no from Helen"
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

func align(a, b []word) alignment {
	var r alignment
	miss := 0.5
	if b[0].kind != plain {
		miss = 1 // of several numbers, the last one
	}
	misses := 0.0
	for i := 0; i < min(len(a), len(b)); i++ {
		switch {
		case isForm(a[i], b[i]):
			r.score++
			r.differ = r.differ || a[i].low != b[i].low
		case a[i].kind != plain && a[i].kind == b[i].kind:
			if i+1 < min(len(a), len(b)) && otherUnit(a[i+1], b[i+1]) {
				return alignment{}
			}
			r.score++
			r.typed, r.differ = true, true
		case i == 0 && (len(a) < 2 || len(b) < 2 || a[1].low != b[1].low):
			return alignment{}
		default:
			if r.differ = true; i == 1 && len(a) == 2 {
				misses += 0.5 // "one fist, no, two fingers"
			} else {
				misses += miss
			}
			if i > 0 && i+1 < len(b) && isForm(a[i], b[i+1]) {
				b = b[1:] // "the first page, or rather, the first two pages"
				r.score++
			}
		}
		if b[i].end != inside {
			break
		}
		if a[i].end != inside && i+1 < len(a) {
			misses += 0.5
		}
	}
	r.score -= min(misses, 1.5) // what follows may be another sentence
	return r
}

// isForm reports whether words are forms of one, as page and pages.
func isForm(a, b word) bool {
	return a.low == b.low || !a.wide && len(a.low) > 3 &&
		strings.TrimSuffix(a.low, "s") == strings.TrimSuffix(b.low, "s")
}

// otherUnit reports whether words after numbers are different units, as in a month and a day.
func otherUnit(a, b word) bool {
	return units[a.low] && units[b.low] && a.kind == plain && b.kind == plain && !isForm(a, b)
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
		strings.HasPrefix(words[1].low, words[0].low) {
		return 1 // 九十，呃，九十五
	}
	if len(words) > 3 && words[2].pause && words[2].kind == number && words[1].low == words[3].low &&
		(words[1].wide || units[words[1].low]) {
		return 2
	}
	return 0
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
	long := restart && (len(different) >= 3 || len(different) == len(a) && a[len(a)-1].end != inside &&
		b[len(b)-1].end == inside) // "the scale, the scale is"
	first := a[0]
	switch {
	case len(a) == 1 && first.wide:
		return stutteredChars[first.low]
	case len(a) == 1:
		return function || b[0].pause && first.kind != number
	case a[len(a)-1].end == clause && !restart:
		return false
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
