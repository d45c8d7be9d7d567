package summary

import (
	"math"
	"slices"
	"strings"

	"lessonkit.example/feedback/internal/script"
)

// textRank is the baseline of the most common method without a model: sentences are ranked by
// PageRank over a graph of shared words (Mihalcea and Tarau, 2004), and the best that fit are
// selected.
func textRank(units []unit, limit int) string {
	words := make([]map[string]bool, len(units))
	for i, u := range units {
		words[i] = map[string]bool{}
		text := strings.ToLower(u.text)
		for _, t := range script.Tokenize(text) {
			words[i][text[t.Start:t.End]] = true
		}
	}
	weight := func(i, j int) float64 {
		shared := 0.0
		for w := range words[i] {
			if words[j][w] {
				shared++
			}
		}
		if norm := math.Log(float64(len(words[i]))) + math.Log(float64(len(words[j]))); i != j && norm > 0 {
			return shared / norm
		}
		return 0
	}
	n := len(units)
	edges, out := make([][]float64, n), make([]float64, n)
	for i := range n {
		edges[i] = make([]float64, n)
		for j := range n {
			edges[i][j] = weight(i, j)
			out[i] += edges[i][j]
		}
	}
	scores := slices.Repeat([]float64{1}, n)
	for range 50 {
		next := slices.Repeat([]float64{1 - damping}, n)
		for i := range n {
			for j := range n {
				if out[j] > 0 {
					next[i] += damping * scores[j] * edges[j][i] / out[j]
				}
			}
		}
		scores = next
	}
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case scores[a] > scores[b]:
			return -1
		case scores[a] < scores[b]:
			return 1
		}
		return 0
	})
	var b strings.Builder
	for _, i := range order {
		if units[i].words <= limit {
			limit -= units[i].words
			b.WriteString(units[i].text + "\n")
		}
	}
	return b.String()
}
