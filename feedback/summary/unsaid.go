package summary

import (
	"slices"
	"strings"
)

// The lengths in words of what is not to be written, and how many starts and ends are compared.
const (
	minPrivate = 5  // beside the words that say so, for the model
	maxUnsaid  = 48 // on each side of them
	maxEnds    = 16
	maxMeant   = 3 // clauses before a request, where there are no marks, and without figures, or
	maxClauses = 6 // more than so many of a sentence
	maxHeads   = 8 // words of a clause that is otherwise left out
)

// obey leaves out what clauses ask not to write, such as "just between us", "his parents don't need
// to know" and 这个不要写, where the model has left them: what a family must not read does not depend
// on what was learnt from notes.
func obey(words []word, drop []reason) {
	clauses := parts(words, clause)
	starts := make([]int, len(clauses)+1)
	for c, words := range clauses {
		starts[c+1] = starts[c] + len(words)
	}
	// opens reports whether a clause begins its sentence, but for words such as "so".
	opens := func(c int) bool {
		for c > 0 && !closes(clauses[c-1]) {
			c--
			why := drop[starts[c]:starts[c+1]]
			if len(why) > 1 && (slices.Contains(why, kept) || slices.Contains(why, unsaid)) {
				return false
			}
		}
		return true
	}
	quoted := areQuoted(words)
	for c, clause := range clauses {
		why := drop[starts[c]:starts[c+1]]
		if len(clause) > maxUnsaid || quoted[starts[c]] {
			continue
		}
		switch text := textOf(withoutEchoes(clause, why)); {
		case c > 0 && (!closes(clauses[c-1]) || words[starts[c]-1].mark == "") &&
			endsUnsaid(drop[:starts[c]]) && says(text, "myself", "zhMyself"):
			mark(why, unsaid)
		case says(text, "whole", "zhWhole") || c+1 < len(clauses) && says(text+textOf(clauses[c+1]), "zhNotYet"):
			from, to := meantBy(clauses, c, text, opens(c))
			before := from < c && slices.Contains(drop[starts[from]:starts[c]], unsaid)
			asked := slices.Contains(why, unsaid)
			switch after := starts[c+1]; {
			case from < c && !before && tellsTrouble(words[after:], drop[after:]) && trailing(clauses, c, c+1) == c+1:
				mark(why, unsaid)
				continue
			case asked && before:
				mark(why, unsaid)
				releaseOther(clauses, starts, c, words, drop)
				if closes(clause) && says(text, "refers") {
					release(words[after:], drop[after:]) // the model has left out what follows, too
				}
				completeSentence(clauses, starts, c, drop)
				if c+1 < len(clauses) && !closes(clause) && says(textOf(clauses[c+1]), "zhTrails") {
					mark(drop[after:starts[c+2]], unsaid)
				}
				continue
			case asked && (from == c || speaksOn(words, drop, after, text)):
				continue
			case asked && closes(clause):
				release(words[after:], drop[after:]) // the model has left out what follows instead
			}
			mark(drop[starts[from]:starts[trailing(clauses, c, to)]], unsaid)
		case slices.Contains(why, unsaid):
			mark(drop[starts[c+1]:starts[trailing(clauses, c, c+1)]], unsaid)
		case says(text, "itself", "zhItself") && !says(text, "reports"):
			mark(drop[starts[c]:starts[trailing(clauses, c, c+1)]], unsaid)
		}
	}
	completeUnsaid(words, drop)
}

// endsUnsaid reports whether the last that was said, but for fillers, is not to be written.
func endsUnsaid(drop []reason) bool {
	n := len(drop)
	for n > 0 && drop[n-1] == filler {
		n--
	}
	return n > 0 && drop[n-1] == unsaid
}

