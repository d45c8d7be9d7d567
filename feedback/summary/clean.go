package summary

import (
	"context"
	"slices"
	"strings"
)

// clean returns the words of a lesson without what the speaker did not want to say: fillers,
// repeated words, what was corrected or withdrawn, what was said to others or is not to be written.
// It fails only if the context ends.
func clean(ctx context.Context, text string) ([]word, error) {
	var words []word
	private := false
	for _, block := range blocks(parse(text)) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		rest, withheld := cleanBlock(block)
		words, private = append(words, rest...), private || withheld
	}
	words = withoutRepeatedSentences(withoutOpeningAndClosing(withoutStutters(words)))
	if len(words) == 0 && !private {
		return parse(text), nil // "Okay." is all that was said
	}
	return words, nil
}

// maxBlock is the length in words of what is looked at as a whole: a quarter of an hour. Time and
// memory grow faster than it.
const maxBlock = 2000

// blocks divides words after sentences, or within one that is too long. Requests and corrections
// stay with the sentences beside them, which they may be about.
func blocks(words []word) (out [][]word) {
	cut := func(n int) { out, words = append(out, words[:n]), words[n:] }
	sentences, n := parts(words, sentence), 0
	for i, s := range sentences {
		n += len(s)
		if n >= maxBlock && i+1 < len(sentences) && !asks(slices.Concat(s, sentences[i+1])) {
			cut(n)
			n = 0
		}
		for ; n > 2*maxBlock; n -= 2 * maxBlock {
			cut(2 * maxBlock)
		}
	}
	return append(out, words)
}

// asks reports whether some of words may be a request or correct something.
func asks(words []word) bool {
	v := newView(words)
	return v.in(0, len(words))&cues != 0 || len(v.anchors()) > 0
}

// cleanBlock cleans a part of a lesson, and reports whether some of it is not to be written. What
// only after that stands side by side is looked at once more.
func cleanBlock(words []word) (rest []word, private bool) {
	w := weights()
	for range 2 {
		endAsides(words)
		words = w.divide(words)
		joinWords(words)
		endRequests(words)
		drop := unwanted(words)
		private = private || slices.Contains(drop, unsaid)
		words = without(words, drop)
	}
	return words, private
}

// withoutStutters leaves out what is only said twice in a row by mistake, but for the last time.
func withoutStutters(words []word) []word {
	drop := make([]reason, len(words))
	for i, w := range words {
		for n := 1; n <= 2 && i+2*n <= len(words) && w.end == inside; n++ {
			first, again := words[i:i+n], words[i+n:i+2*n]
			if first[n-1].end != inside || again[0].end != inside {
				continue
			}
			text := textOf(first)
			if i > 0 && endsAlike[words[i-1].low+text] { // 现在在
				continue
			}
			if stutters[text] && textOf(again) == text || pronouns[text] && strings.HasPrefix(again[0].low, text+"'") {
				mark(drop[i:i+n], spoken)
			}
		}
	}
	return without(words, drop)
}

// stutters are words that nobody says twice in a row, pronouns those that a contraction says again.
var (
	stutters = wordSet(`the a an i we he she they it and but to of for with my your our their
		我 你 您 他 她 它 咱 这 那 第 就 在 把 被 跟 但 因 所 如 也 都 没 是
		然后 因为 所以 但是 如果 还有 我们 他们 她们 今天`)
	pronouns = wordSet("i we he she they it you")

	// endsAlike are words of which the last character may be said again: 比如如果.
	endsAlike = wordSet(`现在 正在 实在 存在 比如 例如 其他 其它 吉他 原因 脚跟 后跟 鞋跟 首都
		可是 但是 就是 还是 于是 只是 总是 老是 也是 都是 不是 要是 凡是`)
)

