package summary

import (
	"slices"
	"strings"
)

const (
	maxMeant   = 3 // clauses before a request that go with it, where there are no marks
	maxClauses = 6 // clauses of a sentence: of a longer one no more go, either
	maxHeads   = 8 // words of a clause that is otherwise left out
	maxTime    = 3 // characters, such as 放学后, before what is left out of a clause
)

// obey leaves out what clauses ask not to write, such as "just between us", "his parents don't need
// to know" and 这个不要写, where the model has left them: what a family must not read does not depend
// on what was learnt from notes.
func obey(v *view, drop []reason) {
	o := &obeyed{v, drop}
	o.releaseHow()
	for c, at := range v.clauses {
		if at.to-at.from > maxUnsaid || v.quoted[at.from] {
			continue
		}
		text := textOf(withoutEchoes(o.clause(c), o.why(c)))
		switch {
		case c > 0 && (!o.closes(c-1) || v.words[at.from-1].mark == "") &&
			endsUnsaid(drop[:at.from]) && says(text, "myself", "zhMyself"):
			o.leaveOut(c, c+1)
		case says(text, "whole", "zhWhole") ||
			c+1 < len(v.clauses) && says(text+textOf(o.clause(c+1)), "zhNotYet", "rather", "elsewhere", "ofMatter") ||
			c > 0 && says(text, "noNames") && v.has(o.classes(c-1), "past"):
			o.obeyWhole(c, text)
		case o.has(c, unsaid):
			o.leaveOut(c+1, o.trailing(c, c+1))
			if o.closes(c) && says(text, "itself") && o.tellsDate(c+1) {
				o.release(at.to, o.v.clauses[c+1].to) // the model has left out what follows, too
			}
		case says(text, "itself", "zhItself") && !says(text, "reports"):
			o.leaveOut(c, o.trailing(c, c+1))
		case says(text, "names"):
			o.leaveOutNamed(c)
		}
	}
	o.leaveOutAsking()
	o.completeUnsaid()
	o.keepOrders()
}

// leaveOutNamed leaves out the request in clause c and what is said before it of whom it names:
// "she gave hers to Ned. Actually, don't mention Ned".
func (o *obeyed) leaveOutNamed(c int) {
	named := o.v.words[o.v.clauses[c].to-1].low
	for k := max(0, c-maxMeant); k < c; k++ {
		if slices.ContainsFunc(o.clause(k), func(w word) bool { return stem(w.low) == named }) {
			o.leaveOut(k, k+1)
			o.leaveOut(c, c+1)
		}
	}
}

// keepOrders keeps what is to be brought or paid at the start of a clause, of which only the
// statement after that goes: "bring a plate of food Desmond is too loud don't write that".
func (o *obeyed) keepOrders() {
	for _, c := range o.v.clauses {
		from := c.from
		for from+1 < c.to && (o.v.words[from].low == "please" || o.v.words[from].low == "and") {
			from++
		}
		if subject := o.v.subjectIn(from+2, c.to); orders[o.v.words[from].low] && subject > 0 {
			replace(o.drop[c.from:subject], unsaid, kept)
		}
	}
}

// subjectIn returns where the subject of the first verb in words[from:to] begins, or 0.
func (v *view) subjectIn(from, to int) int {
	for i := from; i < to; i++ {
		subject, owns := strings.CutSuffix(v.words[i].low, "'s")
		at := i
		switch {
		case owns && (pronouns[subject] || v.low(i+1) == "got"):
		case verbs[v.words[i].low] && i > from:
			at--
		default:
			continue
		}
		if v.has(v.set(at-1), "det") {
			at--
		}
		if at < from || relatives[v.words[at].low] || relatives[v.low(at-1)] || proclitics[v.low(at-1)] {
			return 0
		}
		return at
	}
	return 0
}

var (
	orders    = wordSet("bring wear pay buy")
	relatives = wordSet("that which who what whatever")
)

