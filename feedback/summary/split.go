package summary

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// unit is what a summary is put together from: a sentence, an utterance, or a
// piece of one too long to be taken whole.
type unit struct {
	text   string // word for word as recognised, spaces tidied
	lesson int    // index of the transcript
	words  int    // length by countWords

	// gap is what stood between this unit and the one before it when both were
	// cut from one sentence (glued), so that they can be put together again.
	gap   string
	glued bool
}

// maxUnit is the length in words from which on a sentence is cut into pieces.
const maxUnit = 40

// split returns the units of one transcript in their order.
func split(text string, lesson int) []unit {
	var units []unit
	for _, paragraph := range paragraphs(text) {
		for _, sentence := range sentences(paragraph) {
			if !isNoise(sentence) {
				units = append(units, cut(sentence, lesson)...)
			}
		}
	}
	return units
}

// paragraphs returns the lines of text with their spaces tidied. A line that
// plainly goes on in the next one is joined with it.
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
		if last != "" && goesOn(last, line, prose) {
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

// tidyRune maps every kind of line end to \n and of blank to a space, and drops
// what cannot be seen.
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

// isProse reports whether the text has the sentence marks of written language:
// one for at most 60 words.
func isProse(text string) bool {
	marks := 0
	for _, r := range text {
		if isTerminator(r) {
			marks++
		}
	}
	return marks > 0 && marks*60 >= countWords(text)
}

// goesOn reports whether the sentence at the end of line a goes on in line b: a
// ends with a comma, or, in prose, a has no end mark and b begins in lower case.
func goesOn(a, b string, prose bool) bool {
	last, _ := utf8.DecodeLastRuneInString(a)
	if strings.ContainsRune(",，、：:", last) {
		return true
	}
	first, _ := utf8.DecodeRuneInString(b)
	return prose && unicode.IsLower(first) && !endsSentence(a)
}

// space is what belongs between two pieces of text: nothing where an unspaced
// script or its punctuation meets, else a blank.
func space(a, b string) string {
	last, _ := utf8.DecodeLastRuneInString(a)
	first, _ := utf8.DecodeRuneInString(b)
	if a == "" || b == "" || isWide(last) || isWide(first) && unspaced(last) {
		return ""
	}
	return " "
}

// isWide reports whether r is a character of an unspaced script or a full-width
// mark, after which no blank is written.
func isWide(r rune) bool {
	return unspaced(r) || r >= 0x3000 && r <= 0x303f || r >= 0xff00 && r <= 0xff65
}

func isTerminator(r rune) bool {
	return strings.ContainsRune("。！？｡．!?.…؟।", r)
}

// isCloser reports whether r may follow the end mark of a sentence and still
// belong to it.
func isCloser(r rune) bool {
	return strings.ContainsRune("\"'”’」』）)]】》〉", r)
}

// endsSentence reports whether s ends with an end mark, closing quotes aside.
func endsSentence(s string) bool {
	s = strings.TrimRightFunc(s, isCloser)
	r, _ := utf8.DecodeLastRuneInString(s)
	return isTerminator(r) || r == '；' || r == ';'
}

// sentences cuts a paragraph after its end marks.
func sentences(p string) []string {
	var out []string
	start := 0
	for i := 0; i < len(p); {
		r, n := utf8.DecodeRuneInString(p[i:])
		if !isTerminator(r) {
			i += n
			continue
		}
		mark, end := i, i
		for end < len(p) { // a row of marks, then what closes the sentence
			m, k := utf8.DecodeRuneInString(p[end:])
			if !isTerminator(m) && !(end > mark && isCloser(m)) {
				break
			}
			end += k
		}
		i = end
		if !breaksAfter(p, mark, end) {
			continue
		}
		out = append(out, strings.TrimSpace(p[start:end]))
		start = end
	}
	if rest := strings.TrimSpace(p[start:]); rest != "" {
		out = append(out, rest)
	}
	return out
}

// abbreviations are those a lesson is likely to hold whose point ends no sentence.
var abbreviations = map[string]bool{
	"mr": true, "mrs": true, "ms": true, "dr": true, "prof": true, "st": true, "vs": true,
	"approx": true, "fig": true, "pp": true, "ex": true,
}

// breaksAfter reports whether the marks p[mark:end] end a sentence. Only the
// Latin point is ambiguous: it also stands in numbers, addresses and
// abbreviations, and in a row for a pause.
func breaksAfter(p string, mark, end int) bool {
	marks := strings.TrimRightFunc(p[mark:end], isCloser)
	if strings.Trim(marks, ".…") != "" || end == len(p) {
		return true
	}
	next, _ := utf8.DecodeRuneInString(p[end:])
	if unspaced(next) {
		return true
	}
	if next != ' ' {
		return false
	}
	after, _ := utf8.DecodeRuneInString(strings.TrimLeft(p[end:], " \"'“‘(["))
	if marks != "." {
		return !unicode.IsLower(after)
	}
	word := p[strings.LastIndexAny(p[:mark], " ([\"“")+1 : mark]
	switch {
	case strings.EqualFold(word, "no"): // the word ends a sentence, the number sign does not
		return !unicode.IsDigit(after)
	case strings.EqualFold(word, "etc"), strings.Contains(word, "."): // p.m., e.g.
		return !unicode.IsLower(after)
	case utf8.RuneCountInString(word) == 1: // an initial; I is a word
		return word == "I" || !unicode.IsLetter([]rune(word)[0])
	}
	return !abbreviations[strings.ToLower(word)]
}

// isNoise reports whether s says nothing: no letter or digit, or nothing but a
// recogniser's remark in brackets, such as [Music].
func isNoise(s string) bool {
	depth, words := 0, false
	for _, r := range s {
		switch {
		case strings.ContainsRune("[【<", r):
			depth++
		case strings.ContainsRune("]】>", r):
			depth--
		case depth == 0 && (unicode.IsLetter(r) || unicode.IsNumber(r)):
			words = true
		}
	}
	return !words
}
