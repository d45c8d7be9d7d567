package summary

// longClause is how many words are a stretch without marks, which is divided.
const longClause = 20

// longMarked is how many are one where the speaker's marks divide the text.
const longMarked = 40

// maxSentence is how far back a sentence is looked at.
const maxSentence = 90

// divide ends clauses and sentences in long stretches without marks, as the model chooses.
func (t *table) divide(words []word) []word {
	v := newView(words)
	marks := 0
	for _, w := range words {
		if w.mark != "" {
			marks++
		}
	}
	long := longClause
	if longClause*marks > len(words) {
		long = longMarked
	}
	from := 0
	for _, c := range parts(words, clause) {
		if len(c) > long {
			made := t.choose(len(c)-1,
				func(i int) keys { return v.gapFeatures(from + i + 1) },
				func(i int, w *way) keys { return v.gapAfter(from+i+1, from, w) })
			for i, e := range made {
				c[i].end = end(e)
			}
		}
		from += len(c)
	}
	return words
}

// gapFeatures returns what is seen of whether something ends before words[i].
func (v *view) gapFeatures(i int) keys {
	k := make(keys, 0, 96)
	x, a, b, c, d, e := v.id(i-3), v.id(i-2), v.id(i-1), v.id(i), v.id(i+1), v.id(i+2)
	k.add(500, v.wide)
	k.add(501, b)
	k.add(502, c)
	k.add(503, a)
	k.add(504, d)
	k.add(505, b, c)
	k.add(506, a, b)
	k.add(507, c, d)
	k.add(508, a, b, c)
	k.add(509, b, c, d)
	k.add(510, c, d, e)
	k.add(511, x, a, b)
	k.add(512, e)
	k.add(513, x)
	k.add(514, a, d)
	k.add(515, uint32(v.words[i-1].kind), uint32(v.words[i].kind), v.wide)
	k.add(516, suffix(v.words[i-1]), c)
	k.add(517, b, suffix(v.words[i]))
	k.add(518, suffix(v.words[i-1]), suffix(v.words[i]))
	k.each(520, v.set(i-1), v.wide)
	k.each(521, v.set(i), v.wide)
	k.each(522, v.set(i+1), v.wide)
	k.each(523, v.set(i-2), v.wide)
	k.each(524, v.set(i-1), c)
	k.each(525, v.set(i), b)
	k.each(526, v.set(i+1), c)
	k.each(527, v.set(i-2), b)
	k.add(528, bit(v.continues(i)), v.wide)
	k.add(529, v.shape(v.in(i, i+6))&63, v.wide)
	k.add(530, v.shape(v.in(i-6, i))&63, v.wide)
	for j := i + 1; j < min(i+6, len(v.words)); j++ {
		k.add(531, v.ids[j])
	}
	return k
}

// gapAfter returns what is seen of that after the choices before, in a stretch that begins at from.
func (v *view) gapAfter(i, from int, w *way) keys {
	k := make(keys, 0, 48)
	since, whole, last := 0, 0, uint32(9)
	for at := w; ; at = at.before { // the choice before words[i-1-whole]
		if at == nil || whole == maxSentence {
			if whole == since {
				since++
			}
			whole++
			break
		}
		if last == 9 {
			since++
			if at.choice != byte(inside) {
				last = uint32(at.choice)
			}
		}
		if whole++; at.choice >= byte(sentence) {
			break
		}
	}
	start := i - since
	n, s := bucket(since), bucket(whole/2)
	c, b := v.id(i), v.id(i-1)
	k.add(550, n, v.wide)
	k.add(551, s, v.wide)
	k.add(552, n, last, v.wide)
	k.add(553, n, s, v.wide)
	k.add(554, n, c)
	k.add(555, n, b)
	k.add(556, last, c)
	k.add(557, v.id(start), c)
	k.add(558, v.id(start), n)
	k.add(559, v.id(start), v.id(start+1), n)
	k.add(560, b, c, n)
	k.add(561, s, c)
	k.each(562, v.set(i), n)
	k.each(563, v.set(i-1), n)
	k.each(564, v.set(start), n)
	k.add(565, v.shape(v.in(start, i))&63, v.wide, v.shape(v.in(i, i+5))&7)
	k.add(566, uint32(min(since, 20)), v.wide)
	k.add(567, bit(start == from), n)
	return k
}