// obeyed are the clauses of a lesson, some of which are requests.
type obeyed struct {
	v    *view
	drop []reason
}

func (o *obeyed) clause(c int) []word { return o.v.words[o.v.clauses[c].from:o.v.clauses[c].to] }

func (o *obeyed) why(c int) []reason { return o.drop[o.v.clauses[c].from:o.v.clauses[c].to] }

// has reports whether words of clause c are left out, or kept, for a reason.
func (o *obeyed) has(c int, why reason) bool { return slices.Contains(o.why(c), why) }

// leaveOut leaves out the clauses from one to before another.
func (o *obeyed) leaveOut(from, to int) {
	for c := from; c < to; c++ {
		mark(o.why(c), unsaid)
	}
}

// leaveOutAsking leaves out words that only ask to write what follows, which stays: "don't write
// that, say she found it hard", 这个别写，写他有点累, "tell them he did well".
func (o *obeyed) leaveOutAsking() {
	for c, at := range o.v.clauses {
		if o.v.quoted[at.from] {
			continue
		}
		n := asking(o.clause(c), "restates", "zhRestates")
		switch {
		case n > 0 && c > 0 && o.says(c-1, "denies", "zhDenies"):
			o.leaveOut(o.sentence(c).from, c) // "she's useless, no, put that she finds it hard"
			mark(o.why(c), kept)
		case n > 0 && !o.asksBefore(c):
			n = 0
		}
		if n == 0 && !o.has(c, unsaid) && o.opens(c) {
			n = asking(o.clause(c), "dictates", "zhDictates")
		}
		mark(o.why(c)[:n], filler)
		if n > 0 {
			replace(o.why(c)[n:], unsaid, kept)
		}
	}
}

// asksBefore reports whether the clause before c asks not to write something.
func (o *obeyed) asksBefore(c int) bool {
	return c > 0 && (o.says(c-1, "whole", "zhWhole", "itself", "zhItself") ||
		says(textOf(o.clause(c-1))+textOf(o.clause(c)), "rather"))
}

// asking returns how many words at the start of a clause are what a phrase in English, before a
// subject, or one in Chinese matches. "Just put the book away" asks for something else: without
// "that" the subject must be a person.
func asking(clause []word, phrase, zhPhrase string) int {
	for n := min(len(clause)-1, maxHeads); n > 0; n-- {
		text, next := textOf(clause[:n]), clause[n]
		switch {
		case says(text, zhPhrase):
			if saidHow[next.low] || next.kind == number || isFigure(next) && strings.HasSuffix(text, "写") {
				return 0 // 跟妈妈说过了; 就写第一题 is homework
			}
			return n
		case says(text, phrase):
			last := text[strings.LastIndexByte(text, ' ')+1:]
			bare := last == "say" || last == "put" || last == "write"
			if people[stem(next.low)] || !bare && (subjects[next.low] || hasCapital(next)) {
				return n
			}
		}
	}
	return 0
}

var (
	people   = wordSet("i we he she they 他 她")
	subjects = wordSet("his her their the there's it it's you you're")
	saidHow  = wordSet("过 了 一 完 好 得 第")
)

// closes reports whether clause c is the last of its sentence.
func (o *obeyed) closes(c int) bool { return o.v.words[o.v.clauses[c].to-1].end >= sentence }

// says reports whether clause c is what one of the phrases matches.
func (o *obeyed) says(c int, titles ...string) bool { return says(textOf(o.clause(c)), titles...) }

// classes returns the classes of the words of clause c.
func (o *obeyed) classes(c int) uint64 { return newView(o.clause(c)).in(0, len(o.clause(c))) }

// sentence returns the clauses of the sentence of clause c.
func (o *obeyed) sentence(c int) stretch { return o.v.sentences[o.v.sentence[c]] }

