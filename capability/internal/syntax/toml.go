package syntax

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// byteOrderMark is accepted at the beginning of a TOML file, unlike by the library.
var byteOrderMark = []byte("\ufeff")

func (d *Document) parseTOML(maxDepth int) {
	src := []byte(d.src)
	if bytes.HasPrefix(src, byteOrderMark) {
		src = append([]byte("   "), src[len(byteOrderMark):]...) // offsets stay the same
	}
	r := &reader{src: src, doc: d, root: &value{kind: Object, end: len(src)}}
	r.read()
	r.emit(r.root, 1, maxDepth)
}

// value is a TOML value. A table grows while the file is read, as its parts may be in different
// places.
type value struct {
	kind       Kind
	text       string
	start, end int
	keys       []key
	members    []*value
	index      map[string]int
	items      []*value

	inline bool // written at one place: nothing can be added
	header bool // has had a [header]
	tables bool // an array of [[tables]]
}

type key struct {
	text       string
	start, end int
}

func (v *value) member(name string) *value {
	if at, ok := v.index[name]; ok {
		return v.members[at]
	}
	return nil
}

func (v *value) add(k key, m *value) {
	if v.index == nil {
		v.index = make(map[string]int)
	}
	v.index[k.text] = len(v.members)
	v.keys = append(v.keys, k)
	v.members = append(v.members, m)
}

type reader struct {
	src    []byte
	doc    *Document
	root   *value
	faults int
}

func (r *reader) fault(start, end int, format string, args ...any) {
	r.faults++
	r.doc.damaged = true
	start = min(start, len(r.src))
	r.doc.addFault(Fault{Code: FaultSyntax, Message: fmt.Sprintf(format, args...), Span: Span{start, max(start, end)}})
}

func (r *reader) read() {
	var p unstable.Parser
	p.KeepComments = true
	p.Reset(r.src)
	table := r.root
	path := []*value{r.root}
	for p.NextExpression() {
		n := p.Expression()
		r.comments(n)
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

func (r *reader) comments(n *unstable.Node) {
	if n.Kind == unstable.Comment {
		r.doc.comments = append(r.doc.comments, Span{int(n.Raw.Offset), int(n.Raw.Offset + n.Raw.Length)})
		return
	}
	for it := n.Children(); it.Next(); {
		r.comments(it.Node())
	}
}

// check reports what only the decoder of the library rejects, not its parser.
func (r *reader) check(syntax error) {
	var ignored map[string]any
	err := toml.Unmarshal(r.src, &ignored)
	if err == nil || syntax == nil && r.faults > 0 {
		return
	}
	at := 0
	var decode *toml.DecodeError
	if errors.As(err, &decode) {
		line, column := decode.Position()
		at = offset(r.src, line, column)
	}
	message := strings.TrimPrefix(err.Error(), "toml: ")
	r.fault(at, at+1, "The text is not TOML: %s.", message)
}

func offset(src []byte, line, column int) int {
	at := 0
	for ; line > 1 && at < len(src); at++ {
		if src[at] == '\n' {
			line--
		}
	}
	return min(at+max(column-1, 0), len(src))
}

func keysOf(it unstable.Iterator) []key {
	var keys []key
	for it.Next() {
		n := it.Node()
		keys = append(keys, key{string(n.Data), int(n.Raw.Offset), int(n.Raw.Offset + n.Raw.Length)})
	}
	return keys
}

// open enters the table of a [header] and returns the path to it.
func (r *reader) open(n *unstable.Node) []*value {
	keys := keysOf(n.Key())
	array := n.Kind == unstable.ArrayTable
	v, path := r.root, []*value{r.root}
	for i, k := range keys {
		last := i == len(keys)-1
		m := v.member(k.text)
		switch {
		case m == nil && last && array:
			m = &value{kind: Array, start: k.start, end: k.end, tables: true}
			v.add(k, m)
		case m == nil:
			m = &value{kind: Object, start: k.start, end: k.end}
			v.add(k, m)
		case last && array && !m.tables, m.inline, m.kind != Object && m.kind != Array, last && !array &&
			(m.header || m.kind != Object):
			r.fault(k.start, k.end, "The key %q is already defined in line %d; tables and keys are defined once.",
				k.text, r.line(m.start))
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

func (r *reader) line(at int) int { return strings.Count(string(r.src[:at]), "\n") + 1 }

// assign reads key = value into a table.
func (r *reader) assign(table *value, n *unstable.Node) {
	keys := keysOf(n.Key())
	end := int(n.Raw.Offset + n.Raw.Length)
	for i, k := range keys {
		m := table.member(k.text)
		if i == len(keys)-1 {
			if m != nil {
				r.fault(k.start, k.end, "The key %q is already defined in line %d; a key is defined once.", k.text,
					r.line(m.start))
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
			m = &value{kind: Object, start: k.start}
			table.add(k, m)
		}
		if m.inline || m.kind != Object {
			r.fault(k.start, k.end, "The key %q is already defined in line %d; nothing can be added to it.", k.text,
				r.line(m.start))
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
		v.kind = Number
		if name := strings.TrimLeft(v.text, "+-"); name == "inf" || name == "nan" {
			message := fmt.Sprintf("The number %s is not allowed in a capability file.", v.text)
			r.doc.addFault(Fault{Code: FaultNumberRange, Message: message, Span: Span{start, start + len(v.text)}})
		}
	case unstable.Array:
		v.kind = Array
		at := start + 1
		for it := n.Children(); it.Next(); {
			if it.Node().Kind == unstable.Comment {
				continue
			}
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
func (r *reader) emit(v *value, depth, maxDepth int) {
	d := r.doc
	n := d.push(v.kind, v.start, v.end)
	if v.kind != Object && v.kind != Array {
		d.setText(n, v.text)
		return
	}
	if depth > maxDepth {
		d.addFault(tooDeep(v.start, maxDepth))
		d.damaged = true
		return
	}
	for i, k := range v.keys {
		d.setText(d.push(String, k.start, k.end), k.text)
		r.emit(v.members[i], depth+1, maxDepth)
	}
	for _, item := range v.items {
		r.emit(item, depth+1, maxDepth)
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
