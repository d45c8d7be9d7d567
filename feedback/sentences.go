package feedback

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Sentences returns Text as sentences. If the recogniser gives no punctuation at all, each line,
// which it ends where the speaker pauses, begins with a capital letter and ends with a full stop,
// as far as its script has these; in English, "i" becomes "I". No word is changed otherwise, and
// text with punctuation is returned as it is.
func (s Segment) Sentences() string { return sentences(s.Text, s.Language) }

func sentences(text, language string) string {
	if isPunctuated(text) {
		return text
	}
	english := isEnglish(text, language)
	var b strings.Builder
	for line := range strings.Lines(text) {
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
		line = capitalized(strings.Join(words, " "), language)
		if b.Len() > 0 && !strings.HasSuffix(b.String(), "。") {
			b.WriteByte(' ')
		}
		b.WriteString(line)
		b.WriteString(fullStop(line))
	}
	return b.String()
}

// isPunctuated reports whether the text has commas or ends of sentences. A point within a word or a
// number is none.
func isPunctuated(text string) bool {
	for i, r := range text {
		switch r {
		case '!', '?', '…', '。', '！', '？', '．', '，', '、', '؟', '،', '।', '։', '።':
			return true
		case '.', ',':
			next, _ := utf8.DecodeRuneInString(text[i+1:])
			if i+1 == len(text) || unicode.IsSpace(next) {
				return true
			}
		}
	}
	return false
}

// isEnglish decides by the language and, if that is unknown, by words of English.
func isEnglish(text, language string) bool {
	if language != "" {
		primary := primaryLanguage(language)
		return primary == "en" || primary == "english"
	}
	return slices.ContainsFunc(strings.Fields(text), func(w string) bool {
		return strings.EqualFold(w, "the") || len(w) > 1 && isPronounI(w)
	})
}

// primaryLanguage returns the language of a tag such as "en-US" without script and region, in lower
// case. Some recognisers give English names of languages, which stay.
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

// fullStop returns the full stop of the script in which a line ends, or "" if it ends without a
// word or the script has none.
func fullStop(line string) string {
	r, _ := utf8.DecodeLastRuneInString(line)
	switch {
	case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana) || r == 'ー':
		return "。"
	case unicode.In(r, unicode.Devanagari, unicode.Bengali):
		return "।"
	case unicode.In(r, unicode.Armenian):
		return "։"
	case unicode.In(r, unicode.Ethiopic):
		return "።"
	case unicode.In(r, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar, unicode.Tibetan):
		return ""
	case unicode.In(r, unicode.L, unicode.M, unicode.N, unicode.Pf) || strings.ContainsRune("'\")%", r):
		return "."
	}
	return ""
}