// obeyWhole leaves out what the request that is clause c is about, where the model has not.
func (o *obeyed) obeyWhole(c int, request string) {
	from, to := o.meantBy(c, request)
	before := from < c && slices.Contains(o.drop[o.v.clauses[from].from:o.v.clauses[c].from], unsaid)
	asked, after := o.has(c, unsaid), o.v.clauses[c].to
	switch {
	case from < c && !before && o.tellsTrouble(after) && o.trailing(c, c+1) == c+1:
		o.leaveOut(c, c+1)
		return
	case asked && before:
		o.leaveOut(c, o.trailing(c, c+1))
		if first := o.startOf(c); first > 0 && first < c && len(o.clause(first)) > 1 {
			o.leaveOut(from, first) // "That last bit, leave that out"
		}
		if says(request, "refers") && o.closes(c) || !o.closes(c) && o.tellsDuty(c+1) {
			o.release(after, len(o.drop)) // the model has left out what follows, too
		}
		o.completeSentence(c)
		return
	case asked && (from == c || o.speaksOn(c, request)):
		return
	case asked && o.closes(c):
		o.release(after, len(o.drop)) // the model has left out what follows instead
	}
	o.leaveOut(from, o.trailing(c, to))
}

// meantBy returns which clauses go at the request in clause c, from the first to before the last:
// those after it in its sentence if it opens that and speaks of what follows, or else those before
// it.
func (o *obeyed) meantBy(c int, request string) (from, to int) {
	from, to = c, c+1
	if o.opens(c) && to < len(o.v.clauses) && !says(request, "refers") &&
		(!o.closes(c) || says(request, "announces") && !says(request, "itsOf")) &&
		!(says(request, "zhTakesBack") && o.tellsDuty(to)) {
		return from, o.sentence(to).to
	}
	if to < len(o.v.clauses) && says(request, "zhNext") {
		return from, min(o.sentence(to).to, to+maxMeant)
	}
	if c == 0 {
		return from, to
	}
	if says(request, "whispers") && o.says(c-1, "told") {
		to = min(o.sentence(c).to, c+1+maxMeant)
	}
	if before := o.startOf(c); before > 0 {
		from = before // "Actually, hold off on that"
	}
	first := o.sentence(from - 1).from
	for from--; from > first && !o.turns(from) && !o.says(from, "topic"); from-- {
		before := o.clause(from - 1)
		mark, long := before[len(before)-1].mark, c-first > maxClauses
		if c-from == maxMeant && (mark == "" || long) || mark == "" && slices.ContainsFunc(before, isFigure) ||
			long && before[0].wide && (mark == "、" || o.classes(from-1)&ofLesson != 0) {
			break
		}
	}
	return from, to
}

// startOf returns the first clause of the sentence of the request in clause c if that is about the
// sentence before it, or 0.
func (o *obeyed) startOf(c int) int {
	first := o.sentence(c).from
	for k := first; k < c; k++ {
		if len(o.clause(k)) > 1 && !o.says(k, "looksBack") {
			return 0
		}
	}
	return first
}

// opens reports whether clause c begins its sentence, but for words such as "so".
func (o *obeyed) opens(c int) bool {
	for k := o.sentence(c).from; k < c; k++ {
		if len(o.clause(k)) > 1 && (o.has(k, kept) || o.has(k, unsaid)) {
			return false
		}
	}
	return true
}

// turns reports whether clause c begins with "but" and is not only that.
func (o *obeyed) turns(c int) bool { return o.says(c, "turns") && !o.says(c, "lead") }

// speaksOn reports whether the request in clause c is about what follows in its sentence, as the
// model thinks.
func (o *obeyed) speaksOn(c int, request string) bool {
	i := o.v.clauses[c].to
	last := o.v.words[i-1]
	return !o.closes(c) && i < len(o.drop) && o.drop[i] == unsaid && !o.says(c+1, "zhMyself") &&
		(last.mark == "" || last.wide && !o.says(c+1, "zhTrails") || !last.wide && !says(request, "refers"))
}

