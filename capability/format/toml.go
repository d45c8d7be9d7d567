package format

import (
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"

	"lessonkit.example/capability"
	"lessonkit.example/capability/internal/syntax"
)

func formatTOML(d *capability.Document, options Options) (string, error) {
	src := strings.TrimPrefix(d.Source(), "\ufeff")
	f := formatter{src: src, sort: options.Sort}
	f.split()
	text := f.join()
	o := capability.Options{Format: capability.TOML, MaxBytes: 1 << 30, MaxDepth: 10_000}
	if again := capability.Parse([]byte(text), o); !sameCapabilities(d.Capabilities(), again.Capabilities()) {
		return "", errUnchanged
	}
	return text, nil
}

// errUnchanged is permanent: the same file fails again.
var errUnchanged = unchangedError{}

type unchangedError struct{}

// Error describes why the file stays as it is.
func (unchangedError) Error() string {
	return "format: the file cannot be sorted without changing its meaning"
}

// Permanent reports true.
func (unchangedError) Permanent() bool { return true }

// sameCapabilities reports whether two texts mean the same, apart from the order of permissions and
// from duplicates.
func sameCapabilities(a, b []capability.Capability) bool {
	return slices.EqualFunc(a, b, func(a, b capability.Capability) bool {
		return a.Identifier == b.Identifier && a.Description == b.Description && a.Local == b.Local &&
			slices.Equal(a.Remote, b.Remote) &&
			slices.Equal(a.Windows, b.Windows) && slices.Equal(a.Webviews, b.Webviews) &&
			slices.Equal(a.Platforms, b.Platforms) && slices.Equal(entries(a), entries(b))
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
	sort  bool
	src   string
	doc   *syntax.Document // of src, once there is something to sort
	head  []string         // comments at the top, with an empty line below them
	lines []line
	rest  []string // comments after the last expression
}

// split divides the source into expressions, which keep their text and any comment follows on their
// line.
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
		l := line{lead: lead, table: n.Kind != unstable.KeyValue}
		keyStart, keyEnd, keys := 0, 0, 0
		for it := n.Key(); it.Next(); keys++ {
			k := it.Node()
			if keys == 0 {
				keyStart = int(k.Raw.Offset)
				l.key = string(k.Data)
			}
			keyEnd = int(k.Raw.Offset + k.Raw.Length)
			l.path += "." + string(k.Data)
		}
		start, end := f.lineStart(keyStart), keyEnd
		if !l.table {
			end = int(n.Raw.Offset + n.Raw.Length)
		}
		if len(f.lines) == 0 && len(lead) > 0 && f.emptyLine(from, start) {
			f.head, l.lead = lead, nil
		}
		l.gap = gap || len(lead) == 0 && f.emptyLine(from, start)
		end = f.lineEnd(end)
		l.text = strings.TrimSpace(f.src[start:end])
		if f.sort && l.key == "permissions" && keys == 1 && !l.table && n.Value().Kind == unstable.Array {
			l.text = f.permissions(keyEnd, l.text, end)
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
	breaks := 0
	for i := from; i < to && breaks < 2; i++ {
		switch f.src[i] {
		case '\n':
			breaks++
		case ' ', '\t', '\r':
		default:
			breaks = 0
		}
	}
	return breaks == 2
}

// permissions rewrites the array after a key, unless it contains comments.
func (f *formatter) permissions(keyEnd int, text string, end int) string {
	if f.doc == nil {
		f.doc = syntax.Parse([]byte(f.src), syntax.Options{Format: syntax.TOML, MaxBytes: 1 << 30, MaxDepth: 10_000})
	}
	at := keyEnd + strings.IndexByte(f.src[keyEnd:], '[')
	array := f.doc.Innermost(syntax.Span{Start: at, End: at + 1})
	within := array.Span()
	if array.Len() == 0 || slices.ContainsFunc(f.doc.Comments(), func(c syntax.Span) bool {
		return c.Start > within.Start && c.End < within.End
	}) {
		return text
	}
	type permission struct{ text, rank string }
	var list []permission
	seen := make(map[string]bool)
	for item := range array.Items() {
		span := item.Span()
		one := permission{strings.TrimSpace(f.src[span.Start:span.End]), permissionRank(item.Get("identifier").Text())}
		same := one.text
		if item.Kind() == syntax.String {
			one.rank = permissionRank(item.Text())
			same = `"` + item.Text() // ignore the kind of quotes
		}
		if !seen[same] {
			seen[same] = true
			list = append(list, one)
		}
	}
	slices.SortStableFunc(list, func(a, b permission) int { return strings.Compare(a.rank, b.rank) })
	var b strings.Builder
	b.WriteString("permissions = [\n")
	for _, one := range list {
		b.WriteString("  " + one.text + ",\n")
	}
	return b.String() + "]" + strings.TrimRight(f.src[within.End:end], " \t\r")
}

// join puts the lines together: those of a capability in order, tables as they come.
func (f *formatter) join() string {
	for from := 0; from < len(f.lines); {
		to := from
		for to < len(f.lines) && !f.lines[to].table {
			to++
		}
		if f.sort && (from == 0 || f.lines[from-1].path == ".capabilities") {
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
	keys := canonicalKeys[roleCapability]
	if at := slices.Index(keys, key); at >= 0 {
		return at
	}
	return len(keys)
}
