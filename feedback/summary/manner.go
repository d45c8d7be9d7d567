package summary

import (
	_ "embed"
	"slices"
	"strings"
	"unicode/utf8"

	"lessonkit.example/feedback/internal/script"
)

//go:embed cues.txt
var cueText string

// cues are words of important sentences, such as rules, reasons, warnings, praise and homework
// (Edmundson's cue method, JACM 16, 1969): parts of a sentence in unspaced scripts, words in
// others.
var cues, cueWords = func() (parts []string, words map[string]bool) {
	words = map[string]bool{}
	for _, c := range strings.Fields(cueText) {
		if r, _ := utf8.DecodeRuneInString(c); script.IsUnspaced(r) {
			parts = append(parts, c)
		} else {
			words[c] = true
		}
	}
	return parts, words
}()

// questionOpeners are words that start an English question, questionWords words of a Chinese one.
var (
	questionOpeners = strings.Fields(`who what why where when which whose how can could may do does did
		is are has have any`)
	questionWords = strings.Fields("什么 谁 有没有 是不是 哪 怎么")
)

const (
	cueFactor      = 2.0
	questionFactor = 0.5
)

// manner returns the factor of a sentence with a cue, which is valued more, or of a question, which
// is valued less than its answer.
func manner(s string) float64 {
	f := 1.0
	if hasCue(s) {
		f *= cueFactor
	}
	if isQuestion(s) {
		f *= questionFactor
	}
	return f
}

func hasCue(s string) bool {
	for _, c := range cues {
		if strings.Contains(s, c) {
			return true
		}
	}
	s = strings.ToLower(s)
	for _, t := range script.Tokenize(s) {
		if !t.Char && cueWords[s[t.Start:t.End]] {
			return true
		}
	}
	return false
}

func isQuestion(s string) bool {
	s = strings.TrimRightFunc(s, script.IsCloser)
	for _, end := range []string{"?", "？", "吗", "呢"} {
		if strings.HasSuffix(s, end) {
			return true
		}
	}
	if endsSentence(s) {
		return false // with the end mark of a statement
	}
	for _, w := range questionWords {
		if strings.Contains(s, w) {
			return true
		}
	}
	tokens := script.Tokenize(s)
	return len(tokens) > 0 && slices.Contains(questionOpeners, strings.ToLower(s[tokens[0].Start:tokens[0].End]))
}