// joinWords undoes ends where the speaker has set no mark and nothing ends: within numbers, as in
// "twenty, third" and "nine, oh five", before "ones", and after some adjectives, as in "a careless.
// Mistake".
func joinWords(words []word) {
	v := &view{words: words}
	for i := range len(words) - 1 {
		w, next := &words[i], &words[i+1]
		switch {
		case w.mark != "" || w.end == inside:
		case i > 0 && words[i-1].kind == month && w.low == "twenty" && teens[next.low], // "June twenty nineteen"
			v.countsOn(i, i+1) || next.low == "ones" || v.saysOh(i) || v.saysOh(i-1) || v.joinsDates(i),
			w.low == "yet" && v.low(i-1) == "not" && places[next.low]: // "not yet in the afternoons"
			w.end = inside
		case v.onlySaysWhen(i):
			w.end = clause // "so on Monday, we're away"
		case i > 0 && (words[i-1].low == "a" || words[i-1].low == "an") && isAdjective(w.low):
			w.end, next.end = inside, max(w.end, next.end)
		}
	}
}

// saysOh reports whether the words from i on are a time such as "nine oh five".
func (v *view) saysOh(i int) bool {
	return isHour(v.low(i)) && v.low(i+1) == "oh" && ones[v.low(i+2)] && !isOrdinal(v.low(i+2))
}

// joinsDates reports whether a day at i, after which a clause ends, and the words after it are days
// such as "the eighteenth and the twenty fifth".
func (v *view) joinsDates(i int) bool {
	w, next := v.words[i], i+2
	if v.low(next) == "the" {
		next++
	}
	return w.end == clause && v.low(i+1) == "and" && (w.kind == day || isOrdinal(w.low)) && next < len(v.words) &&
		(w.kind == day && isDay(v.words[next]) || w.kind != day && (isOrdinal(v.low(next)) || tens[v.low(next)]))
}

// onlySaysWhen reports whether the words from "so" to i, before a pronoun, are only days or times.
func (v *view) onlySaysWhen(i int) bool {
	if !pronouns[stem(v.low(i+1))] {
		return false
	}
	first := i
	for first > 0 && (v.figures(first, first+1) != 0 || whenWords[v.low(first)]) {
		first--
	}
	return v.low(first) == "so" && i > first+1 && whenWords[v.low(first+1)]
}

var whenWords = wordSet("on at from and the of")

func isAdjective(low string) bool {
	ends := func(suffix string) bool { return strings.HasSuffix(low, suffix) }
	return slices.ContainsFunc([]string{"less", "ful", "ous", "able", "ible"}, ends)
}

// unwanted returns why each of words is left out, and ends sentences where what was left out ended
// one.
func unwanted(words []word) []reason {
	endRequestsWithin(words)
	l := analyze(words)
	s := weights().scores(l)
	drop := l.decide(s)
	l.setChances(s)
	for i, w := range words {
		spokenOf := i > 0 && words[i-1].low == "word" || i+1 < len(words) && words[i+1].low == "字"
		switch {
		case w.low == "which" && drop[i] == filler && i > 0 && drop[i-1] == kept && i+2 < len(words) &&
			(verbs[words[i+1].low] || verbs[words[i+2].low]):
			drop[i] = kept // "on the right side, which, um, is the main thing"
		case w.low == "oh" && i > 0 && i+1 < len(words) && drop[i-1] == kept && drop[i+1] == kept &&
			words[i-1].kind == number && words[i-1].end == inside && words[i+1].kind == number && w.end == inside:
			drop[i] = kept // "two oh five"
		case w.low == "mm" && i > 0 && words[i-1].kind == number && words[i-1].end == inside:
			replace(drop[i:l.clauseOf(i).to], filler, kept) // "3 mm thick"
		case drop[i] == filler && l.hesitates(i) && l.quoted[i] && strings.ContainsAny(w.open, `"“`):
			drop[i] = kept // "er dian"
		case !hesitations[w.low]:
		case drop[i] == filler && spokenOf:
			drop[i] = kept
		case drop[i] == kept && !spokenOf && !l.quoted[i]:
			drop[i] = filler
		}
	}
	for i := range len(words) - 1 { // of 然后然后 not only 后 stays
		oneGoes := drop[i] == filler && drop[i+1] == kept || drop[i] == kept && drop[i+1] == filler
		thanks := words[i].low == "谢" && words[i+1].low == "谢" && words[i+1].end == inside &&
			i+2 < len(words) && drop[i+2] == kept // 谢谢配合
		if (oneGoes && stutters[textOf(words[i:i+2])] || thanks) && words[i].wide && words[i].end == inside {
			drop[i], drop[i+1] = kept, kept
		}
	}
	l.keepTogether(drop)
	leaveOutFalseStarts(l.view, drop)
	v := newView(words) // what ended in false starts ends no longer
	obey(v, drop)
	leaveOutAsides(words, drop)
	l.keepQuoted(drop)
	correct(v, drop)
	for i, why := range drop {
		if why == spoken { // nothing ends after it
			words[i].end, words[i].mark = inside, ""
		}
	}
	v.keepCommas(drop)
	joinAtFillers(words, drop)
	endAtAsides(words, drop)
	markDoubt(words, drop)
	return drop
}

