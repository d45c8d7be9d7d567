package tomlfile

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"

	"lessonkit.example/capability"
)

// Reformat returns a capability file in TOML in canonical form: the keys of a
// capability in one order, an array of permissions a line each, in order and
// without duplicates, and one empty line before each table. Comments stay with
// what they stand at; an array that holds comments is left as it is, and so
// are tables of permissions. The meaning stays what it was.
//
// It fails with an error where the text is not well-formed.
func Reformat(d *capability.Document) (string, error) {
	for _, f := range d.Check(capability.ModeLint) {
		if f.Code == capability.CodeSyntax || f.Code == capability.CodeEncoding || f.Code == capability.CodeTooLarge || f.Code == capability.CodeTooDeep {
			return "", &capability.InvalidError{Diagnostics: capability.Diagnostics{f}}
		}
	}
	f := formatter{src: strings.TrimPrefix(d.Source(), string(byteOrderMark))}
	f.split()
	text := f.join()
	if again := Parse([]byte(text), capability.Options{MaxBytes: 1 << 30}); !sameCapabilities(d.Capabilities(), again.Capabilities()) {
		return "", fmt.Errorf("reformat: this file is written in a way that cannot be put in order without changing it")
	}
	return text, nil
}

// sameCapabilities compares what two texts say, apart from the order of
// permissions and from duplicates.
func sameCapabilities(a, b []capability.Capability) bool {
	return slices.EqualFunc(a, b, func(a, b capability.Capability) bool {
		return a.Identifier == b.Identifier && a.Description == b.Description && a.Local == b.Local && slices.Equal(a.Remote, b.Remote) &&
			slices.Equal(a.Windows, b.Windows) && slices.Equal(a.Webviews, b.Webviews) && slices.Equal(a.Platforms, b.Platforms) && slices.Equal(entries(a), entries(b))
	})
}

