package summary

import (
	"cmp"
	"math"
	"slices"
)

// shorten leaves out sentences until there are at most limit words, those first that have least in
// common with the others; it returns the others and those left out. It never leaves out homework,
// notices and sentences with a number, a day or a month, and the first sentence of each lesson.
func shorten(all []piece, limit int) (rest, left []piece) {
	words := 0
	count := map[string]int{}
	sizes := make([]int, len(all))
	for i, p := range all {
		text := textOf(p.words)
		sizes[i] = countWords(text)
		words += sizes[i]
		for _, w := range p.words {
			count[w.low]++
		}
	}
	order := make([]int, len(all))
	value := make([]float64, len(all))
	for i, p := range all {
		order[i] = i
		for _, w := range p.words {
			if !proclitics[w.low] {
				value[i] += math.Log(float64(count[w.low]))
			}
		}
		value[i] /= float64(len(p.words))
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(value[a], value[b]) })
	drop := make([]bool, len(all))
	for _, i := range order {
		if words <= limit {
			break
		}
		if !isProtected(all, i) {
			drop[i] = true
			words -= sizes[i]
		}
	}
	for i, p := range all {
		if drop[i] {
			left = append(left, p)
		} else {
			rest = append(rest, p)
		}
	}
	return rest, left
}

func isProtected(all []piece, i int) bool {
	return all[i].place != inLesson || i == 0 || all[i-1].lesson != all[i].lesson ||
		slices.ContainsFunc(all[i].words, func(w word) bool {
			return w.kind != plain && w.kind != name && w.low != "一" || !w.wide && ordinals[w.low]
		})
}
