package summary

import (
	"regexp"
	"strings"
)

// place is the part of a text that a sentence belongs to.
type place byte

const (
	inLesson place = iota
	inHomework
	inNotices
)

// placeOf returns the place of a clause, by the rules of phrases.txt.
func placeOf(text string) place {
	switch {
	case homework.MatchString(text) && !notHomework.MatchString(text):
		return inHomework
	case notice.MatchString(text) && !notNotice.MatchString(text):
		return inNotices
	}
	return inLesson
}

// piece is a sentence, or the clauses of one that belong to one place.
type piece struct {
	words  []word
	lesson int
	place  place
}

// pieces divides the words of a lesson by place. What follows homework or a notice in a sentence
// and is not about the lesson belongs to it; so does a short clause before it.
func pieces(words []word, lesson int) []piece {
	var out []piece
	before := inLesson // of the last sentence
	for _, s := range parts(words, sentence) {
		clauses := parts(s, clause)
		at := places(clauses)
		if text, _ := plainText(s); len(clauses) <= 3 && at[0] == inLesson && before != inLesson &&
			countWords(text) <= lengthOf(s) && !opener.MatchString(text) {
			at[0] = before // "Hands separately." after homework
			at = continued(clauses, at)
		}
		for i, c := range clauses {
			if i > 0 && at[i] == at[i-1] {
				last := &out[len(out)-1]
				last.words = append(last.words, c...)
				continue
			}
			out = append(out, piece{append([]word(nil), c...), lesson, at[i]})
		}
		before = at[len(at)-1]
	}
	for i := range out {
		out[i].words = whole(out[i].words)
	}
	return out
}

// lengthOf returns how many words a sentence may have that goes on with homework or a notice.
func lengthOf(s []word) int {
	if s[0].wide {
		return 30
	}
	return 16
}

// places returns the place of each clause of a sentence.
func places(clauses [][]word) []place {
	at := make([]place, len(clauses))
	for i, c := range clauses {
		text, _ := plainText(c)
		at[i] = placeOf(text)
	}
	for i := 1; i < len(clauses); i++ { // "the concert, on Friday the 5th"
		if at[i-1] == inLesson && at[i] == inLesson {
			a, _ := plainText(clauses[i-1])
			b, _ := plainText(clauses[i])
			if p := placeOf(a + " " + b); p != inLesson {
				at[i-1], at[i] = p, p
			}
		}
	}
	for i := range len(clauses) - 1 { // "also, we need new strings, please buy some"
		if text, _ := plainText(clauses[i]); at[i] == inLesson && adds.MatchString(text) {
			at[i] = at[i+1]
		}
	}
	at = continued(clauses, at)
	for i := len(clauses) - 2; i >= 0; i-- {
		if at[i] == inLesson && at[i+1] != inLesson && leadsOn(clauses[i], clauses[i+1]) {
			at[i] = at[i+1]
		}
	}
	return at
}

// continued gives clauses without a place of their own the place of the one before.
func continued(clauses [][]word, at []place) []place {
	for i := 1; i < len(clauses); i++ {
		text, _ := plainText(clauses[i])
		if at[i] == inLesson && at[i-1] != inLesson && (!clauses[i][0].wide || !opener.MatchString(text)) {
			at[i] = at[i-1]
		}
	}
	return at
}

var replaces = regexp.MustCompile(`^(?:建议|需要|请|要)?.{0,2}[换买]|^please (?:buy|get|order)`)

// later matches the time of what comes.
var later = regexp.MustCompile(`^(?:下次|下节|下周|下个|明天|后天|周末|星期|周|\d+[月号]).{0,8}$|^(?:on|next|from|at) `)

var conditions = wordSet(`if because since when as unless after before although 如果 因为 由于 要是`)

// leadsOn reports whether a clause says nothing without the next one: it is short, or a condition,
// or the next one is an amount.
func leadsOn(c, next []word) bool {
	first, _ := plainText(c[:min(2, len(c))])
	text, _ := plainText(c)
	if rest, _ := plainText(next); replaces.MatchString(rest) {
		return true // "his mouse is broken, please buy a new one"
	}
	if first := next[0].low; !next[0].wide && !conjunctions[first] && !subjects[first] && first != "please" {
		return true // "the next lesson is online, on Tuesday at six"
	}
	return countWords(text) <= 4 && (c[0].wide || !hasSubject(c)) || later.MatchString(text) || len(next) <= 3 &&
		next[0].kind == number || conditions[c[0].low] || conditions[first]
}

// whole makes a sentence of clauses: it starts without "and" and ends with an end mark.
func whole(words []word) []word {
	if len(words) > 3 && words[0].low == "and" {
		words = words[1:]
	}
	words[0].space = false
	if last := &words[len(words)-1]; last.end < sentence {
		last.end, last.mark = sentence, ""
	}
	return words
}

// compose joins pieces to a text with a paragraph for each lesson, one for homework and one for
// notices. Homework and notices that several lessons have come once.
func compose(all []piece, names []string) string {
	var paragraphs []string
	add := func(words []word) {
		if len(words) > 0 {
			paragraphs = append(paragraphs, write(words, names))
		}
	}
	var lesson []word
	for i, p := range all {
		if i > 0 && p.lesson != all[i-1].lesson {
			add(lesson)
			lesson = nil
		}
		if p.place == inLesson {
			lesson = append(lesson, p.words...)
		}
	}
	add(lesson)
	for _, at := range []place{inHomework, inNotices} {
		var words []word
		for _, p := range all {
			if p.place == at {
				words = append(words, p.words...)
			}
		}
		add(withoutRepeatedSentences(words))
	}
	return strings.Join(paragraphs, "\n\n")
}
