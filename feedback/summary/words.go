package summary

import (
	"unicode"
	"unicode/utf8"
)

// token is a word of a text, or in scripts without spaces between words a single character.
type token struct {
	start, end int  // byte offsets
	char       bool // a character of a script without spaces between words
}

// longWord is how many letters count as one word, so that a limit also applies to text without any
// spaces.
const longWord = 24

// unspaced reports whether r belongs to a script without spaces between words.
func unspaced(r rune) bool {
	return r >= 0x0e00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana,
		unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

// tokenize returns the words of s. Apostrophes and hyphens between letters and points and commas
// between digits belong to a word (don't, 3.5).
func tokenize(s string) []token {
	var out []token
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case unspaced(r):
			end := i + n
			for end < len(s) { // combining marks
				m, k := utf8.DecodeRuneInString(s[end:])
				if !unicode.IsMark(m) {
					break
				}
				end += k
			}
			if unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r) {
				out = append(out, token{i, end, true})
			}
			i = end
		case unicode.IsLetter(r) || unicode.IsNumber(r):
			end := wordEnd(s, i)
			out = append(out, token{i, end, false})
			i = end
		default:
			i += n
		}
	}
	return out
}

// wordEnd returns the end of the word that starts at byte i of s.
func wordEnd(s string, i int) int {
	end := i
	for end < len(s) {
		r, n := utf8.DecodeRuneInString(s[end:])
		if inWord(r) {
			end += n
			continue
		}
		if r != '\'' && r != '’' && r != '-' && r != '.' && r != ',' {
			break
		}
		next, _ := utf8.DecodeRuneInString(s[end+n:])
		last, _ := utf8.DecodeLastRuneInString(s[:end])
		numeric := unicode.IsDigit(last) && unicode.IsDigit(next)
		if !inWord(next) || (r == '.' || r == ',') && !numeric {
			break
		}
		end += n
	}
	return end
}

func inWord(r rune) bool {
	return (unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r)) && !unspaced(r)
}

// countWords returns the length of s as word processors count it: words of spaced scripts and
// characters of unspaced ones.
func countWords(s string) int {
	n := 0
	for _, t := range tokenize(s) {
		n += t.size(s)
	}
	return n
}

func (t token) size(s string) int {
	if t.char || t.end-t.start <= longWord {
		return 1
	}
	return (utf8.RuneCountInString(s[t.start:t.end]) + longWord - 1) / longWord
}
