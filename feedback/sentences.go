package feedback

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"lessonkit.example/feedback/internal/script"
)

// Sentences returns Text as sentences. If the transcriber gives no punctuation at all, each line,
// which it ends where the speaker pauses, begins with a capital letter and ends with a full stop,
// if its script has these; in English, "i" becomes "I". No word is changed otherwise, and
// text with punctuation is returned as it is.
func (s Segment) Sentences() string {
	if isPunctuated(s.Text) {
		return s.Text
	}
	english := isEnglish(s.Text, s.Language)
	var b strings.Builder
	for line := range strings.Lines(s.Text) {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		if english {
			for i, w := range words {
				if isPronounI(w) {
					words[i] = "I" + w[1:]
				}
			}
		}
		line = capitalized(strings.Join(words, " "), s.Language)
		if b.Len() > 0 && !strings.HasSuffix(b.String(), "。") {
			b.WriteByte(' ')
		}
		b.WriteString(line)
		b.WriteString(script.FullStop(line))
	}
	return b.String()
}

// isPunctuated reports whether s has commas or ends of sentences. A point within a word or a number
// is neither.
func isPunctuated(s string) bool {
	for i, r := range s {
		switch {
		case r == '.' || r == ',':
			next, _ := utf8.DecodeRuneInString(s[i+1:])
			if i+1 == len(s) || unicode.IsSpace(next) {
				return true
			}
		case script.IsTerminator(r) || strings.ContainsRune("，、،", r):
			return true
		}
	}
	return false
}

// isEnglish decides by the language and, if that is unknown, by words of English.
func isEnglish(s, language string) bool {
	if language != "" {
		primary := primaryLanguage(language)
		return primary == "en" || primary == "english"
	}
	return slices.ContainsFunc(strings.Fields(s), func(w string) bool {
		return strings.EqualFold(w, "the") || len(w) > 1 && isPronounI(w)
	})
}

// primaryLanguage returns the language of a tag such as "en-US" without script and region, in lower
// case. Some transcribers give English names of languages, which stay.
func primaryLanguage(tag string) string {
	primary, _, _ := strings.Cut(strings.ToLower(tag), "-")
	return primary
}

func isPronounI(word string) bool {
	switch strings.ReplaceAll(word, "’", "'") {
	case "i", "i'm", "i've", "i'll", "i'd":
		return true
	}
	return false
}

// capitalized returns a line with a capital first letter, where the script has capital letters at
// the start of sentences.
func capitalized(line, language string) string {
	r, size := utf8.DecodeRuneInString(line)
	upper := unicode.ToUpper(r)
	if !unicode.In(r, unicode.Latin, unicode.Cyrillic, unicode.Greek, unicode.Armenian) ||
		unicode.ToLower(upper) != r { // the capital letter is that of another letter, too
		return line
	}
	switch primaryLanguage(language) {
	case "tr", "turkish", "az", "azerbaijani":
		if r == 'i' {
			upper = 'İ'
		}
	}
	return string(upper) + line[size:]
}
