// Package format writes capability files in one layout, and sorts them if wanted.
package format

import (
	"slices"
	"sort"
	"strings"

	"lessonkit.example/capability"
	"lessonkit.example/capability/internal/syntax"
)

// Options configures [Source]. The zero Options keeps the order.
type Options struct {
	// Sort puts the keys of capabilities into one order, sorts permissions (the core first, then by
	// plugin, default before the others), and leaves duplicates out.
	Sort bool
}

// Source returns a capability file in one layout, in the order of its author. Formatting does not
// change what the file means, and formatting twice changes nothing more.
//
// The layout of JSON is that of the formatter Prettier with its default settings: two spaces, lines
// of 80 characters, an empty line where there are some. Strings and numbers keep their notation.
// TOML keeps the text of its values.
//
// Comments stay with what they belong to. When sorting, a comment on a separate line begins a group
// of permissions, which are sorted within their group; in TOML, arrays with comments and tables of
// permissions stay as they are.
//
// It fails with a [*capability.InvalidError] if the text is not well-formed, and with another
// permanent error if a TOML file cannot be formatted without changing what it means.
func Source(d *capability.Document, o Options) (string, error) {
	for _, f := range d.Check(capability.ModeLint) {
		switch f.Code {
		case syntax.FaultSyntax, syntax.FaultEncoding, syntax.FaultTooLarge, syntax.FaultTooDeep:
			return "", &capability.InvalidError{Diagnostics: capability.Diagnostics{f}}
		case syntax.FaultNotJSON, syntax.FaultSurrogate, "duplicate-key", "duplicate-field":
			if d.Format() != capability.TOML {
				return "", &capability.InvalidError{Diagnostics: capability.Diagnostics{f}}
			}
		}
	}
	if d.Format() == capability.TOML {
		return formatTOML(d, o)
	}
	text := formatJSON(d.Root(), o)
	if o.Sort { // what is in one line after sorting
		sorted := syntax.Parse([]byte(text), syntax.Options{Format: d.Format(), MaxBytes: 1 << 30, MaxDepth: 10_000})
		text = formatJSON(sorted.Root(), Options{})
	}
	return text, nil
}

func formatJSON(root syntax.Value, o Options) string {
	p := &printer{doc: root.Document(), src: root.Document().Source(), sorted: o.Sort,
		broken: make(map[syntax.Value]bool)}
	at := root.Span()
	var after []syntax.Span
	for _, c := range p.doc.Comments() {
		switch {
		case c.Start < at.Start:
			p.ownLines([]syntax.Span{c}, 0)
		case c.Start < at.End:
			p.comments = append(p.comments, c)
		default:
			after = append(after, c)
		}
	}
	p.value(root, 0, 0, roleOf(root))
	for len(after) > 0 && !strings.Contains(p.src[at.End:after[0].Start], "\n") {
		p.b.WriteString(" " + p.comment(after[0]))
		after = after[1:]
	}
	p.b.WriteByte('\n')
	p.ownLines(after, 0)
	return p.b.String()
}

// role is what a value is in the format, as far as printing differs.
type role uint8

const (
	roleOther role = iota
	roleList
	roleCapability
	roleRemote
	rolePermissions
	roleEntry
)

func roleOf(root syntax.Value) role {
	switch {
	case root.Kind() == syntax.Array:
		return roleList
	case root.Get("capabilities").Exists():
		return roleOther
	}
	return roleCapability
}

var canonicalKeys = map[role][]string{
	roleOther: {"$schema", "capabilities"},
	roleCapability: {"$schema", "identifier", "description", "platforms", "local", "remote", "windows", "webviews",
		"permissions"},
	roleEntry: {"identifier", "allow", "deny"},
}

func childRole(parent role, key string) role {
	switch {
	case parent == roleList:
		return roleCapability
	case parent == roleOther && key == "capabilities":
		return roleList
	case parent == roleCapability && key == "permissions":
		return rolePermissions
	case parent == roleCapability && key == "remote":
		return roleRemote
	case parent == rolePermissions:
		return roleEntry
	}
	return roleOther
}

// printer writes values.
type printer struct {
	doc      *syntax.Document
	src      string
	sorted   bool
	b        strings.Builder
	comments []syntax.Span         // those inside the value that is being written
	broken   map[syntax.Value]bool // whether a value takes several lines wherever it is
}

// child is an item of an array or a member of an object with its comments.
type child struct {
	key, value    syntax.Value // items have no key
	before, after []syntax.Span
	gap           bool // an empty line stood before
	group         int
	rank          string
}

// value writes a value whose first character comes after used columns of the line, with a comma or
// nothing behind it.
func (p *printer) value(v syntax.Value, depth, used int, r role) {
	sorts := p.sorted && (r == roleList || r == roleCapability || r == rolePermissions || depth == 0)
	if !p.breaks(v) && (!sorts || v.Len() == 0) {
		text, ok := p.flat(nil, v, lineWidth-used)
		if !ok && v.Len() == 0 { // what has no parts stays in one line
			text, ok = []byte(p.text(v)), true
		}
		if ok {
			p.b.Write(text)
			return
		}
	}
	opening, closing := "[", "]"
	if v.Kind() == syntax.Object {
		opening, closing = "{", "}"
	}
	p.b.WriteString(opening)
	p.b.WriteByte('\n')
	if allNumbers(v) && len(p.inside(v)) == 0 {
		p.numbers(v, depth+1)
	} else {
		p.lines(v, depth+1, r)
	}
	p.indent(depth)
	p.b.WriteString(closing)
}

