package summary

import (
	"regexp"
	"slices"
	"strings"
)

// divideAtUnsaid ends clauses around "don't write this" within a clause without marks, and before
// the statement that it is about.
func divideAtUnsaid(c []word) {
	text, at := plainText(c)
	for _, m := range unsaidInside.FindAllStringIndex(text, -1) {
		from, to := tokenAt(at, m[0]), tokenAt(at, m[1]-1)+1
		cut := at[from] != m[0] || to < len(c) && at[to] < m[1] // within a word
		rest := text[m[1]:min(len(text), m[1]+16)]
		if cut || from == 0 && to == len(c) || to < len(c) && aboutWriting.MatchString(rest) {
			continue
		}
		for from > 0 && (conjunctions[c[from-1].low] || isHesitation(c[from-1].low)) {
			from-- // "but um don't write that"
		}
		if from > 0 {
			c[from-1].end = clause
			if start := statementStart(c[:from]); start > 0 {
				c[start-1].end = sentence
			}
		}
		if to == len(c) {
			continue
		}
		c[to-1].end = sentence
		if from == 0 { // it points forward
			c[to-1].end = clause
			if n := statementEnd(c[to:]); to+n < len(c) {
				c[to+n-1].end = sentence
			}
		}
	}
}

// minStatement is how many words a statement has at least; Chinese ones are characters.
const minStatement = 4

func isHesitation(low string) bool {
	return slices.ContainsFunc(hesitations, func(r *regexp.Regexp) bool { return r.FindString(low) == low })
}

// statementStart returns where the last statement in words without marks starts: at its subject, if
// no other statement contains it, as "she told me her dad" contains "her dad".
func statementStart(c []word) int {
	least := max(0, len(c)-4*maxRepair)
	for i := len(c) - minStatement; i > least; i-- {
		if startsStatement(c, i) {
			for i > 1 && leaders[c[i-1].low] {
				i--
			}
			return i
		}
	}
	return least
}

// longStatement is the length in words from which on a clause may have several statements.
const longStatement = 10

// lastStatement returns where the last statement in words[from:to] starts, if that is one long
// clause, or else from.
func lastStatement(words []word, from, to int) int {
	if to-from < longStatement || len(parts(words[from:to], clause)) > 1 {
		return from
	}
	return from + statementStart(words[from:to])
}

// statementEnd returns where the first statement in words without marks ends.
func statementEnd(c []word) int {
	text, at := plainText(c)
	begins := len(c)
	for _, m := range breaks.FindAllStringIndex(text, -1) {
		if i := tokenAt(at, m[0]); i > 0 && !proclitics[c[i-1].low] { // not "her homework"
			begins = i
			break
		}
	}
	for i := minSentence; i < begins; i++ {
		if c[i].low == "anyway" || startsStatement(c, i) {
			return i
		}
	}
	return begins
}

// startsStatement reports whether a statement may start at c[i].
func startsStatement(c []word, i int) bool {
	before := c[i-1].low
	if c[i].wide {
		text, _ := plainText(c[i:min(i+2, len(c))])
		two, _ := plainText(c[max(0, i-2):i])
		possessed := subjects[before] && len(c[i].low) == len(before) // "他爸爸"
		return (subjects[c[i].low] || subjects[text]) && !possessed && !objects[before] && !proclitics[before] &&
			!reporting[before] && !reporting[two]
	}
	reported := reporting[before] || i > 1 && reporting[c[i-2].low] && persons[before]
	if reported || proclitics[before] && !leaders[before] {
		return false
	}
	if nominative.MatchString(c[i].low) {
		return true
	}
	text, _ := plainText(c[i:min(i+5, len(c))])
	return nounPhrase.MatchString(text)
}

var (
	nominative = regexp.MustCompile(`^(?:he|she|they|we|i|there|it)(?:'\w+)?$`)
	nounPhrase = regexp.MustCompile(`^(?:his|her|the|my|our|their|this|that|mrs|mr|ms|miss)(?: \w+){1,2}(?:'s)? ` +
		`(?:is|was|are|were|has|had|have|will|would|can|could|may|might|does|did|` +
		`said|says|told|lost|died|got|went|left|wants|thinks|still|\w+n't|\w{2,}ed)\b|` +
		`^(?:his|her|my|our|their) \w+'s (?:\w+ )?\w+ing\b`)
	leaders = wordSet(`and but so then also`)
	persons = wordSet(`me him her us them you it`)
	// reporting are words after which a statement is part of the one before.
	reporting = wordSet(`because that if when while since who which said says say told tell tells asked asks think
		thinks thought know knows knew guess feel feels hope wish heard believe mean means like than where why how what
		until unless although though mentioned says 说 觉得 因为 告诉 听 讲 知道 以为 感觉 发现 担心 怕 着 的`)
)

