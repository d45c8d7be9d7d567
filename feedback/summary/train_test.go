package summary

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"lessonkit.example/internal/longtest"
)

// The training: a conditional random field over the lattices of the notes in testdata/train and
// testdata/notes, each as it is and without its marks, by stochastic gradient descent (AdaGrad with
// regularised dual averaging, which leaves most weights at zero). Mistakes have different costs.
var (
	trainings      = 2
	trainingRounds = 12
	learningRate   = 0.3
	sparsity       = 0.0002
	plainWeight    = 0.8  // of a text without marks
	costDrop       = 2.5  // of leaving out a word that must stay
	costFact       = 5.0  // of leaving out a number, a day, a month, a part of the day or a name that must stay
	costFiller     = 0.9  // of each filler that stays
	costSpoilt     = 3.5  // of each word that stays though it is corrected, and at least 4 times as much for all
	costSecret     = 1.0  // of each word that stays though it is not to be written, and 6 times as much for all
	costUnsaid     = 20.0 // at most, of leaving out what may be written; of a word it is half of costDrop
)

// sample is a text to learn from.
type sample struct {
	labels              []label
	secret              []bool // is not to be written
	lattice             *lattice
	weight              float64
	note                int
	mayKeep, mayDrop    []bool // what the marks allow of each word
	maySpan             []bool // and of each span
	filler, start, stop [][]int32
	whole, spans        [][]int32
}

func newSample(divider *table, m markedText, weight float64, note int) (*sample, error) {
	words := divider.divide(parse(m.text))
	labels, _, err := m.labelsOf(words)
	if err != nil || len(words) == 0 {
		return nil, err
	}
	s := &sample{labels: labels, secret: secrets(words, labels), lattice: analyze(words), weight: weight, note: note}
	s.allow()
	return s, nil
}

// regions returns where words with the same label start and end.
func regions(labels []label, same func(a, b label) bool) [][2]int {
	var out [][2]int
	from := 0
	for i := range labels {
		if i+1 == len(labels) || !same(labels[i], labels[i+1]) {
			out = append(out, [2]int{from, i + 1})
			from = i + 1
		}
	}
	return out
}

// secrets returns which words are not to be written: those marked that have words that say so.
func secrets(words []word, labels []label) []bool {
	out := make([]bool, len(words))
	v := newView(words)
	for _, r := range regions(labels, func(a, b label) bool { return a == b }) {
		if labels[r[0]] < goes || r[1]-r[0] < 7 {
			continue
		}
		for _, a := range v.anchors() {
			for i := r[0]; a.from >= r[0] && a.to <= r[1] && i < r[1]; i++ {
				out[i] = v.in(a.from, a.to)&learntCues == 0 || labels[i] == goes
			}
		}
	}
	return out
}

// allow finds the decisions that agree with the marks. Where none leaves out what is corrected,
// any is right.
func (s *sample) allow() {
	n := len(s.labels)
	s.mayKeep, s.mayDrop, s.maySpan = make([]bool, n), make([]bool, n), make([]bool, len(s.lattice.spans))
	for i, l := range s.labels {
		s.mayKeep[i] = l <= mayGo
		s.mayDrop[i] = (l == goes || l == mayGo || l == spoilt && s.lattice.hesitates(i)) &&
			!s.lattice.asked[i]
	}
	for i, p := range s.lattice.spans {
		first, last := s.labels[p.from], s.labels[p.to-1]
		s.maySpan[i] = !slices.Contains(s.labels[p.from:p.to], stays) &&
			(p.unsaid && first != mayGo && last != mayGo || !p.unsaid && first == spoilt)
	}
	gone := func(a, b label) bool { return (a == stays) == (b == stays) }
	for _, r := range regions(s.labels, gone) {
		if s.labels[r[0]] == stays || s.covers(r[0], r[1]) {
			continue
		}
		for i := r[0]; i < r[1]; i++ {
			if s.labels[i] == spoilt || s.lattice.asked[i] {
				s.mayKeep[i], s.mayDrop[i] = true, !s.lattice.asked[i]
			}
		}
	}
}

// covers reports whether allowed decisions lead from one word to another.
func (s *sample) covers(from, to int) bool {
	reached := make([]bool, to-from+1)
	reached[0] = true
	for i := from; i <= to; i++ {
		for j, p := range s.lattice.spans {
			if s.maySpan[j] && p.to == i && p.from >= from && reached[p.from-from] {
				reached[i-from] = true
			}
		}
		if i < to && reached[i-from] && (s.mayDrop[i] || s.mayKeep[i]) {
			reached[i+1-from] = true
		}
	}
	return reached[to-from]
}

