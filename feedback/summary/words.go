package summary

import (
	"unicode/utf8"

	"lessonkit.example/feedback/internal/script"
)

// longWord is how many letters count as one word, so that a limit also applies to text without any
// spaces.
const longWord = 24

// countWords returns the length of s as word processors count it: words of spaced scripts and
// characters of unspaced ones.
func countWords(s string) int {
	n := 0
	for _, t := range script.Tokenize(s) {
		if t.Char || t.End-t.Start <= longWord {
			n++
		} else {
			n += (utf8.RuneCountInString(s[t.Start:t.End]) + longWord - 1) / longWord
		}
	}
	return n
}
