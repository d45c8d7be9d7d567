package asr

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// JoinSegments joins the texts of segments like JoinText.
func JoinSegments(segments []Segment) string {
	texts := make([]string, len(segments))
	for i, s := range segments {
		texts[i] = s.Text
	}
	return JoinText(texts...)
}

// JoinText trims the texts and joins those that are not empty with spaces, except between two
// characters of scripts that are written without spaces, such as Chinese, Japanese and Thai.
func JoinText(texts ...string) string {
	var b strings.Builder
	var last rune
	for _, t := range texts {
		t = strings.TrimSpace(t)
		if t == "" {
			continue
		}
		first, _ := utf8.DecodeRuneInString(t)
		if b.Len() > 0 && !(unspaced(last) && unspaced(first)) {
			b.WriteByte(' ')
		}
		b.WriteString(t)
		last, _ = utf8.DecodeLastRuneInString(t)
	}
	return b.String()
}

// unspaced reports whether r belongs to a script without spaces between words, or to its
// punctuation.
func unspaced(r rune) bool {
	switch {
	case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana,
		unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar):
		return true
	case r >= 0x3000 && r <= 0x303F: // CJK symbols and punctuation
		return true
	case r >= 0xFF00 && r <= 0xFFEF: // full-width forms
		return true
	}
	return false
}
