package capability

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"lessonkit.example/capability/internal/syntax"
)

// Kind is the type of a [Value], in JSON's terms.
type Kind uint8

// The kinds of a value. Absent is the kind of the zero Value; Broken is the kind of text that could
// not be read as a value; Date is a date or time of day, which only TOML has.
const (
	Absent = Kind(syntax.Absent)
	Broken = Kind(syntax.Broken)
	Null   = Kind(syntax.Null)
	Bool   = Kind(syntax.Bool)
	Number = Kind(syntax.Number)
	String = Kind(syntax.String)
	Array  = Kind(syntax.Array)
	Object = Kind(syntax.Object)
	Date   = Kind(syntax.Date)
)

// String returns the kind with its article, as messages use it.
func (k Kind) String() string {
	return [...]string{"nothing", "an unreadable value", "null", "a boolean", "a number", "a string", "an array",
		"an object", "a date"}[k]
}

// Position is a place in a file. The zero Position is not a place.
type Position struct {
	Offset int `json:"offset"` // in bytes, from 0
	Line   int `json:"line"`   // from 1
	Column int `json:"column"` // in Unicode characters, from 1
}

// IsValid reports whether the position is a place.
func (p Position) IsValid() bool { return p.Line > 0 }

// String returns "line:column".
func (p Position) String() string { return fmt.Sprintf("%d:%d", p.Line, p.Column) }

// positionAt returns the position of an offset in bytes, that of the end for one beyond it.
func positionAt(text *syntax.Document, offset int) Position {
	offset = min(max(offset, 0), len(text.Source()))
	line, column := text.LineColumn(offset)
	return Position{offset, line, column}
}

// Value is a value of a file with its position. It is small: pass it by value. The zero Value means
// that there is no value: all methods work on it, and find nothing.
type Value struct {
	text *syntax.Document
	n    int32
}

// Exists reports whether there is a value at all.
func (v Value) Exists() bool { return v.text != nil }

// Kind returns the value's kind, [Absent] for the zero Value.
func (v Value) Kind() Kind {
	if v.text == nil {
		return Absent
	}
	return Kind(v.text.Kind(v.n))
}

// File returns the name of the value's file, "" for the zero Value.
func (v Value) File() string {
	if v.text == nil {
		return ""
	}
	return v.text.Name()
}

// span returns the bytes of the source that the value consists of.
func (v Value) span() syntax.Span {
	if v.text == nil {
		return syntax.Span{}
	}
	return v.text.Span(v.n)
}

// Position returns where the value begins, the zero Position for the zero Value.
func (v Value) Position() Position {
	if v.text == nil {
		return Position{}
	}
	return positionAt(v.text, v.span().Start)
}

// Place returns where the value begins, with what to say about it.
func (v Value) Place(message string) Place {
	return Place{File: v.File(), Start: v.Position(), Message: message}
}

// End returns the place just after the value, the zero Position for the zero Value.
func (v Value) End() Position {
	if v.text == nil {
		return Position{}
	}
	return positionAt(v.text, v.span().End)
}

// Text returns the content of a string, the literal of a number, boolean or date as it is written,
// and "" for everything else.
func (v Value) Text() string {
	if v.text == nil {
		return ""
	}
	return v.text.Text(v.n)
}

// Bool reports whether the value is the boolean true.
func (v Value) Bool() bool { return v.Kind() == Bool && v.Text() == "true" }

// Len returns the number of items of an array or members of an object.
func (v Value) Len() int {
	n := 0
	for range v.Items() {
		n++
	}
	for range v.Members() {
		n++
	}
	return n
}

// Items yields the items of an array in order; nothing for other kinds.
func (v Value) Items() iter.Seq[Value] {
	return func(yield func(Value) bool) {
		if v.Kind() != Array {
			return
		}
		end := v.text.Next(v.n)
		for i := v.n + 1; i < end; i = v.text.Next(i) {
			if !yield(Value{v.text, i}) {
				return
			}
		}
	}
}

// Members yields the members of an object in the order they are written, key first; a key written
// twice comes twice.
func (v Value) Members() iter.Seq2[Value, Value] {
	return func(yield func(key, value Value) bool) {
		if v.Kind() != Object {
			return
		}
		end := v.text.Next(v.n)
		for i := v.n + 1; i < end; {
			val := v.text.Next(i)
			if !yield(Value{v.text, i}, Value{v.text, val}) {
				return
			}
			i = v.text.Next(val)
		}
	}
}