// costs returns the costs of keeping and leaving out each word and of leaving out each span.
func (s *sample) costs() (keep, drop, spans []float64) {
	n := len(s.labels)
	keep, drop = make([]float64, n), make([]float64, n)
	sum := make([]float64, n+1)
	for _, r := range regions(s.labels, func(a, b label) bool { return a == b }) {
		for i := r[0]; i < r[1]; i++ {
			size := float64(r[1] - r[0])
			switch {
			case s.labels[i] == stays:
				if drop[i] = costDrop; s.lattice.words[i].kind != plain {
					drop[i] = costFact
				}
			case s.secret[i]:
				keep[i] = max(costSecret, 6*costSecret/size)
			case s.labels[i] == goes:
				keep[i] = costFiller
			case s.labels[i] == spoilt:
				keep[i] = max(costSpoilt, 4*costSpoilt/size)
			}
			sum[i+1] = sum[i] + drop[i]
		}
	}
	for _, p := range s.lattice.spans {
		cost := sum[p.to] - sum[p.from]
		if p.unsaid {
			cost = min(cost/2, costUnsaid)
		}
		spans = append(spans, cost)
	}
	return keep, drop, spans
}

// values are what decisions are worth: those that the marks allow, or all of them with their costs.
func (s *sample) values(sc scores, allowed bool) (keep, drop, spans []float64) {
	keep, drop, spans = s.costs()
	for i := range keep {
		if drop[i] += sc.filler[i]; s.lattice.asked[i] {
			drop[i] = math.Inf(-1)
		}
	}
	for i := range spans {
		spans[i] += sc.spans[i]
	}
	if allowed {
		only := func(v []float64, may []bool, score func(i int) float64) {
			for i := range v {
				if v[i] = math.Inf(-1); may[i] {
					v[i] = score(i)
				}
			}
		}
		only(keep, s.mayKeep, func(int) float64 { return 0 })
		only(drop, s.mayDrop, func(i int) float64 { return sc.filler[i] })
		only(spans, s.maySpan, func(i int) float64 { return sc.spans[i] })
	}
	return keep, drop, spans
}

// expect adds how often each feature is expected, times sign, to a gradient: by the
// forward-backward algorithm.
func (s *sample) expect(sc scores, allowed bool, sign float64, g *gradient) {
	n := len(s.labels)
	keep, drop, spans := s.values(sc, allowed)
	a, b := make([][2]float64, n+1), make([][2]float64, n+1)
	for i := range a {
		a[i], b[i] = [2]float64{math.Inf(-1), math.Inf(-1)}, [2]float64{math.Inf(-1), math.Inf(-1)}
	}
	a[0][0], b[n] = 0, [2]float64{}
	next := 0
	for i := 1; i <= n; i++ {
		a[i][0] = logSum(a[i-1][0], a[i-1][1]+sc.stop[i-1]) + keep[i-1]
		a[i][1] = logSum(a[i-1][0]+sc.start[i-1], a[i-1][1]) + drop[i-1]
		for ; next < len(spans) && s.lattice.spans[next].to == i; next++ {
			from := a[s.lattice.spans[next].from]
			a[i][0] = logSum(a[i][0], logSum(from[0], from[1])+spans[next])
		}
	}
	all := logSum(a[n][0], a[n][1])
	for i := n; i >= 1; i-- {
		for next--; next >= 0 && s.lattice.spans[next].to == i; next-- {
			from := s.lattice.spans[next].from
			v := b[i][0] + spans[next]
			b[from] = [2]float64{logSum(b[from][0], v), logSum(b[from][1], v)}
			g.add(s.spans[next], sign*math.Exp(logSum(a[from][0], a[from][1])+v-all))
		}
		next++
		k, d := keep[i-1]+b[i][0], drop[i-1]+b[i][1]
		b[i-1][0] = logSum(b[i-1][0], logSum(k, d+sc.start[i-1]))
		b[i-1][1] = logSum(b[i-1][1], logSum(k+sc.stop[i-1], d))
		p := sign * math.Exp(a[i][1]+b[i][1]-all)
		c := s.lattice.clause[i-1]
		g.add(s.filler[i-1], p)
		g.add(s.whole[c], p/float64(s.lattice.size[c]))
		g.add(s.start[i-1], sign*math.Exp(a[i-1][0]+sc.start[i-1]+d-all))
		g.add(s.stop[i-1], sign*math.Exp(a[i-1][1]+sc.stop[i-1]+k-all))
	}
}

