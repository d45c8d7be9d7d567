package feedback

import (
	"context"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
	"unique"

	"lessonkit.example/feedback/internal/script"
)

const (
	// maxCorrected is how many words, or characters of a script without spaces, are corrected at
	// once.
	maxCorrected = 4
	// maxCorrections limits what is learnt from one text.
	maxCorrections = 50
	// maxAlternatives limits the names between the same words: without that, a text of repeated
	// words would take a time that grows with the square of its length.
	maxAlternatives = 4
)

// corrections returns the names that somebody has put in the place of other words: in saved and in
// one of the recognised texts, the two words before it and the two after it are equal, where
// there are any. A name is one to three words with a capital letter, or two to four Chinese
// characters. What was recognised anywhere needs no correction. It fails if ctx ends.
func corrections(ctx context.Context, recognised []string, saved string) ([]string, error) {
	words := tokens(saved)
	named := map[string]bool{} // in the middle of a sentence, where a capital letter means a name
	for _, w := range words {
		if !w.first && isCapital(w.text) {
			named[w.text] = true
		}
	}
	type candidate struct {
		name        string
		first, last unique.Handle[string]
	}
	candidates := map[surroundings][]candidate{}
	for i := range words {
		for n := 1; n <= maxCorrected && i+n <= len(words); n++ {
			at, name := around(words, i, i+n), nameOf(words[i:i+n], named)
			c := candidate{name, words[i].folded, words[i+n-1].folded}
			if same := candidates[at]; name != "" && at.enough() && len(same) < maxAlternatives && !slices.Contains(same, c) {
				candidates[at] = append(same, c)
			}
		}
	}
	if len(candidates) == 0 {
		return nil, nil
	}
	var found []string
	for _, transcript := range recognised {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		was := tokens(transcript)
		for i := range was {
			for n := 1; n <= maxCorrected && i+n <= len(was); n++ {
				for _, c := range candidates[around(was, i, i+n)] {
					replaced := was[i].folded != c.first && was[i+n-1].folded != c.last
					if replaced && len(found) < maxCorrections && !slices.Contains(found, c.name) {
						found = append(found, c.name)
					}
				}
			}
		}
	}
	all := strings.ToLower(strings.Join(recognised, "\n"))
	return slices.DeleteFunc(found, func(name string) bool { return strings.Contains(all, strings.ToLower(name)) }), nil
}

// surroundings are the two words before a place in a text and the two after it, in lower case.
type surroundings [4]unique.Handle[string]

func around(words []token, start, end int) (s surroundings) {
	for i, at := range []int{start - 2, start - 1, end, end + 1} {
		if at >= 0 && at < len(words) {
			s[i] = words[at].folded
		}
	}
	return s
}

// enough reports whether there are words on one side at least.
func (s surroundings) enough() bool {
	var none unique.Handle[string]
	return s[0] != none || s[3] != none
}

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
	text   string
	folded unique.Handle[string] // in lower case
	first  bool                  // in its sentence
}

func tokens(s string) []token {
	end, found := 0, script.Tokenize(s)
	all := make([]token, 0, len(found))
	for _, t := range found {
		word, between := s[t.Start:t.End], s[end:t.Start]
		first := len(all) == 0 || strings.ContainsFunc(between, func(r rune) bool {
			return r == '\n' || script.IsTerminator(r)
		})
		all = append(all, token{word, unique.Make(strings.ToLower(word)), first})
		end = t.End
	}
	return all
}
