// Package pattern matches labels and URLs as the reference implementation does.
package pattern

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Glob is a pattern of window or webview labels. It matches exactly as the reference
// implementation's library does, Rust's glob with its default options: "?" is any character and "*"
// any number of them, "/" included; "[a-z]" and "[!a-z]" are one character in or out of ranges;
// "**" is a whole component between slashes, and "**/" also matches nothing. There is no
// escape and no "{a,b}", and case matters. A Glob may be used by several goroutines. The zero Glob
// matches only the empty label.
type Glob struct {
	text   string
	exact  bool // matches only its text
	tokens []globToken
}

type globToken struct {
	kind   globTokenKind
	char   rune
	ranges []globRange
}

type globRange struct{ low, high rune }

type globTokenKind uint8

const (
	tokenChar globTokenKind = iota
	tokenAnyChar
	tokenWithin
	tokenExcept
	tokenSequence  // *
	tokenRecursive // **
)

// globError tells what is wrong with a pattern, at an offset in characters.
func globError(pattern string, offset int, message string) error {
	return fmt.Errorf("%q is not a pattern of labels: at character %d, %s", pattern, offset+1, message)
}

const (
	globWildcards = "wildcards are either one * or the recursive **"
	globRecursive = "the recursive ** must be a whole component, between slashes or the ends; write one *, " +
		"which takes any characters"
	globInvalid = "the range that opens here is not closed or empty; write such as [abc], [a-z] or [!abc]"
)

// maxGlob is the length in bytes of the longest pattern that is read; real labels are far shorter.
const maxGlob = 1024

// CompileGlob reads a pattern.
func CompileGlob(pattern string) (Glob, error) {
	if len(pattern) > maxGlob {
		return Glob{}, globError(pattern[:40]+"…", maxGlob, fmt.Sprintf("it is longer than %d bytes", maxGlob))
	}
	g := Glob{text: pattern}
	// Any invalid UTF-8 in a label matches utf8.RuneError.
	g.exact = !strings.ContainsAny(pattern, "?*[") && !strings.ContainsRune(pattern, utf8.RuneError)
	chars := []rune(pattern)
	for i := 0; i < len(chars); {
		switch chars[i] {
		case '?':
			g.tokens = append(g.tokens, globToken{kind: tokenAnyChar})
			i++
		case '*':
			next, token, err := globStars(pattern, chars, i)
			if err != nil {
				return Glob{}, err
			}
			g.tokens = append(g.tokens, token)
			i = next
		case '[':
			next, token, ok := globClass(chars, i)
			if !ok {
				return Glob{}, globError(pattern, i, globInvalid)
			}
			g.tokens = append(g.tokens, token)
			i = next
		default:
			g.tokens = append(g.tokens, globToken{kind: tokenChar, char: chars[i]})
			i++
		}
	}
	return g, nil
}

// globStars reads one or two stars at i.
func globStars(pattern string, chars []rune, i int) (next int, token globToken, err error) {
	end := i
	for end < len(chars) && chars[end] == '*' {
		end++
	}
	switch count := end - i; {
	case count > 2:
		return 0, token, globError(pattern, i+2, globWildcards)
	case count == 1:
		return end, globToken{kind: tokenSequence}, nil
	case i > 0 && chars[i-1] != '/':
		return 0, token, globError(pattern, i-1, globRecursive)
	case end == len(chars):
		return end, globToken{kind: tokenRecursive}, nil
	case chars[end] == '/':
		return end + 1, globToken{kind: tokenRecursive}, nil
	}
	return 0, token, globError(pattern, end, globRecursive)
}

// globClass reads a character class. Its first character is always literal, even "]".
func globClass(chars []rune, i int) (next int, token globToken, ok bool) {
	token.kind = tokenWithin
	first := i + 1
	if first < len(chars) && chars[first] == '!' {
		token.kind = tokenExcept
		first++
	}
	end := first + 1
	for end < len(chars) && chars[end] != ']' {
		end++
	}
	if end >= len(chars) {
		return 0, token, false
	}
	for set := chars[first:end]; len(set) > 0; {
		if len(set) >= 3 && set[1] == '-' {
			token.ranges = append(token.ranges, globRange{set[0], set[2]})
			set = set[3:]
		} else {
			token.ranges = append(token.ranges, globRange{set[0], set[0]})
			set = set[1:]
		}
	}
	return end + 1, token, true
}

// String returns the pattern as it is written.
func (g *Glob) String() string { return g.text }

// Match reports whether the pattern matches the whole label.
//
// It tries the shortest extent of each wildcard first and goes back to the last one only: what
// follows a wildcard at its first place leaves the most text to the later ones, so earlier
// wildcards never need a second try. The time is bounded by the product of both lengths.
func (g *Glob) Match(label string) bool {
	if g.exact {
		return label == g.text
	}
	token, at := 0, 0
	retryToken, retryAt := -1, 0
	for {
		if token == len(g.tokens) {
			if at == len(label) {
				return true
			}
		} else if kind := g.tokens[token].kind; kind == tokenSequence || kind == tokenRecursive {
			retryToken, retryAt = token, at
			token++
			continue
		} else if at < len(label) {
			r, size := utf8.DecodeRuneInString(label[at:])
			if g.tokens[token].matches(r) {
				token++
				at += size
				continue
			}
		}
		if retryToken < 0 || retryAt >= len(label) {
			return false
		}
		retryAt = g.extend(retryToken, label, retryAt)
		token, at = retryToken+1, retryAt
	}
}

// MatchAny reports whether one of the patterns matches the whole label.
func MatchAny(globs []Glob, label string) bool {
	for i := range globs {
		if globs[i].Match(label) {
			return true
		}
	}
	return false
}

// extend lets a wildcard take more of the label: one character for "*", and up to the next
// component or the end for "**".
func (g *Glob) extend(token int, label string, at int) int {
	_, size := utf8.DecodeRuneInString(label[at:])
	if g.tokens[token].kind == tokenSequence {
		return at + size
	}
	if slash := strings.IndexByte(label[at:], '/'); slash >= 0 {
		return at + slash + 1
	}
	return len(label)
}

func (t *globToken) matches(r rune) bool {
	switch t.kind {
	case tokenChar:
		return r == t.char
	case tokenAnyChar:
		return true
	}
	for _, set := range t.ranges {
		if r >= set.low && r <= set.high {
			return t.kind == tokenWithin
		}
	}
	return t.kind == tokenExcept
}