// gradient is sparse: touched are the features whose values are not 0.
type gradient struct {
	values  []float64
	touched []int32
}

func (g *gradient) add(features []int32, x float64) {
	if math.Abs(x) < 1e-6 {
		return
	}
	for _, i := range features {
		if g.values[i] == 0 {
			g.touched = append(g.touched, i)
		}
		g.values[i] += x
	}
}

// numbered returns the features that at least two notes have, and of each list of features the
// numbers of those.
func numbered(lists []keys, notes []int) (known []uint32, out [][]int32) {
	first, numbers := map[uint32]int{}, map[uint32]int32{}
	for i, list := range lists {
		for _, k := range list {
			if n, seen := first[k]; !seen {
				first[k] = notes[i]
			} else if _, ok := numbers[k]; n != notes[i] && !ok {
				numbers[k] = int32(len(known))
				known = append(known, k)
			}
		}
	}
	out = make([][]int32, len(lists))
	for i, list := range lists {
		for _, k := range list {
			if n, ok := numbers[k]; ok {
				out[i] = append(out[i], n)
			}
		}
	}
	return known, out
}

// history is what is kept of the gradients of a weight.
type history struct{ sum, squares float64 }

// step adds a gradient, and returns the weight after so many steps.
func (h *history) step(x, steps, sparsity float64) float64 {
	h.sum += x
	h.squares += x * x
	mean := max(0, math.Abs(h.sum)/steps-sparsity)
	return -math.Copysign(learningRate*steps*mean/(1+math.Sqrt(h.squares)), h.sum)
}

// trainer learns weights, by the numbers of their features.
type trainer struct {
	keys    []uint32
	weights []float64
	past    []history
	steps   float64
}

func newTrainer(samples []*sample) *trainer {
	var lists []keys
	var notes []int
	for _, s := range samples {
		of := slices.Concat(s.lattice.filler, s.lattice.start, s.lattice.stop, s.lattice.whole)
		for _, p := range s.lattice.spans {
			of = append(of, p.keys)
		}
		lists, notes = append(lists, of...), append(notes, slices.Repeat([]int{s.note}, len(of))...)
	}
	known, numbers := numbered(lists, notes)
	next := func(n int) [][]int32 {
		out := numbers[:n]
		numbers = numbers[n:]
		return out
	}
	for _, s := range samples {
		words := len(s.labels)
		s.filler, s.start, s.stop = next(words), next(words), next(words)
		s.whole, s.spans = next(len(s.lattice.whole)), next(len(s.lattice.spans))
	}
	return &trainer{keys: known, weights: make([]float64, len(known)), past: make([]history, len(known))}
}

func (t *trainer) scores(s *sample) scores {
	score := func(all [][]int32) []float64 {
		out := make([]float64, len(all))
		for i, features := range all {
			for _, f := range features {
				out[i] += t.weights[f]
			}
		}
		return out
	}
	return s.lattice.combine(score(s.filler), score(s.whole), score(s.start), score(s.stop), score(s.spans))
}

// learn changes the weights for a sample.
func (t *trainer) learn(s *sample, g *gradient) {
	t.steps++
	sc := t.scores(s)
	s.expect(sc, false, s.weight, g)
	s.expect(sc, true, -s.weight, g)
	for _, i := range g.touched {
		t.weights[i] = t.past[i].step(g.values[i], t.steps, sparsity)
		g.values[i] = 0
	}
	g.touched = g.touched[:0]
}

// train returns the weights of samples.
func train(samples []*sample) map[uint32]float64 {
	mean := map[uint32]float64{} // over trainings in several orders: each has mistakes of its own
	for order := range trainings {
		t := newTrainer(samples)
		g := &gradient{values: make([]float64, len(t.keys))}
		random := rand.New(rand.NewPCG(1, 2+uint64(order))) //nolint:gosec // the same each time
		for range trainingRounds {
			for _, i := range random.Perm(len(samples)) {
				t.learn(samples[i], g)
			}
		}
		for i, k := range t.keys {
			mean[k] += t.weights[i] / float64(trainings)
		}
	}
	return mean
}