// Get returns the member of an object with that key, the last one where it is written several
// times, and the zero Value if there is none.
func (v Value) Get(key string) Value {
	var found Value
	for k, val := range v.Members() {
		if k.Text() == key {
			found = val
		}
	}
	return found
}

// Item returns the item of an array with that index, or the zero Value.
func (v Value) Item(index int) Value {
	for item := range v.Items() {
		if index == 0 {
			return item
		}
		index--
	}
	return Value{}
}

// Or returns the value, or another one if it does not exist.
func (v Value) Or(other Value) Value {
	if v.Exists() {
		return v
	}
	return other
}

// Path returns the value's place as an RFC 6901 JSON pointer, "" for the root. For a member's key
// it returns the pointer of the member.
func (v Value) Path() string {
	var path strings.Builder
	for at := (Value{v.text, 0}); at.Exists() && at.n < v.n; {
		var inside Value
		index := 0
		for item := range at.Items() {
			if item.contains(v) {
				inside = item
				fmt.Fprintf(&path, "/%d", index)
				break
			}
			index++
		}
		for key, member := range at.Members() {
			if key == v || member.contains(v) {
				inside = member
				path.WriteString("/" + pointerEscapes.Replace(key.Text()))
				break
			}
		}
		at = inside
	}
	return path.String()
}

// pointerEscapes escapes a token of a JSON pointer.
var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")

// contains reports whether another value of the document is this one or inside it.
func (v Value) contains(other Value) bool { return v.n <= other.n && other.n < v.text.Next(v.n) }

// Interface returns the value as encoding/json would decode it: nil, bool, float64, string, []any
// or map[string]any.
func (v Value) Interface() any {
	var decoded any
	_ = json.Unmarshal(v.appendJSON(nil, false), &decoded) // a number outside the range becomes 0
	return decoded
}

// MarshalJSON returns the value as compact JSON with its members in the order they are written.
func (v Value) MarshalJSON() ([]byte, error) { return v.appendJSON(nil, false), nil }

// String returns the value as compact JSON, "" for the zero Value.
func (v Value) String() string {
	if !v.Exists() {
		return ""
	}
	return string(v.appendJSON(nil, false))
}

// Canonical returns the value as text that is the same for equal values only.
func (v Value) Canonical() string { return string(v.appendJSON(nil, true)) }

// Equal reports whether two values are the same by JSON Schema's rule: numbers by their
// mathematical value, objects without regard to the order of their members, and the last one of a
// key written twice counts.
func (v Value) Equal(w Value) bool { return v.Kind() == w.Kind() && v.Canonical() == w.Canonical() }

// appendJSON appends the value as JSON. The canonical form has the members of objects in order and
// one notation for each number.
func (v Value) appendJSON(dst []byte, canonical bool) []byte {
	switch v.Kind() {
	case Bool:
		return append(dst, v.Text()...)
	case Number:
		return syntax.AppendNumber(dst, v.Text(), canonical)
	case String, Date:
		return syntax.AppendQuoted(dst, v.Text())
	case Array:
		dst = append(dst, '[')
		for item := range v.Items() {
			dst = append(item.appendJSON(dst, canonical), ',')
		}
		return append(bytes.TrimSuffix(dst, []byte(",")), ']')
	case Object:
		dst = append(dst, '{')
		for key, member := range v.members(canonical) {
			dst = append(syntax.AppendQuoted(dst, key), ':')
			dst = append(member.appendJSON(dst, canonical), ',')
		}
		return append(bytes.TrimSuffix(dst, []byte(",")), '}')
	default:
		return append(dst, "null"...)
	}
}

// members yields the members of an object, in canonical form each key once and in order.
func (v Value) members(canonical bool) iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		last := make(map[string]Value)
		for key, member := range v.Members() {
			if canonical {
				last[key.Text()] = member
			} else if !yield(key.Text(), member) {
				return
			}
		}
		for _, key := range slices.Sorted(maps.Keys(last)) {
			if !yield(key, last[key]) {
				return
			}
		}
	}
}
