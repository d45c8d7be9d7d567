package summary

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// choiceSparsity leaves out weights of choices that are worth little.
const choiceSparsity = 0.0001

// choice is one to learn from: what is seen, and what is right.
type choice struct {
	keys   keys
	right  byte
	weight float64
	note   int
}

// choicesOf returns the right choices, each with what is seen after those before.
func choicesOf(
	right []byte, seen func(i int) keys, after func(i int, w *way) keys, weight float64, note int,
) []choice {
	var out []choice
	var w *way
	for i, r := range right {
		out = append(out, choice{append(seen(i), after(i, w)...), r, weight, note})
		w = &way{before: w, choice: r}
	}
	return out
}

// asMarked returns the words that stay, with their places.
func asMarked(t *testing.T, words []word, m markedText) ([]word, []place) {
	labels, in, err := m.labelsOf(words)
	require.NoError(t, err)
	drop := make([]reason, len(words))
	var places []place
	for i, l := range labels {
		switch l {
		case goes:
			drop[i] = filler
		case spoilt:
			drop[i] = spoken
		default:
			places = append(places, in[i])
		}
	}
	endAtAsides(words, drop)
	return without(words, drop), places
}

// unmarked takes the marks and capital letters from words.
func unmarked(words []word) []word {
	for i := range words {
		w := &words[i]
		w.end, w.mark, w.text = inside, "", strings.ToLower(w.text)
		w.kind = kindOf(*w, false)
	}
	return words
}

// endsIn returns where clauses and sentences end in a text with marks, as it is and without what
// does not stay.
func endsIn(t *testing.T, m markedText, note int) [][]choice {
	if _, ok := m.plain(false); !ok {
		return nil
	}
	stay, _ := asMarked(t, parse(m.text), m)
	var out [][]choice
	for _, words := range [][]word{parse(m.text), stay} {
		var right []byte
		for _, w := range words {
			right = append(right, byte(min(w.end, sentence)))
		}
		if len(words) > 1 {
			v := newView(unmarked(words))
			out = append(out, choicesOf(right[:len(right)-1],
				func(i int) keys { return v.gapFeatures(i + 1) },
				func(i int, w *way) keys { return v.gapAfter(i+1, 0, w) }, 1, note))
		}
	}
	return out
}

// placesIn returns the places of the clauses of a text.
func placesIn(t *testing.T, divider *table, m markedText, weight float64, note int) []choice {
	words, in := asMarked(t, divider.divide(parse(m.text)), m)
	if len(words) == 0 {
		return nil
	}
	v := newView(divider.divide(words))
	var right []byte
	for _, c := range v.clauses {
		var count [choices]int
		for _, p := range in[c.from:c.to] {
			count[p]++
		}
		right = append(right, byte(slices.Index(count[:], slices.Max(count[:]))))
	}
	return choicesOf(right, v.placeFeatures, v.placeAfter, weight, note)
}

// trainChoices returns the weights of the choices in texts: a logistic regression, trained as the
// field is.
func trainChoices(texts [][]choice) map[uint32]float64 {
	all := slices.Concat(texts...)
	var lists []keys
	var notes []int
	for _, c := range all {
		lists, notes = append(lists, c.keys), append(notes, c.note)
	}
	known, seen := numbered(lists, notes)
	starts := []int{0}
	for _, c := range texts {
		starts = append(starts, starts[len(starts)-1]+len(c))
	}
	mean := map[uint32]float64{}
	for order := range trainings {
		random := rand.New(rand.NewPCG(3, uint64(order))) //nolint:gosec // the same each time
		weights, past := make([][choices]float64, len(known)), make([][choices]history, len(known))
		steps := 0.0
		learn := func(c choice, seen []int32) {
			var scores [choices]float64
			for _, f := range seen {
				for i := range scores {
					scores[i] += weights[f][i]
				}
			}
			for i, p := range logSoftmax(scores) {
				x := math.Exp(p)
				if i == int(c.right) {
					x--
				}
				if x *= c.weight; math.Abs(x) < 1e-3 {
					continue
				}
				for _, f := range seen {
					weights[f][i] = past[f][i].step(x, steps, choiceSparsity)
				}
			}
		}
		for range trainingRounds {
			for _, text := range random.Perm(len(texts)) {
				steps++
				for i := starts[text]; i < starts[text+1]; i++ {
					learn(all[i], seen[i])
				}
			}
		}
		for f, k := range known {
			for c, x := range weights[f] {
				if x != 0 {
					mean[ofChoice(k, c)] += x / float64(trainings)
				}
			}
		}
	}
	return mean
}
