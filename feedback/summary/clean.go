package summary

import (
	"regexp"
	"sort"
	"strings"
)

// clean returns the words of a lesson without what the speaker did not want to say: fillers,
// repeated words, what was corrected or withdrawn, and what was said to others. In doubt a word
// stays.
func clean(text string, names []string) []word {
	words := withoutHesitations(withoutAddressed(divide(parse(text)), names))
	words = corrected(withoutRepeats(withdrawnOnce(words)))
	words = withoutFillers(withoutAsides(words))
	words = withoutFalseStarts(withoutRepeats(words))
	words = withoutUnsaid(words)
	words = withoutAsides(words)
	words = withoutFillers(words)
	if words = withoutRepeatedSentences(withoutRepeats(words)); len(words) == 0 {
		return parse(text) // "Okay." is all that was said
	}
	return words
}

// The lengths of what is divided in a text without marks, in words.
const (
	minClause   = 5
	minSentence = 4
	longClause  = 20
)

// divide ends clauses and sentences of long stretches without marks before words that usually begin
// one, and around "don't write this" however short they are.
func divide(words []word) []word {
	for _, c := range parts(words, clause) {
		divideAtUnsaid(c)
		divideAtAsides(c)
	}
	for _, c := range parts(words, clause) {
		if len(c) <= longClause {
			continue
		}
		text, at := plainText(c)
		begins := map[int]end{}
		for _, m := range starts.FindAllStringIndex(text, -1) {
			begins[tokenAt(at, m[0])] = clause
		}
		for _, m := range breaks.FindAllStringIndex(text, -1) {
			begins[tokenAt(at, m[0])] = sentence
		}
		since := 0
		for i := range c {
			e := begins[i]
			if i > 0 && (proclitics[c[i-1].low] || objects[c[i-1].low]) {
				e = inside
			}
			if e == sentence && since >= minSentence || e != inside && since >= minClause {
				c[i-1].end = e
				since = 0
			}
			since++
		}
	}
	return words
}

// divideAtAsides ends sentences around what is said to others within a clause without marks, and
// after what is said to the recorder at its start or before that at its end.
func divideAtAsides(c []word) {
	if len(c) <= longClause || c[0].wide {
		return
	}
	text, at := plainText(c)
	cut := func(from, to int) {
		for _, offset := range []int{from, to} {
			if i := tokenAt(at, offset); i > 0 && i < len(c) && at[i] == offset {
				c[i-1].end = sentence
			}
		}
	}
	if m := leadIn.FindStringIndex(text); m != nil {
		cut(m[1], m[1])
	}
	if m := leadOut.FindStringSubmatchIndex(text); m != nil {
		cut(m[2], m[2])
	}
	for _, m := range vocative.FindAllStringSubmatchIndex(text, -1) {
		end := resumption.FindStringIndex(text[m[1]:])
		if end == nil {
			continue
		}
		if said := text[m[2] : m[1]+end[0]]; strings.Count(said, " ") <= 16 && !about.MatchString(said) &&
			placeOf(said) == inLesson {
			cut(m[2], m[1]+end[0]+1)
		}
	}
	for _, m := range asideInside.FindAllStringSubmatchIndex(text, -1) {
		before := tokenAt(at, m[2]) - 1
		if strings.Count(text[m[2]:m[3]], " ") >= 2 && before >= 0 && !proclitics[c[before].low] {
			cut(m[2], m[3]+1)
		}
	}
}

// objects are characters that a clause may have before 他 or 我.
var objects = wordSet(`打 骂 教 带 帮 叫 醒 问 诉 夸 陪 请 看 像 了 和 其`)

// tokenAt returns the index of the last word that starts at or before an offset.
func tokenAt(starts []int, offset int) int { return sort.SearchInts(starts, offset+1) - 1 }

// withoutHesitations leaves out sounds such as "um".
func withoutHesitations(words []word) []word {
	drop := make([]reason, len(words))
	at := 0
	for _, c := range parts(words, clause) {
		markMatches(drop[at:at+len(c)], c, hesitations)
		at += len(c)
	}
	return without(words, drop)
}

