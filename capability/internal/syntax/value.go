package syntax

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
)

// Kind is the type of a [Value], in JSON's terms.
type Kind uint8

// The kinds of a value. Absent is the kind of the zero Value; Broken is the kind of text that could
// not be read as a value.
const (
	Absent Kind = iota
	Broken
	Null
	Bool
	Number
	String
	Array
	Object
	Date // a date or time of day, which only TOML has
)

// String returns the kind with its article, as messages use it.
func (k Kind) String() string {
	return [...]string{"nothing", "an unreadable value", "null", "a boolean", "a number", "a string", "an array",
		"an object", "a date"}[k]
}

// node is one value of a document. Nodes lie in document order: the children of an array or object
// follow it, and an object's children alternate between key and value.
type node struct {
	start, end int32 // bytes of the source
	next       int32 // index of the first node that is not inside this one
	kind       Kind
	form       textForm
}

// textForm is where the text of a string, number or boolean is stored.
type textForm uint8

const (
	textRaw    textForm = iota // the source bytes themselves
	textQuoted                 // the source bytes without one quote on each side
	textStored                 // in Document.text: it was written with escapes
)

// Value is a value of a document together with its place. It is a small handle: copy it freely. The
// zero Value is absent: all its methods work, and find nothing.
type Value struct {
	doc *Document
	n   int32
}

// Exists reports whether there is a value at all.
func (v Value) Exists() bool { return v.doc != nil }

// Kind returns the value's kind, [Absent] for the zero Value.
func (v Value) Kind() Kind {
	if v.doc == nil {
		return Absent
	}
	return v.doc.nodes[v.n].kind
}

// Document returns the value's document, nil for the zero Value.
func (v Value) Document() *Document { return v.doc }

// File returns the name of the value's file, "" for the zero Value.
func (v Value) File() string {
	if v.doc == nil {
		return ""
	}
	return v.doc.name
}

// Span returns the bytes of the source that the value consists of.
func (v Value) Span() Span {
	if v.doc == nil {
		return Span{}
	}
	nd := v.doc.nodes[v.n]
	return Span{int(nd.start), int(nd.end)}
}

// Position returns where the value begins, the zero Position for the zero Value.
func (v Value) Position() Position {
	if v.doc == nil {
		return Position{}
	}
	return v.doc.PositionAt(v.Span().Start)
}

// Text returns the content of a string, the literal of a number, boolean or date as it is written,
// and "" for everything else.
func (v Value) Text() string {
	if v.doc == nil {
		return ""
	}
	return v.doc.textOf(v.n)
}

// Bool reports whether the value is the boolean true.
func (v Value) Bool() bool { return v.Kind() == Bool && v.Text() == "true" }

// Len returns the number of items of an array or members of an object.
func (v Value) Len() int {
	n := 0
	switch v.Kind() {
	case Array:
		for range v.Items() {
			n++
		}
	case Object:
		for range v.Members() {
			n++
		}
	}
	return n
}

// Items yields the items of an array in order; nothing for other kinds.
func (v Value) Items() iter.Seq[Value] {
	return func(yield func(Value) bool) {
		if v.Kind() != Array {
			return
		}
		end := v.doc.nodes[v.n].next
		for i := v.n + 1; i < end; i = v.doc.nodes[i].next {
			if !yield(Value{v.doc, i}) {
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
		end := v.doc.nodes[v.n].next
		for i := v.n + 1; i < end; {
			val := v.doc.nodes[i].next
			if !yield(Value{v.doc, i}, Value{v.doc, val}) {
				return
			}
			i = v.doc.nodes[val].next
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
	if v.doc == nil {
		return ""
	}
	var path strings.Builder
	for at := v.doc.Root(); at.Exists() && at.n < v.n; {
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
func (v Value) contains(other Value) bool { return v.n <= other.n && other.n < v.doc.nodes[v.n].next }

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
		return appendNumber(dst, v.Text(), canonical)
	case String, Date:
		return AppendQuoted(dst, v.Text())
	case Array:
		dst = append(dst, '[')
		for item := range v.Items() {
			dst = append(item.appendJSON(dst, canonical), ',')
		}
		return append(bytes.TrimSuffix(dst, []byte(",")), ']')
	case Object:
		dst = append(dst, '{')
		for key, member := range v.members(canonical) {
			dst = append(AppendQuoted(dst, key), ':')
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

// AppendQuoted appends s as a JSON string.
func AppendQuoted(dst []byte, s string) []byte {
	if !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' || r == '"' || r == '\\' }) {
		return append(append(append(dst, '"'), s...), '"')
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string can always be encoded
	return append(dst, bytes.TrimSuffix(b.Bytes(), []byte("\n"))...)
}
