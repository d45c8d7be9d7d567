package capability

import (
	"slices"
	"strings"
)

// Reformat returns a JSON or JSON5 file in canonical form: keys in one order, two
// blanks for each level, a permission a line and in order (the core first, then
// by plugin, default before the others), and no permission twice. Comments stay
// with what they stand at; a comment on a line of its own begins a group of
// permissions, and permissions are ordered within their group. Formatting
// twice changes nothing more, and the meaning stays what it was.
//
// It fails with an [*InvalidError] where the text is not well-formed, rather
// than lose what could not be read. TOML is formatted by package tomlfile.
func Reformat(d *Document) (string, error) {
	if d.format == TOML {
		return "", permanentf("reformat: TOML is formatted by package tomlfile")
	}
	for _, f := range d.Check(ModeLint) {
		switch f.Code {
		case CodeSyntax, CodeEncoding, CodeTooLarge, CodeTooDeep, CodeNotJSON, CodeSurrogate, CodeDuplicateKey, CodeDuplicateField:
			return "", &InvalidError{Diagnostics: Diagnostics{f}}
		}
	}
	if d.damaged {
		return "", &InvalidError{Diagnostics: d.Check(ModeLint)}
	}
	p := &printer{doc: d}
	root := d.nodes[0]
	var after []span
	for _, c := range d.comments {
		switch {
		case c.start < root.start:
			p.ownLines([]span{c}, 0)
		case c.start < root.end:
			p.comments = append(p.comments, c)
		default:
			after = append(after, c)
		}
	}
	p.value(0, 0, roleOf(d))
	for len(after) > 0 && !strings.Contains(d.src[root.end:after[0].start], "\n") {
		p.b.WriteString(" " + p.comment(after[0]))
		after = after[1:]
	}
	p.b.WriteByte('\n')
	p.ownLines(after, 0)
	return p.b.String(), nil
}

// role says what a value is in the format, as far as printing differs.
type role uint8

const (
	roleOther role = iota
	roleList
	roleCapability
	roleRemote
	rolePermissions
	roleEntry
)

func roleOf(d *Document) role {
	switch root := d.Root(); {
	case root.Kind() == Array:
		return roleList
	case root.Get("capabilities").Exists():
		return roleOther
	}
	return roleCapability
}