// withoutFillers leaves out fillers: clauses that consist of them, and those within clauses.
func withoutFillers(words []word) []word {
	drop := make([]reason, len(words))
	at := 0
	for _, c := range parts(words, clause) {
		d := drop[at : at+len(c)]
		text, _ := plainText(c)
		first := at == 0 || words[at-1].end >= sentence
		if fillerClause.MatchString(text) ||
			(first || c[len(c)-1].end == question) && openingWords.MatchString(text) {
			mark(d, filler)
		}
		markMatches(d, c, wordRules)
		if first {
			markMatches(d, c, openings)
		}
		at += len(c)
	}
	return without(words, drop)
}

// markMatches marks what rules match in a clause: their group, if they have one.
func markMatches(drop []reason, c []word, rules []*regexp.Regexp) {
	text, starts := plainText(c)
	if c[len(c)-1].end == clause {
		text += ","
	}
	for _, rule := range rules {
		for _, m := range rule.FindAllStringSubmatchIndex(text, -1) {
			from, to := m[0], m[1]
			if len(m) > 2 && m[2] >= 0 {
				from, to = m[2], m[3]
			}
			if from < to {
				mark(drop[tokenAt(starts, from):tokenAt(starts, to-1)+1], filler)
			}
		}
	}
}

// withoutAsides leaves out what is said to others and to the recorder.
func withoutAsides(words []word) []word {
	drop := make([]reason, len(words))
	at := 0
	before := false // the clause before was an aside
	for _, s := range parts(words, sentence) {
		whole := isAside(s)
		clauses := parts(s, clause)
		for i, c := range clauses {
			text, _ := plainText(c)
			if i+1 < len(clauses) && called.MatchString(text) {
				if next, _ := plainText(clauses[i+1]); command.MatchString(next) {
					before = true // "小雨，你妈妈来了"
					mark(drop[at:at+len(c)], filler)
					at += len(c)
					continue
				}
			}
			if unsaid.MatchString(text) { // obeyed later
				before = false
				at += len(c)
				continue
			}
			if courtesy.MatchString(text) {
				mark(drop[at:at+len(c)], filler)
			}
			before = whole || aside.MatchString(text) || before && len(c) <= 8 && placeOf(text) == inLesson &&
				(followUp.MatchString(text) || order.MatchString(text) || command.MatchString(text) ||
					called.MatchString(text) || len(c) == 1 && hasCapital(c[0]))
			if before {
				mark(drop[at:at+len(c)], filler)
			}
			at += len(c)
		}
		if text, _ := plainText(s); closing.MatchString(text) {
			before = false // nothing goes on with "thank you"
		}
	}
	markInterruptions(words, drop)
	clauses := parts(words, clause)
	for from := 0; len(clauses) > 0 && isClosing(clauses[0]); clauses = clauses[1:] {
		mark(drop[from:from+len(clauses[0])], filler)
		from += len(clauses[0])
	}
	for to := len(words); len(clauses) > 0 && isClosing(clauses[len(clauses)-1]); clauses = clauses[:len(clauses)-1] {
		n := len(clauses[len(clauses)-1])
		mark(drop[to-n:to], filler)
		to -= n
	}
	return without(words, drop)
}

// markInterruptions marks what is said to others before the speaker thanks them or finds back to
// the note: short orders, questions and cries that are not about the lesson.
func markInterruptions(words []word, drop []reason) {
	to := 0
	clauses := parts(words, clause)
	for i, c := range clauses {
		text, _ := plainText(c)
		start := to
		to += len(c)
		before := clauses[max(0, i-1)]
		if i+1 == len(clauses) || !resumes.MatchString(text) || !c[0].wide && before[len(before)-1].end < sentence {
			continue
		}
		for j := i - 1; j >= max(0, i-4); j-- {
			c := clauses[j]
			text, _ := plainText(c)
			last := c[len(c)-1]
			cry := last.end == question || strings.ContainsAny(last.mark, "!！")
			if start -= len(c); len(c) > 10 || about.MatchString(text) || placeOf(text) != inLesson ||
				unsaid.MatchString(text) {
				break
			}
			if drop[start] != kept {
				mark(drop[to-len(clauses[i]):to], filler)
			}
			if drop[start] != kept || fillerClause.MatchString(text) {
				continue
			}
			called := (imperative.MatchString(text) || command.MatchString(text)) &&
				!strings.HasPrefix(text, "please ") // that may be said to the family
			if !cry && !called {
				break
			}
			mark(drop[start:start+len(c)], filler)
			mark(drop[to-len(clauses[i]):to], filler)
		}
	}
}

