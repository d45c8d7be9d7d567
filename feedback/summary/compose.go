package summary

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// compose writes units as text: a paragraph for each lesson, sentences as they
// were, with an end mark where speech had none.
func compose(units []unit) string {
	var b strings.Builder
	last := ""
	for i, u := range units {
		text := u.text
		switch {
		case i == 0:
		case u.lesson != units[i-1].lesson:
			b.WriteString("\n\n")
		case u.glued:
			b.WriteString(u.gap)
		default:
			b.WriteString(space(last, text))
		}
		if i+1 == len(units) || !units[i+1].glued {
			text = closed(text)
		}
		b.WriteString(text)
		last = text
	}
	return b.String()
}

// closed is s with an end mark: that of the script it ends in.
func closed(s string) string {
	if endsSentence(s) {
		return s
	}
	trimmed := strings.TrimRight(s, ",，、：:;；-—– ")
	if trimmed == "" {
		return s
	}
	r, _ := utf8.DecodeLastRuneInString(strings.TrimRightFunc(trimmed, func(r rune) bool { return isCloser(r) || unicode.IsDigit(r) }))
	if isWide(r) {
		return trimmed + "。"
	}
	return trimmed + "."
}
