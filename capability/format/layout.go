package format

import (
	"regexp"
	"strings"

	"golang.org/x/text/width"

	"lessonkit.example/capability/internal/syntax"
)

// lineWidth is that of Prettier.
const lineWidth = 80

// breaks reports whether a value takes several lines even if there is room in one: an object that
// its author began with a line break or divided by an empty line, numbers divided so, an array of
// several objects or arrays that have several parts each, and everything around one of them or
// around a comment.
func (p *printer) breaks(v syntax.Value) bool {
	if v.Kind() != syntax.Array && v.Kind() != syntax.Object {
		return false
	}
	if broken, known := p.broken[v]; known {
		return broken
	}
	broken := len(p.inside(v)) > 0
	items, large, end := 0, 0, 0
	numbers := allNumbers(v)
	var first syntax.Kind
	for item := range v.Items() {
		broken = p.breaks(item) || broken
		if items++; items == 1 {
			first = item.Kind()
		} else if numbers {
			broken = broken || gap(syntax.Array, p.src[end:item.Span().Start])
		}
		end = item.Span().End
		if item.Kind() == first && (first == syntax.Object || first == syntax.Array) && item.Len() > 1 {
			large++
		}
	}
	end = 0
	for key, member := range v.Members() {
		if start := key.Span().Start; end == 0 {
			broken = broken || strings.Contains(p.src[v.Span().Start:start], "\n")
		} else {
			broken = broken || gap(syntax.Object, p.src[end:start])
		}
		end = member.Span().End
		broken = p.breaks(member) || broken
	}
	broken = broken || items > 1 && large == items
	p.broken[v] = broken
	return broken
}

// flat appends a value in one line. It returns false if that takes more than a number of columns.
func (p *printer) flat(dst []byte, v syntax.Value, room int) ([]byte, bool) {
	start := len(dst)
	separator := ""
	switch v.Kind() {
	case syntax.Array:
		dst = append(dst, '[')
		for item := range v.Items() {
			dst = append(dst, separator...)
			separator = ", "
			var ok bool
			if dst, ok = p.flat(dst, item, room-columns(string(dst[start:]))); !ok {
				return dst, false
			}
		}
		dst = append(dst, ']')
	case syntax.Object:
		dst = append(dst, '{')
		separator = " "
		for _, m := range p.membersOf(v) {
			dst = append(append(append(dst, separator...), p.text(m.key)...), ": "...)
			separator = ", "
			var ok bool
			if dst, ok = p.flat(dst, m.value, room-columns(string(dst[start:]))); !ok {
				return dst, false
			}
		}
		if separator == ", " {
			dst = append(dst, ' ')
		}
		dst = append(dst, '}')
	default:
		dst = append(dst, p.text(v)...)
	}
	return dst, columns(string(dst[start:])) <= room
}

// membersOf returns the members of an object in the order in which they are written.
func (p *printer) membersOf(v syntax.Value) []child {
	var members []child
	for key, value := range v.Members() {
		members = append(members, child{key: key, value: value})
	}
	if p.sorted && v.Get("identifier").Exists() {
		return ordered(members, roleEntry)
	}
	return members
}

// text returns a value without parts, or a key, as it is written.
func (p *printer) text(v syntax.Value) string { return p.src[v.Span().Start:v.Span().End] }

// allNumbers reports whether an array consists of several numbers, of which many share a line.
func allNumbers(v syntax.Value) bool {
	n := 0
	for item := range v.Items() {
		if item.Kind() != syntax.Number {
			return false
		}
		n++
	}
	return n > 1
}

func (p *printer) numbers(v syntax.Value, depth int) {
	used, end := 0, 0
	left, trailing := v.Len(), p.trailingComma(v)
	for item := range v.Items() {
		text := p.text(item)
		if left--; left > 0 || trailing {
			text += ","
		}
		switch {
		case used == 0:
			p.indent(depth)
			used = 2*depth + len(text)
		case gap(syntax.Array, p.src[end:item.Span().Start]):
			p.b.WriteString("\n\n")
			p.indent(depth)
			used = 2*depth + len(text)
		case used+1+len(text) > lineWidth:
			p.b.WriteByte('\n')
			p.indent(depth)
			used = 2*depth + len(text)
		default:
			p.b.WriteByte(' ')
			used += 1 + len(text)
		}
		p.b.WriteString(text)
		end = item.Span().End
	}
	p.b.WriteByte('\n')
}

// trailingComma reports whether an array or object of JSON5 ends with a comma, which it keeps.
func (p *printer) trailingComma(v syntax.Value) bool {
	if p.doc.Format() != syntax.JSON5 {
		return false
	}
	at := v.Span()
	end := at.Start + 1
	for item := range v.Items() {
		end = item.Span().End
	}
	for _, value := range v.Members() {
		end = value.Span().End
	}
	for _, c := range p.inside(v) {
		if c.Start >= end {
			if strings.Contains(p.src[end:c.Start], ",") {
				return true
			}
			end = c.End
		}
	}
	return strings.Contains(p.src[end:at.End], ",")
}

// nextLineEmpty describes what follows a value if the line after its own is empty.
var nextLineEmpty = regexp.MustCompile(`^[, \t\r]*\n[ \t\r]*\n`)

// gap reports whether an empty line is kept between two items of an array, or two members of an
// object: one after the line with the comma, or for members also one before the comma.
func gap(kind syntax.Kind, between string) bool {
	if _, after, ok := strings.Cut(between, ","); ok && kind == syntax.Array {
		between = after
	}
	return strings.Contains(between, "\n") && nextLineEmpty.MatchString(between)
}

// firstWide is the first character that takes two columns.
const firstWide = 0x1100

// columns returns the width of a text. Characters of East Asian scripts take two columns.
func columns(text string) int {
	n := 0
	for _, r := range text {
		n++
		if r < firstWide {
			continue
		}
		if kind := width.LookupRune(r).Kind(); kind == width.EastAsianWide || kind == width.EastAsianFullwidth {
			n++
		}
	}
	return n
}