var canonicalKeys = map[role][]string{
	roleOther:      {"$schema", "capabilities"},
	roleCapability: {"$schema", "identifier", "description", "platforms", "local", "remote", "windows", "webviews", "permissions"},
	roleEntry:      {"identifier", "allow", "deny"},
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

// printer writes values anew.
type printer struct {
	doc      *Document
	b        strings.Builder
	comments []span // those inside the value that is being written
}

// child is an item of an array or a member of an object with its comments.
type child struct {
	key, value    int32 // key is -1 for items
	before, after []span
	group         int
	rank          string
}

const lineWidth = 100

func (p *printer) value(n int32, depth int, r role) {
	nd := p.doc.nodes[n]
	if nd.kind != Array && nd.kind != Object {
		p.b.WriteString(p.scalar(n))
		return
	}
	if oneLine := p.oneLine(n); oneLine != "" && r != rolePermissions && r != roleCapability && r != roleList && len(oneLine)+2*depth <= lineWidth && !p.commented(nd) {
		p.b.WriteString(oneLine)
		return
	}
	children, dangling := p.children(n, r)
	opening, closing := "[", "]"
	if nd.kind == Object {
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
		if c.key >= 0 {
			name = p.doc.textOf(c.key)
			p.b.Write(appendQuoted(nil, name))
			p.b.WriteString(": ")
		}
		saved := p.comments
		p.comments = p.inside(p.doc.nodes[c.value])
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

func (p *printer) ownLines(comments []span, depth int) {
	for _, c := range comments {
		p.indent(depth)
		p.b.WriteString(p.comment(c))
		p.b.WriteByte('\n')
	}
}

func (p *printer) comment(c span) string {
	return strings.TrimRight(p.doc.src[c.start:c.end], " \t\r")
}

func (p *printer) inside(nd node) []span {
	var list []span
	for _, c := range p.comments {
		if c.start >= nd.start && c.end <= nd.end {
			list = append(list, c)
		}
	}
	return list
}

func (p *printer) commented(nd node) bool { return len(p.inside(nd)) > 0 }

// children returns what an array or object holds in canonical order, each with
// its comments, and the comments that stand after the last one.
func (p *printer) children(n int32, r role) (children []child, dangling []span) {
	nd := p.doc.nodes[n]
	for i := n + 1; i < nd.next; {
		c := child{key: -1, value: i}
		if nd.kind == Object {
			c.key, c.value = i, p.doc.nodes[i].next
		}
		children = append(children, c)
		i = p.doc.nodes[c.value].next
	}
	group := 0
	from := int(nd.start) + 1
	rest := p.inside(nd)
	for i := range children {
		c := &children[i]
		start, end := p.start(*c), int(p.doc.nodes[c.value].end)
		for len(rest) > 0 && int(rest[0].start) < end {
			comment := rest[0]
			rest = rest[1:]
			switch {
			case int(comment.start) > int(p.doc.nodes[c.value].start):
				// Inside the value, which prints it itself.
			case i > 0 && int(comment.start) < start && !strings.Contains(p.doc.src[from:comment.start], "\n"):
				children[i-1].after = append(children[i-1].after, comment)
			default:
				if len(c.before) == 0 {
					group++
				}
				c.before = append(c.before, comment)
			}
		}
		c.group = group
		from = end
	}
	for _, comment := range rest {
		if len(children) > 0 && !strings.Contains(p.doc.src[from:comment.start], "\n") {
			children[len(children)-1].after = append(children[len(children)-1].after, comment)
		} else {
			dangling = append(dangling, comment)
		}
	}
	return p.ordered(children, r), dangling
}

func (p *printer) start(c child) int {
	if c.key >= 0 {
		return int(p.doc.nodes[c.key].start)
	}
	return int(p.doc.nodes[c.value].start)
}

// ordered sorts members by key and permissions within their group, and leaves
// out permissions that are there already.
func (p *printer) ordered(children []child, r role) []child {
	if keys := canonicalKeys[r]; keys != nil {
		rank := func(c child) int {
			if c.key < 0 {
				return 0
			}
			if at := slices.Index(keys, p.doc.textOf(c.key)); at >= 0 {
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
		v := Value{p.doc, c.value}
		canonical := string(v.appendCanonical(nil))
		if first, ok := seen[canonical]; ok {
			// What is said about the second one is kept with the first.
			kept[first].before = append(kept[first].before, c.before...)
			kept[first].before = append(kept[first].before, c.after...)
			continue
		}
		seen[canonical] = len(kept)
		identifier := v.Text()
		if v.Kind() == Object {
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

// permissionRank orders permissions: the core, the plugins, the application;
// within each default first.
func permissionRank(identifier string) string {
	plugin, name := splitIdentifier(identifier)
	class := "1"
	if plugin == "core" || strings.HasPrefix(plugin, "core:") {
		class = "0"
	} else if plugin == AppManifest {
		class = "2"
	}
	if name == "default" {
		name = ""
	}
	return class + plugin + "\x00" + name
}

// oneLine writes a value without line breaks, or returns "" where it is too long.
func (p *printer) oneLine(n int32) string {
	nd := p.doc.nodes[n]
	if nd.kind != Array && nd.kind != Object {
		return p.scalar(n)
	}
	if int(nd.next-n) > lineWidth {
		return ""
	}
	v := Value{p.doc, n}
	var parts []string
	opening, closing := "[", "]"
	if nd.kind == Array {
		for item := range v.Items() {
			parts = append(parts, p.oneLine(item.n))
		}
	} else {
		opening, closing = "{ ", " }"
		for key, val := range v.Members() {
			parts = append(parts, string(appendQuoted(nil, key.Text()))+": "+p.oneLine(val.n))
		}
		if identifier := v.Get("identifier"); identifier.Exists() {
			slices.SortStableFunc(parts, func(a, b string) int { return entryRank(a) - entryRank(b) })
		}
	}
	if len(parts) == 0 {
		return strings.TrimSpace(opening) + strings.TrimSpace(closing)
	}
	return opening + strings.Join(parts, ", ") + closing
}

func entryRank(member string) int {
	for i, key := range entryKeys {
		if strings.HasPrefix(member, `"`+key+`":`) {
			return i
		}
	}
	return len(entryKeys)
}

// scalar writes a value that holds no others, numbers as they are written.
func (p *printer) scalar(n int32) string {
	v := Value{p.doc, n}
	if v.Kind() == Number {
		return v.Text()
	}
	return string(v.appendJSON(nil))
}
