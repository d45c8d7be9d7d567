// Package words helps to write messages: it finds the name that was probably meant, and quotes and
// lists the names of a file.
package words

// Closest returns the candidate that is most like a word, or "" if none is like enough: at most a
// third of its letters may differ.
func Closest(word string, candidates []string) string {
	if len(word) < 2 {
		return ""
	}
	best, limit := "", min(max(len(word)/3, 1), 4)
	rows := make([]int, 3*(len(word)+limit+1))
	for _, c := range candidates {
		if c == "" || c == word {
			continue
		}
		if distance := editDistance(word, c, limit, rows); distance < limit || distance == limit && best == "" {
			best, limit = c, distance
		}
	}
	return best
}

// editDistance counts the letters to insert, delete, replace or swap with their neighbour to make
// one word of the other. Above the limit it may return any larger number. It uses rows, which has
// room for three rows of as many numbers as a word within the limit has letters, and one.
func editDistance(a, b string, limit int, rows []int) int {
	if d := len(a) - len(b); d > limit || -d > limit {
		return limit + 1
	}
	width := len(b) + 1
	before, last, row := rows[:width], rows[width:2*width], rows[2*width:3*width]
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		lowest := i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if lower(a[i-1]) == lower(b[j-1]) {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
			lowest = min(lowest, row[j])
		}
		if lowest > limit {
			return limit + 1
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}

func lower(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}
