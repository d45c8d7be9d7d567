package capability

import "fmt"

// Builder makes a [Document] of a file in a syntax that [Parse] does not know.
// Call its methods in the order of a walk through the values: Begin, Key before
// each member of an object, Scalar, End. All places are bytes of the source.
type Builder struct {
	doc    *Document
	open   []int32
	limit  int
	closed bool
}

// NewBuilder begins a document. It returns false where the source is too large
// or no UTF-8; the document then says so and takes no values.
func NewBuilder(src []byte, o Options) (*Builder, bool) {
	d := new(Document)
	ok := d.begin(src, o)
	return &Builder{doc: d, limit: o.maxDepth(), closed: !ok}, ok
}

// Begin opens an array or object. It returns false where values are nested
// too deep; the caller must then leave out what is inside, and call End.
func (b *Builder) Begin(kind Kind, start int) bool {
	b.open = append(b.open, b.doc.push(kind, start, start))
	if len(b.open) > b.limit {
		b.Fault(CodeTooDeep, fmt.Sprintf("Values are nested deeper than %d levels here; a capability file needs about six.", b.limit), start, start+1)
		b.doc.damaged = true
		return false
	}
	return true
}

// End closes the array or object that was opened last.
func (b *Builder) End(end int) {
	n := b.open[len(b.open)-1]
	b.open = b.open[:len(b.open)-1]
	b.doc.nodes[n].end = int32(end)
	b.doc.nodes[n].next = int32(len(b.doc.nodes))
}

// Key names the member whose value follows.
func (b *Builder) Key(text string, start, end int) { b.Scalar(String, text, start, end) }

// Scalar adds a value that holds no others. Text is the content of a string
// and the literal of other kinds.
func (b *Builder) Scalar(kind Kind, text string, start, end int) {
	n := b.doc.push(kind, start, end)
	switch src := b.doc.src[start:end]; {
	case src == text:
	case len(src) >= 2 && src[1:len(src)-1] == text:
		b.doc.nodes[n].form = textQuoted
	default:
		b.doc.store(n, text)
	}
}

// Comment adds a comment, which formatting keeps.
func (b *Builder) Comment(start, end int) {
	b.doc.comments = append(b.doc.comments, span{int32(start), int32(end)})
}

// Fault reports what is wrong with the text, as a sentence. A fault of the
// syntax leaves in doubt what is missing from the file.
func (b *Builder) Fault(code Code, message string, start, end int) {
	if code == CodeSyntax {
		b.doc.damaged = true
	}
	start = min(start, len(b.doc.src))
	end = min(max(end, start), len(b.doc.src))
	b.doc.add(Diagnostic{Code: code, Message: message, at: span{int32(start), int32(end)}})
}

// Document returns the finished document as a capability file.
func (b *Builder) Document() *Document {
	if !b.closed {
		b.doc.decode()
	}
	return b.doc
}

// Value returns the finished document as a file of something else.
func (b *Builder) Value() *Document { return b.doc }
