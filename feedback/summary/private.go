package summary

import "slices"

// obey leaves out what clauses ask not to write, such as "just between us", "his parents don't need
// to know" and 这个不要写, where the model has left them: what a family must not read does not depend
// on what was learnt from notes.
func obey(words []word, drop []reason) {
	clauses := parts(words, clause)
	starts := make([]int, len(clauses)+1)
	for c, words := range clauses {
		starts[c+1] = starts[c] + len(words)
	}
	for c, clause := range clauses {
		why := drop[starts[c]:starts[c+1]]
		if len(clause) > maxUnsaid || slices.Contains(why, unsaid) {
			continue
		}
		var said []word // without stutters
		for i, w := range clause {
			if why[i] != spoken && (i == 0 || w.wide || w.low != clause[i-1].low) {
				said = append(said, w)
			}
		}
		from, to := c, c+1
		switch text := textOf(said); {
		case says(text, "whole", "zhWhole"):
			first := c // of the sentence, but for words such as "so"
			for first > 0 && !isSentence(clauses[first-1]) &&
				(len(clauses[first-1]) == 1 || !slices.Contains(drop[starts[first-1]:starts[first]], kept)) {
				first--
			}
			opens := first == 0 || isSentence(clauses[first-1])
			if opens && to < len(clauses) && !says(text, "refers") &&
				(!isSentence(clause) || says(text, "announces")) {
				for to++; to < len(clauses) && !isSentence(clauses[to-1]); to++ {
				}
			} else if c > 0 {
				for from--; from > 0 && !isSentence(clauses[from-1]) && !says(textOf(clauses[from]), "turns"); from-- {
				}
			}
		case !says(text, "itself", "zhItself") || says(text, "reports"):
			continue
		}
		mark(drop[starts[from]:starts[to]], unsaid)
	}
}

// isSentence reports whether a sentence ends with these words.
func isSentence(words []word) bool { return words[len(words)-1].end >= sentence }
