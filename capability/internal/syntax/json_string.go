package syntax

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"lessonkit.example/capability/internal/words"
)

// text reads a string from its opening quote.
func (s *scanner) text(quote byte) {
	start := s.pos
	n := s.push(String, start, textQuoted)
	var b strings.Builder
	i := start + 1
	from := i
	for i < len(s.src) {
		c := s.src[i]
		switch {
		case c >= 0x20 && c != quote && c != '\\':
			i++
		case c == quote:
			s.pos = i + 1
			s.doc.nodes[n].end = int32(s.pos)
			if from > start+1 { // there were escapes
				b.WriteString(s.src[from:i])
				s.doc.store(n, b.String())
			}
			return
		case c == '\\':
			b.WriteString(s.src[from:i])
			i = s.escape(&b, i)
			from = i
		case c == '\n' || c == '\r':
			s.unterminated(n, start, i)
			return
		case c < 0x20 && !s.json5:
			escape := fmt.Sprintf("\\u%04x", c)
			message := fmt.Sprintf("The control character %U must be written as %s inside a string.", c, escape)
			s.reportFix(FaultSyntax, i, i+1, message, "Write "+escape, escape)
			i++
		default:
			i++
		}
	}
	s.unterminated(n, start, i)
}

func (s *scanner) unterminated(n int32, start, end int) {
	s.broken(start, end, "The string that begins here has no closing quote on its line.")
	nd := &s.doc.nodes[n]
	nd.kind, nd.form, nd.end = Broken, textRaw, int32(end)
	s.pos = end
}

// escape reads the escape at i and returns the place after it.
func (s *scanner) escape(b *strings.Builder, i int) int {
	if i+1 >= len(s.src) {
		return i + 1
	}
	const short = "\"\"\\\\//b\bf\fn\nr\rt\t"
	c := s.src[i+1]
	for k := 0; k < len(short); k += 2 {
		if short[k] == c {
			b.WriteByte(short[k+1])
			return i + 2
		}
	}
	switch {
	case c == 'u':
		return s.unicodeEscape(b, i)
	case c == 'x':
		if r, ok := hexadecimal(s.src[i+2:], 2); ok {
			s.reportJSON5(i, i+4, fmt.Sprintf("JSON has no \\x escape; write \\u%04x.", r))
			b.WriteRune(r)
			return i + 4
		}
	case c == '\n' || c == '\r':
		s.reportJSON5(i, i+1, "A JSON string cannot go on in the next line.")
		if strings.HasPrefix(s.src[i+1:], "\r\n") {
			return i + 3
		}
		return i + 2
	case c == '0' && (i+2 >= len(s.src) || s.src[i+2] < '0' || s.src[i+2] > '9'):
		s.reportJSON5(i, i+2, `JSON has no \0 escape; write \u0000.`)
		b.WriteByte(0)
		return i + 2
	case c == 'v':
		s.reportJSON5(i, i+2, `JSON has no \v escape; write \u000b.`)
		b.WriteByte('\v')
		return i + 2
	case c < '1' || c > '9':
		r, size := utf8.DecodeRuneInString(s.src[i+1:])
		s.reportJSON5(i, i+1+size, fmt.Sprintf("JSON has no escape \\%c; write \\\\ for a backslash.", r))
		if r != '\u2028' && r != '\u2029' {
			b.WriteString(s.src[i+1 : i+1+size])
		}
		return i + 1 + size
	}
	s.report(FaultSyntax, i, i+2, fmt.Sprintf("The escape \\%c does not exist; write \\\\ for a backslash.", c))
	return i + 2
}

func (s *scanner) unicodeEscape(b *strings.Builder, i int) int {
	r, ok := hexadecimal(s.src[i+2:], 4)
	if !ok {
		s.report(FaultSyntax, i, i+2, `\u is followed by four hexadecimal digits.`)
		return i + 2
	}
	if !utf16.IsSurrogate(r) {
		b.WriteRune(r)
		return i + 6
	}
	if strings.HasPrefix(s.src[i+6:], `\u`) {
		if low, ok := hexadecimal(s.src[i+8:], 4); ok {
			if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
				b.WriteRune(pair)
				return i + 12
			}
		}
	}
	s.report(FaultSurrogate, i, i+6,
		fmt.Sprintf("%s is half of a surrogate pair without the other half, so it is not a character.", s.src[i:i+6]))
	b.WriteRune(utf8.RuneError)
	return i + 6
}

func hexadecimal(s string, digits int) (rune, bool) {
	if len(s) < digits {
		return 0, false
	}
	n, err := strconv.ParseUint(s[:digits], 16, 32)
	return rune(n), err == nil
}

// number reads a number, or what begins like one.
func (s *scanner) number() {
	start := s.pos
	n := s.push(Number, start, textRaw)
	i := start
	for i < len(s.src) && (isWordByte(s.src[i]) || s.src[i] == '+' || s.src[i] == '-' || s.src[i] == '.') {
		i++
	}
	s.pos = i
	s.doc.nodes[n].end = int32(i)
	literal := s.src[start:i]
	name := strings.TrimLeft(literal, "+-")
	switch {
	case len(literal)-len(name) <= 1 && (name == "Infinity" || name == "NaN"):
		s.reportJSON5(start, i, fmt.Sprintf("JSON has no number %s.", literal))
	case isJSONNumber(literal):
	case json5Number.MatchString(literal):
		s.reportJSON5(start, i, fmt.Sprintf("JSON does not write numbers as %s; write %s.", literal,
			AppendNumber(nil, literal, false)))
	default:
		s.doc.nodes[n].kind = Broken
		s.broken(start, i, fmt.Sprintf("%s is not a number; put strings in double quotes.", words.Quote(literal)))
		return
	}
	// The reference implementation cannot read others.
	if _, ok := parseFloat(literal); !ok && !s.doc.full(FaultNumberRange) {
		s.report(FaultNumberRange, start, i,
			fmt.Sprintf("The number %s cannot be kept as a 64-bit number.", words.Quote(literal)))
	}
}
