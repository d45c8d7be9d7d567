package feedback

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"lessonkit.example/feedback/internal/script"
)

const (
	// maxCorrected is how many words, or characters of a script without spaces, are corrected at
	// once.
	maxCorrected = 4
	// maxCorrections limits what is learnt from one text, and the names in one place of it: without
	// that, a text of one repeated word would take a time that grows with the square of its length.
	maxCorrections = 50
)

// corrections returns the names that somebody has put in the place of other words: in saved and in
// one of the recognised texts, the two words before it and the two after it are equal, where
// there are any. A name is one to three words with a capital letter, or two to four Chinese
// characters. What was recognised anywhere needs no correction.
func corrections(recognised []string, saved string) []string {
	words := tokens(saved)
	named := map[string]bool{} // in the middle of a sentence, where a capital letter means a name
	for _, w := range words {
		if !w.first && isCapital(w.text) {
			named[w.text] = true
		}
	}
	type candidate struct{ name, first, last string }
	candidates := map[surroundings][]candidate{}
	for i := range words {
		for n := 1; n <= maxCorrected && i+n <= len(words); n++ {
			at := around(words, i, i+n)
			if name := nameOf(words[i:i+n], named); name != "" && at.enough() && len(candidates[at]) < maxCorrections {
				candidates[at] = append(candidates[at], candidate{name, words[i].folded, words[i+n-1].folded})
			}
		}
	}
	if len(candidates) == 0 {
		return nil
	}
	var found []string
	for _, transcript := range recognised {
		was := tokens(transcript)
		for i := range was {
			for n := 1; n <= maxCorrected && i+n <= len(was); n++ {
				for _, c := range candidates[around(was, i, i+n)] {
					if was[i].folded != c.first && was[i+n-1].folded != c.last && !slices.Contains(found, c.name) {
						found = append(found, c.name)
					}
				}
			}
		}
	}
	all := strings.ToLower(strings.Join(recognised, "\n"))
	found = slices.DeleteFunc(found, func(name string) bool { return strings.Contains(all, strings.ToLower(name)) })
	return found[:min(len(found), maxCorrections)]
}

// surroundings are the two words before a place in a text and the two after it, in lower case.
type surroundings [4]string

func around(words []token, start, end int) (s surroundings) {
	for i, at := range []int{start - 2, start - 1, end, end + 1} {
		if at >= 0 && at < len(words) {
			s[i] = words[at].folded
		}
	}
	return s
}

// enough reports whether there are words on one side at least.
func (s surroundings) enough() bool { return s[0] != "" || s[3] != "" }

// nameOf returns the name that the words are, or "". A word with a capital letter at the start of a
// sentence is a name only if it is one elsewhere.
func nameOf(words []token, named map[string]bool) string {
	var texts []string
	chinese := 0
	for _, w := range words {
		texts = append(texts, w.text)
		switch r, _ := utf8.DecodeRuneInString(w.text); {
		case unicode.Is(unicode.Han, r):
			chinese++
		case !isCapital(w.text) || w.first && !named[w.text]:
			return ""
		}
	}
	switch {
	case chinese == len(words) && chinese > 1:
		return strings.Join(texts, "")
	case chinese == 0 && len(words) < maxCorrected:
		return strings.Join(texts, " ")
	}
	return ""
}

// isCapital reports whether a word begins with a capital letter and has others.
func isCapital(word string) bool {
	r, size := utf8.DecodeRuneInString(word)
	return unicode.IsUpper(r) && len(word) > size
}

// token is a word, or a character of a script without spaces.
type token struct {
	text, folded string
	first        bool // in its sentence
}

func tokens(s string) []token {
	var all []token
	end := 0
	for _, t := range script.Tokenize(s) {
		word, between := s[t.Start:t.End], s[end:t.Start]
		first := len(all) == 0 || strings.ContainsFunc(between, func(r rune) bool {
			return r == '\n' || script.IsTerminator(r)
		})
		all = append(all, token{word, strings.ToLower(word), first})
		end = t.End
	}
	return all
}
