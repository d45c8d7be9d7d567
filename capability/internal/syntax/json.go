package syntax

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"lessonkit.example/capability/internal/words"
)

// scanner reads JSON and JSON5 into nodes. Both share one scanner, because people write JSON5 into
// JSON files and a good error message has to recognize it.
type scanner struct {
	doc   *Document
	src   string
	pos   int
	json5 bool
	depth int
	stop  bool // a limit was passed: read no further

	comments     int
	firstComment Span
}

func (s *scanner) document() {
	if strings.HasPrefix(s.src, "\ufeff") {
		if !s.json5 {
			const message = "The file begins with a byte order mark, which JSON does not allow; save it as UTF-8 " +
				"without BOM."
			s.reportFix(FaultByteOrderMark, 0, 3, message, "Remove the byte order mark", "")
		}
		s.pos = 3
	}
	s.space()
	if s.pos >= len(s.src) {
		s.push(Broken, s.pos, textRaw)
		s.broken(s.pos, s.pos,
			"The file is empty; it must contain a capability object, an array of them, or {\"capabilities\": [...]}.")
		return
	}
	s.value()
	s.space()
	if s.pos < len(s.src) && !s.stop {
		s.broken(s.pos, len(s.src),
			fmt.Sprintf("unexpected %s after the end of the value; put several capabilities into "+
				"one array.", s.nextToken()))
	}
}

// push appends a node that begins at start; the caller closes it.
func (s *scanner) push(kind Kind, start int, form textForm) int32 {
	n := s.doc.push(kind, start, start)
	s.doc.nodes[n].form = form
	return n
}

func (s *scanner) value() {
	if s.pos >= len(s.src) {
		s.push(Broken, s.pos, textRaw)
		s.broken(s.pos, s.pos, "The file ends where a value is expected.")
		s.stop = true
		return
	}
	start := s.pos
	switch c := s.src[start]; {
	case c == '"':
		s.text('"')
	case c == '{':
		s.container(Object, '}')
	case c == '[':
		s.container(Array, ']')
	case c == '\'':
		s.reportJSON5(start, start+1, "JSON strings must be in double quotes, not in single quotes.")
		s.text('\'')
	case c == '-' || c >= '0' && c <= '9' || c == '+' || c == '.':
		s.number()
	case c == ',' || c == ']' || c == '}' || c == ':':
		s.push(Broken, start, textRaw)
		s.broken(start, start+1, fmt.Sprintf("A value is missing before %s.", s.nextToken()))
	default:
		s.word()
	}
}

// container reads an array or object from its opening bracket.
func (s *scanner) container(kind Kind, closing byte) {
	n := s.push(kind, s.pos, textRaw)
	s.depth++
	if s.depth > maxDepth {
		s.doc.addFault(tooDeep(s.pos))
		s.doc.damaged, s.stop = true, true
		s.pos = len(s.src)
	} else {
		s.pos++
		s.members(kind, closing)
	}
	s.depth--
	s.doc.nodes[n].end = int32(s.pos)
	s.doc.nodes[n].next = int32(len(s.doc.nodes))
}

func (s *scanner) members(kind Kind, closing byte) {
	opened := s.pos - 1
	for {
		s.space()
		if s.pos >= len(s.src) {
			s.unclosed(opened, closing)
			return
		}
		if c := s.src[s.pos]; c == closing {
			s.pos++
			return
		} else if c == ',' {
			s.broken(s.pos, s.pos+1, "There is a comma with no value before it; remove it.")
			s.pos++
			continue
		} else if c == '}' || c == ']' {
			s.broken(s.pos, s.pos+1, fmt.Sprintf("Unexpected %q: the %q of line %d is closed by %q.", c,
				s.src[opened], s.doc.lineOf(opened), closing))
			if s.depth == 1 {
				s.pos++
				continue
			}
			return
		}
		if kind == Object {
			if !s.key() {
				continue
			}
			s.space()
			if s.pos < len(s.src) && s.src[s.pos] == ':' {
				s.pos++
			} else {
				s.broken(s.pos, s.pos+1, fmt.Sprintf("A colon is missing between the key and %s.", s.nextToken()))
			}
			s.space()
		}
		s.value()
		if s.stop {
			return
		}
		after := s.pos
		s.space()
		if s.pos >= len(s.src) {
			continue
		}
		switch s.src[s.pos] {
		case ',':
			comma := s.pos
			s.pos++
			s.space()
			if s.pos < len(s.src) && s.src[s.pos] == closing && !s.json5 {
				message := fmt.Sprintf("JSON does not allow a comma before %q; remove it.", closing)
				s.reportFix(FaultTrailingComma, comma, comma+1, message, "Remove the comma", "")
			}
		case '}', ']':
		default:
			s.missingComma(after)
		}
	}
}

