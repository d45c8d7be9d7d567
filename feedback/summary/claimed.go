package summary

// repairClaimed finds the repair of a figure that "I said" names at i, and that was said before, by
// the clause after it: "The bus is at five. Oh, I said five, it's six".
func (v *view) repairClaimed(i int) *repair {
	c, said := v.clauseOf(i), i
	for n := 5; n > 1 && said == i; n-- {
		if i+n < c.to && claims[textOf(v.words[i:i+n])] {
			said = i + n
		}
	}
	if said == i || c.to == len(v.words) || v.quoted[i] {
		return nil
	}
	to, term := v.afterIs(c.to), i
	for to+1 < len(v.words) && v.isCue(to) {
		to++
	}
	for term > 1 && v.isCue(term-1) {
		term--
	}
	n, text, end := c.to-said, textOf(v.words[said:c.to]), v.clauseOf(to).to
	if to == c.to || to == c.to+1 && term == i || v.figures(said, c.to)&v.figures(to, end) == 0 ||
		term > 0 && v.words[term-1].end == inside {
		return nil
	}
	for k := term - n; k >= max(0, term-2*maxReparandum); k-- {
		if textOf(v.words[k:k+n]) != text {
			continue
		}
		r := &repair{first: term, from: k, rest: k + n, term: term, to: to, end: end, cue: end, last: to}
		if v.clauseOf(k).to == term {
			r.first = k
		}
		return r
	}
	return nil
}

// claims are words with which a speaker names what was said before.
var claims = wordSet("i_said i_just_said 我说 我刚说 我刚才说 我刚刚说 我前面说")
