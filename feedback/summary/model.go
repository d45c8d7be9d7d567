package summary

import (
	_ "embed"
	"encoding/binary"
	"math"
	"sync"
)

//go:embed weights.bin
var weightData []byte

// weights are what the features are worth, as trained from the notes in testdata by
// TestWeights: pairs of how far a feature is from the one before, and its weight. They are loaded
// when a text is first made.
var weights = sync.OnceValue(func() *table { return loadWeights(weightData) })

// table is a hash table of weights, with open addressing.
type table struct {
	keys   []uint32
	values []int8
}

// unit is what a weight of 1 means.
const unit = 1.0 / 24

func loadWeights(data []byte) *table {
	t := &table{}
	size := 1
	for size < len(data)/2 { // a weight has about three bytes
		size *= 2
	}
	t.keys, t.values = make([]uint32, size), make([]int8, size)
	key := uint64(0)
	for len(data) > 0 {
		delta, n := binary.Uvarint(data)
		key += delta
		i := t.slot(uint32(key))
		t.keys[i], t.values[i] = uint32(key), int8(data[n])
		data = data[n+1:]
	}
	return t
}

// slot returns where a feature is in the table, or is not.
func (t *table) slot(key uint32) int {
	i := int(key) & (len(t.keys) - 1)
	for t.keys[i] != key && t.keys[i] != 0 {
		i = (i + 1) & (len(t.keys) - 1)
	}
	return i
}

// score returns the sum of the weights of features.
func (t *table) score(k keys) float64 {
	sum := 0
	for _, key := range k {
		sum += int(t.values[t.slot(key)])
	}
	return float64(sum) * unit
}

// scores are the values of all decisions of a lattice; what is kept has none.
type scores struct{ filler, start, stop, spans []float64 }

func (t *table) scores(l *lattice) scores {
	each := func(all []keys) []float64 {
		out := make([]float64, len(all))
		for i, k := range all {
			out[i] = t.score(k)
		}
		return out
	}
	spans := make([]float64, len(l.spans))
	for i, p := range l.spans {
		spans[i] = t.score(p.keys)
		if p.meant {
			spans[i] = math.Inf(-1)
		}
	}
	return l.combine(each(l.filler), each(l.whole), each(l.start), each(l.stop), spans)
}

// combine adds what a clause is worth to its words.
func (l *lattice) combine(filler, whole, start, stop, spans []float64) scores {
	for i, c := range l.clause {
		filler[i] += whole[c] / float64(l.size[c])
	}
	return scores{filler, start, stop, spans}
}

// decide returns the words to leave out, by the best way through the lattice (Viterbi).
func (l *lattice) decide(s scores) []reason {
	n := len(l.words)
	type step struct {
		value float64
		from  int // the position before
		state int // 1 after a filler
		why   reason
	}
	best := make([][2]step, n+1)
	best[0][1].value = math.Inf(-1)
	next := 0
	for i := 1; i <= n; i++ {
		a, b := best[i-1][0].value, best[i-1][1].value
		keep, drop := step{a, i - 1, 0, kept}, step{a + s.start[i-1], i - 1, 0, filler}
		if v := b + s.stop[i-1]; v > keep.value {
			keep = step{v, i - 1, 1, kept}
		}
		if b > drop.value {
			drop = step{b, i - 1, 1, filler}
		}
		if drop.value += s.filler[i-1]; l.asked[i-1] {
			drop.value = math.Inf(-1)
		}
		for ; next < len(l.spans) && l.spans[next].to == i; next++ {
			p := l.spans[next]
			why := spoken
			if p.unsaid {
				why = unsaid
			}
			for state := range 2 {
				if v := best[p.from][state].value + s.spans[next]; v > keep.value {
					keep = step{v, p.from, state, why}
				}
			}
		}
		best[i] = [2]step{keep, drop}
	}
	out := make([]reason, n)
	state := 0
	if best[n][1].value > best[n][0].value {
		state = 1
	}
	for i := n; i > 0; {
		t := best[i][state]
		mark(out[t.from:i], t.why)
		i, state = t.from, t.state
	}
	return out
}