func (s *scanner) missingComma(after int) {
	if !s.doc.full(FaultSyntax) { // a hostile file may lack all of them
		message := fmt.Sprintf("A comma is missing between the previous value and %s.", s.nextToken())
		s.reportFix(FaultSyntax, after, after, message, "Add the comma", ",")
	}
	if s.src[s.pos] == ':' {
		s.pos++
	}
}

func (s *scanner) unclosed(opened int, closing byte) {
	s.broken(opened, opened+1, fmt.Sprintf("The %q that is opened here is never closed; the file ends without its %q.",
		s.src[opened], closing))
	s.stop = true
}

// key reads the key of a member. False means that there was none, and that what stood there has
// been skipped.
func (s *scanner) key() bool {
	start := s.pos
	switch c := s.src[start]; {
	case c == '"':
		s.text('"')
		return true
	case c == '\'':
		s.reportJSON5(start, start+1, "JSON keys must be in double quotes, not in single quotes.")
		s.text('\'')
		return true
	}
	end, text := s.identifierName()
	if end == start {
		s.skipJunk()
		s.broken(start, s.pos, fmt.Sprintf("A key in double quotes is expected here, not %s.",
			words.Quote(s.src[start:s.pos])))
		for s.pos < len(s.src) && s.src[s.pos] == ':' {
			s.pos++
		}
		return false
	}
	if !s.json5 {
		quoted := fmt.Sprintf("%q", text)
		s.reportFix(FaultNotJSON, start, end, "JSON keys must be in double quotes: write "+quoted+".", "Write "+quoted,
			quoted)
	}
	n := s.push(String, start, textRaw)
	if text != s.src[start:end] {
		s.doc.store(n, text)
	}
	s.doc.nodes[n].end = int32(end)
	s.pos = end
	return true
}

// identifierName reads the unquoted key of JSON5.
func (s *scanner) identifierName() (end int, text string) {
	var b strings.Builder
	i := s.pos
	for i < len(s.src) {
		r, size := utf8.DecodeRuneInString(s.src[i:])
		if r == '\\' && strings.HasPrefix(s.src[i:], `\u`) {
			code, ok := hexadecimal(s.src[i+2:], 4)
			if !ok {
				break
			}
			r, size = code, 6
		}
		if !unicode.IsLetter(r) && r != '$' && r != '_' && !unicode.Is(unicode.Nl, r) &&
			(i == s.pos || !unicode.In(r, unicode.Mn, unicode.Mc, unicode.Nd, unicode.Pc) && r != '\u200c' &&
				r != '\u200d') {
			break
		}
		b.WriteRune(r)
		i += size
	}
	return i, b.String()
}

// word reads true, false, null and the names of JSON5; anything else is junk that is skipped up to
// the next sign of structure.
func (s *scanner) word() {
	start := s.pos
	end, text := s.identifierName()
	kind := Broken
	switch text {
	case "true", "false":
		kind = Bool
	case "null":
		kind = Null
	case "NaN", "Infinity":
		s.number()
		return
	}
	n := s.push(kind, start, textRaw)
	if kind == Broken {
		s.skipJunk()
		end = s.pos
		s.broken(start, end, fmt.Sprintf("%s is not a JSON value; %s", words.Quote(s.src[start:end]), wordHint(text)))
	}
	s.doc.nodes[n].end = int32(end)
	s.pos = end
}

func wordHint(word string) string {
	switch lower := strings.ToLower(word); lower {
	case "true", "false", "null":
		return fmt.Sprintf("write %s in lower case.", lower)
	case "none", "nil", "undefined":
		return "write null, or leave the key out."
	case "yes", "on":
		return "write true."
	case "no", "off":
		return "write false."
	}
	return "put strings in double quotes."
}