// endRequests ends a sentence after words such as "that's between us" where no mark does and
// another statement begins.
func endRequests(words []word) {
	v := newView(words)
	for i := 1; i+1 < len(words); i++ {
		if !v.has(v.classes[i], "secret") || words[i].mark != "" || !afterRequests[words[i+1].low] {
			continue
		}
		from := i
		for from > 0 && words[from-1].end == inside && v.has(v.classes[from-1], "secret") {
			from--
		}
		if low := v.low(from - 1); low == "that's" || low == "it's" || low == "stays" {
			words[i].end = sentence
		}
	}
}

var afterRequests = wordSet("and but so now next homework today he she they we i could can")

// completeUnsaid leaves out what would say nothing beside that, such as "but I'd like to" before
// and "in the car" behind it, and what comes before "but … so leave that out".
func completeUnsaid(words []word, drop []reason) {
	for from := 0; from < len(words); from++ {
		if drop[from] != unsaid || from > 0 && drop[from-1] == unsaid {
			continue
		}
		if from > 0 && words[from-1].end < sentence {
			from = completeClause(words, drop, from)
		}
		to := from + 1
		for to < min(len(words), from+maxUnsaid) && drop[to] == unsaid && words[to-1].end < sentence {
			to++
		}
		if end := clauseEnd(words, to); to < end && isTail(words[to:end]) {
			mark(drop[to:end], unsaid)
			to = end
		}
		if says(textOf(words[from:to]), "concludes") {
			for n := 0; n < maxMeant && from > 0 && words[from-1].end < sentence; n++ {
				begin := clauseStart(words, from-1)
				mark(drop[begin:from], unsaid)
				from = begin
			}
		}
		from = to - 1
	}
}

// completeClause leaves out the beginning of the clause, too, of which words[from:] are not to be
// written, and returns where that is now.
func completeClause(words []word, drop []reason, from int) int {
	last := from - 1 // that stays in the clause
	for last > 0 && drop[last] != kept && words[last-1].end == inside {
		last--
	}
	low := words[last].low
	begin := from
	if (last < from-1 || words[last].end == inside) && (proclitics[low] || expects[low]) {
		begin = clauseStart(words, last)
	}
	if first := clauseStart(words, begin); first < begin && isHead(words, first, begin) {
		begin = first
	}
	mark(drop[begin:from], unsaid)
	return begin
}

// clauseStart returns where the clause of words[i] begins.
func clauseStart(words []word, i int) int {
	for i > 0 && words[i-1].end == inside {
		i--
	}
	return i
}

// clauseEnd returns where the clause ends that goes on at words[i].
func clauseEnd(words []word, i int) int {
	for i < len(words) && words[i-1].end == inside {
		i++
	}
	return i
}

// isHead reports whether words[begin:from] are the first of a clause in English whose rest is not
// to be written and is no statement of its own: "I know money's tight for them this year".
func isHead(words []word, begin, from int) bool {
	v := newView(words[begin:clauseEnd(words, from)])
	n, last := from-begin, v.words[len(v.words)-1]
	return !last.wide && last.mark != "" && n <= maxHeads && !v.has(v.classes[n], "join") &&
		!slices.ContainsFunc(v.words[:n], isFigure)
}

// isTail reports whether words are the last of such a clause, and no statement: "in the car".
func isTail(words []word) bool {
	v := newView(words)
	last := words[len(words)-1]
	return !last.wide && last.mark != "" && len(words) <= maxHeads && !v.has(v.classes[0], "join") &&
		!v.has(v.classes[0], "duty") && !slices.ContainsFunc(words, func(w word) bool {
		subject, _, _ := strings.Cut(w.low, "'")
		return isFigure(w) || pronouns[subject] || verbs[w.low]
	})
}

// expects are words after which more is said.
var expects = wordSet("like want wants need needs going said says told tell think 说 想 觉")

// speaksOn reports whether a request that ends before words[i] within a sentence is about what
// follows, as the model thinks.
func speaksOn(words []word, drop []reason, i int, request string) bool {
	last := words[i-1]
	return last.end < sentence && i < len(drop) && drop[i] == unsaid &&
		(last.mark == "" || !last.wide && !says(request, "refers"))
}

// trailing returns to, or one more where the last clause of the sentence of a request in clause c
// only explains it: "keep a lid on it, they haven't rung anyone yet".
func trailing(clauses [][]word, c, to int) int {
	if to > c+1 || to == len(clauses) || closes(clauses[c]) {
		return to
	}
	next := clauses[to]
	if says(textOf(next), "zhTrails") ||
		closes(next) && says(textOf(next), "trails") && !slices.ContainsFunc(next, isFigure) {
		to++
	}
	return to
}

// releaseOther keeps what the model has left out before another topic, which the request in clause
// c is about.
func releaseOther(clauses [][]word, starts []int, c int, words []word, drop []reason) {
	topic := c
	for topic > 0 && drop[starts[topic]-1] == unsaid && !says(textOf(clauses[topic]), "topic") {
		topic--
	}
	from := starts[topic]
	for from > 0 && drop[from-1] == unsaid {
		from--
	}
	if from < starts[topic] {
		release(words[from:starts[topic]], drop[from:starts[topic]])
	}
}

// completeSentence leaves out clauses, too, that come before those that the model has left out
// because of the request in clause c: those of trouble, or if the request is a sentence of its own
// and does not only take something back, all but those of the lesson.
func completeSentence(clauses [][]word, starts []int, c int, drop []reason) {
	classes := func(k int) uint64 { return newView(clauses[k]).in(0, len(clauses[k])) }
	has := func(k int, why reason) bool { return slices.Contains(drop[starts[k]:starts[k+1]], why) }
	alone := closes(clauses[c-1]) && !clauses[c][0].wide && classes(c)&retracts == 0
	first := c
	for k := c - 1; k >= 0 && (k == c-1 || !closes(clauses[k])) && has(k, unsaid); k-- {
		first = k
	}
	for k := first - 1; first < c && k >= 0 && !closes(clauses[k]); k-- {
		if !has(k, kept) {
			continue
		}
		if set := classes(k); set&ofLesson != 0 || set&troubles == 0 && !alone {
			break
		}
		mark(drop[starts[k]:starts[k+1]], unsaid)
	}
}

var (
	ofLesson = classSet("lesson praise duty homework notice")
	retracts = classSet("retract")
	troubles = classSet("trouble")
)

// tellsTrouble reports whether the first words, which are left out, tell of trouble.
func tellsTrouble(words []word, drop []reason) bool {
	n := 0
	for n < len(drop) && drop[n] != kept {
		n++
	}
	return newView(words[:n]).in(0, n)&troubles != 0
}

