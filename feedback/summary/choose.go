package summary

import (
	"cmp"
	"math"
	"slices"
)

// choices is how many values a choice has.
const choices = 3

// beam is how many ways to choose are looked at side by side.
const beam = 4

// way is a choice after others.
type way struct {
	before *way
	choice byte
	value  float64
}

// last returns the choice made n before the next one, or choices if there is none.
func (w *way) last(n int) byte {
	for ; w != nil && n > 0; n-- {
		w = w.before
	}
	if w == nil {
		return choices
	}
	return w.choice
}

// choose makes n choices, each of which sees those before it: the best of the ways that a beam
// search finds. The features are of choice i, and of it after a way.
func (t *table) choose(n int, seen func(i int) keys, after func(i int, w *way) keys) []byte {
	ways := []*way{nil}
	for i := range n {
		fixed := t.ofChoices(seen(i))
		var next []*way
		for _, w := range ways {
			value := 0.0
			if w != nil {
				value = w.value
			}
			scores := t.ofChoices(after(i, w))
			for c := range scores {
				scores[c] += fixed[c]
			}
			for c, p := range logSoftmax(scores) {
				next = append(next, &way{w, byte(c), value + p})
			}
		}
		slices.SortStableFunc(next, func(a, b *way) int { return cmp.Compare(b.value, a.value) })
		ways = next[:min(len(next), beam)]
	}
	out := make([]byte, n)
	for i, w := n-1, ways[0]; i >= 0; i, w = i-1, w.before {
		out[i] = w.choice
	}
	return out
}

// ofChoice returns the feature of a choice.
func ofChoice(key uint32, c int) uint32 { return (key + uint32(c)) * 0x9e3779b1 }

// ofChoices returns what features are worth for each choice.
func (t *table) ofChoices(k keys) (out [choices]float64) {
	for _, key := range k {
		for c := range out {
			out[c] += float64(t.values[t.slot(ofChoice(key, c))]) * unit
		}
	}
	return out
}

func logSoftmax(scores [choices]float64) [choices]float64 {
	most, sum := slices.Max(scores[:]), 0.0
	for _, s := range scores {
		sum += math.Exp(s - most)
	}
	for c := range scores {
		scores[c] -= most + math.Log(sum)
	}
	return scores
}
