package asr

import (
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Sentence is a sentence of a transcript. It is more than one where the recogniser returns neither
// segments of sentences nor the times of words.
type Sentence struct {
	// Text is punctuated. It is not empty.
	Text string
	// Start and End are relative to the start of the recording. Both are 0 if they are unknown.
	Start, End time.Duration
	// Doubtful means that this may not have been said: two of the figures of its Segments are bad,
	// or one and the text is what Whisper writes for silence, such as "Thanks for watching!"; or it
	// consists of the same few words over and over.
	Doubtful bool
}

// minPause is the shortest pause that ends a sentence.
const minPause = 500 * time.Millisecond

// Sentences returns the text in sentences. If the recogniser gives no punctuation, or hardly any, a
// segment ends with a comma, and with a full stop where a pause of half a second follows, as its
// script has these; sentences begin with a capital letter, and in English "i" becomes "I". No word
// is changed otherwise, and a punctuated text not at all. Doubtful segments in a row are one
// sentence.
func (t Transcript) Sentences() []Sentence {
	parts := t.parts()
	var said []string
	for _, p := range parts {
		if !p.Doubtful {
			said = append(said, p.Text)
		}
	}
	punctuated := isPunctuated(JoinText(said...))
	if punctuated {
		parts = t.divideByWords(parts)
	}
	english := !punctuated && isEnglish(t.Text, t.Language)
	var sentences []Sentence
	begins := true
	for i, p := range parts {
		text := p.Text
		last := i == len(parts)-1 || p.Doubtful != parts[i+1].Doubtful || !p.Doubtful && endsSentence(text)
		if !punctuated {
			last = last || !p.Doubtful && parts[i+1].Start-p.End >= minPause
			if english {
				text = pronouns(text)
			}
			if begins {
				text = capitalized(text, t.Language)
			}
			text += mark(text, last)
		}
		if begins {
			sentences = append(sentences, Sentence{text, p.Start, p.End, p.Doubtful})
		} else {
			s := &sentences[len(sentences)-1]
			s.Text, s.End = JoinText(s.Text, text), max(s.End, p.End)
		}
		begins = last
	}
	return sentences
}

// Punctuated returns the text of all Sentences.
func (t Transcript) Punctuated() string {
	var texts []string
	for _, s := range t.Sentences() {
		texts = append(texts, s.Text)
	}
	return JoinText(texts...)
}

// parts returns the segments that have text, or the whole text if they do not contain all of it,
// divided where doubtful text begins and ends.
func (t Transcript) parts() []Sentence {
	var parts []Sentence
	size := 0
	for _, s := range t.Segments {
		if text := strings.TrimSpace(s.Text); text != "" {
			parts = append(parts, Sentence{text, s.Start, max(s.Start, s.End), s.doubtful()})
			size += len(strings.Join(strings.Fields(text), ""))
		}
	}
	if text := strings.TrimSpace(t.Text); size < len(strings.Join(strings.Fields(text), "")) {
		parts = []Sentence{{Text: text, End: t.Duration}}
	}
	return markLoops(parts)
}

// maxWordGap is how far after the last word the next one is looked for, in bytes.
const maxWordGap = 50

// divideByWords divides parts between their sentences, as far as the times of words tell when each
// begins and ends.
func (t Transcript) divideByWords(parts []Sentence) []Sentence {
	type placed struct {
		Word
		at int
	}
	var out []Sentence
	words := t.Words
	for i, p := range parts {
		var found []placed
		next := 0
		for ; len(words) > 0 && (i == len(parts)-1 || (words[0].Start+words[0].End)/2 < p.End); words = words[1:] {
			w := words[0]
			near := p.Text[next:min(next+maxWordGap+len(w.Text), len(p.Text))]
			if at := strings.Index(near, w.Text); at >= 0 {
				found = append(found, placed{w, next + at})
				next += at + len(w.Text)
			}
		}
		begin, start := 0, p.Start
		for _, end := range sentenceEnds(p.Text) {
			n, _ := slices.BinarySearchFunc(found, end, func(w placed, end int) int { return w.at - end })
			if p.Doubtful || n == 0 || n == len(found) || JoinText(p.Text[:end], p.Text[end:]) != p.Text {
				continue
			}
			stop := max(start, found[n-1].End)
			out = append(out, Sentence{strings.TrimSpace(p.Text[begin:end]), start, stop, false})
			begin, start = end, max(stop, found[n].Start)
		}
		out = append(out, Sentence{strings.TrimSpace(p.Text[begin:]), start, max(start, p.End), p.Doubtful})
	}
	return out
}

// notEnd matches a point that ends an abbreviation or an initial, or follows a number.
var notEnd = regexp.MustCompile(`(?i)(\b(mr|mrs|ms|dr|st|prof|no|vs|pp|\pL)|\d)\.$`)

// sentenceEnds returns the offsets within a text at which sentences end.
func sentenceEnds(text string) []int {
	var ends []int
	for i, r := range text {
		before := text[:i]
		if i > 0 && endsSentence(before) && !notEnd.MatchString(before[max(0, i-6):]) &&
			(unicode.IsSpace(r) || unspaced(r) && !isTerminator(r)) && !strings.ContainsRune("”’」』）】》〉", r) {
			ends = append(ends, i)
		}
	}
	return ends
}

// Of a punctuated text, a mark comes at least once in so many words, or characters of scripts
// without spaces. A single full stop in a long text is an accident of the recogniser.
const maxWordsPerMark, maxCharactersPerMark = 30, 20

// isPunctuated reports whether a text has commas and ends of sentences throughout. A point within a
// word or a number is neither.
func isPunctuated(text string) bool {
	var marks, words, characters float64
	for _, token := range tokenize(text) {
		if first, _ := utf8.DecodeRuneInString(text[token.start:]); unspaced(first) {
			characters++
		} else {
			words++
		}
	}
	for i, r := range text {
		switch {
		case r == '.' || r == ',':
			next, size := utf8.DecodeRuneInString(text[i+1:])
			if size == 0 || unicode.IsSpace(next) {
				marks++
			}
		case isTerminator(r) || strings.ContainsRune("，、،", r):
			marks++
		}
	}
	return marks > 0 && words/maxWordsPerMark+characters/maxCharactersPerMark <= marks
}

// isTerminator reports whether r ends a sentence.
func isTerminator(r rune) bool { return strings.ContainsRune("。！？｡．!?.…؟।։።", r) }

// endsSentence reports whether text ends with the end of a sentence.
func endsSentence(text string) bool {
	r, _ := utf8.DecodeLastRuneInString(strings.TrimRight(text, "\"'”’」』）)]】》〉"))
	return isTerminator(r)
}

// sounds are what a text has besides marks, symbols and spaces.
var sounds = []*unicode.RangeTable{unicode.Letter, unicode.Mark, unicode.Number}

// mark returns the full stop, or else the comma, of the script of the last letter of text, or "" if
// the script has none, or text has one or has neither letters nor numbers.
func mark(text string, stop bool) string {
	said := strings.TrimRightFunc(text, func(r rune) bool { return !unicode.IsOneOf(sounds, r) })
	after := strings.Trim(text[len(said):], "\"'”’」』）)]】》〉")
	letters := strings.TrimRightFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsMark(r) })
	r, _ := utf8.DecodeLastRuneInString(letters)
	marks := [2]string{",", "."}
	switch {
	case strings.ContainsFunc(after, unicode.IsPunct), letters == "" && !strings.ContainsFunc(text, unicode.IsNumber):
		return ""
	case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana) || r == 'ー':
		marks = [2]string{"，", "。"}
	case unspaced(r) || unicode.In(r, unicode.Tibetan):
		return ""
	case unicode.In(r, unicode.Devanagari, unicode.Bengali):
		marks[1] = "।"
	case unicode.In(r, unicode.Arabic):
		marks[0] = "،"
	case unicode.In(r, unicode.Armenian):
		marks[1] = "։"
	case unicode.In(r, unicode.Ethiopic):
		marks = [2]string{"፣", "።"}
	}
	if stop {
		return marks[1]
	}
	return marks[0]
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

// pronouns returns an English text with a capital "I".
func pronouns(text string) string {
	words := strings.Fields(text)
	for i, w := range words {
		if isPronounI(w) {
			words[i] = "I" + w[1:]
		}
	}
	return strings.Join(words, " ")
}

func isPronounI(word string) bool {
	switch strings.ReplaceAll(strings.TrimRight(word, ".,!?"), "’", "'") {
	case "i", "i'm", "i've", "i'll", "i'd":
		return true
	}
	return false
}

// capitalized returns a text with a capital first letter, where the script has capital letters at
// the start of sentences.
func capitalized(text, language string) string {
	r, size := utf8.DecodeRuneInString(text)
	upper := unicode.ToUpper(r)
	if !unicode.In(r, unicode.Latin, unicode.Cyrillic, unicode.Greek, unicode.Armenian) ||
		unicode.ToLower(upper) != r { // the capital letter is that of another letter, too
		return text
	}
	switch primaryLanguage(language) {
	case "tr", "turkish", "az", "azerbaijani":
		if r == 'i' {
			upper = 'İ'
		}
	}
	return string(upper) + text[size:]
}