// keepTogether lets fillers begin where phrases do: 人家就扑你了嘛.
func (l *lattice) keepTogether(drop []reason) {
	for i := 1; i+1 < len(drop); i++ {
		if drop[i] == filler && drop[i-1] == kept && l.words[i-1].end == inside && l.low(i)+l.low(i+1) == "你了" {
			replace(drop[i:l.clauseOf(i).to], filler, kept)
		}
	}
}

// keepQuoted keeps what somebody said between quotes, but for what is corrected, and 原来这样啊; what
// he or she said also with who said it.
func (v *view) keepQuoted(drop []reason) {
	for i := 1; i < len(drop); i++ {
		to := i
		if v.low(i)+v.low(i+1) == "原来" {
			to = v.clauseOf(i).to
		}
		for to < len(drop) && v.quoted[to] {
			to++
		}
		begin := v.clauseOf(i - 1).from
		switch {
		case to == i || v.quoted[i-1] || !v.has(v.classes[i-1], "say"):
		case drop[i-1] == kept:
			replace(drop[i:to], filler, kept)
		case drop[i-1] == filler && v.has(v.in(begin, i), "they"):
			replace(drop[begin:to], filler, kept)
		}
	}
}

// keepCommas keeps the comma before a filler where a statement such as 这是要判负的 ends.
func (v *view) keepCommas(drop []reason) {
	for _, c := range v.clauses {
		last := v.words[c.to-1]
		if last.low != "的" || last.end != clause || drop[c.to-1] != kept ||
			!strings.Contains(textOf(v.words[c.from:c.to]), "是") {
			continue
		}
		for i := c.to; i < len(drop) && drop[i] == filler && v.words[i].end < sentence; i++ {
			v.words[i].end = inside
		}
	}
}

// joinAtFillers joins what a filler and its commas divide where nothing ends: "but, um, he says",
// "he has to bring, um, his lunch".
func joinAtFillers(words []word, drop []reason) {
	for last := range words {
		next := last + 1
		for next < len(words) && drop[next] != kept && words[next].end < sentence {
			next++
		}
		if drop[last] != kept || words[last].end >= sentence || next == last+1 || next == len(words) ||
			!goesOn[words[last].low] && !(transitive[words[last].low] && possessive[words[next].low]) {
			continue
		}
		for i := last; i < next; i++ {
			words[i].end, words[i].mark = inside, ""
		}
	}
}

var (
	// goesOn are words after which nothing ends, transitive are verbs of which the object follows.
	goesOn     = wordSet("but and so because or if the a an to of with for at my your 是")
	transitive = wordSet(`bring wear need needs take practise practice play learn do get have buy read write
		use finish`)
	possessive = wordSet("my your his her its our their the this that")
)

// hesitations are words that mean nothing, wherever they are.
var hesitations = wordSet("um umm uhm uh uhh erm 嗯 呃")

// minAside is the length in words of what is said in a text without marks between two sentences.
const minAside = 4

// endAtAsides ends sentences within clauses where what is not to be written is left out, and in
// long stretches without marks where more than some words are.
func endAtAsides(words []word, drop []reason) {
	for _, c := range parts(words, clause) {
		for from := 1; from < len(c); from++ {
			to, private := from, false
			for to < len(c) && drop[to] != kept && drop[to] != spoken {
				private = private || drop[to] == unsaid
				to++
			}
			if (private || to-from >= minAside && len(c) > longClause) && !proclitics[c[from-1].low] {
				c[to-1].end = sentence
			}
			from = max(from, to)
		}
		drop = drop[len(c):]
	}
}

