package summary

import (
	"hash/fnv"
	"math/bits"
	"slices"
	"strings"
)

// lattice is all that may be left out of some words, with the features of each decision.
type lattice struct {
	*view
	filler []keys // that a word is one
	start  []keys // that a filler starts at a word, after one that is kept
	stop   []keys // that a word is kept, after a filler
	spans  []span // what may be left out as a whole, sorted by their ends
	asked  []bool // that words say what is not to be written: they go only together with that
	whole  []keys // that all words of a clause are fillers
	size   []int  // of each clause
}

// span is some words that may be left out together, because they are corrected, said again or not
// to be written.
type span struct {
	from, to int
	unsaid   bool
	meant    bool // they stay, whatever the model thinks
	keys     keys
}

// keys are features: hashes of what is seen.
type keys []uint32

// add adds the feature that kind id has these values.
func (k *keys) add(id uint32, values ...uint32) {
	h := id * 0x9e3779b1
	for _, v := range values {
		h = (h ^ v) * 0x85ebca6b
		h ^= h >> 15
	}
	h *= 0xc2b2ae35
	*k = append(*k, h^h>>16)
}

// view is words with what the features are made of.
type view struct {
	words     []word
	ids       []uint32 // the words, but of digits only that they are some
	classes   []uint64
	clause    []int // of each word
	clauses   []stretch
	sentence  []int           // of each clause
	sentences []stretch       // the clauses of each
	wide      uint32          // 1 of an unspaced script
	quoted    []bool          // whether each word is between quotes
	values    map[int]int     // of the words that were asked for, see value
	said      map[saidIn]bool // what was asked for, see says
}

// maxClause is the length in words of a clause, so that the time to look at what stands around each
// word does not grow with the text. A clause of speech is shorter, and a sentence than two blocks.
const maxClause = 500

// saidIn is whether some words are what a phrase matches.
type saidIn struct {
	stretch
	title string
}

// says reports whether some words are what the phrase of this name matches. It looks at them once:
// many of their words ask.
func (v *view) says(at stretch, title string) bool {
	key := saidIn{at, title}
	yes, known := v.said[key]
	if !known {
		yes = says(textOf(v.words[at.from:at.to]), title)
		v.said[key] = yes
	}
	return yes
}

// stretch is words[from:to], or so many clauses.
type stretch struct{ from, to int }

// clauseOf returns the clause of the word at i.
func (v *view) clauseOf(i int) stretch { return v.clauses[v.clause[i]] }

func hashOf(s string) uint32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(s))
	return h.Sum32()
}

func bit(b bool) uint32 {
	if b {
		return 1
	}
	return 0
}

// bucket groups lengths.
func bucket(n int) uint32 {
	switch {
	case n < 5:
		return uint32(max(n, 0))
	case n < 7:
		return 5
	case n < 10:
		return 6
	case n < 15:
		return 7
	case n < 25:
		return 8
	}
	return 9
}

func newView(words []word) *view {
	v := &view{words: words, classes: classesOf(words), quoted: areQuoted(words), values: make(map[int]int),
		said: make(map[saidIn]bool)}
	wides, from, begin := 0, 0, 0 // of a clause and its sentence
	for i, w := range words {
		v.ids = append(v.ids, hashOf(general(w)))
		v.clause = append(v.clause, len(v.clauses))
		if w.end != inside || i+1 == len(words) || i+1-from == maxClause {
			if len(v.clauses) == 0 || words[from-1].end >= sentence || i-begin >= 2*maxBlock {
				begin = from
				v.sentences = append(v.sentences, stretch{len(v.clauses), len(v.clauses)})
			}
			v.sentence = append(v.sentence, len(v.sentences)-1)
			v.clauses = append(v.clauses, stretch{from, i + 1})
			v.sentences[len(v.sentences)-1].to++
			from = i + 1
		}
		if w.wide {
			wides++
		}
	}
	v.wide = bit(2*wides > len(words))
	return v
}

// areQuoted reports which words are between quotes, of a few sentences at most.
func areQuoted(words []word) []bool {
	out := make([]bool, len(words))
	for i, w := range words {
		if !strings.ContainsAny(w.open, `"“`) {
			continue
		}
		for j := i; j < min(len(words), i+maxUnsaid); j++ {
			if strings.ContainsAny(words[j].mark, `"”`) {
				for k := i; k <= j; k++ {
					out[k] = true
				}
				break
			}
		}
	}
	return out
}