// withdrawnOnce leaves out all but one of the clauses that withdraw the same: of "scratch that,
// don't write that" the latter.
func withdrawnOnce(words []word) []word {
	drop := make([]reason, len(words))
	at, keep := 0, -1 // where the clause that is kept of this run starts
	asked := false    // it is one of those not to write
	for _, c := range parts(words, clause) {
		text, _ := plainText(c)
		isAsked := unsaid.MatchString(text)
		switch {
		case keep >= 0 && isEmptyClause(text): // "don't put that in, please, that's private"
		case !isAsked && !retracted.MatchString(text):
			keep, asked = -1, false
		case keep < 0:
			keep, asked = at, isAsked
		case isAsked && !asked:
			for i := keep; i < at; i++ {
				drop[i] = spoken
			}
			keep, asked = at, true
		default:
			mark(drop[at:at+len(c)], spoken)
		}
		at += len(c)
	}
	return without(words, drop)
}

// withoutUnsaid obeys "don't write this": it leaves out the rest of the sentence if what was said
// points forward, or else the clauses before, as far as the one that has a subject.
func withoutUnsaid(words []word) []word {
	drop := make([]reason, len(words))
	at := 0
	lastSentence := 0
	before := ""  // the clause before
	next := false // the sentence is the one that the last one said not to write
	for _, s := range parts(words, sentence) {
		from := at
		if next {
			mark(drop[at:at+len(s)], spoken)
		}
		next = false
		clauses := parts(s, clause)
		for i, c := range clauses {
			text, _ := plainText(c)
			rest, _ := plainText(words[from:min(at+len(s), from+maxRepair)])
			switch {
			case unsaidNext.MatchString(rest):
				mark(drop[from:at+len(s)], spoken)
				next = i+1 == len(clauses) && unsaidNext.FindString(rest) == rest
				if i == 1 && topic.MatchString(before) {
					mark(drop[at:from], spoken)
				}
			case !unsaid.MatchString(text):
			case i == 0 && len(clauses) > 1 && pointsForward(clauses):
				mark(drop[from:at+len(s)], spoken)
			case from == 0 && len(clauses) > 1: // there is nothing before
				mark(drop[:len(c)+len(clauses[1])], spoken)
			case i == 0 && len(clauses) == 1 && lastSentence > 0 && len(parts(words[at-lastSentence:at], clause)) <= 2:
				mark(drop[lastStatement(words, at-lastSentence, at):at+len(s)], spoken)
			default:
				mark(drop[from:from+len(c)], spoken)
				mark(drop[lastStatement(words, subjectBefore(words, from), from):from], spoken)
				for end := from + len(c); i+1 < len(clauses); i++ { // and why not
					if text, _ := plainText(clauses[i+1]); !unsaidReason.MatchString(text) && !isEmptyClause(text) {
						break
					}
					mark(drop[end:end+len(clauses[i+1])], spoken)
					end += len(clauses[i+1])
				}
			}
			from += len(c)
			before = text
		}
		at += len(s)
		lastSentence = len(s)
	}
	return without(words, drop)
}

// isEmptyClause reports whether a clause says nothing of its own.
func isEmptyClause(text string) bool {
	return text == "please" || fillerClause.MatchString(text) || openingWords.MatchString(text) ||
		courtesy.MatchString(text)
}

// topic matches a clause that only says what the next is about.
var topic = regexp.MustCompile(`事情?$`)

// pointsForward reports whether an instruction at the start of a sentence is about its rest: not if
// that goes on with the lesson, or is what a family must know.
func pointsForward(clauses [][]word) bool {
	if !slices.ContainsFunc(clauses[1:], func(c []word) bool {
		text, _ := plainText(c)
		return !isEmptyClause(text)
	}) {
		return false
	}
	for _, c := range clauses[1:] {
		if text, _ := plainText(c); placeOf(text) != inLesson {
			return false
		}
	}
	text, _ := plainText(clauses[1])
	if unsaidReason.MatchString(text) || clauses[1][0].wide && !hasSubject(clauses[1]) {
		return false
	}
	return !starts.MatchString(text) || !strings.HasPrefix(text, starts.FindString(text)) ||
		strings.HasPrefix(text, "but ") || strings.HasPrefix(text, "because ")
}

// subjectBefore returns where the clauses before words[at] start, as far as the one with a subject
// and not beyond the sentence.
func subjectBefore(words []word, at int) int {
	from, end := at, at
	for from > 0 && end-from < 4*maxRepair && (from == end || words[from-1].end < sentence) {
		from--
		for from > 0 && words[from-1].end == inside {
			from--
		}
		if c := words[from:at]; !depends(c) && (hasSubject(c) || c[0].wide && !isShortOf(c)) {
			if t := clauseBefore(words[:from]); from > 0 && words[from-1].end == clause && isTopic(words[t:from]) {
				return t
			}
			break
		}
		at = from
	}
	return from
}

// isTopic reports whether a short Chinese clause only names what the next one is about.
func isTopic(c []word) bool {
	text, _ := plainText(c)
	return c[0].wide && countWords(text) <= 6 && !strings.ContainsAny(text, "了着过是在有很得会要不没能都就")
}

// isShortOf reports whether a Chinese clause without a subject goes on with that of the clause
// before: it is short and begins with what somebody does.
func isShortOf(c []word) bool {
	text, _ := plainText(c)
	return countWords(text) <= 6 && !strings.HasPrefix(text, "有")
}
