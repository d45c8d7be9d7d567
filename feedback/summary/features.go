package summary

import (
	_ "embed"
	"math"
	"slices"
	"strings"
	"unicode"
)

//go:embed stopwords.txt
var stopwordText string

// stopwords say nothing about what a lesson was about.
var stopwords = func() map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(stopwordText) {
		m[w] = true
	}
	return m
}()

// functionChars are Chinese characters that carry grammar rather than meaning.
const functionChars = "的了是不我你您他她它们这那有在就都也很好吗呢吧啊哦嗯呀嘛个一要会来去说着过得地和跟到把被给让再又还没么"

// Weights of the kinds of features. Parts of words tie different forms of a word
// together (colour, colours) and survive a recogniser's misspelling.
const (
	weightWord = 1.0
	weightPart = 0.35 // a four-letter part of a longer word
	weightPair = 1.0  // two neighbouring characters of an unspaced script
	weightChar = 0.25 // one of them
)

// entry is one feature of a unit.
type entry struct {
	id     int
	count  float64 // how often it occurs, in the weight of its kind
	weight float64 // the same, weighted by rareness; of length one over the unit
}

// vectors returns for each unit its features, weighted by how often they occur
// in the unit and how few units share them, scaled to length one. n is the
// number of different features. All orders are fixed by the text, so that the
// sums made of them are the same on every run.
func vectors(units []unit) (vecs [][]entry, n int) {
	ids := map[string]int{}
	var df []float64
	vecs = make([][]entry, len(units))
	for i, u := range units {
		for _, f := range features(u.text) {
			id, ok := ids[f.text]
			if !ok {
				id = len(df)
				ids[f.text] = id
				df = append(df, 0)
			}
			vecs[i] = append(vecs[i], entry{id: id, count: f.weight})
		}
		vecs[i] = merge(vecs[i])
		for _, e := range vecs[i] {
			df[e.id]++
		}
	}
	for _, v := range vecs {
		norm := 0.0
		for k := range v {
			// Occurring twice in one sentence counts little more than once.
			v[k].weight = math.Sqrt(v[k].count) * math.Log(1+float64(len(units))/df[v[k].id])
			norm += v[k].weight * v[k].weight
		}
		for k := range v {
			v[k].weight /= math.Sqrt(norm)
		}
	}
	return vecs, len(df)
}

// merge sorts entries by feature and adds up those of the same.
func merge(v []entry) []entry {
	slices.SortStableFunc(v, func(a, b entry) int { return a.id - b.id })
	out := v[:0]
	for _, e := range v {
		if k := len(out); k > 0 && out[k-1].id == e.id {
			out[k-1].count += e.count
			continue
		}
		out = append(out, e)
	}
	return out
}

type feature struct {
	text   string
	weight float64
}

// features lists what s is about: words and their parts, pairs of characters.
func features(s string) []feature {
	var out []feature
	tokens := tokenize(s)
	for i, t := range tokens {
		w := s[t.start:t.end]
		if !t.char {
			out = append(out, wordFeatures(strings.ToLower(w))...)
			continue
		}
		function := strings.Contains(functionChars, w)
		if !function {
			out = append(out, feature{w, weightChar})
		}
		if i+1 == len(tokens) || !tokens[i+1].char || !onlyBlank(s[t.end:tokens[i+1].start]) {
			continue
		}
		next := s[tokens[i+1].start:tokens[i+1].end]
		if function && strings.Contains(functionChars, next) || stopwords[w+next] {
			continue
		}
		weight := weightPair
		if function || strings.Contains(functionChars, next) {
			weight /= 2
		}
		out = append(out, feature{w + next, weight})
	}
	return out
}

func onlyBlank(s string) bool { return strings.TrimSpace(s) == "" }

func wordFeatures(w string) []feature {
	w = strings.ReplaceAll(w, "’", "'")
	if stopwords[w] {
		return nil
	}
	w = singular(strings.TrimSuffix(w, "'s"))
	out := []feature{{w, weightWord}}
	letters := []rune(w)
	if len(letters) < 5 || !unicode.IsLetter(letters[0]) {
		return out
	}
	parts := len(letters) - 3
	for i := range parts {
		// "+" keeps a part from being taken for a word. Together the parts of a
		// long word weigh no more than those of a short one.
		out = append(out, feature{"+" + string(letters[i:i+4]), 2 * weightPart / float64(parts)})
	}
	return out
}

// singular takes the s of a plural or a verb off an English word.
func singular(w string) string {
	if len(w) < 4 || strings.HasSuffix(w, "ss") || strings.HasSuffix(w, "us") || strings.HasSuffix(w, "is") {
		return w
	}
	return strings.TrimSuffix(w, "s")
}
