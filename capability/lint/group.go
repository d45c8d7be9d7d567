package lint

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"lessonkit.example/capability"
	"lessonkit.example/capability/internal/words"
)

// group is one finding about values of one file that have the same cause, so that one mistake that
// was repeated is read once.
type group struct {
	code   capability.Code
	format string // its first verb is for the subjects
	args   []any
	items  []*item
}

// item is one of the values of a group.
type item struct {
	value   capability.Value
	subject string             // how the message names it
	remove  capability.Value   // what to remove from its array, if that is the fix
	write   string             // what to write instead of the value, if that is the fix
	guess   bool               // write is a guess
	also    []capability.Place // further places
}

const (
	maxItems = 50 // bounds the places of one finding
	maxNamed = 8  // bounds the subjects that its message names
)

// group reports a value. Values of one file that are reported by the same rule with the same format
// and arguments become one finding. The format begins with %s, for what the values are called; it
// has [is|are] where a word depends on how many there are.
func (l *linter) group(code capability.Code, v capability.Value, subject, format string, args ...any) *item {
	key := fmt.Sprintf("%s\x00%s\x00%s\x00%v", code, v.File(), format, args)
	g := l.groups[key]
	if g == nil {
		if l.full(code, v) {
			return &item{}
		}
		g = &group{code: code, format: format, args: args}
		l.groups[key] = g
		l.ordered = append(l.ordered, g)
	}
	it := &item{value: v, subject: subject}
	if len(g.items) < maxItems {
		g.items = append(g.items, it)
	}
	return it
}

// finish makes findings of the groups.
func (l *linter) finish() {
	for _, g := range l.ordered {
		l.found = append(l.found, g.diagnostic())
	}
}

func (g *group) diagnostic() capability.Diagnostic {
	slices.SortStableFunc(g.items, func(a, b *item) int {
		return a.value.Position().Offset - b.value.Position().Offset
	})
	var subjects []string
	var remove []capability.Value
	fix := &capability.Fix{}
	first := g.items[0]
	f := capability.NewDiagnostic(first.value, g.code, severityOf(g.code), "")
	f.Related = slices.Clip(first.also)
	for _, it := range g.items {
		if !slices.Contains(subjects, it.subject) {
			subjects = append(subjects, it.subject)
		}
		if it != first {
			f.Related = append(append(f.Related, it.value.Place(it.subject)), it.also...)
		}
		if it.remove.Exists() {
			remove = append(remove, it.remove)
		}
		if it.write != "" {
			one := it.value.Replace(it.write)
			fix.Title, fix.Edits, fix.Guess = one.Title, append(fix.Edits, one.Edits...), fix.Guess || it.guess
		}
	}
	number := 2
	if len(subjects) == 1 {
		number = 1
	}
	f.Message = fmt.Sprintf(inNumber(g.format, number), append([]any{words.Some(subjects, maxNamed)}, g.args...)...)
	switch {
	case len(remove) > 0:
		f.Fix = capability.RemoveItems(inNumber("Remove [it|them]", number), remove...)
	case len(fix.Edits) > 1:
		fix.Title = "Correct all of them"
		f.Fix = fix
	case len(fix.Edits) == 1:
		f.Fix = fix
	}
	return f
}

var byNumber = regexp.MustCompile(`\[([^|\[\]]*)\|([^|\[\]]*)\]`)

// inNumber writes the words in brackets, such as [is|are], for one thing or for several.
func inNumber(format string, number int) string {
	return byNumber.ReplaceAllString(format, fmt.Sprintf("${%d}", min(number, 2)))
}

// quoted quotes a subject as messages do.
func quoted(s string) string { return fmt.Sprintf("%q", strings.ToValidUTF8(s, "\ufffd")) }
