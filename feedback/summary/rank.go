package summary

import "context"

// Settings of the ranking.
const (
	damping    = 0.85 // as in PageRank
	iterations = 30
)

// rank scores units by their place in the graph whose edges are the cosines of
// their vectors (LexRank without a threshold: Erkan and Radev, JAIR 22, 2004).
// The graph is never built: a step multiplies by the matrix of vectors and by
// its transpose, so that the time grows with the length of the text and not
// with its square. The scores have the mean one.
func rank(ctx context.Context, vecs [][]entry, n int) ([]float64, error) {
	total := make([]float64, n)
	for _, v := range vecs {
		for _, e := range v {
			total[e.id] += e.weight
		}
	}
	degree := make([]float64, len(vecs)) // sum of the cosines to all others
	for i, v := range vecs {
		for _, e := range v {
			degree[i] += e.weight * (total[e.id] - e.weight)
		}
	}
	scores := make([]float64, len(vecs))
	for i := range scores {
		scores[i] = 1
	}
	next := make([]float64, len(vecs))
	flow := make([]float64, n)
	for range iterations {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		clear(flow)
		lost := 0.0 // the score of units that share nothing goes to all
		for i, v := range vecs {
			if degree[i] <= 1e-12 {
				lost += scores[i]
				continue
			}
			for _, e := range v {
				flow[e.id] += e.weight * scores[i] / degree[i]
			}
		}
		base := 1 - damping + damping*lost/float64(len(vecs))
		for i, v := range vecs {
			sum := 0.0
			if degree[i] > 1e-12 {
				for _, e := range v {
					sum += e.weight * (flow[e.id] - e.weight*scores[i]/degree[i])
				}
			}
			next[i] = base + damping*sum
		}
		scores, next = next, scores
	}
	return scores, nil
}
