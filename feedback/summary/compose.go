package summary

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// compose joins units to a text with a paragraph for each lesson. It adds missing end marks.
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

// closed returns s with an end mark of its script.
func closed(s string) string {
	if endsSentence(s) {
		return s
	}
	trimmed := strings.TrimRight(s, ",，、：:;；-—– ")
	if trimmed == "" {
		return s
	}
	letters := strings.TrimRightFunc(trimmed, func(r rune) bool { return isCloser(r) || unicode.IsDigit(r) })
	if r, _ := utf8.DecodeLastRuneInString(letters); isWide(r) {
		return trimmed + "。"
	}
	return trimmed + "."
}
