package summary

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"lessonkit.example/feedback/internal/script"
)

// paragraphs returns the lines of text with normalized spaces. A line that continues in the next
// one is joined with it.
func paragraphs(text string) []string {
	text = strings.Map(tidyRune, strings.ToValidUTF8(text, ""))
	prose := isProse(text)
	var out []string
	var open strings.Builder // the paragraph being joined
	last := ""               // its last line
	for line := range strings.Lines(text) {
		line = strings.Join(strings.Fields(line), " ")
		if isNoise(line) {
			continue
		}
		if last != "" && continues(last, line, prose) {
			open.WriteString(space(last, line))
		} else if last != "" {
			out = append(out, open.String())
			open.Reset()
		}
		open.WriteString(line)
		last = line
	}
	if last != "" {
		out = append(out, open.String())
	}
	return out
}

// sentencesOf returns the sentences of a text. A line without marks is one.
func sentencesOf(text string) []string {
	var out []string
	for _, p := range paragraphs(text) {
		for _, s := range script.Sentences(p) {
			if !isNoise(s) {
				out = append(out, s)
			}
		}
	}
	return out
}

// tidyRune maps all line breaks to \n and all white space to a space, and drops invisible
// characters.
func tidyRune(r rune) rune {
	switch {
	case r == '\n' || r == '\r' || r == '\v' || r == '\f' || r == '\u0085' || r == '\u2028' || r == '\u2029':
		return '\n'
	case unicode.IsSpace(r):
		return ' '
	case unicode.IsControl(r) || r == '\ufeff' || r == '\u200b' || r == utf8.RuneError:
		return -1
	}
	return r
}

// isProse reports whether the text has as many end marks as written language: at least one for 60
// words.
func isProse(text string) bool {
	marks := 0
	for _, r := range text {
		if script.IsTerminator(r) {
			marks++
		}
	}
	return marks > 0 && marks*60 >= countWords(text)
}

// continues reports whether the sentence at the end of line a continues in line b: a ends with a
// comma, or, in prose, a has no end mark and b starts in lower case.
func continues(a, b string, prose bool) bool {
	last, _ := utf8.DecodeLastRuneInString(a)
	if strings.ContainsRune(",，、：:", last) {
		return true
	}
	first, _ := utf8.DecodeRuneInString(b)
	return prose && unicode.IsLower(first) && !endsSentence(a)
}

// space returns what separates two pieces of text: nothing at an unspaced script or its
// punctuation, otherwise a space.
func space(a, b string) string {
	last, _ := utf8.DecodeLastRuneInString(a)
	first, _ := utf8.DecodeRuneInString(b)
	if a == "" || b == "" || isWide(last) || isWide(first) && script.IsUnspaced(last) {
		return ""
	}
	return " "
}

// isWide reports whether r is a character of an unspaced script or a full-width mark.
func isWide(r rune) bool {
	return script.IsUnspaced(r) || r >= 0x3000 && r <= 0x303f || r >= 0xff00 && r <= 0xff65
}

// endsSentence reports whether s ends with an end mark, ignoring closing quotes.
func endsSentence(s string) bool {
	s = strings.TrimRightFunc(s, script.IsCloser)
	r, _ := utf8.DecodeLastRuneInString(s)
	return script.IsTerminator(r) || r == '；' || r == ';'
}

// isNoise reports whether s contains no letters and digits outside of brackets, in which
// transcribers put remarks such as [Music].
func isNoise(s string) bool {
	depth, words := 0, false
	for _, r := range s {
		switch {
		case strings.ContainsRune("[【<", r):
			depth++
		case strings.ContainsRune("]】>", r):
			depth = max(depth-1, 0)
		case depth == 0 && (unicode.IsLetter(r) || unicode.IsNumber(r)):
			words = true
		}
	}
	return !words
}