func entries(c capability.Capability) []string {
	var list []string
	for i := range c.Permissions {
		text, _ := c.Permissions[i].Value().MarshalJSON()
		list = append(list, string(text))
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// line is an expression with the comments above it.
type line struct {
	lead  []string
	text  string
	key   string
	gap   bool // an empty line stood before
	table bool // a [header]
	path  string
}

type formatter struct {
	src   string
	head  []string // comments at the top, with an empty line below them
	lines []line
	rest  []string // comments after the last expression
}

// split takes the source apart. Expressions keep their text and whatever
// comment follows on their line.
func (f *formatter) split() {
	var p unstable.Parser
	p.KeepComments = true
	p.Reset([]byte(f.src))
	var lead []string
	gap, from := false, 0
	for p.NextExpression() {
		n := p.Expression()
		if n.Kind == unstable.Comment {
			at := int(n.Raw.Offset)
			if at < from {
				continue // on the line of the expression before
			}
			gap = gap || len(lead) == 0 && f.emptyLine(from, at)
			lead = append(lead, strings.TrimRight(f.src[at:at+int(n.Raw.Length)], " \t\r"))
			from = at + int(n.Raw.Length)
			continue
		}
		keys := keysOf(n.Key())
		l := line{lead: lead, table: n.Kind != unstable.KeyValue}
		for _, k := range keys {
			l.path += "." + k.text
		}
		start, end := f.lineStart(keys[0].start), keys[len(keys)-1].end
		if !l.table {
			l.key = keys[0].text
			end = int(n.Raw.Offset + n.Raw.Length)
		}
		if len(f.lines) == 0 && len(lead) > 0 && f.emptyLine(from, start) {
			f.head, l.lead = lead, nil
		}
		l.gap = gap || len(lead) == 0 && f.emptyLine(from, start)
		end = f.lineEnd(end)
		l.text = strings.TrimSpace(f.src[start:end])
		if l.key == "permissions" && len(keys) == 1 && n.Value().Kind == unstable.Array {
			l.text = f.permissions(n, l.text, end)
		}
		f.lines = append(f.lines, l)
		lead, gap, from = nil, false, end
	}
	f.rest = lead
}

func (f *formatter) lineStart(at int) int { return strings.LastIndexByte(f.src[:at], '\n') + 1 }

func (f *formatter) lineEnd(at int) int {
	if end := strings.IndexByte(f.src[at:], '\n'); end >= 0 {
		return at + end
	}
	return len(f.src)
}

func (f *formatter) emptyLine(from, to int) bool {
	return from < to && strings.Count(strings.NewReplacer(" ", "", "\t", "", "\r", "").Replace(f.src[from:to]), "\n\n") > 0
}

// permissions writes the array of permissions anew, unless it holds comments.
func (f *formatter) permissions(n *unstable.Node, text string, end int) string {
	r := reader{src: []byte(f.src)}
	for it := n.Value().Children(); it.Next(); {
		if hasComment(it.Node()) {
			return text
		}
	}
	keys := keysOf(n.Key())
	from := keys[0].end
	for f.src[from] != '=' {
		from++
	}
	from++
	b, _ := capability.NewBuilder(nil, capability.Options{})
	r.b = b // takes no faults: the text was read before
	v, after := r.value(n.Value(), from)
	if len(v.items) == 0 {
		return text
	}
	var items []string
	seen := make(map[string]bool)
	for _, item := range v.items {
		s := strings.TrimSpace(f.src[item.start:item.end])
		same := s
		if item.kind == capability.String {
			same = `"` + item.text // however it is quoted
		}
		if !seen[same] {
			seen[same] = true
			items = append(items, s)
		}
	}
	slices.SortStableFunc(items, func(a, b string) int { return strings.Compare(rank(a), rank(b)) })
	return "permissions = [\n  " + strings.Join(items, ",\n  ") + ",\n]" + strings.TrimRight(f.src[after:end], " \t\r")
}

func hasComment(n *unstable.Node) bool {
	if n.Kind == unstable.Comment {
		return true
	}
	for it := n.Children(); it.Next(); {
		if hasComment(it.Node()) {
			return true
		}
	}
	return false
}

// rank orders permissions as the canonical form of JSON does.
func rank(item string) string {
	s := strings.TrimLeft(item, "{ ")
	if rest, ok := strings.CutPrefix(s, "identifier"); ok {
		s = strings.TrimLeft(rest, " =")
	}
	s = strings.Trim(strings.SplitN(s, ",", 2)[0], `"'{} `)
	class := "1"
	if strings.HasPrefix(s, "core:") {
		class = "0"
	} else if !strings.Contains(s, ":") {
		class = "2"
	}
	at := strings.LastIndexByte(s, ':')
	name := s[at+1:]
	if name == "default" {
		name = ""
	}
	return class + s[:at+1] + "\x00" + name
}

var order = []string{"$schema", "identifier", "description", "platforms", "local", "remote", "windows", "webviews", "permissions"}

// join puts the lines together: those of a capability in order, tables as they come.
func (f *formatter) join() string {
	for from := 0; from < len(f.lines); {
		to := from
		for to < len(f.lines) && !f.lines[to].table {
			to++
		}
		if from == 0 || f.lines[from-1].path == ".capabilities" {
			slices.SortStableFunc(f.lines[from:to], func(a, b line) int { return keyRank(a.key) - keyRank(b.key) })
		}
		from = to + 1
	}
	var b strings.Builder
	if len(f.head) > 0 {
		b.WriteString(strings.Join(f.head, "\n") + "\n\n")
	}
	for i, l := range f.lines {
		if i > 0 && (l.table || l.gap && len(l.lead) > 0) {
			b.WriteByte('\n')
		}
		for _, comment := range l.lead {
			b.WriteString(comment + "\n")
		}
		b.WriteString(l.text + "\n")
	}
	if len(f.rest) > 0 && len(f.lines) > 0 {
		b.WriteByte('\n')
	}
	for _, comment := range f.rest {
		b.WriteString(comment + "\n")
	}
	return b.String()
}

func keyRank(key string) int {
	if at := slices.Index(order, key); at >= 0 {
		return at
	}
	return len(order)
}