// skipJunk skips text that cannot be read, at least one character of it.
func (s *scanner) skipJunk() {
	start := s.pos
	for s.pos < len(s.src) && !strings.ContainsRune(",:[]{}\"\r\n", rune(s.src[s.pos])) {
		s.pos++
	}
	if s.pos == start && s.pos < len(s.src) {
		_, size := utf8.DecodeRuneInString(s.src[s.pos:])
		s.pos += size
	}
	for s.pos > start+1 && (s.src[s.pos-1] == ' ' || s.src[s.pos-1] == '\t') {
		s.pos--
	}
}

// space skips white space and comments.
func (s *scanner) space() {
	for {
		src, i := s.src, s.pos
		for i < len(src) && IsSpace(src[i]) {
			i++
		}
		s.pos = i
		if i == len(src) {
			return
		}
		switch c := src[i]; {
		case c == '/' && s.comment():
		case c == '#' && !s.json5:
			s.comment()
		case c == '\v' || c == '\f' || c >= utf8.RuneSelf:
			r, size := utf8.DecodeRuneInString(src[i:])
			if c >= utf8.RuneSelf && r != '\ufeff' && r != '\u2028' && r != '\u2029' && !unicode.Is(unicode.Zs, r) {
				return
			}
			s.reportJSON5(i, i+size,
				fmt.Sprintf("The character %U is not white space in JSON; replace it by a space.", r))
			s.pos += size
		default:
			return
		}
	}
}

// comment skips a comment and counts it; false means that there is none.
func (s *scanner) comment() bool {
	start := s.pos
	rest := s.src[start:]
	switch {
	case strings.HasPrefix(rest, "//") || rest[0] == '#':
		if end := strings.IndexAny(rest, "\r\n\u2028\u2029"); end >= 0 {
			s.pos += end
		} else {
			s.pos = len(s.src)
		}
	case strings.HasPrefix(rest, "/*"):
		end := strings.Index(rest[2:], "*/")
		if end < 0 {
			s.pos = len(s.src)
			s.broken(start, start+2, "The comment that begins here is never closed by */.")
			break
		}
		s.pos += end + 4
	default:
		return false
	}
	if s.comments++; s.comments == 1 {
		s.firstComment = Span{start, s.pos}
	}
	return true
}

// reportComments reports the comments of a JSON file once. There is no fix: deleting them would
// lose what they say.
func (s *scanner) reportComments() {
	if s.comments == 0 || s.json5 {
		return
	}
	message := "JSON does not allow comments; remove it, or rename the file to .json5."
	if s.comments > 1 {
		message = fmt.Sprintf("JSON does not allow comments; remove this one, the first of %d, and the others, "+
			"or rename the file to .json5.", s.comments)
	}
	s.report(FaultComment, s.firstComment.Start, s.firstComment.End, message)
}

// nextToken returns the text at the current place, quoted for a message.
func (s *scanner) nextToken() string {
	if s.pos >= len(s.src) {
		return "the end of the file"
	}
	rest := s.src[s.pos:]
	end := 1
	if isWordByte(rest[0]) {
		for end < len(rest) && isWordByte(rest[end]) {
			end++
		}
	} else if rest[0] == '"' {
		if at := strings.IndexAny(rest[1:], "\"\n"); at >= 0 && rest[1+at] == '"' {
			end = at + 2
		}
	} else {
		_, end = utf8.DecodeRuneInString(rest)
	}
	return words.Quote(rest[:end])
}

func isWordByte(c byte) bool {
	return c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' || c >= utf8.RuneSelf
}

func (s *scanner) report(code string, start, end int, message string) {
	s.doc.addFault(Fault{Code: code, Message: message, Span: Span{start, end}})
}

// reportFix reports text that can be replaced.
func (s *scanner) reportFix(code string, start, end int, message, title, replacement string) {
	s.doc.addFault(Fault{Code: code, Message: message, Span: Span{start, end}, Fix: &Replacement{title, replacement}})
}

// broken reports text that leaves the structure of the file in doubt.
func (s *scanner) broken(start, end int, message string) {
	s.doc.damaged = true
	s.report(FaultSyntax, start, min(end, len(s.src)), message)
}

// reportJSON5 reports, in a strict file, what JSON5 allows.
func (s *scanner) reportJSON5(start, end int, message string) {
	if !s.json5 {
		s.report(FaultNotJSON, start, end, message)
	}
}

// IsSpace reports whether a character is white space of JSON.
func IsSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }
