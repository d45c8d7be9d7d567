package summary

import "strings"

// place is the part of a text that a clause belongs to.
type place byte

const (
	inLesson place = iota
	inHomework
	inNotices
)

// piece is a sentence, or the clauses of one that belong to one place.
type piece struct {
	words  []word
	lesson int
	place  place
}

// pieces divides the words of a lesson by place.
func pieces(words []word, lesson int) []piece {
	if len(words) == 0 {
		return nil
	}
	v := newView(words)
	var out []piece
	for c, at := range v.settle() {
		from, to := v.clauses[c].from, v.clauses[c].to
		if last := len(out) - 1; c > 0 && v.sentence[c] == v.sentence[c-1] && out[last].place == at {
			out[last].words = append(out[last].words, words[from:to]...)
			continue
		}
		out = append(out, piece{append([]word(nil), words[from:to]...), lesson, at})
	}
	for i := range out {
		out[i].words = whole(out[i].words)
	}
	return out
}

// settle returns the places of clauses, as the model chooses, but for those that belong to the
// clause beside them.
func (v *view) settle() []place {
	chosen, out := make([]place, len(v.clauses)), make([]place, len(v.clauses))
	for c, at := range weights().choose(len(v.clauses), v.placeFeatures, v.placeAfter) {
		chosen[c], out[c] = place(at), place(at)
	}
	if from, to := v.clauses[0].from, v.clauses[0].to; says(textOf(v.words[from:to]), "heading", "zhHeading") {
		chosen[0], out[0] = inLesson, inLesson
		if len(out) > 1 && v.sentence[1] == 0 && v.clauses[1].to-v.clauses[1].from <= maxName {
			chosen[1], out[1] = inLesson, inLesson // 周六上午的素描课，俊俊。
		}
	}
	for c := range out {
		from, to := v.clauses[c].from, v.clauses[c].to
		switch text := textOf(v.words[from:to]); {
		case to < len(v.words) && v.words[to-1].end < sentence && (connects[text] ||
			opensColon(v.words[to-1]) && to-from <= maxName || says(text, "until", "zhUntil") ||
			v.isAntecedent(c, chosen) ||
			says(text, "zhLeads") || c == v.sentences[v.sentence[c]].from && says(text, "zhItem")):
			out[c] = chosen[c+1]
		case c > 0 && (v.sentence[c] == v.sentence[c-1] && says(text, "zhTotal") ||
			out[c-1] == inHomework && says(text, "zhDue")):
			out[c] = out[c-1]
		case conditions[v.words[from].low] && c+1 < len(out) && v.sentence[c] == v.sentence[c+1]:
			out[c] = max(chosen[c], chosen[c+1])
			chosen[c+1] = out[c]
			out[c+1] = out[c]
		case c > 0 && v.sentence[c] == v.sentence[c-1] && belongs[v.words[from].low] && to-from <= maxAntecedent:
			out[c] = out[c-1]
		}
	}
	return out
}

// opensColon reports whether a colon follows a word.
func opensColon(w word) bool { return w.mark == ":" || w.mark == "：" }

// isAntecedent reports whether clause c, which is of the lesson, is of what a homework or a notice
// speaks as "one" or "it" in the next one: "her strap is broken, she needs a new one".
func (v *view) isAntecedent(c int, places []place) bool {
	from, to := v.clauses[c].from, v.clauses[c].to
	next := v.words[to:v.clauses[c+1].to]
	return places[c] == inLesson && to-from <= maxAntecedent && v.begins(from) && v.begins(to) &&
		refersBack[next[len(next)-1].low]
}

// maxAntecedent is the length in words of a clause that stays with the next one.
const maxAntecedent = 8

var refersBack = wordSet("one ones it them some")

// belongs are words with which a clause begins that says when or why something is to be done.
var belongs = wordSet("before after until because since")

// conditions are words of a clause that goes with the next one: "if you have sent it, ignore this".
var conditions = wordSet("if unless")

// maxName is the length in words of a name after what a note is of.
const maxName = 3

// connects are words that go with the clause after them.
var connects = wordSet(`and and_then and_also also so oh_and don't_forget and_don't_forget remember
	please_remember one_thing one_more_thing 还有 另外 然后 还有就是 还有一件事 对了 别忘了 跟家长说一下 另外跟家长说一下`)

// placeFeatures returns what is seen of the place of a clause.
func (v *view) placeFeatures(c int) keys {
	k := make(keys, 0, 160)
	from, to := v.clauses[c].from, v.clauses[c].to
	s := v.sentences[v.sentence[c]]
	sFrom, sTo := v.clauses[s.from].from, v.clauses[s.to-1].to
	set, all := v.in(from, to), v.in(sFrom, sTo)
	size := bucket(to - from)
	first := bit(c == s.from)
	k.add(400, v.wide)
	k.add(401, size, v.wide)
	k.add(402, first, v.wide)
	k.add(403, v.id(from), v.id(from+1))
	k.add(404, v.id(from), v.id(from+1), v.id(from+2))
	k.add(405, v.id(from), first)
	k.add(406, v.id(to-1))
	k.add(407, v.id(to-2), v.id(to-1))
	k.add(408, uint32(min(c, 6)), v.wide)
	k.add(409, uint32(min(len(v.clauses)-1-c, 6)), v.wide)
	k.add(410, uint32(10*c/len(v.clauses)), v.wide)
	k.add(411, v.shape(set), v.wide)
	k.add(412, v.ends(to)/4, v.wide)
	for i := from; i < min(to, from+40); i++ {
		k.add(413, v.ids[i])
		k.add(414, v.ids[i], v.id(i+1))
		k.add(415, v.ids[i], v.id(i+1), v.id(i+2))
		if i > from {
			k.add(416, v.id(from), v.ids[i])
		}
	}
	k.each(417, set, v.wide)
	k.each(418, set, v.shape(set)&7)
	k.add(419, v.kindsIn(from, to), v.wide)
	k.each(420, set, v.kindsIn(from, to))
	k.each(421, v.set(from), first)
	k.each(422, all, v.wide)
	k.each(423, all, v.kindsIn(sFrom, sTo))
	for i := max(sFrom, from-20); i < min(sTo, to+20); i++ {
		if i < from || i >= to {
			k.add(424, v.ids[i], bit(i < from))
		}
	}
	around := func(id uint32, c int) { // a clause nearby
		if c < 0 || c >= len(v.clauses) {
			k.add(id, v.wide)
			return
		}
		a, b := v.clauses[c].from, v.clauses[c].to
		k.each(id+1, v.in(a, b), v.wide)
		k.add(id+2, v.kindsIn(a, b), v.wide)
		k.add(id+3, v.shape(v.in(a, b)), v.wide)
		k.add(id+4, v.id(a), v.id(a+1))
		for i := a; i < min(b, a+20); i++ {
			k.add(id+5, v.ids[i])
		}
	}
	around(430, c-1)
	around(440, c+1)
	if c+2 < len(v.clauses) {
		k.each(450, v.in(v.clauses[c+2].from, v.clauses[c+2].to), v.wide)
	}
	return k
}

// kindsIn returns which kinds of words are among words[from:to].
func (v *view) kindsIn(from, to int) (set uint32) {
	for _, w := range v.words[from:to] {
		if w.kind != name {
			set |= 1 << w.kind
		}
	}
	return set >> 1
}

// placeAfter returns what is seen of that after the places of the clauses before.
func (v *view) placeAfter(c int, w *way) keys {
	k := make(keys, 0, 48)
	from, to := v.clauses[c].from, v.clauses[c].to
	set := v.in(from, to)
	a, b := uint32(w.last(0)), uint32(w.last(1))
	first := bit(c == v.sentences[v.sentence[c]].from)
	same, seen := 0, uint32(0)
	for at := w; at != nil && same < 25 && at.choice == w.choice; at = at.before {
		same++
	}
	for at, n := w, 0; at != nil && n < 25; at, n = at.before, n+1 {
		seen |= 1 << at.choice
	}
	k.add(460, a, v.wide)
	k.add(461, a, first, v.wide)
	k.add(462, a, b, first)
	k.add(463, a, bucket(same), first)
	k.add(464, a, v.id(from), first)
	k.add(465, a, v.id(from), v.id(from+1))
	k.add(466, a, bucket(to-from), first)
	k.add(467, a, v.shape(set), first)
	k.add(468, a, v.kindsIn(from, to), first)
	k.add(469, seen, a, v.wide)
	k.add(470, a, uint32(min(len(v.clauses)-1-c, 4)))
	k.each(471, set, a)
	k.each(472, v.set(from), a, first)
	for i := from; i < min(to, from+25); i++ {
		k.add(473, v.ids[i], a)
	}
	if c > 0 {
		k.add(474, a, v.ends(from)/4, v.shape(v.in(v.clauses[c-1].from, from))&63)
		k.each(475, v.in(v.clauses[c-1].from, from), a, first)
	}
	return k
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
// notices, and returns the sentences of it that are to be read again. Homework and notices that
// several lessons have come once.
func compose(all []piece, names []string) (text string, unsure []string) {
	var paragraphs []string
	add := func(words []word) {
		if len(words) > 0 {
			paragraphs = append(paragraphs, write(words, names))
		}
		for _, s := range parts(words, sentence) {
			if isUnsure(s) {
				unsure = append(unsure, write(s, names))
			}
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
	return strings.Join(paragraphs, "\n\n"), unsure
}