// release keeps the first words that are not to be written, unless some of them say so.
func release(words []word, drop []reason) {
	n := 0
	for n < len(drop) && drop[n] == unsaid {
		n++
	}
	asked := false
	newView(words[:n]).anchors(func(int, int) { asked = true })
	if !asked {
		mark(drop[:n], kept)
	}
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

// meantBy returns which clauses go at the request in clause c, from the first to before the last:
// those after it in its sentence if it opens that and speaks of what follows, or else those before
// it.
func meantBy(clauses [][]word, c int, request string, opens bool) (from, to int) {
	from, to = c, c+1
	if opens && to < len(clauses) && !says(request, "refers") &&
		(!closes(clauses[c]) || says(request, "announces")) {
		for to++; to < len(clauses) && !closes(clauses[to-1]); to++ {
		}
		return from, to
	}
	if c == 0 {
		return from, to
	}
	if says(request, "whispers") && says(textOf(clauses[c-1]), "told") {
		for ; to < len(clauses) && !closes(clauses[to-1]) && to-c <= maxMeant; to++ {
		}
	}
	from--
	first := from
	for first > 0 && !closes(clauses[first-1]) {
		first--
	}
	for ; from > first && !turns(clauses[from]) && !says(textOf(clauses[from]), "topic"); from-- {
		before := clauses[from-1]
		mark, long := before[len(before)-1].mark, c-first > maxClauses
		if c-from == maxMeant && (mark == "" || long) || mark == "" && slices.ContainsFunc(before, isFigure) ||
			long && before[0].wide && (mark == "、" || newView(before).in(0, len(before))&ofLesson != 0) {
			break
		}
	}
	return from, to
}

func isFigure(w word) bool { return w.kind == number || w.kind == day || w.kind == month }

// turns reports whether a clause begins with "but" and is not only that.
func turns(clause []word) bool { return says(textOf(clause), "turns") && !says(textOf(clause), "lead") }

// closes reports whether a clause is the last of its sentence.
func closes(clause []word) bool { return clause[len(clause)-1].end >= sentence }

// unsaidSpans returns the spans that are perhaps not to be written, with the words that say so.
func (v *view) unsaidSpans() []span {
	var out []span
	type pair struct{ from, to int }
	seen := map[pair]bool{}
	v.anchors(func(p, q int) {
		about := v.asksNothing(p, q)
		for _, i := range v.unsaidStarts(p) {
			for _, j := range v.unsaidEnds(q) {
				if p-i+j-q >= minPrivate && !seen[pair{i, j}] {
					seen[pair{i, j}] = true
					last := v.words[j-1]
					out = append(out, span{from: i, to: j, unsaid: true, keys: v.unsaidFeatures(i, p, q, j),
						meant: about || last.end == inside && strings.HasSuffix(last.low, "'s") || // "last week's"
							v.has(v.classes[p], "retract") && v.hasSentence(i, p)})
				}
			}
		}
	})
	return out
}

// asksNothing reports whether words[from:to] are no request, but tell of the lesson: what somebody
// said, how a character is written, as in 别写错, what may be left out of a composition, as in 可以删掉,
// or what the student does, as in 他不太愿意写 and 我让她删掉.
func (v *view) asksNothing(from, to int) bool {
	return v.quoted[from] || v.low(to-1) == "写" && manners[v.low(to)] ||
		v.low(from-2) == "可" && v.low(from-1) == "以" ||
		from > 0 && v.words[from].wide && v.words[from-1].end == inside && students[v.words[from-1].low] &&
			!wishes[v.low(from+1)]
}

var (
	students = wordSet("他 她")
	wishes   = wordSet("让 想 希 准 许 要") // after 不, of what is to be written
	manners  = wordSet("错 歪 反 得 太 满") // after 写
)

// anchors finds the words that may say that something is not to be written.
func (v *view) anchors(found func(from, to int)) {
	not, write, direct := classSet("not"), classSet("write"), classSet("secret retract")
	n := len(v.words)
	for p := 0; p < n; p++ {
		q := p + 1
		switch {
		case v.classes[p]&direct != 0:
			for q < n && v.classes[q]&direct != 0 {
				q++
			}
		case v.classes[p]&not != 0:
			for q < min(n, p+6) && v.classes[q]&write == 0 && v.words[q-1].end == inside {
				q++
			}
			if q == min(n, p+6) || v.classes[q]&write == 0 {
				continue
			}
			q++
		default:
			continue
		}
		found(p, q)
		p = q - 1
	}
}

func (v *view) unsaidStarts(p int) []int {
	var out []int
	for i := p; i >= max(0, p-maxUnsaid) && len(out) < maxEnds; i-- {
		if i == 0 || v.words[i-1].end != inside || p-i < 26 && v.mayStart(i) {
			out = append(out, i)
		}
	}
	return out
}

func (v *view) unsaidEnds(q int) []int {
	var out []int
	for j := q; j <= min(len(v.words), q+maxUnsaid) && len(out) < maxEnds; j++ {
		if j == len(v.words) || v.words[j-1].end != inside || j-q < 26 && v.mayStart(j) {
			out = append(out, j)
		}
	}
	return out
}

// mayStart reports whether a statement may start at i within a long clause.
func (v *view) mayStart(i int) bool {
	c := v.clauses[v.clause[i]]
	set := v.classes[i]
	return c[1]-c[0] > 5 && (v.has(set, "they") || v.has(set, "join") || v.has(set, "me") ||
		v.has(set, "det") || v.has(set, "kin") || v.has(set, "duty") || v.has(set, "hesitation"))
}

// unsaidFeatures returns what is seen of words[from:to] with words[p:q] that say that they are not
// to be written.
func (v *view) unsaidFeatures(from, p, q, to int) keys {
	k := make(keys, 0, 96)
	n := len(v.words)
	clausesIn := func(a, b int) (count, ends uint32) {
		for i := a; i < b; i++ {
			if v.words[i].end != inside {
				count++
			}
			if v.words[i].end >= sentence {
				ends++
			}
		}
		return min(count, 5), min(ends, 3)
	}
	before, sBefore := clausesIn(from, p)
	after, sAfter := clausesIn(q, to)
	trouble := uint64(1) << classNumber["trouble"]
	pre, post := v.in(from, p), v.in(q, to)
	direct := v.classes[p]
	start, end := v.ends(from)/4, v.ends(to)/4
	k.add(300, v.wide)
	k.add(301, before, after)
	k.add(302, sBefore, sAfter, v.wide)
	k.add(303, start, end, v.wide)
	k.add(304, bucket(p-from), bucket(to-q), v.wide)
	k.add(305, bit(pre&trouble != 0), bit(post&trouble != 0), v.wide)
	k.add(306, v.id(from))
	k.add(307, v.id(from), v.id(from+1))
	k.add(308, v.id(to))
	k.add(309, v.id(to), v.id(to+1))
	k.add(310, v.id(to-1), end)
	k.add(311, v.id(from-1), start)
	k.add(312, before, sBefore, bit(from == 0))
	k.add(313, after, sAfter, bit(to == n))
	k.add(314, v.id(p), before, after)
	k.add(315, v.id(p), v.id(p+1), v.id(q-1))
	k.add(316, hashOf(textOf(v.words[p:min(q, p+8)])))
	k.add(317, v.id(p-1), v.id(p))
	k.add(318, v.id(q), bucket(to-q))
	k.add(319, v.id(q), v.id(q+1), bit(to > q))
	k.each(320, direct, before, after)
	k.each(321, v.in(p-8, p), bit(before > 0), bit(after > 1))
	k.each(322, v.set(from), start)
	k.each(323, v.set(to), end)
	k.each(324, v.in(to, to+8), v.wide)
	k.each(325, v.in(from-8, from), v.wide)
	k.each(326, pre, v.wide)
	k.each(327, post, v.wide)
	k.add(328, v.shape(pre)&7, v.wide)
	k.add(329, v.shape(post)&15, v.wide)
	for i := max(from, p-8); i < p; i++ {
		k.add(330, v.ids[i])
	}
	for i := p; i < min(q+4, to); i++ {
		k.add(331, v.ids[i])
		k.add(332, v.ids[i], v.id(i+1))
	}
	for i := from; i < min(to, from+40); i++ {
		if i < p || i >= q {
			k.add(333, v.ids[i])
		}
	}
	starts := func(a, b int) (count uint32) {
		for i := a + 1; i < b; i++ {
			if v.words[i-1].end != inside || v.mayStart(i) {
				count++
			}
		}
		return min(count, 6)
	}
	say := uint64(1) << classNumber["say"]
	k.add(337, starts(from, p), v.wide, start)
	k.add(338, starts(q, to), v.wide, end)
	k.each(339, v.set(from), start, bit(from < p && pre&say != 0))
	k.each(340, v.set(from-1), start)
	k.each(341, v.set(from+1), start, bit(from < p))
	k.each(342, v.set(to), end, bit(to > q))
	k.each(343, v.set(to+1), end, bit(to > q))
	k.add(344, bit(v.set(from-1)&say != 0), start)
	// what stays on both sides
	k.add(334, bit(v.in(from-14, from)&trouble != 0), bit(v.in(to, to+14)&trouble != 0))
	k.add(335, bit(from > 0 && v.words[from-1].end < sentence && before > 0), v.wide)
	k.add(336, bit(to < n && end < uint32(sentence)), bit(after > 0), v.wide)
	return k
}
