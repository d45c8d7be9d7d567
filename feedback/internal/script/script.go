// Package script divides text into words and knows the marks that end sentences, for scripts with
// and without spaces between words.
package script

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Token is a word of a text, or in scripts without spaces between words a single character.
type Token struct {
	Start, End int  // byte offsets
	Char       bool // a character of a script without spaces between words
}

// IsUnspaced reports whether r belongs to a script without spaces between words.
func IsUnspaced(r rune) bool {
	return r >= 0x0e00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana,
		unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

// InWord reports whether r is part of a word in a script with spaces between words.
func InWord(r rune) bool { return isLetterOrNumber(r) && !IsUnspaced(r) }

func isLetterOrNumber(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r)
}

// Tokenize returns the words of s. Apostrophes and hyphens between letters and points and commas
// between digits belong to a word (don't, 3.5).
func Tokenize(s string) []Token {
	var out []Token
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		end := i + n
		switch {
		case IsUnspaced(r):
			for end < len(s) { // combining marks
				m, k := utf8.DecodeRuneInString(s[end:])
				if !unicode.IsMark(m) {
					break
				}
				end += k
			}
			if isLetterOrNumber(r) {
				out = append(out, Token{i, end, true})
			}
		case unicode.IsLetter(r) || unicode.IsNumber(r):
			end = wordEnd(s, i)
			out = append(out, Token{i, end, false})
		}
		i = end
	}
	return out
}

// wordEnd returns the end of the word that starts at byte i of s.
func wordEnd(s string, i int) int {
	end := i
	for end < len(s) {
		r, n := utf8.DecodeRuneInString(s[end:])
		if InWord(r) {
			end += n
			continue
		}
		if !strings.ContainsRune("'’-.,", r) {
			break
		}
		next, _ := utf8.DecodeRuneInString(s[end+n:])
		last, _ := utf8.DecodeLastRuneInString(s[:end])
		numeric := unicode.IsDigit(last) && unicode.IsDigit(next)
		if !InWord(next) || (r == '.' || r == ',') && !numeric {
			break
		}
		end += n
	}
	return end
}

// IsTerminator reports whether r ends a sentence. A point may be part of a number or an
// abbreviation instead.
func IsTerminator(r rune) bool { return strings.ContainsRune("。！？｡．!?.…؟।։።", r) }

// IsCloser reports whether r after the end of a sentence still belongs to it.
func IsCloser(r rune) bool { return strings.ContainsRune("\"'”’」』）)]】》〉", r) }

// FullStop returns the full stop of the script of the last letter of s, or "" if the script has
// none or s has neither letters nor numbers.
func FullStop(s string) string {
	letters := strings.TrimRightFunc(s, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsMark(r) })
	r, _ := utf8.DecodeLastRuneInString(letters)
	switch {
	case letters == "" && !strings.ContainsFunc(s, unicode.IsNumber):
		return ""
	case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana) || r == 'ー':
		return "。"
	case IsUnspaced(r) || unicode.In(r, unicode.Tibetan):
		return ""
	case unicode.In(r, unicode.Devanagari, unicode.Bengali):
		return "।"
	case unicode.In(r, unicode.Armenian):
		return "։"
	case unicode.In(r, unicode.Ethiopic):
		return "።"
	}
	return "."
}
