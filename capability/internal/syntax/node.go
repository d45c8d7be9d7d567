package syntax

import (
	"bytes"
	"encoding/json"
	"strings"
)

// Kind is the type of a value, in JSON's terms.
type Kind uint8

// The kinds of a value. Absent is that of no value; Broken is the kind of text that could not be
// read as a value.
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

// Kind returns the kind of a node.
func (d *Document) Kind(n int32) Kind { return d.nodes[n].kind }

// Next returns the first node that is not inside another one.
func (d *Document) Next(n int32) int32 { return d.nodes[n].next }

// Span returns the bytes of the source that a node consists of.
func (d *Document) Span(n int32) Span { return Span{int(d.nodes[n].start), int(d.nodes[n].end)} }

// Text returns the content of a string, the literal of a number, boolean or date as it is written,
// and "" for everything else.
func (d *Document) Text(n int32) string {
	nd := d.nodes[n]
	switch nd.kind {
	case String, Number, Bool, Date:
	default:
		return ""
	}
	switch nd.form {
	case textQuoted:
		return d.src[nd.start+1 : nd.end-1]
	case textStored:
		return d.text[n]
	default:
		return d.src[nd.start:nd.end]
	}
}

// Innermost returns the innermost node that contains the whole range, the first one if there is
// none.
func (d *Document) Innermost(at Span) int32 {
	best, size := int32(0), int32(1<<31-1)
	for n := range d.nodes {
		nd := &d.nodes[n]
		start, end := int(nd.start), int(nd.end)
		if start <= at.Start && end >= at.End && at.Start < max(end, start+1) && nd.end-nd.start <= size {
			best, size = int32(n), nd.end-nd.start
		}
	}
	return best
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

// The keys that have a meaning in a capability, and in an object in its permissions.
var (
	CapabilityKeys = []string{
		"identifier", "description", "remote", "local", "windows", "webviews", "permissions", "platforms",
	}
	EntryKeys = []string{"identifier", "allow", "deny"}
)