// encode returns weights in the format of weights.bin.
func encode(all map[uint32]float64) []byte {
	var data []byte
	last := uint32(0)
	for _, k := range slices.Sorted(maps.Keys(all)) {
		if v := math.Round(max(-127, min(127, all[k]/unit))); v != 0 && k != 0 {
			data = append(binary.AppendUvarint(data, uint64(k-last)), byte(int8(v)))
			last = k
		}
	}
	return data
}

// samplesOf returns what is learnt from notes. Texts are divided by what was learnt from others.
func samplesOf(t *testing.T, notes []note, dividers [2]*table) (lattices []*sample, places [][]choice) {
	for i, n := range notes {
		add := func(m markedText, weight float64) {
			s, err := newSample(dividers[i%2], m, weight, i)
			require.NoError(t, err, n.name)
			lattices = append(lattices, s)
			places = append(places, placesIn(t, dividers[i%2], m, weight, i))
		}
		for _, m := range n.marked {
			add(m, 1)
			if m, ok := m.plain(i%2 == 0); ok {
				add(m, plainWeight)
			}
		}
	}
	return lattices, places
}

// trainAll returns the weights of all that is learnt from notes.
func trainAll(t *testing.T, notes []note) map[uint32]float64 {
	ends := make([][][]choice, 3) // of notes with odd and even numbers, and of all
	for i, n := range notes {
		for _, m := range n.marked {
			e := endsIn(t, m, i)
			ends[(i+1)%2] = append(ends[(i+1)%2], e...)
			ends[2] = append(ends[2], e...)
		}
	}
	var learnt [3]map[uint32]float64
	var group sync.WaitGroup
	for i := range ends {
		group.Go(func() { learnt[i] = trainChoices(ends[i]) })
	}
	group.Wait()
	dividers := [2]*table{loadWeights(encode(learnt[0])), loadWeights(encode(learnt[1]))}
	lattices, places := samplesOf(t, notes, dividers)
	all := learnt[2]
	group.Go(func() { maps.Copy(all, trainChoices(places)) })
	rest := train(lattices)
	group.Wait()
	maps.Copy(all, rest)
	return all
}

// TestWeights checks that weights.bin was trained from the notes and the features as they are, by
// the hash in testdata/weights.sum. Run it with -update, which takes minutes, after any change of
// the notes, the features or the training.
func TestWeights(t *testing.T) {
	if !*update {
		longtest.Only(t)
	}
	all := append(notes(t, "train"), notes(t, "notes")...)
	if *update {
		weightData = encode(trainAll(t, all))
		require.NoError(t, os.WriteFile("weights.bin", weightData, 0o600))
		require.NoError(t, os.WriteFile("testdata/weights.sum", []byte(sumOf(t, all)), 0o600))
		return
	}
	want, err := os.ReadFile("testdata/weights.sum")
	require.NoError(t, err)
	require.Equal(t, string(want), sumOf(t, all), "weights.bin is of other notes or features")
}

// sumOf returns a hash of what is learnt from notes, of how, and of the weights. Texts without
// marks are not divided, since what divides them is learnt.
func sumOf(t *testing.T, all []note) string {
	sum := sha256.New()
	fmt.Fprintln(sum, trainings, trainingRounds, learningRate, sparsity, plainWeight, costDrop, costFact,
		costFiller, costSpoilt, costSecret, costUnsaid, choiceSparsity)
	add := func(k keys, more ...bool) {
		require.NoError(t, binary.Write(sum, binary.LittleEndian, k))
		require.NoError(t, binary.Write(sum, binary.LittleEndian, more))
	}
	nothing := loadWeights(nil)
	lattices, choices := samplesOf(t, all, [2]*table{nothing, nothing})
	for i, n := range all {
		for _, m := range n.marked {
			choices = append(choices, endsIn(t, m, i)...)
		}
	}
	for _, s := range lattices {
		for _, k := range slices.Concat(s.lattice.filler, s.lattice.start, s.lattice.stop, s.lattice.whole) {
			add(k)
		}
		for i, p := range s.lattice.spans {
			add(p.keys, s.maySpan[i])
		}
		add(nil, s.mayKeep...)
		add(nil, s.mayDrop...)
	}
	for _, text := range choices {
		for _, c := range text {
			add(c.keys, c.right == 1, c.right == 2)
		}
	}
	sum.Write(weightData)
	return hex.EncodeToString(sum.Sum(nil)) + "\n"
}