// trailing returns to, or one more where the last clause of the sentence of a request in clause c
// only explains it: "keep a lid on it, they haven't rung anyone yet".
func (o *obeyed) trailing(c, to int) int {
	if to > c+1 || to == len(o.v.clauses) || o.closes(c) {
		return to
	}
	if o.classes(to)&troubles != 0 && o.says(c, "refers") {
		return o.sentence(c).to // "leave that out, they are divorcing"
	}
	if o.says(to, "zhTrails") ||
		o.closes(to) && o.says(to, "trails") && !slices.ContainsFunc(o.clause(to), isFigure) {
		to++
	}
	return to
}

// tellsDuty reports whether there is a clause c that tells what to do or to bring, and no trouble.
func (o *obeyed) tellsDuty(c int) bool {
	if c == len(o.v.clauses) { // a long sentence is cut
		return false
	}
	set := o.classes(c)
	return set&duties != 0 && set&troubles == 0
}

// tellsDate reports whether there is a clause c that tells when a lesson is or something is due,
// and nothing of people, home or trouble.
func (o *obeyed) tellsDate(c int) bool {
	if c == len(o.v.clauses) || o.classes(c)&(troubles|personal) != 0 {
		return false
	}
	words := o.clause(c)
	return (o.tellsDuty(c) || slices.ContainsFunc(words, func(w word) bool { return w.low == "lesson" })) &&
		slices.ContainsFunc(words, isFigure) &&
		!slices.ContainsFunc(words, func(w word) bool { return w.kind == name })
}

// completeSentence leaves out clauses, too, that come before those that the model has left out
// because of the request in clause c: those of trouble, or if the request is a sentence of its own
// and does not only take something back, all but those of the lesson.
func (o *obeyed) completeSentence(c int) {
	alone := o.closes(c-1) && !o.clause(c)[0].wide && o.classes(c)&retracts == 0
	first := c
	for k := c - 1; k >= 0 && (k == c-1 || !o.closes(k)) && o.has(k, unsaid); k-- {
		first = k
	}
	for k := first - 1; first < c && k >= 0 && !o.closes(k); k-- {
		if !o.has(k, kept) {
			continue
		}
		if set := o.classes(k); set&ofLesson != 0 || set&troubles == 0 && !alone {
			break
		}
		o.leaveOut(k, k+1)
	}
}

var (
	ofLesson = classSet("lesson praise duty homework notice")
	retracts = classSet("retract")
	troubles = classSet("trouble")
	duties   = classSet("duty homework notice")
	personal = classSet("they kin homework") // homework has "at home"
)

// tellsTrouble reports whether the words from i on that are left out tell of trouble.
func (o *obeyed) tellsTrouble(i int) bool {
	to := i
	for to < len(o.drop) && o.drop[to] != kept {
		to++
	}
	return newView(o.v.words[i:to]).in(0, to-i)&troubles != 0
}

// release keeps words from i on that are not to be written, unless some of them say so.
func (o *obeyed) release(i, end int) {
	to := i
	for to < end && o.drop[to] == unsaid {
		to++
	}
	if len(newView(o.v.words[i:to]).anchors()) == 0 {
		mark(o.drop[i:to], kept)
	}
}

// endsUnsaid reports whether the last that was said, but for fillers, is not to be written.
func endsUnsaid(drop []reason) bool {
	n := len(drop)
	for n > 0 && drop[n-1] == filler {
		n--
	}
	return n > 0 && drop[n-1] == unsaid
}

// withoutEchoes returns the words of a clause without what is said again.
func withoutEchoes(clause []word, why []reason) (said []word) {
	for i, w := range clause {
		if why[i] != spoken && (i == 0 || w.wide || w.low != clause[i-1].low) {
			said = append(said, w)
		}
	}
	return said
}

func isDay(w word) bool { return w.kind == day }

func isFigure(w word) bool { return w.kind == number || w.kind == day || w.kind == month }

