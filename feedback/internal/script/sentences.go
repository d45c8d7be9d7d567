package script

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Sentences splits a paragraph after its end marks.
func Sentences(p string) []string {
	var out []string
	start := 0
	for i := 0; i < len(p); {
		r, n := utf8.DecodeRuneInString(p[i:])
		if !IsTerminator(r) {
			i += n
			continue
		}
		mark, end := i, i
		for end < len(p) { // several marks, then closers
			m, k := utf8.DecodeRuneInString(p[end:])
			if !IsTerminator(m) && !(end > mark && IsCloser(m)) {
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

// abbreviations are common abbreviations that usually do not end a sentence.
var abbreviations = strings.Fields("mr mrs ms dr prof st vs approx fig pp ex")

// breaksAfter reports whether the marks p[mark:end] end a sentence. Only the point is ambiguous: it
// is also part of numbers, addresses, abbreviations and ellipses.
func breaksAfter(p string, mark, end int) bool {
	marks := strings.TrimRightFunc(p[mark:end], IsCloser)
	if strings.Trim(marks, ".…") != "" || end == len(p) {
		return true
	}
	next, _ := utf8.DecodeRuneInString(p[end:])
	if IsUnspaced(next) {
		return true
	}
	if next != ' ' {
		return false
	}
	after, _ := utf8.DecodeRuneInString(strings.TrimLeft(p[end:], " \"'“‘(["))
	if marks != "." {
		return !unicode.IsLower(after)
	}
	start := strings.LastIndexAny(p[:mark], " ([\"“：；，。") + 1
	for start > 0 && !utf8.RuneStart(p[start]) {
		start++ // LastIndexAny returns the first byte of a mark
	}
	word := p[start:mark]
	switch {
	case strings.Trim(word, "0123456789") == "" && word != "" && isListStart(p[:start]):
		return false
	case strings.EqualFold(word, "no"): // the word "no" ends a sentence, the number sign does not
		return !unicode.IsDigit(after)
	case strings.EqualFold(word, "etc"), strings.Contains(word, "."): // p.m., e.g.
		return !unicode.IsLower(after)
	case utf8.RuneCountInString(word) == 1: // an initial, or the word I
		return word == "I" || !unicode.IsLetter([]rune(word)[0])
	}
	return !slices.Contains(abbreviations, strings.ToLower(word))
}

// isListStart reports whether a number after s is that of an item of a list.
func isListStart(s string) bool {
	last, _ := utf8.DecodeLastRuneInString(strings.TrimSpace(s))
	return strings.TrimSpace(s) == "" || strings.ContainsRune(":：;；。", last)
}
