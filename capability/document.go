package capability

import (
	"path"
	"strings"

	"lessonkit.example/capability/internal/limit"
	"lessonkit.example/capability/internal/syntax"
)

// Format is a syntax in which capability files are written. The zero Format means the one that the
// file's name indicates.
type Format uint8

// The formats.
const (
	JSON  = Format(syntax.JSON)
	JSON5 = Format(syntax.JSON5)
	TOML  = Format(syntax.TOML)
)

// formatOf chooses a format by the extension as the reference implementation does: .toml, .json5,
// and JSON for all others.
func formatOf(name string) Format {
	switch path.Ext(strings.ReplaceAll(name, `\`, "/")) {
	case ".toml":
		return TOML
	case ".json5":
		return JSON5
	default:
		return JSON
	}
}

// Options configures [Parse] and [ParseValue]. The zero Options reads strict JSON.
type Options struct {
	// Name is the file's name. Diagnostics contain it, and its extension selects the format.
	Name string
	// Format is the file's syntax. Defaults to TOML for names ending in .toml, JSON5 for .json5,
	// and JSON for all others.
	Format Format
}

// Document is a file that was read: its values with their positions, its capabilities, and what is
// wrong with it. It is immutable and safe for concurrent use.
type Document struct {
	text         *syntax.Document
	capabilities []Capability
	found        []Diagnostic
	// bySchema means that the build also applies the schema of configurations, which refuses
	// permissions that are listed twice.
	bySchema bool
}

// Parse reads a capability file in JSON, JSON5 or TOML, of at most 1 MiB and 127 levels of values.
// It never fails: [Document.Check] returns what is wrong with the file, and [Document.Capabilities]
// returns what could be read.
func Parse(src []byte, o Options) *Document {
	d := ParseValue(src, o)
	d.decode()
	return d
}

// ParseValue reads a file that contains something other than capabilities, such as permissions or a
// configuration, with the limits of [Parse]. It checks only the syntax.
func ParseValue(src []byte, o Options) *Document { return parseValue(src, o, 1<<20) }

func parseValue(src []byte, o Options, maxBytes int) *Document {
	if o.Format == 0 {
		o.Format = formatOf(o.Name)
	}
	d := &Document{text: syntax.Parse(src, syntax.Options{Name: o.Name, Format: syntax.Format(o.Format),
		MaxBytes: maxBytes})}
	for _, f := range d.text.Faults() {
		found := Diagnostic{Code: Code(f.Code), Message: f.Message, at: f.Span}
		if f.Fix != nil {
			found.Fix = newFix(f.Fix.Title, f.Span, f.Fix.Text)
		}
		d.add(found)
	}
	return d
}

func (d *Document) add(f Diagnostic) { d.found = d.with(d.found, f) }

// with appends a diagnostic about the document, up to the limit.
func (d *Document) with(found []Diagnostic, f Diagnostic) []Diagnostic {
	switch n := ofRule(found, f.Code); {
	case n > limit.PerRule:
		return found
	case n == limit.PerRule:
		f.Message, f.Fix = limit.More, nil
	}
	f.text, f.Severity = d.text, severityOf(f.Code)
	if d.bySchema && f.Code == codeDuplicatePermission {
		f.Severity = Error
	}
	return append(found, f)
}

// ofRule returns how many diagnostics there are of a rule.
func ofRule(found []Diagnostic, code Code) (n int) {
	for i := range found {
		if found[i].Code == code {
			n++
		}
	}
	return n
}

// Name returns the name given in [Options].
func (d *Document) Name() string { return d.text.Name() }

// Format returns the syntax of the document.
func (d *Document) Format() Format { return Format(d.text.Format()) }

// Source returns the text of the document.
func (d *Document) Source() string { return d.text.Source() }

// Root returns the outermost value.
func (d *Document) Root() Value { return Value{d.text, 0} }

// ValueAt returns the innermost value at an offset of the source, in bytes.
func (d *Document) ValueAt(offset int) Value {
	return Value{d.text, d.text.Innermost(syntax.Span{Start: offset, End: offset})}
}

// Capabilities returns the capabilities of the file in order. A file with errors may contain
// incomplete ones; call [Document.Check] first. The caller must not change the slice.
func (d *Document) Capabilities() []Capability { return d.capabilities }
