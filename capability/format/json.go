// Package format writes capability files in canonical form.
package format

import (
	"slices"
	"strings"

	"lessonkit.example/capability"
	"lessonkit.example/capability/internal/syntax"
)

// Source returns a capability file in canonical form: the keys in one order, one permission per
// line, sorted (the core first, then by plugin, default before the others) and without duplicates.
// Formatting does not change what the file means, and formatting twice changes nothing more.
//
// Comments stay with what they belong to; a comment on a separate line begins a group of
// permissions, and permissions are sorted within their group. JSON is indented by two spaces. TOML
// keeps the text of its values, and arrays with comments and tables of permissions as they are.
//
// It fails with a [*capability.InvalidError] if the text is not well-formed, and with another
// permanent error if a TOML file cannot be formatted without changing what it means.
func Source(d *capability.Document) (string, error) {
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
		return formatTOML(d)
	}
	return formatJSON(d.Root()), nil
}

func formatJSON(root syntax.Value) string {
	p := &printer{doc: root.Document(), src: root.Document().Source()}
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
	p.value(root, 0, roleOf(root))
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
	b        strings.Builder
	comments []syntax.Span // those inside the value that is being written
}

// child is an item of an array or a member of an object with its comments.
type child struct {
	key, value    syntax.Value // items have no key
	before, after []syntax.Span
	group         int
	rank          string
}

const lineWidth = 100

func (p *printer) value(v syntax.Value, depth int, r role) {
	if v.Kind() != syntax.Array && v.Kind() != syntax.Object {
		p.b.WriteString(scalar(v))
		return
	}
	oneItemPerLine := r == rolePermissions || r == roleCapability || r == roleList
	if !oneItemPerLine && len(p.inside(v)) == 0 {
		if text := oneLine(v); text != "" && len(text)+2*depth <= lineWidth {
			p.b.WriteString(text)
			return
		}
	}
	children, dangling := p.children(v, r)
	opening, closing := "[", "]"
	if v.Kind() == syntax.Object {
		opening, closing = "{", "}"
	}
	p.b.WriteString(opening)
	if len(children)+len(dangling) == 0 {
		p.b.WriteString(closing)
		return
	}
	p.b.WriteByte('\n')
	for i, c := range children {
		p.ownLines(c.before, depth+1)
		p.indent(depth + 1)
		name := ""
		if c.key.Exists() {
			name = c.key.Text()
			p.b.Write(syntax.AppendQuoted(nil, name))
			p.b.WriteString(": ")
		}
		saved := p.comments
		p.comments = p.inside(c.value)
		p.value(c.value, depth+1, childRole(r, name))
		p.comments = saved
		if i < len(children)-1 {
			p.b.WriteByte(',')
		}
		for _, comment := range c.after {
			p.b.WriteByte(' ')
			p.b.WriteString(p.comment(comment))
		}
		p.b.WriteByte('\n')
	}
	p.ownLines(dangling, depth+1)
	p.indent(depth)
	p.b.WriteString(closing)
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

func (p *printer) inside(v syntax.Value) []syntax.Span {
	at := v.Span()
	var list []syntax.Span
	for _, c := range p.comments {
		if c.Start >= at.Start && c.End <= at.End {
			list = append(list, c)
		}
	}
	return list
}

// children returns the items of an array or object in canonical order, each with its comments, and
// the comments after the last one.
func (p *printer) children(v syntax.Value, r role) (children []child, dangling []syntax.Span) {
	for item := range v.Items() {
		children = append(children, child{value: item})
	}
	for key, value := range v.Members() {
		children = append(children, child{key: key, value: value})
	}
	group := 0
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
	return ordered(children, r), dangling
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

// oneLine returns a value without line breaks, "" if it has too many items.
func oneLine(v syntax.Value) string {
	var parts []string
	opening, closing := "[", "]"
	switch v.Kind() {
	case syntax.Array:
		for item := range v.Items() {
			parts = append(parts, oneLine(item))
		}
	case syntax.Object:
		opening, closing = "{ ", " }"
		for key, value := range v.Members() {
			parts = append(parts, string(syntax.AppendQuoted(nil, key.Text()))+": "+oneLine(value))
		}
		if v.Get("identifier").Exists() {
			slices.SortStableFunc(parts, func(a, b string) int { return entryRank(a) - entryRank(b) })
		}
	default:
		return scalar(v)
	}
	if len(parts) == 0 {
		return strings.TrimSpace(opening) + strings.TrimSpace(closing)
	}
	return opening + strings.Join(parts, ", ") + closing
}

func entryRank(member string) int {
	keys := canonicalKeys[roleEntry]
	for i, key := range keys {
		if strings.HasPrefix(member, `"`+key+`":`) {
			return i
		}
	}
	return len(keys)
}

// scalar returns a value that contains no others, numbers as they are written.
func scalar(v syntax.Value) string {
	if v.Kind() == syntax.Number {
		return v.Text()
	}
	text, _ := v.MarshalJSON()
	return string(text)
}
