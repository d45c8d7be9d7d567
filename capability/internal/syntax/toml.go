package syntax

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"

	"lessonkit.example/capability/internal/words"
)

// byteOrderMark is accepted at the beginning of a TOML file, unlike by the library.
var byteOrderMark = []byte("\ufeff")

func (d *Document) parseTOML() {
	src := []byte(d.src)
	if bytes.HasPrefix(src, byteOrderMark) {
		src = append([]byte("   "), src[len(byteOrderMark):]...) // offsets stay the same
	}
	r := &reader{src: src, doc: d, root: &value{kind: Object, end: len(src)}}
	r.read()
	d.nodes = slices.Grow(d.nodes, r.root.size())
	r.emit(r.root, 1)
}

// value is a TOML value. A table grows while the file is read, as its parts may be in different
// places.
type value struct {
	text       string
	start, end int
	kind       Kind
	inline     bool // written at one place: nothing can be added
	header     bool // has had a [header]
	dotted     bool // made by a dotted key
	tables     bool // an array of [[tables]]
	members    []member
	index      map[string]*value // the members by their keys
	items      []*value
}

type member struct {
	key
	value *value
}

type key struct {
	text       string
	start, end int
}

// size returns the number of nodes that a value takes.
func (v *value) size() int {
	n := 1 + len(v.members)
	for _, m := range v.members {
		n += m.value.size()
	}
	for _, item := range v.items {
		n += item.size()
	}
	return n
}

func (v *value) add(k key, m *value) {
	if v.index == nil {
		v.index = make(map[string]*value)
	}
	v.members, v.index[k.text] = append(v.members, member{k, m}), m
}

type reader struct {
	src  []byte
	doc  *Document
	root *value
	deep bool
	keys []key // of the last key; the memory is used again
}

func (r *reader) fault(start, end int, format string, args ...any) {
	r.faultOf(FaultSyntax, start, end, format, args...)
}

func (r *reader) faultOf(code string, start, end int, format string, args ...any) {
	r.doc.damaged = r.doc.damaged || code == FaultSyntax
	if r.doc.full(code) {
		return
	}
	start = min(start, len(r.src))
	r.doc.addFault(Fault{Code: code, Message: fmt.Sprintf(format, args...), Span: Span{start, max(start, end)}})
}

func (r *reader) read() {
	var p unstable.Parser
	p.Reset(r.src)
	table := r.root
	path := []*value{r.root}
	for !r.deep && p.NextExpression() {
		n := p.Expression()
		switch n.Kind {
		case unstable.KeyValue:
			end := int(n.Raw.Offset + n.Raw.Length)
			r.assign(table, n)
			for _, open := range path {
				open.end = max(open.end, end)
			}
		case unstable.Table, unstable.ArrayTable:
			path = r.open(n)
			table = path[len(path)-1]
		}
	}
	r.check(p.Error())
}

// check reports what the parser of the library rejects.
func (r *reader) check(err error) {
	if err == nil || r.deep {
		return
	}
	at := len(r.src)
	var fault *unstable.ParserError
	if errors.As(err, &fault) && len(fault.Highlight) > 0 {
		// The highlight is a part of the source, so their capacities end at the same byte.
		if offset := cap(r.src) - cap(fault.Highlight); offset >= 0 && offset < len(r.src) {
			at = offset
		}
	}
	message := strings.TrimPrefix(err.Error(), "toml: ")
	r.fault(at, at+1, "The text is not TOML: %s.", message)
}

// keysOf returns the parts of a key, which are valid until the next call. It returns nil, and ends
// the reading, if there are more than values may be nested.
func (r *reader) keysOf(it unstable.Iterator) []key {
	keys := r.keys[:0]
	for it.Next() {
		n := it.Node()
		start, end := int(n.Raw.Offset), int(n.Raw.Offset+n.Raw.Length)
		text := r.doc.src[start:end]
		if text != string(n.Data) {
			text = string(n.Data) // it was quoted
		}
		keys = append(keys, key{text, start, end})
		if len(keys) > maxDepth {
			r.doc.addFault(tooDeep(keys[0].start))
			r.doc.damaged, r.deep = true, true
			return nil
		}
	}
	r.keys = keys
	return keys
}

