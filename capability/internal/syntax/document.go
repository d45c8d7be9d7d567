// Package syntax reads JSON, JSON5 and TOML into values that know their position in the text.
package syntax

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"lessonkit.example/capability/internal/limit"
)

// Format is the syntax of a text.
type Format uint8

// The formats.
const (
	JSON Format = iota + 1
	JSON5
	TOML
)

// Options configures [Parse].
type Options struct {
	Name     string // the file's name
	Format   Format
	MaxBytes int
}

// Document is a text that was read. It is immutable and safe for concurrent use.
type Document struct {
	name    string
	format  Format
	src     string
	nodes   []node
	text    map[int32]string // of nodes whose text differs from the source
	faults  []Fault
	damaged bool
	lines   lineTable
}

// Fault is a mistake in a text, with the code of the rule it breaks.
type Fault struct {
	Code    string
	Message string
	Span    Span
	Fix     *Replacement // nil if there is none
}

// Replacement is a text to write in place of the span of a fault.
type Replacement struct{ Title, Text string }

// The codes of faults.
const (
	FaultSyntax        = "syntax"
	FaultComment       = "comment"
	FaultTrailingComma = "trailing-comma"
	FaultNotJSON       = "not-json"
	FaultByteOrderMark = "byte-order-mark"
	FaultEncoding      = "encoding"
	FaultTooLarge      = "too-large"
	FaultTooDeep       = "too-deep"
	FaultNumberRange   = "number-range"
	FaultSurrogate     = "surrogate"
	FaultNotFinite     = "not-finite"
)

// Span is a range of bytes in a source, without the byte at End.
type Span struct{ Start, End int }

// Text returns a document without values, for the places in a text.
func Text(name string, src []byte) *Document { return &Document{name: name, src: string(src)} }

// Parse reads a text. It always returns a document, whose Faults are what is wrong with the text.
func Parse(src []byte, o Options) *Document {
	d := &Document{name: o.Name, format: o.Format}
	if !d.check(src, o) {
		d.push(Broken, 0, 0)
		d.damaged = true
		return d
	}
	if o.Format == TOML {
		d.parseTOML()
		return d
	}
	// As many as there are strings and containers, and room for a few other values.
	strings, containers := strings.Count(d.src, `"`)/2, strings.Count(d.src, "{")+strings.Count(d.src, "[")
	d.nodes = slices.Grow(d.nodes, 4+strings+containers)
	s := scanner{doc: d, src: d.src, json5: o.Format == JSON5}
	s.document()
	s.reportComments()
	return d
}

// check verifies the size and the encoding, and keeps the source.
func (d *Document) check(src []byte, o Options) bool {
	if len(src) > o.MaxBytes {
		message := fmt.Sprintf("The file has %d bytes; the limit is %d.", len(src), o.MaxBytes)
		d.addFault(Fault{Code: FaultTooLarge, Message: message})
		return false
	}
	d.src = string(src)
	if utf8.ValidString(d.src) {
		return true
	}
	for at := range d.src {
		if r, size := utf8.DecodeRuneInString(d.src[at:]); r == utf8.RuneError && size == 1 {
			message := fmt.Sprintf("Byte 0x%02x at offset %d is not valid UTF-8; save the file as UTF-8.", d.src[at],
				at)
			d.addFault(Fault{Code: FaultEncoding, Message: message, Span: Span{at, at + 1}})
			break
		}
	}
	return false
}

func (d *Document) push(kind Kind, start, end int) int32 {
	n := int32(len(d.nodes))
	d.nodes = append(d.nodes, node{start: int32(start), end: int32(end), next: n + 1, kind: kind})
	return n
}

func (d *Document) store(n int32, text string) {
	if d.text == nil {
		d.text = make(map[int32]string)
	}
	d.text[n] = text
	d.nodes[n].form = textStored
}

// full reports whether no more faults of a code are kept; the one beyond the limit tells of more.
func (d *Document) full(code string) bool {
	same := 0
	for i := range d.faults {
		if d.faults[i].Code == code {
			same++
		}
	}
	return same > limit.PerRule
}

func (d *Document) addFault(f Fault) {
	if !d.full(f.Code) {
		f.Span.End = min(f.Span.End, len(d.src))
		f.Span.Start = min(f.Span.Start, f.Span.End)
		d.faults = append(d.faults, f)
	}
}

// Name returns the name given to [Parse].
func (d *Document) Name() string { return d.name }

// Format returns the format given to [Parse].
func (d *Document) Format() Format { return d.format }

// Source returns the text.
func (d *Document) Source() string { return d.src }

// Faults returns what is wrong with the text. The caller must not change the slice.
func (d *Document) Faults() []Fault { return d.faults }

// Damaged reports whether the structure of the text is in doubt, so that a missing key may not be
// missing.
func (d *Document) Damaged() bool { return d.damaged }

// maxDepth limits how deeply values are nested, as the reference implementation does.
const maxDepth = 127

func tooDeep(at int) Fault {
	message := fmt.Sprintf("Values are nested deeper than %d levels; a capability file needs about six.", maxDepth)
	return Fault{Code: FaultTooDeep, Message: message, Span: Span{at, at + 1}}
}
