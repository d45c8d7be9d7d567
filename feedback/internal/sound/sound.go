// Package sound compares names by how they are pronounced.
package sound

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/antzucaro/matchr"
	"github.com/mozillazg/go-pinyin"
)

// maxLetters is how many bytes a name has at most: the time to compare two grows with both.
const maxLetters = 200

// Alike reports whether a recogniser may write one name for the other. Names in Chinese characters
// are alike if these have the same syllables, in whatever tone. Others are alike if their Double
// Metaphone codes agree, but for s and sh; names with fewer than three codes, such as Mia, must
// also be spelt alike. Equal names are alike.
func Alike(a, b string) bool {
	first, _ := utf8.DecodeRuneInString(a)
	other, _ := utf8.DecodeRuneInString(b)
	switch chinese := unicode.Is(unicode.Han, first); {
	case chinese != unicode.Is(unicode.Han, other):
		return false
	case chinese:
		return slices.EqualFunc([]rune(a), []rune(b), sameSyllable)
	}
	a, b = letters(a), letters(b)
	if a == "" || b == "" || len(a) > maxLetters || len(b) > maxLetters {
		return false
	}
	return a == b || slices.ContainsFunc(codes(a), func(code string) bool {
		return slices.Contains(codes(b), code) && (len(code) > 2 || code != "" && matchr.Levenshtein(a, b) <= 2)
	})
}

// grammar are characters that recognisers write for others, but hardly in the place of a name.
const grammar = "的地得一是不了在有我他她它们这那个和与也都就还把被要会能说对给让着过吧吗呢啊很最太再又才只没去来到从为以其名同" +
	"做作已因所而于"

// IsGrammar reports whether a Chinese character hardly ever is part of a name.
func IsGrammar(r rune) bool { return strings.ContainsRune(grammar, r) }

func sameSyllable(a, b rune) bool {
	if a == b {
		return true
	}
	all := pinyin.Args{Style: pinyin.Normal, Heteronym: true}
	others := pinyin.SinglePinyin(b, all)
	return slices.ContainsFunc(pinyin.SinglePinyin(a, all), func(s string) bool { return slices.Contains(others, s) })
}

// codes returns the Double Metaphone codes of a word.
func codes(word string) []string {
	one, two := matchr.DoubleMetaphone(word)
	return []string{strings.ReplaceAll(one, "X", "S"), strings.ReplaceAll(two, "X", "S")}
}

// letters returns the letters of s in lower case.
func letters(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsLetter(r) {
			return -1
		}
		return unicode.ToLower(r)
	}, s)
}
