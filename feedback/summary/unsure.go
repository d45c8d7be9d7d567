package summary

import "math"

// The chances of a wrong decision from which on a sentence is to be read again: if it has words
// that may stand for each other, and if not; and of some of its words as asides. The model is sure
// of itself: of notes that it had not seen, more than half of the sentences above these were wrong.
const (
	minDoubtOfFigures = 1e-5
	minDoubt          = 0.01
	minAsides         = 0.1
	minOfAsides       = 3 // words
)

// isUnsure reports whether a sentence is to be read again.
func isUnsure(words []word) bool {
	most, asides := 0.0, 0
	for _, w := range words {
		most = max(most, w.doubt)
		asides += int(bit(w.aside > minAsides))
	}
	return most > minDoubt || most > minDoubtOfFigures && haveTwoFigures(words) || asides >= minOfAsides
}

// haveTwoFigures reports whether of two numbers, days or months close together one may stand for
// the other.
func haveTwoFigures(words []word) bool {
	v := newView(words)
	for i, a := range words {
		for j := i + 1; j < min(len(words), i+7); j++ {
			switch b := words[j]; {
			case a.kind != b.kind:
			case a.kind == day, a.kind == month,
				a.kind == number && a.low != b.low && v.alike(i, j) > 0 && !v.countsOn(i, j):
				return true
			}
		}
	}
	return false
}

// markDoubt sets what words that are kept are doubted for, also because of what is corrected or not
// to be written beside them in their sentence.
func markDoubt(words []word, drop []reason) {
	beside := 0.0
	mark := func(i int) {
		switch w := &words[i]; drop[i] {
		case kept:
			w.doubt = max(w.doubt, w.chance, beside)
			beside = 0
		case spoken, unsaid:
			beside = max(beside, 1-w.chance)
		}
	}
	for i, w := range words {
		if mark(i); w.end >= sentence {
			beside = 0
		}
	}
	beside = 0
	for i := len(words) - 1; i >= 0; i-- {
		if words[i].end >= sentence {
			beside = 0
		}
		mark(i)
	}
}

// setChances sets the chances of words, by the sums of all ways through the lattice forward and
// backward. They are logarithms, of state 0 and 1 as in decide.
func (l *lattice) setChances(s scores) {
	n, never := len(l.words), math.Inf(-1)
	to, from := make([][2]float64, n+1), make([][2]float64, n+1) // each position
	for i := range n {
		to[i+1], from[i] = [2]float64{never, never}, [2]float64{never, never}
		l.words[i].chance = 0
		if l.asked[i] {
			s.filler[i] = never
		}
	}
	to[0][1] = never
	next := 0
	for i := range n {
		a := to[i]
		to[i+1] = [2]float64{logSum(a[0], a[1]+s.stop[i]), logSum(a[0]+s.start[i], a[1]) + s.filler[i]}
		for ; next < len(l.spans) && l.spans[next].to == i+1; next++ {
			a = to[l.spans[next].from]
			to[i+1][0] = logSum(to[i+1][0], logSum(a[0], a[1])+s.spans[next])
		}
	}
	all := logSum(to[n][0], to[n][1])
	for i := n - 1; i >= 0; i-- {
		b, w := from[i+1], &l.words[i]
		w.aside = max(w.aside, math.Exp(to[i+1][1]+b[1]-all))
		for next--; next >= 0 && l.spans[next].to == i+1; next-- {
			p, value := l.spans[next], s.spans[next]+b[0]
			a := to[p.from]
			chance := math.Exp(logSum(a[0], a[1]) + value - all)
			for j := p.from; j < p.to; j++ {
				l.words[j].chance += chance
			}
			from[p.from] = [2]float64{logSum(from[p.from][0], value), logSum(from[p.from][1], value)}
		}
		next++
		dropped := b[1] + s.filler[i]
		from[i] = [2]float64{logSum(from[i][0], logSum(b[0], s.start[i]+dropped)),
			logSum(from[i][1], logSum(s.stop[i]+b[0], dropped))}
	}
}

// logSum returns the logarithm of the sum of two numbers that have these.
func logSum(a, b float64) float64 {
	if a < b {
		a, b = b, a
	}
	if math.IsInf(b, -1) {
		return a
	}
	return a + math.Log1p(math.Exp(b-a))
}
