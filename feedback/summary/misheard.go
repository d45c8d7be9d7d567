package summary

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"lessonkit.example/feedback/internal/script"
	"lessonkit.example/feedback/internal/sound"
)

// soundForms returns the forms of a name that may be misheard: the whole name and the given name in
// Chinese, else its parts.
func soundForms(name string) []string {
	var forms []string
	between := func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsMark(r) }
	for _, part := range strings.FieldsFunc(name, between) {
		switch han := []rune(part); {
		case script.IsUnspaced(han[0]) && len(han) > 1 && len(han) < 5:
			if forms = append(forms, part); len(han) > 2 && len(hanForms(han)) > 0 {
				forms = append(forms, string(han[len(han)-2:]))
			}
		case !script.IsUnspaced(han[0]) && len(han) > 2 && !slices.Contains(notNames, strings.ToLower(part)):
			forms = append(forms, part)
		}
	}
	return forms
}

// maxMisheard limits the spellings of a form in a transcript: the time to find them all grows.
const maxMisheard = 50

// misheard returns what a transcript has in the place of a name: words that sound alike. A word
// counts if it has a capital letter within a sentence, or if a long one stands in a text without
// such letters. Of two Chinese characters, one must be right, unless a clause starts with them
// or a title follows. The given words are something else.
func misheard(transcript, name string, words []string) []string {
	var found []string
	tokens := script.Tokenize(transcript)
	width, chinese := 1, script.IsUnspaced([]rune(name)[0])
	if chinese {
		width = utf8.RuneCountInString(name)
	}
	capitals := !chinese && hasCapitals(transcript, tokens)
	for i := 0; i+width <= len(tokens) && len(found) < maxMisheard; i++ {
		start, end := tokens[i].Start, tokens[i+width-1].End
		word := transcript[start:end]
		if tokens[i].Char != chinese || strings.EqualFold(word, name) || slices.Contains(found, word) {
			continue
		}
		likely := false
		if chinese {
			likely = likelyChineseName(word, name, transcript[:start], transcript[end:])
		} else {
			word = strings.TrimSuffix(strings.TrimSuffix(word, "'s"), "’s")
			likely = len(word) > 2 && !slices.Contains(notNames, strings.ToLower(word)) &&
				!slices.Contains(englishMonths, word) &&
				(isCapital(word) && !startsSentence(transcript[:start]) || !capitals && len(name) > 5)
		}
		if likely && sound.Alike(word, name) && !slices.Contains(words, word) {
			found = append(found, word)
		}
	}
	return found
}

func likelyChineseName(word, name, before, after string) bool {
	right, wrong := []rune(name), []rune(word)
	if len(wrong) != len(right) {
		return false // not the characters alone
	}
	differ := 0
	for i, r := range wrong {
		if r == right[i] {
			continue
		}
		if differ++; len(right) == 2 && sound.IsGrammar(r) {
			return false
		}
	}
	last, _ := utf8.DecodeLastRuneInString(before)
	return differ == 1 || len(right) > 2 || !unicode.IsLetter(last) ||
		slices.ContainsFunc(titles, func(t string) bool { return strings.HasPrefix(after, t) })
}

// hasCapitals reports whether words within sentences have capital letters.
func hasCapitals(s string, tokens []script.Token) bool {
	return slices.ContainsFunc(tokens, func(t script.Token) bool {
		word := s[t.Start:t.End]
		return len(word) > 1 && isCapital(word) && !startsSentence(s[:t.Start])
	})
}

func isCapital(word string) bool {
	r, _ := utf8.DecodeRuneInString(word)
	return unicode.IsUpper(r)
}

// startsSentence reports whether a sentence starts after s.
func startsSentence(s string) bool {
	s = strings.TrimRight(s, " \t\"“‘'(")
	r, _ := utf8.DecodeLastRuneInString(s)
	return s == "" || r == '\n' || script.IsTerminator(r)
}