// completeUnsaid leaves out what would say nothing beside that, such as "but I'd like to" before
// and "in the car" behind it, and what comes before "but … so leave that out".
func (o *obeyed) completeUnsaid() {
	words, drop := o.v.words, o.drop
	for from := 0; from < len(words); from++ {
		if drop[from] != unsaid || from > 0 && drop[from-1] == unsaid && words[from-1].end < sentence {
			continue
		}
		if from > 0 && words[from-1].end < sentence {
			from = o.completeClause(from)
		}
		to := from + 1
		for to < min(len(words), from+maxUnsaid) && drop[to] == unsaid && words[to-1].end < sentence {
			to++
		}
		if end := o.v.clauseOf(to - 1).to; to < end && (isTail(words[to:end]) ||
			o.v.continues(to) && o.v.has(o.v.classes[to], "kin")) { // within 给他妈妈发就行
			mark(drop[to:end], unsaid)
			to = end
		}
		if says(textOf(words[from:to]), "concludes") {
			for n := 0; n < maxMeant && from > 0 && words[from-1].end < sentence; n++ {
				begin := o.v.clauseOf(from - 1).from
				if o.v.statesFigure(begin, from) {
					for k := from - 1; k > begin && !isFigure(words[k]); k-- {
						if pronouns[words[k].low] {
							mark(drop[k:from], unsaid)
						}
					}
					break
				}
				mark(drop[begin:from], unsaid)
				from = begin
			}
		}
		from = to - 1
	}
}

// statesFigure reports whether words[from:to], after which there is no mark, may be a statement of
// another thing: "boots are four pounds".
func (v *view) statesFigure(from, to int) bool {
	last := v.words[to-1]
	return !last.wide && last.mark == "" && !proclitics[last.low] && v.in(from, to)&troubles == 0 &&
		slices.ContainsFunc(v.words[from:to], isFigure)
}

// completeClause leaves out the beginning of the clause, too, of which words[from:] are not to be
// written, and returns where that is now.
func (o *obeyed) completeClause(from int) int {
	words := o.v.words
	last := from - 1 // that stays in the clause
	for last > 0 && o.drop[last] != kept && words[last-1].end == inside {
		last--
	}
	low := words[last].low
	begin := from
	c := o.v.clauseOf(last)
	if (last < from-1 || words[last].end == inside) && (proclitics[low] || expects[low]) ||
		unfinishedAt[low] && c.to-c.from <= maxStart { // "Ben was, between you and me, he was a pain"
		begin = c.from
	}
	if students[words[from].low] && c.to == from+1 && words[from].mark != "" {
		begin = c.from // of 我报了她，这个别说 not only 她
	}
	if c := o.v.clauseOf(begin); c.from < begin && words[begin].wide && begin-c.from <= maxTime &&
		words[c.to-1].mark != "" {
		begin = c.from // of 课后他哭了，别跟他妈说 not only 课后 stays
	}
	if c := o.v.clauseOf(begin); c.from < begin && isHead(words[c.from:c.to], begin-c.from) {
		begin = c.from
	}
	mark(o.drop[begin:from], unsaid)
	return begin
}

// isHead reports whether the first n words of a clause in English, whose rest is not to be written,
// are no statement of their own: "I know money's tight for them this year".
func isHead(words []word, n int) bool {
	v := newView(words)
	last := words[len(words)-1]
	return !last.wide && last.mark != "" && n <= maxHeads && !v.has(v.classes[n], "join") &&
		!slices.ContainsFunc(words[:n], isFigure)
}

// isTail reports whether words are the last of such a clause, and no statement: "in the car".
func isTail(words []word) bool {
	v := newView(words)
	last := words[len(words)-1]
	return !last.wide && last.mark != "" && len(words) <= maxHeads && !v.has(v.classes[0], "join") &&
		!v.has(v.classes[0], "duty") && !slices.ContainsFunc(words, func(w word) bool {
		return isFigure(w) || pronouns[stem(w.low)] || verbs[w.low]
	})
}

// expects are words after which more is said.
var expects = wordSet("about like want wants need needs going said says told tell think 说 想 觉")
