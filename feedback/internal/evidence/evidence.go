// Package evidence finds where the sentences of a text come from.
package evidence

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"lessonkit.example/feedback/internal/script"
)

type Sentence struct {
	Text string
	// Supported is false if the sources do not say enough of it.
	Supported bool
	// Sources are the indexes of the sources that it comes from, ascending, if it is supported.
	Sources []int
}

const (
	// enough is the share of what a sentence says, by weight, that its sources must have.
	enough = 0.28
	// A sentence comes from stretches of the sources, which have at most stretchFactor times as
	// many words as itself, or minStretch.
	stretches, stretchFactor, minStretch = 2, 3, 50
	// minShare is the share of a source in a sentence that comes from several.
	minShare = 0.05
	// maxPositions limits how often the sources have a term: a commoner one tells nothing.
	maxPositions = 1000
	// maxSentences limits the sentences of a text.
	maxSentences = 500
)

// Find returns the sentences of a text, 500 at most, with the sources that they come from: those of
// the stretches of the sources that have most in common with the sentence. The names, which may be
// misheard in the sources, tell nothing. Find returns nil if the text is in another script than the
// sources, so that they cannot be compared.
func Find(text string, sources []string, names ...string) []Sentence {
	if isUnspaced(text) != isUnspaced(strings.Join(sources, " ")) {
		return nil
	}
	ix := newIndex(sources, names)
	var out []Sentence
	for p := range strings.SplitSeq(text, "\n") {
		for _, s := range script.Sentences(strings.TrimSpace(p)) {
			if len(out) < maxSentences {
				out = append(out, ix.find(s))
			}
		}
	}
	return out
}

// isUnspaced reports whether most words of a text are characters of scripts without spaces.
func isUnspaced(text string) bool {
	characters, words := 0, 0
	for _, t := range script.Tokenize(text) {
		if t.Char {
			characters++
		} else {
			words++
		}
	}
	return characters > words
}

// index has the words and characters of all sources in their order.
type index struct {
	tokens []string
	source []int            // of each token
	at     map[string][]int // tokens with which each term ends
	names  map[string]bool
}

func newIndex(sources, names []string) *index {
	ix := &index{at: map[string][]int{}, names: map[string]bool{}}
	_, named := parse(strings.Join(names, "\n"))
	for _, t := range named {
		ix.names[t.key] = true
	}
	for i, s := range sources {
		tokens, terms := parse(s)
		for _, t := range terms {
			ix.at[t.key] = append(ix.at[t.key], len(ix.tokens)+t.token)
		}
		for _, token := range tokens {
			ix.tokens, ix.source = append(ix.tokens, token), append(ix.source, i)
		}
	}
	return ix
}

// hit is a term of a sentence in the sources, where it ends with a token.
type hit struct{ token, term int }

func (ix *index) find(sentence string) Sentence {
	tokens, all := parse(sentence)
	terms, total := ix.distinct(all)
	var hits []hit
	for i, t := range terms {
		for _, token := range ix.at[t.key] {
			hits = append(hits, hit{token, i})
		}
	}
	slices.SortFunc(hits, func(a, b hit) int { return cmp.Compare(a.token, b.token) })
	if total == 0 { // "It was so."
		return Sentence{sentence, true, ix.inOrder(tokens, 0, len(ix.tokens))}
	}
	covered := 0.0
	shares := map[int]float64{} // of sources
	found := make([]bool, len(terms))
	length := max(minStretch, stretchFactor*len(tokens))
	for i := range stretches {
		best := bestStretch(hits, terms, length)
		if i == 0 && len(best) > 0 {
			if said := ix.inOrder(tokens, best[0].token-length, best[len(best)-1].token+length); said != nil {
				return Sentence{sentence, true, said}
			}
		}
		for _, h := range best {
			if !found[h.term] {
				found[h.term] = true
				covered += terms[h.term].weight
				shares[ix.source[h.token]] += terms[h.term].weight / total
			}
		}
		hits = slices.DeleteFunc(hits, func(h hit) bool { return found[h.term] })
	}
	out := Sentence{Text: sentence, Supported: covered >= enough*total}
	for source, share := range shares {
		if out.Supported && share >= minShare {
			out.Sources = append(out.Sources, source)
		}
	}
	slices.Sort(out.Sources)
	return out
}

// distinct returns the different terms that tell something, with less weight for those that the
// sources have often, and the sum of their weights.
func (ix *index) distinct(all []term) (terms []term, total float64) {
	seen := map[string]bool{}
	for _, t := range all {
		n := len(ix.at[t.key])
		if seen[t.key] || ix.names[t.key] || n > maxPositions {
			continue
		}
		seen[t.key] = true
		t.weight /= 1 + 0.3*math.Log(float64(max(n, 1)))
		total += t.weight
		terms = append(terms, t)
	}
	return terms, total
}

// inOrder returns the sources of the words of a sentence if all of them are among the tokens
// between two places, in this order, with others between them: a text that was not written but cut
// from the sources. It returns nil if they are not.
func (ix *index) inOrder(words []string, from, to int) (sources []int) {
	from, to = max(from, 0), min(to, len(ix.tokens))
	next, end := 0, from
	for ; end < to && next < len(words); end++ {
		if ix.tokens[end] == words[next] {
			next++
		}
	}
	if next < len(words) {
		return nil
	}
	for i := end - 1; next > 0; i-- { // the last possible place of each word
		if ix.tokens[i] == words[next-1] {
			next--
			sources = append(sources, ix.source[i])
		}
	}
	slices.Sort(sources)
	return slices.Compact(sources)
}

// bestStretch returns the hits of the stretch of at most length tokens with the most weight of
// different terms; of those with the same weight, the shortest.
func bestStretch(hits []hit, terms []term, length int) []hit {
	counts := make([]int, len(terms))
	const equal = 1e-9 // sums of floats differ by less
	sum, weight, from, span := 0.0, equal, 0, 0
	var best []hit
	for to, h := range hits {
		if counts[h.term]++; counts[h.term] == 1 {
			sum += terms[h.term].weight
		}
		for h.token-hits[from].token >= length || counts[hits[from].term] > 1 {
			first := hits[from].term
			if counts[first]--; counts[first] == 0 {
				sum -= terms[first].weight
			}
			from++
		}
		if s := h.token - hits[from].token; sum > weight+equal || sum > weight-equal && s < span {
			best, weight, span = hits[from:to+1], sum, s
		}
	}
	return best
}