// lines writes what is in an array or object, one item or member a line.
func (p *printer) lines(v syntax.Value, depth int, r role) {
	children, dangling := p.children(v, r)
	trailing := p.trailingComma(v)
	for i, c := range children {
		if c.gap && i > 0 {
			p.b.WriteByte('\n')
		}
		p.ownLines(c.before, depth)
		p.indent(depth)
		name, used := "", 2*depth
		if c.key.Exists() {
			key := p.text(c.key) + ": "
			p.b.WriteString(key)
			name, used = c.key.Text(), used+columns(key)
		}
		last := i == len(children)-1
		if !last || trailing {
			used++
		}
		saved := p.comments
		p.comments = p.inside(c.value)
		p.value(c.value, depth, used, childRole(r, name))
		p.comments = saved
		if !last || trailing {
			p.b.WriteByte(',')
		}
		for _, comment := range c.after {
			p.b.WriteByte(' ')
			p.b.WriteString(p.comment(comment))
		}
		p.b.WriteByte('\n')
	}
	p.ownLines(dangling, depth)
}

func (p *printer) indent(depth int) { p.b.WriteString(strings.Repeat("  ", depth)) }

func (p *printer) ownLines(comments []syntax.Span, depth int) {
	for _, c := range comments {
		p.indent(depth)
		p.b.WriteString(p.comment(c))
		p.b.WriteByte('\n')
	}
}

func (p *printer) comment(c syntax.Span) string {
	return strings.TrimRight(p.src[c.Start:c.End], " \t\r")
}

// inside returns the comments in a value, of those in p.comments.
func (p *printer) inside(v syntax.Value) []syntax.Span {
	at := v.Span()
	from := sort.Search(len(p.comments), func(i int) bool { return p.comments[i].Start >= at.Start })
	to := sort.Search(len(p.comments), func(i int) bool { return p.comments[i].End > at.End })
	return p.comments[from:max(from, to)]
}

// children returns the items of an array or object in canonical order, each with its comments, and
// the comments after the last one.
func (p *printer) children(v syntax.Value, r role) (children []child, dangling []syntax.Span) {
	children = make([]child, 0, v.Len())
	for item := range v.Items() {
		children = append(children, child{value: item})
	}
	for key, value := range v.Members() {
		children = append(children, child{key: key, value: value})
	}
	group := 0
	inOrder := p.sorted && (canonicalKeys[r] != nil || r == rolePermissions)
	from := v.Span().Start + 1
	rest := p.inside(v)
	for i := range children {
		c := &children[i]
		start, value := c.start(), c.value.Span()
		for len(rest) > 0 && rest[0].Start < value.End {
			comment := rest[0]
			rest = rest[1:]
			switch {
			case comment.Start > value.Start:
				// Inside the value, which prints it itself.
			case i > 0 && comment.Start < start && !strings.Contains(p.src[from:comment.Start], "\n"):
				children[i-1].after = append(children[i-1].after, comment)
			default:
				if len(c.before) == 0 {
					group++
				}
				c.before = append(c.before, comment)
			}
		}
		first := start
		if len(c.before) > 0 {
			first = c.before[0].Start
		}
		end := from
		if i > 0 && len(children[i-1].after) > 0 {
			end = children[i-1].after[len(children[i-1].after)-1].End
		}
		c.gap = !inOrder && gap(v.Kind(), p.src[min(end, first):first])
		c.group = group
		from = value.End
	}
	for _, comment := range rest {
		if len(children) > 0 && !strings.Contains(p.src[from:comment.Start], "\n") {
			children[len(children)-1].after = append(children[len(children)-1].after, comment)
		} else {
			dangling = append(dangling, comment)
		}
	}
	if p.sorted {
		children = ordered(children, r)
	}
	return children, dangling
}

func (c *child) start() int {
	if c.key.Exists() {
		return c.key.Span().Start
	}
	return c.value.Span().Start
}

// ordered sorts members by key and permissions within their group, and leaves out permissions that
// are there already.
func ordered(children []child, r role) []child {
	if keys := canonicalKeys[r]; keys != nil {
		rank := func(c child) int {
			if at := slices.Index(keys, c.key.Text()); at >= 0 {
				return at
			}
			return len(keys)
		}
		slices.SortStableFunc(children, func(a, b child) int { return rank(a) - rank(b) })
	}
	if r != rolePermissions {
		return children
	}
	seen := make(map[string]int)
	kept := children[:0]
	for _, c := range children {
		v := c.value
		canonical := v.Canonical()
		if first, ok := seen[canonical]; ok {
			// What is said about the second one is kept with the first.
			kept[first].before = append(kept[first].before, c.before...)
			kept[first].before = append(kept[first].before, c.after...)
			continue
		}
		seen[canonical] = len(kept)
		identifier := v.Text()
		if v.Kind() == syntax.Object {
			identifier = v.Get("identifier").Text()
		}
		c.rank = permissionRank(identifier)
		kept = append(kept, c)
	}
	slices.SortStableFunc(kept, func(a, b child) int {
		if a.group != b.group {
			return a.group - b.group
		}
		if len(a.before) > 0 || len(b.before) > 0 {
			return len(b.before) - len(a.before) // the head of a group stays under its comment
		}
		return strings.Compare(a.rank, b.rank)
	})
	return kept
}

// permissionRank orders permissions: the core, the plugins, the application; within each default
// first.
func permissionRank(identifier string) string {
	at := strings.LastIndexByte(identifier, ':')
	plugin, name := identifier[:max(at, 0)], identifier[at+1:]
	class := "1"
	if plugin == "core" || strings.HasPrefix(plugin, "core:") {
		class = "0"
	} else if plugin == "" {
		class = "2"
	}
	if name == "default" {
		name = ""
	}
	return class + plugin + "\x00" + name
}
