package syntax

import (
	"bytes"
	"encoding/json"
	"iter"
	"strconv"
)

// Kind is the type of a [Value], in JSON's terms.
type Kind uint8

// The kinds of a value. Absent is the kind of the zero Value; Broken stands where a value was
// expected and the text could not be read as one.
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
	switch k {
	case Broken:
		return "an unreadable value"
	case Null:
		return "null"
	case Bool:
		return "a boolean"
	case Number:
		return "a number"
	case String:
		return "a string"
	case Array:
		return "an array"
	case Object:
		return "an object"
	case Date:
		return "a date"
	default:
		return "nothing"
	}
}

// node is one value of a document. Nodes lie in document order: the children of an array or object
// follow it, and an object's children alternate between key and value.
type node struct {
	start, end int32 // bytes of the source
	next       int32 // index of the first node that is not inside this one
	kind       Kind
	form       textForm
}

// textForm says where the text of a string, number or boolean is.
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

// Path returns the value's place as an RFC 6901 JSON pointer, "" for the root. For a member's key
// it returns the pointer of the member.
func (v Value) Path() string {
	if v.doc == nil {
		return ""
	}
	var path []byte
	nodes := v.doc.nodes
	at := int32(0)
	for at != v.n && at < int32(len(nodes)) {
		end := nodes[at].next
		child := at + 1
		for index := 0; child < end; index++ {
			key := child
			if nodes[at].kind == Object {
				child = nodes[child].next
			}
			if v.n < nodes[child].next || v.n == key {
				path = append(path, '/')
				if nodes[at].kind == Object {
					path = appendPointerToken(path, v.doc.textOf(key))
				} else {
					path = strconv.AppendInt(path, int64(index), 10)
				}
				if v.n == key {
					return string(path)
				}
				break
			}
			child = nodes[child].next
		}
		if child >= end {
			break
		}
		at = child
	}
	return string(path)
}

func appendPointerToken(dst []byte, token string) []byte {
	for i := range len(token) {
		switch token[i] {
		case '~':
			dst = append(dst, "~0"...)
		case '/':
			dst = append(dst, "~1"...)
		default:
			dst = append(dst, token[i])
		}
	}
	return dst
}

// Interface returns the value as encoding/json would give it: nil, bool, float64, string, []any or
// map[string]any.
func (v Value) Interface() any {
	switch v.Kind() {
	case Bool:
		return v.Bool()
	case Number:
		f, _ := strconv.ParseFloat(v.Text(), 64)
		return f
	case String, Date:
		return v.Text()
	case Array:
		items := []any{}
		for item := range v.Items() {
			items = append(items, item.Interface())
		}
		return items
	case Object:
		members := map[string]any{}
		for key, val := range v.Members() {
			members[key.Text()] = val.Interface()
		}
		return members
	default:
		return nil
	}
}

// MarshalJSON returns the value as compact JSON with its members in the order they are written.
func (v Value) MarshalJSON() ([]byte, error) { return v.appendJSON(nil), nil }

func (v Value) appendJSON(dst []byte) []byte {
	switch v.Kind() {
	case Bool:
		return append(dst, v.Text()...)
	case Number:
		return appendNumber(dst, v.Text())
	case String, Date:
		return AppendQuoted(dst, v.Text())
	case Array:
		dst = append(dst, '[')
		first := true
		for item := range v.Items() {
			if !first {
				dst = append(dst, ',')
			}
			first = false
			dst = item.appendJSON(dst)
		}
		return append(dst, ']')
	case Object:
		dst = append(dst, '{')
		first := true
		for key, val := range v.Members() {
			if !first {
				dst = append(dst, ',')
			}
			first = false
			dst = AppendQuoted(dst, key.Text())
			dst = append(dst, ':')
			dst = val.appendJSON(dst)
		}
		return append(dst, '}')
	default:
		return append(dst, "null"...)
	}
}

// appendNumber writes a literal of any accepted syntax as a JSON number.
func appendNumber(dst []byte, literal string) []byte {
	if isJSONNumber(literal) {
		return append(dst, literal...)
	}
	d, ok := parseDecimal(literal)
	if !ok {
		return append(dst, "null"...)
	}
	return d.append(dst)
}

// AppendQuoted appends s as a JSON string.
func AppendQuoted(dst []byte, s string) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string can always be encoded
	return append(dst, bytes.TrimSuffix(b.Bytes(), []byte("\n"))...)
}