// general returns a word, or what stands for all of its kind.
func general(w word) string {
	switch {
	case w.kind == number && !ambiguous[w.low]:
		return "#"
	case w.kind == day && w.low != "tomorrow" && w.low != "weekend":
		return "#day"
	case w.kind == month && w.low != "may" && w.low != "march":
		return "#month"
	case w.kind == name:
		return "#name"
	}
	return w.low
}

// ambiguous are numbers that are often none.
var ambiguous = wordSet("一 one first second half quarter once")

// suffix returns how an English word ends.
func suffix(w word) uint32 {
	if w.wide || w.kind != plain || len(w.low) < 5 {
		return 0
	}
	return hashOf(w.low[len(w.low)-2:])
}

// id returns the word at i, or 1 and 2 outside the text.
func (v *view) id(i int) uint32 {
	switch {
	case i < 0:
		return 1
	case i >= len(v.ids):
		return 2
	}
	return v.ids[i]
}

// low returns the word at i, or "" outside the text.
func (v *view) low(i int) string {
	if i < 0 || i >= len(v.words) {
		return ""
	}
	return v.words[i].low
}

// ends returns what ends before the word at i, with its mark.
func (v *view) ends(i int) uint32 {
	if i <= 0 {
		return 9
	}
	w := v.words[min(i, len(v.words))-1]
	n := uint32(w.end) * 4
	switch {
	case strings.ContainsAny(w.mark, "!！"):
		return n + 1
	case strings.ContainsAny(w.mark, "—–-…"):
		return n + 2
	case w.mark == "":
		return n + 3
	}
	return n
}

func (v *view) set(i int) uint64 {
	if i < 0 || i >= len(v.classes) {
		return 0
	}
	return v.classes[i]
}

// in returns the classes of words[from:to].
func (v *view) in(from, to int) (all uint64) {
	for i := max(from, 0); i < min(to, len(v.classes)); i++ {
		all |= v.classes[i]
	}
	return all
}

// each adds a feature for each class of a set.
func (k *keys) each(id uint32, set uint64, values ...uint32) {
	for set &= learnt; set != 0; set &= set - 1 {
		k.add(id, append(values, uint32(bits.TrailingZeros64(set)))...)
	}
}

func (v *view) has(set uint64, class string) bool { return set&classBits[class] != 0 }

// shape returns who is spoken of and to in a set of classes.
func (v *view) shape(set uint64) uint32 {
	n := uint32(0)
	for i, c := range []string{"you", "me", "they", "lesson", "duty", "command", "house", "call"} {
		n |= bit(v.has(set, c)) << i
	}
	return n
}

// analyze returns the lattice of some words.
func analyze(words []word) *lattice {
	v := newView(words)
	l := &lattice{view: v, asked: make([]bool, len(words))}
	for _, a := range v.anchors() {
		for i := a.from; i < a.to; i++ {
			l.asked[i] = true
		}
	}
	for c := range v.clauses {
		l.whole = append(l.whole, v.clauseFeatures(c))
		l.size = append(l.size, v.clauses[c].to-v.clauses[c].from)
	}
	for i := range words {
		l.filler = append(l.filler, v.wordFeatures(i))
		l.start = append(l.start, v.edgeFeatures(1, i))
		l.stop = append(l.stop, v.edgeFeatures(2, i))
	}
	l.spans = append(v.repairs(), v.unsaidSpans()...)
	slices.SortStableFunc(l.spans, func(a, b span) int { return a.to - b.to })
	return l
}

// wordFeatures returns what is seen of a word that may be a filler.
func (v *view) wordFeatures(i int) keys {
	k := make(keys, 0, 64)
	w, set := v.words[i], v.classes[i]
	a, b, c, d, e := v.id(i-2), v.id(i-1), v.id(i), v.id(i+1), v.id(i+2)
	before, after := v.ends(i), v.ends(i+1)
	k.add(10, v.wide)
	k.add(11, c)
	k.add(12, b, c)
	k.add(13, c, d)
	k.add(14, b, c, d)
	k.add(15, a, b, c)
	k.add(16, c, d, e)
	k.add(17, b)
	k.add(18, d)
	k.add(19, a)
	k.add(20, e)
	k.add(21, c, before)
	k.add(22, c, after)
	k.add(23, c, before, after)
	k.add(24, uint32(w.kind), v.wide)
	k.add(25, bit(hasCapital(w)), before)
	k.add(26, before, after, v.wide)
	k.add(27, suffix(w), v.wide)
	k.each(30, set, v.wide)
	k.each(31, set, before)
	k.each(32, set, after)
	k.each(33, v.set(i-1))
	k.each(34, v.set(i+1))
	return k
}

