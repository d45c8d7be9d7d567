package capability

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"lessonkit.example/capability/internal/limit"
	"lessonkit.example/capability/internal/syntax"
)

// Severity is how serious a diagnostic is.
type Severity uint8

// The severities. Off means that a rule is not reported.
const (
	Off Severity = iota
	Info
	Warning
	Error
)

// String returns the severity's name in lower case.
func (s Severity) String() string {
	return [...]string{"off", "info", "warning", "error"}[min(s, Error)]
}

// MarshalText returns the severity's name.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads the severity's name; "note" is another one of Info.
func (s *Severity) UnmarshalText(text []byte) error {
	if string(text) == "note" {
		*s = Info
		return nil
	}
	for _, known := range []Severity{Off, Info, Warning, Error} {
		if known.String() == string(text) {
			*s = known
			return nil
		}
	}
	return fmt.Errorf("severity %q is none of off, note, warning, error", text)
}

// Diagnostic is a mistake or risk in a file: a sentence that states what is wrong and how to
// correct it, with its position.
type Diagnostic struct {
	Code     Code     `json:"code"`
	Severity Severity `json:"severity"`
	Message  string   `json:"message"`
	File     string   `json:"file,omitempty"`
	Path     string   `json:"path"`              // JSON pointer of the value
	Start    Position `json:"start"`             // zero if the diagnostic is not about a file
	End      Position `json:"end"`               // the place just after
	Related  []Place  `json:"related,omitempty"` // other places that belong to it
	Fix      *Fix     `json:"fix,omitempty"`     // nil if there is no mechanical change

	text *syntax.Document
	at   syntax.Span
}

// NewDiagnostic returns a diagnostic about a value, or about no file for the zero Value. The
// position of an array or object is its first character.
func NewDiagnostic(v Value, code Code, severity Severity, message string) Diagnostic {
	d := Diagnostic{Code: code, Severity: severity, Message: message, text: v.text, at: v.span(), Path: v.Path()}
	if v.Kind() == Object || v.Kind() == Array {
		d.at.End = d.at.Start + 1
	}
	d.locate()
	return d
}

// Source is the text of a file that no document has, such as a script. It is immutable and safe for
// concurrent use.
type Source struct{ text *syntax.Document }

// NewSource returns the source of a file.
func NewSource(name string, text []byte) *Source { return &Source{syntax.Text(name, text)} }

// Diagnostic returns a diagnostic about the bytes from start up to end.
func (s *Source) Diagnostic(start, end int, code Code, severity Severity, message string) Diagnostic {
	size := len(s.text.Source())
	start, end = min(start, size), min(end, size)
	return Diagnostic{Code: code, Severity: severity, Message: message, text: s.text, File: s.text.Name(),
		at: syntax.Span{Start: start, End: end}, Start: positionAt(s.text, start), End: positionAt(s.text, end)}
}

// Around returns the text of the line in which the diagnostic starts: what is before the start and
// what is after it, at most a number of characters of each. Without a file both are "".
func (d Diagnostic) Around(most int) (before, after string) {
	if d.text == nil {
		return "", ""
	}
	return d.text.Around(d.Start.Offset, most)
}

// Of reports whether the places of the diagnostic are in a text, that of its file when it was made.
// One without a file, or about a file that is too large to have a text, is of any.
func (d Diagnostic) Of(text string) bool {
	return d.text == nil || d.text.Source() == "" || d.text.Source() == text
}

// PositionAt returns the position of an offset in the file that the diagnostic's fix changes, or
// without one in the diagnostic's file; the zero Position without a file.
func (d Diagnostic) PositionAt(offset int) Position {
	if d.Fix != nil && d.Fix.text != nil {
		return positionAt(d.Fix.text, offset)
	}
	if d.text == nil {
		return Position{}
	}
	return positionAt(d.text, offset)
}

// Place returns "file:line:column", as much of it as there is.
func (d Diagnostic) Place() string {
	if !d.Start.IsValid() {
		return d.File
	}
	return strings.TrimPrefix(fmt.Sprintf("%s:%s", d.File, d.Start), ":")
}

// String returns "file:line:column: severity: message (code)".
func (d Diagnostic) String() string {
	text := fmt.Sprintf("%s: %s (%s)", d.Severity, d.Message, d.Code)
	if place := d.Place(); place != "" {
		return place + ": " + text
	}
	return text
}

// Place is another place that a diagnostic refers to.
type Place struct {
	File    string   `json:"file,omitempty"`
	Start   Position `json:"start"`
	Message string   `json:"message"`
}

// Diagnostics is a list of diagnostics, usually sorted by position.
type Diagnostics []Diagnostic

// HasErrors reports whether there is a diagnostic of severity Error.
func (ds Diagnostics) HasErrors() bool {
	return slices.ContainsFunc(ds, func(d Diagnostic) bool { return d.Severity == Error })
}

// Sort sorts by file and position. Diagnostics at one position keep their order.
func (ds Diagnostics) Sort() {
	slices.SortStableFunc(ds, func(a, b Diagnostic) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Start.Offset, b.Start.Offset))
	})
}

// Err returns the diagnostics of severity Error as one error, which has the first of them and how
// many more there are; nil if there is none.
func (ds Diagnostics) Err() error {
	var bad Diagnostics
	for _, d := range ds {
		if d.Severity == Error {
			bad = append(bad, d)
		}
	}
	if len(bad) == 0 {
		return nil
	}
	if len(bad) == 1 {
		return fmt.Errorf("%s", bad[0])
	}
	return fmt.Errorf("%s (and %d more)", bad[0], len(bad)-1)
}

// sorted fills in the positions and sorts by them.
func (ds Diagnostics) sorted() Diagnostics {
	for i := range ds {
		ds[i].locate()
	}
	ds.Sort()
	return ds
}

// collector collects diagnostics, up to a limit for each rule.
type collector struct {
	found  Diagnostics
	counts limit.Findings
}

// report adds a diagnostic about a value and returns it, nil if there are too many.
func (c *collector) report(code Code, v Value, message string) *Diagnostic {
	over := c.counts.Over(string(code))
	if over == 1 {
		c.found = append(c.found, NewDiagnostic(v, code, severityOf(code), limit.More))
	}
	if over > 0 {
		return nil
	}
	c.found = append(c.found, Diagnostic{Code: code, Severity: severityOf(code), Message: message, text: v.text,
		at: v.span(), Path: v.Path()})
	return &c.found[len(c.found)-1]
}

func (d *Diagnostic) locate() {
	if d.text == nil || d.Start.IsValid() {
		return
	}
	d.File = d.text.Name()
	d.Start = positionAt(d.text, d.at.Start)
	d.End = positionAt(d.text, d.at.End)
	if d.Path == "" {
		d.Path = Value{d.text, d.text.Innermost(d.at)}.Path()
	}
}
