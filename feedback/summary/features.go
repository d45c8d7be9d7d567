package summary

import (
	_ "embed"
	"math"
	"strings"
	"unicode"

	"lessonkit.example/feedback/internal/script"
)

//go:embed stopwords.txt
var stopwordText string

// stopwords are words without a relation to the subject of a lesson.
var stopwords = func() map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(stopwordText) {
		m[w] = true
	}
	return m
}()

// functionChars are Chinese characters with a grammatical function.
const functionChars = "的了是不我你您他她它们这那有在就都也很好吗呢吧啊" +
	"哦嗯呀嘛个一要会来去说着过得地和跟到把被给让再又还没么"

// The weights of the kinds of features. Parts of words connect different forms of a word (colour,
// colourful) and tolerate misspellings of the transcriber.
const (
	weightWord = 1.0
	weightPart = 0.35 // a four-letter part of a longer word
	weightPair = 1.0  // two consecutive characters of an unspaced script
	weightChar = 0.25 // a single character of an unspaced script
)

// entry is one feature of a unit.
type entry struct {
	id     int
	count  float64 // how often it occurs, times the weight of its kind
	weight float64 // also weighted by rarity; the weights of a unit are a vector of length one
}

// vectors returns the features of each unit, weighted by their frequency in the unit and their
// rarity among the units, and the number of different features. Their order depends on the text
// alone, so that sums over them are the same in every run.
func vectors(units []unit) (vecs [][]entry, n int) {
	ids := map[string]int{}
	var df []float64
	vecs = make([][]entry, len(units))
	for i, u := range units {
		index := map[int]int{} // of the features in vecs[i]
		for _, f := range features(u.text) {
			id, ok := ids[f.text]
			if !ok {
				id = len(df)
				ids[f.text] = id
				df = append(df, 0)
			}
			if k, ok := index[id]; ok {
				vecs[i][k].count += f.weight
				continue
			}
			index[id] = len(vecs[i])
			vecs[i] = append(vecs[i], entry{id: id, count: f.weight})
			df[id]++
		}
	}
	for _, v := range vecs {
		norm := 0.0
		for k := range v {
			// The square root makes repetitions within a unit count little.
			v[k].weight = math.Sqrt(v[k].count) * math.Log(1+float64(len(units))/df[v[k].id])
			norm += v[k].weight * v[k].weight
		}
		for k := range v {
			v[k].weight /= math.Sqrt(norm)
		}
	}
	return vecs, len(df)
}

type feature struct {
	text   string
	weight float64
}

// features returns the words of s and their parts, and the characters and their pairs.
func features(s string) []feature {
	var out []feature
	tokens := script.Tokenize(s)
	for i, t := range tokens {
		w := s[t.Start:t.End]
		if !t.Char {
			out = append(out, wordFeatures(strings.ToLower(w))...)
			continue
		}
		function := strings.Contains(functionChars, w)
		if !function {
			out = append(out, feature{w, weightChar})
		}
		if i+1 == len(tokens) || !tokens[i+1].Char || !onlySpace(s[t.End:tokens[i+1].Start]) {
			continue
		}
		next := s[tokens[i+1].Start:tokens[i+1].End]
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

func onlySpace(s string) bool { return strings.TrimSpace(s) == "" }

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
		// "+" distinguishes a part from a word. The weight of all parts does not depend on the
		// length of the word.
		out = append(out, feature{"+" + string(letters[i:i+4]), 2 * weightPart / float64(parts)})
	}
	return out
}

// singular removes the s of a plural or a verb from an English word.
func singular(w string) string {
	if len(w) < 4 || strings.HasSuffix(w, "ss") || strings.HasSuffix(w, "us") || strings.HasSuffix(w, "is") {
		return w
	}
	return strings.TrimSuffix(w, "s")
}
