package capability

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// Format is a syntax that capability files are written in.
type Format uint8

// The formats. [Parse] reads JSON and JSON5; TOML is read by package tomlfile.
const (
	JSON Format = iota
	JSON5
	TOML
)

// String returns the format's name in upper case.
func (f Format) String() string {
	switch f {
	case JSON5:
		return "JSON5"
	case TOML:
		return "TOML"
	default:
		return "JSON"
	}
}

// FormatOf returns the format that a file's extension stands for, as the
// reference implementation chooses it: .toml, .json5, and JSON for all others.
func FormatOf(name string) Format {
	switch path.Ext(strings.ReplaceAll(name, `\`, "/")) {
	case ".toml":
		return TOML
	case ".json5":
		return JSON5
	default:
		return JSON
	}
}

// Options say how a file is read. The zero Options read strict JSON.
type Options struct {
	// Name is the file's name for messages. Defaults to no name.
	Name string
	// Format is the file's syntax. Defaults to JSON.
	Format Format
	// MaxBytes limits the size of a file. Defaults to 1 MiB; at most 1 GiB.
	MaxBytes int
	// MaxDepth limits how deep values are nested. Defaults to 127, as deep as
	// the reference implementation reads.
	MaxDepth int
}

func (o Options) maxBytes() int {
	if o.MaxBytes <= 0 {
		return 1 << 20
	}
	return min(o.MaxBytes, 1<<30)
}

func (o Options) maxDepth() int {
	if o.MaxDepth <= 0 {
		return 127
	}
	return min(o.MaxDepth, 10_000)
}

// span is a range of bytes in a source.
type span struct{ start, end int32 }

// reading is what was found in a file.
type reading struct {
	capabilities []Capability
	found        []Diagnostic
}

// Document is a file that was read: every value in it with its place, the
// capabilities it holds, and what was found wrong. It does not change after
// it was made and may be used by several goroutines.
type Document struct {
	name     string
	format   Format
	src      string
	nodes    []node
	text     map[int32]string
	comments []span

	linesOnce sync.Once
	lines     []int32

	damaged bool   // the text's structure is in doubt: do not report what is missing
	ignored []span // what the reference passes over
	reading
	single *reading // as one capability, of an object that is also a list
	spare  []Entry  // memory for entries; those in use count to its length
}

// Parse reads a capability file in JSON or JSON5. It returns a document
// whatever the text is: all that is wrong with it is told by
// [Document.Check], and what could be read is there.
func Parse(src []byte, o Options) *Document {
	d := new(Document)
	d.parse(src, o)
	return d
}

func (d *Document) parse(src []byte, o Options) {
	d.scan(src, o)
	d.decode()
}

// scratch holds empty documents whose memory is used again.
var scratch = sync.Pool{New: func() any { return new(Document) }}

// recycle empties a document that nothing refers to any more and puts it into
// scratch. The memory that a large file took is given back.
func (d *Document) recycle() {
	const most = 4096
	if cap(d.nodes) > most || cap(d.spare) > most {
		return
	}
	clear(d.spare)
	*d = Document{nodes: d.nodes[:0], spare: d.spare[:0]}
	scratch.Put(d)
}

// room returns n empty entries; none are not nil, so that JSON has [] for them.
func (d *Document) room(n int) []Entry {
	at := len(d.spare)
	if d.spare == nil || n > cap(d.spare)-at {
		d.spare, at = make([]Entry, 0, n), 0
	}
	d.spare = d.spare[:at+n]
	return d.spare[at : at+n : at+n]
}

// ParseValue reads a JSON or JSON5 file that holds something else than
// capabilities, such as permissions: only its syntax is checked.
func ParseValue(src []byte, o Options) *Document {
	d := new(Document)
	d.scan(src, o)
	return d
}

func (d *Document) scan(src []byte, o Options) {
	if !d.begin(src, o) {
		return
	}
	if o.Format == TOML {
		d.push(Broken, 0, 0)
		d.damaged = true
		d.add(Diagnostic{Code: CodeSyntax, Message: "The file is TOML, which this reader does not know; read it with package tomlfile."})
		return
	}
	// As many as there are strings and containers, and room for a few other values.
	d.nodes = slices.Grow(d.nodes, 4+strings.Count(d.src, `"`)/2+strings.Count(d.src, "{")+strings.Count(d.src, "["))
	s := scanner{doc: d, src: d.src, json5: o.Format == JSON5, limit: o.maxDepth()}
	s.document()
	if n := len(d.comments); n > 0 && o.Format == JSON {
		d.reportComments(n)
	}
}

// begin checks what holds for every syntax: the size and the encoding.
func (d *Document) begin(src []byte, o Options) bool {
	d.name, d.format = o.Name, o.Format
	if len(src) > o.maxBytes() {
		d.push(Broken, 0, 0)
		d.damaged = true
		d.add(Diagnostic{Code: CodeTooLarge, Message: fmt.Sprintf("The file has %d bytes; at most %d are read.", len(src), o.maxBytes())})
		return false
	}
	d.src = string(src)
	if !utf8.ValidString(d.src) {
		at := 0
		for at < len(d.src) {
			r, size := utf8.DecodeRuneInString(d.src[at:])
			if r == utf8.RuneError && size == 1 {
				break
			}
			at += size
		}
		d.push(Broken, 0, 0)
		d.damaged = true
		d.add(Diagnostic{Code: CodeEncoding, Message: fmt.Sprintf("Byte 0x%02x at offset %d is not UTF-8; save the file as UTF-8.", d.src[at], at), at: span{int32(at), int32(at + 1)}})
		return false
	}
	return true
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

func (d *Document) textOf(n int32) string {
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

func (d *Document) reportComments(n int) {
	first := d.comments[0]
	message := "JSON has no comments; remove it, or name the file .json5."
	if n > 1 {
		message = fmt.Sprintf("JSON has no comments, and this is the first of %d; remove them, or name the file .json5.", n)
	}
	// No fix: comments are worth more than a mechanical change would leave of them.
	d.add(Diagnostic{Code: CodeComment, Message: message, at: first})
}

// mostPerCode keeps a hostile file from filling the memory with reports. It is
// counted by code, so that no rule is silenced by another.
const mostPerCode = 50

func (d *Document) add(f Diagnostic) { d.found = d.with(d.found, f) }

// with appends what was found in the document, up to the limit.
func (d *Document) with(found []Diagnostic, f Diagnostic) []Diagnostic {
	same := 0
	for i := range found {
		if found[i].Code == f.Code {
			same++
		}
	}
	if same >= mostPerCode {
		return found
	}
	f.doc = d
	f.at.end = min(f.at.end, int32(len(d.src)))
	f.at.start = min(f.at.start, f.at.end)
	return append(found, f)
}

// Name returns the name given in [Options].
func (d *Document) Name() string { return d.name }

// Format returns the syntax the document was read in.
func (d *Document) Format() Format { return d.format }

// Source returns the text the document was read from.
func (d *Document) Source() string { return d.src }

// Root returns the outermost value.
func (d *Document) Root() Value {
	if len(d.nodes) == 0 {
		return Value{}
	}
	return Value{d, 0}
}

// Capabilities returns the capabilities of the file in order. Those of a file
// with faults hold what could be read; ask [Document.Check] first. The caller
// must not change the slice.
func (d *Document) Capabilities() []Capability { return d.capabilities }