func hasCapital(w word) bool { return !w.wide && w.text != strings.ToLower(w.text) }

// wordSet returns words as a set. Those of a phrase have "_" between them, as in classes.txt.
func wordSet(text string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(text) {
		m[strings.ReplaceAll(w, "_", " ")] = true
	}
	return m
}

// withoutRepeatedSentences leaves out a sentence that was said before. One that may be only an
// amount, such as "ten minutes a day", may belong to what stands before it: it goes only if that is
// the same as before, or itself.
func withoutRepeatedSentences(words []word) []word {
	drop := make([]reason, len(words))
	seen, last, at := map[string]bool{}, "", 0
	for _, s := range parts(words, sentence) {
		text := textOf(s)
		key := text
		if len(s) <= maxAmount && slices.ContainsFunc(s, isFigure) && text != last {
			key = last + "\n" + text
		}
		if seen[key] {
			mark(drop[at:at+len(s)], spoken)
		}
		seen[text], seen[key] = true, true
		last = text
		at += len(s)
	}
	return without(words, drop)
}

// maxAmount is the length in words of a sentence that may be only an amount.
const maxAmount = 8

// reason is why a word is left out.
type reason byte

const (
	kept   reason = iota
	filler        // the commas around it go, too, where they only set it off
	spoken        // corrected or repeated
	unsaid        // not to be written
)

func mark(drop []reason, why reason) {
	for i := range drop {
		drop[i] = why
	}
}

// without returns the words that are kept. What ends after the last of those that are not kept,
// or a sentence that ends among them, ends after the word before them.
func without(words []word, drop []reason) []word {
	out := words[:0:0]
	for i := 0; i < len(words); i++ {
		if drop[i] == kept {
			out = append(out, words[i])
			continue
		}
		from, gone := i, words[i]
		for i+1 < len(words) && drop[i+1] != kept {
			i++
			if gone.end < sentence || words[i].end >= sentence {
				gone = words[i]
			}
		}
		if i+1 < len(words) {
			words[i+1].space = words[i+1].space || words[from].space
		}
		if len(out) == 0 {
			continue
		}
		last := &out[len(out)-1]
		switch {
		case gone.end >= sentence && last.end < sentence:
			last.end, last.mark = sentence, strings.Trim(gone.mark, "?？,，、—–-")
		case gone.end >= sentence || last.end >= sentence || drop[i] == spoken:
		case i+1 < len(words) && (gone.end == clause || last.end == clause):
			if endsClause(out, words[i+1]) {
				if last.end = clause; last.mark == "" {
					last.mark = gone.mark
				}
			} else if gone.end == clause || last.mark == "" && !last.wide {
				last.end, last.mark = inside, ""
			}
		}
	}
	return out
}

// endsClause reports whether a clause may end after the last word and before the next one, where a
// filler was.
func endsClause(before []word, next word) bool {
	n := 0
	for n < len(before) && (n == 0 || before[len(before)-1-n].end == inside) {
		n++
	}
	last := before[len(before)-1]
	if proclitics[last.low] {
		return false
	}
	if last.wide {
		return countWords(textOf(before[len(before)-n:])) > 1
	}
	return n >= 3 && clauseStarts[next.low]
}

// clauseStarts are words with which a clause often begins.
var clauseStarts = wordSet(`no sorry wait actually make or and but so then because which he she they we i it
	his her the there this that what please for in on at by if when as`)

// proclitics are words and characters with which no clause ends.
var proclitics = wordSet(`a an the of to for in on at by with from into and or if as than but so because
	my your his her its our their this these very not only i we he she they it's is are was were be been
	can will would must should could may do does did don't has have had he's she's they're we're that
	要 请 把 被 让 给 跟 和 与 从 在 对 向 比 用 为 是 的 得 这 那 第 很 更 最 不 没 再 先 都 也 就 才 会 能 可 想 该 因 所 如 但`)