// edgeFeatures returns what is seen between the words at i-1 and at i.
func (v *view) edgeFeatures(id uint32, i int) keys {
	k := make(keys, 0, 16)
	a, b, c, d := v.id(i-2), v.id(i-1), v.id(i), v.id(i+1)
	before := v.ends(i)
	id *= 100
	k.add(id, v.wide)
	k.add(id+1, before, v.wide)
	k.add(id+2, b, c)
	k.add(id+3, b)
	k.add(id+4, c)
	k.add(id+5, b, before)
	k.add(id+6, c, before)
	k.add(id+7, a, b)
	k.add(id+8, c, d)
	k.each(id+9, v.set(i-1), before)
	k.each(id+10, v.set(i), before)
	k.add(id+11, bit(i < len(v.words) && hasCapital(v.words[i])), before)
	k.add(id+12, bit(i < len(v.words) && v.words[i].space), v.wide, before)
	return k
}

// clauseFeatures returns what is seen of a clause that may be a filler.
func (v *view) clauseFeatures(c int) keys {
	k := make(keys, 0, 128)
	from, to := v.clauses[c].from, v.clauses[c].to
	s := v.sentences[v.sentence[c]]
	sFrom, sTo := v.clauses[s.from].from, v.clauses[s.to-1].to
	n, set, all := to-from, v.in(from, to), v.in(sFrom, sTo)
	size := bucket(n)
	atStart, atEnd := uint32(min(c, 4)), uint32(min(len(v.clauses)-1-c, 4))
	sStart, sEnd := uint32(min(v.sentence[c], 3)), uint32(min(len(v.sentences)-1-v.sentence[c], 3))
	before, after := v.ends(from), v.ends(to)
	k.add(50, size, v.wide)
	k.add(51, atStart, v.wide)
	k.add(52, atEnd, v.wide)
	k.add(53, before, after, v.wide)
	k.add(54, v.id(from))
	k.add(55, v.id(from), v.id(from+1))
	k.add(56, v.id(to-1))
	k.add(57, v.id(to-1), after)
	k.add(58, v.shape(set), v.wide)
	k.add(59, v.shape(all), v.wide)
	k.add(60, v.shape(set), after)
	k.add(61, bucket(sTo-sFrom), v.wide)
	k.add(62, v.ends(sTo), v.wide)
	k.add(63, v.ends(sFrom), v.wide)
	k.add(64, sStart, v.wide)
	k.add(65, sEnd, v.wide)
	k.add(66, bit(hasCapital(v.words[from])), size)
	k.add(67, bit(v.words[from].kind == name), bit(n == 1))
	if n <= 6 {
		text := textOf(v.words[from:to])
		h := hashOf(text)
		k.add(68, h)
		k.add(69, h, before/4, after/4)
		k.add(70, h, atEnd)
		k.add(71, h, atStart)
	}
	k.each(72, set, v.wide)
	k.each(73, set, size)
	k.each(74, set, atStart)
	k.each(75, set, atEnd)
	k.each(76, set, after)
	k.each(77, all, v.wide)
	k.each(78, all, sStart)
	k.each(79, all, sEnd)
	k.each(80, all, v.ends(sTo))
	if c > 0 {
		k.each(81, v.in(v.clauses[c-1].from, from))
		k.add(82, bucket(from-v.clauses[c-1].from), size)
	}
	if c+1 < len(v.clauses) {
		k.each(83, v.in(to, v.clauses[c+1].to))
	}
	if n <= 16 {
		for i := from; i < to; i++ {
			k.add(84, v.ids[i])
			k.add(85, v.ids[i], v.id(i+1))
		}
	}
	if sTo-sFrom <= 30 {
		for i := sFrom; i < sTo; i++ {
			k.add(86, v.ids[i])
		}
	}
	first := v.set(from)
	k.each(87, first, v.shape(set)&7)
	k.each(88, first, after)
	return k
}
