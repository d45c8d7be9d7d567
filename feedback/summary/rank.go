package summary

import "context"

const (
	damping    = 0.85 // as in PageRank
	iterations = 30
)

// rank scores units by their centrality in the graph whose edges are the cosines of their vectors
// (LexRank without a threshold: Erkan and Radev, JAIR 22, 2004). The mean score is one. Each
// iteration multiplies by the matrix of vectors and by its transpose instead of by the graph's
// matrix, so that the time is linear in the length of the text.
func rank(ctx context.Context, vecs [][]entry, n int) ([]float64, error) {
	total := make([]float64, n)
	for _, v := range vecs {
		for _, e := range v {
			total[e.id] += e.weight
		}
	}
	degree := make([]float64, len(vecs)) // the sum of the cosines with all others
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
		lost := 0.0 // the score of units without edges is distributed to all
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