// isClosing reports whether a clause at the start or the end of a lesson is said to the recorder.
func isClosing(c []word) bool {
	text, _ := plainText(c)
	if unsaid.MatchString(text) {
		return false
	}
	if len(c) <= 12 && recorder.MatchString(text) && !about.MatchString(text) {
		return true
	}
	return leadIn.FindString(text) == text || leadOut.FindString(text) == text ||
		closing.MatchString(text) || order.MatchString(text) || aside.MatchString(text) ||
		courtesy.MatchString(text) || fillerClause.MatchString(text) || openingWords.MatchString(text)
}

// isAside reports whether a sentence has an order or an aside and otherwise only names and fillers,
// as "Sit down please, Tom, not you.", or is said to several people.
func isAside(s []word) bool {
	if text, _ := plainText(s); aside.MatchString(text) || order.MatchString(text) || closing.MatchString(text) {
		return true
	}
	if len(s) > 10 {
		return false
	}
	found := false
	clauses := parts(s, clause)
	for i, c := range clauses {
		text, _ := plainText(c)
		switch {
		case group.MatchString(text) && len(clauses) > 1 && (i == 0 || i == len(clauses)-1):
			return true
		case aside.MatchString(text) || order.MatchString(text) || closing.MatchString(text):
			found = true
		case fillerClause.MatchString(text) || openingWords.MatchString(text) || courtesy.MatchString(text):
		case len(c) == 1 && hasCapital(c[0]):
		default:
			return false
		}
	}
	return found
}

func hasCapital(w word) bool { return !w.wide && w.text != strings.ToLower(w.text) }

var subjects = wordSet(`he she they we i it his her their the this today there my our his
	他 她 它 我 孩子 今天 妈妈 爸爸 老师 课上`)

var subordinators = wordSet(`because since when which who that if so 因为 所以 如果 而且 还`)

// hasSubject reports whether a clause does not depend on the one before.
func hasSubject(c []word) bool {
	i := 0
	for i+1 < len(c) && conjunctions[c[i].low] {
		i++
	}
	text, _ := plainText(c[i:min(i+2, len(c))])
	first := c[i].low
	if depends(c[i:]) {
		return false
	}
	return subjects[first] || subjects[text] || c[i].kind == name || c[i].kind == day ||
		!c[i].wide && c[i].text != c[i].low
}

// depends reports whether a clause begins with a word that makes it part of another.
func depends(c []word) bool {
	text, _ := plainText(c[:min(2, len(c))])
	return subordinators[c[0].low] || subordinators[text]
}

var conjunctions = wordSet(`and but so then also 但是 不过 然后`)

func wordSet(text string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(text) {
		m[w] = true
	}
	return m
}

// withoutRepeatedSentences leaves out a sentence that was said before in the lesson.
func withoutRepeatedSentences(words []word) []word {
	drop := make([]reason, len(words))
	seen := map[string]bool{}
	at := 0
	for _, s := range parts(words, sentence) {
		text, _ := plainText(s)
		if seen[text] {
			mark(drop[at:at+len(s)], spoken)
		}
		seen[text] = true
		at += len(s)
	}
	return without(words, drop)
}

// reason is why a word is left out.
type reason byte

const (
	kept   reason = iota
	filler        // the commas around it go, too, where they only set it off
	spoken        // corrected, repeated or withdrawn
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
			words[i+1].pause = drop[from] == filler
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
		text, _ := plainText(before[len(before)-n:])
		return countWords(text) > 1
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