// open enters the table of a [header] and returns the path to it.
func (r *reader) open(n *unstable.Node) []*value {
	keys := r.keysOf(n.Key())
	array := n.Kind == unstable.ArrayTable
	v, path := r.root, []*value{r.root}
	for i, k := range keys {
		last := i == len(keys)-1
		m := v.index[k.text]
		switch {
		case m == nil && last && array:
			m = &value{kind: Array, start: k.start, end: k.end, tables: true}
			v.add(k, m)
		case m == nil:
			m = &value{kind: Object, start: k.start, end: k.end}
			v.add(k, m)
		case last && array && !m.tables, m.inline, m.kind != Object && m.kind != Array, last && !array &&
			(m.header || m.dotted || m.kind != Object):
			r.fault(k.start, k.end, "The key %q is already defined in line %d; tables and keys are defined once.",
				k.text, r.doc.lineOf(m.start))
			return []*value{{kind: Object}} // what follows goes nowhere
		}
		m.end = max(m.end, k.end)
		path = append(path, m)
		if m.kind == Array {
			if last && array {
				m.items = append(m.items, &value{kind: Object, start: k.start, end: k.end})
			}
			if m = m.items[len(m.items)-1]; last {
				m.header = true
			}
			path = append(path, m)
		} else if last {
			m.header = true
		}
		v = m
	}
	return path
}

// assign reads key = value into a table.
func (r *reader) assign(table *value, n *unstable.Node) {
	keys := r.keysOf(n.Key())
	end := int(n.Raw.Offset + n.Raw.Length)
	for i, k := range keys {
		m := table.index[k.text]
		if i == len(keys)-1 {
			if m != nil {
				r.fault(k.start, k.end, "The key %q is already defined in line %d; a key is defined once.", k.text,
					r.doc.lineOf(m.start))
				return
			}
			from := k.end
			for from < len(r.src) && r.src[from] != '=' {
				from++
			}
			v, _ := r.value(n.Value(), from+1)
			table.add(k, v)
			return
		}
		if m == nil {
			m = &value{kind: Object, start: k.start, dotted: true}
			table.add(k, m)
		}
		if m.inline || m.header || m.kind != Object {
			r.fault(k.start, k.end, "The key %q is already defined in line %d; nothing can be added to it.", k.text,
				r.doc.lineOf(m.start))
			return
		}
		m.end = max(m.end, end)
		table = m
	}
}

// value reads the value that begins after from and returns it with its end. The library reports
// positions only for some kinds of values; those of the others follow from the text before them.
func (r *reader) value(n *unstable.Node, from int) (v *value, end int) {
	start := r.skip(from)
	v = &value{start: start, text: string(n.Data), inline: true}
	switch n.Kind {
	case unstable.String:
		v.kind = String
	case unstable.Bool:
		v.kind = Bool
	case unstable.Integer, unstable.Float:
		r.number(v)
	case unstable.Array:
		v.kind = Array
		at := start + 1
		for it := n.Children(); it.Next(); {
			var item *value
			item, at = r.value(it.Node(), at)
			v.items = append(v.items, item)
		}
		v.end = r.closing(at, ']')
		return v, v.end
	case unstable.InlineTable:
		v.kind, v.inline = Object, false
		at := start + 1
		for it := n.Children(); it.Next(); {
			if it.Node().Kind == unstable.KeyValue {
				r.assign(v, it.Node())
				at = max(at, int(it.Node().Raw.Offset+it.Node().Raw.Length))
			}
		}
		v.end, v.inline = r.closing(at, '}'), true
		return v, v.end
	default:
		v.kind = Date
		if !isDate(v.text) {
			r.fault(start, start+len(v.text), "There is no date or time %s.", words.Quote(v.text))
		}
	}
	v.end = start + len(v.text)
	if n.Raw.Length > 0 {
		v.start, v.end = int(n.Raw.Offset), int(n.Raw.Offset+n.Raw.Length)
	}
	v.end = min(v.end, len(r.src))
	return v, v.end
}

// skip skips white space, commas and comments.
func (r *reader) skip(at int) int {
	for at < len(r.src) {
		switch r.src[at] {
		case ' ', '\t', '\r', '\n', ',':
			at++
		case '#':
			for at < len(r.src) && r.src[at] != '\n' {
				at++
			}
		default:
			return at
		}
	}
	return at
}

func (r *reader) closing(at int, bracket byte) int {
	if at = r.skip(at); at < len(r.src) && r.src[at] == bracket {
		at++
	}
	return at
}

// emit appends a value and what it contains to the nodes of the document.
func (r *reader) emit(v *value, depth int) {
	d := r.doc
	n := d.push(v.kind, v.start, v.end)
	if v.kind != Object && v.kind != Array {
		d.setText(n, v.text)
		return
	}
	if depth > maxDepth {
		d.addFault(tooDeep(v.start))
		d.damaged = true
		return
	}
	for _, m := range v.members {
		d.setText(d.push(String, m.start, m.end), m.text)
		r.emit(m.value, depth+1)
	}
	for _, item := range v.items {
		r.emit(item, depth+1)
	}
	d.nodes[n].next = int32(len(d.nodes))
}

// setText sets the text of a node, without a copy if the source contains it.
func (d *Document) setText(n int32, text string) {
	src := d.src[d.nodes[n].start:d.nodes[n].end]
	switch {
	case src == text:
	case len(src) >= 2 && src[1:len(src)-1] == text:
		d.nodes[n].form = textQuoted
	default:
		d.store(n, text)
	}
}
