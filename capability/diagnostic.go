package capability

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Severity says how much a diagnostic weighs.
type Severity uint8

// The severities. Off is that of a rule that says nothing in a mode.
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

// UnmarshalText reads the severity's name.
func (s *Severity) UnmarshalText(text []byte) error {
	for _, known := range []Severity{Off, Info, Warning, Error} {
		if known.String() == string(text) {
			*s = known
			return nil
		}
	}
	return permanentf("severity %q is none of off, info, warning, error", text)
}

// Diagnostic is one thing found in a file: a sentence that says what is wrong
// and what would be right, and the place.
type Diagnostic struct {
	Code     Code     `json:"code"`
	Severity Severity `json:"severity"`
	Message  string   `json:"message"`
	File     string   `json:"file,omitempty"`
	Path     string   `json:"path"`              // JSON pointer of the value
	Start    Position `json:"start"`             // zero where the diagnostic is about no file
	End      Position `json:"end"`               // the place just after
	Related  []Place  `json:"related,omitempty"` // other places that belong to it
	Fix      *Fix     `json:"fix,omitempty"`     // nil where no mechanical change helps
	doc      *Document
	at       span
}

// Document returns the document the diagnostic is about; nil where it is
// about none.
func (d Diagnostic) Document() *Document { return d.doc }

// String returns "file:line:column: severity: message (code)".
func (d Diagnostic) String() string {
	place := d.File
	if d.Start.IsValid() {
		place = strings.TrimPrefix(fmt.Sprintf("%s:%s", d.File, d.Start), ":")
	}
	if place != "" {
		place += ": "
	}
	return fmt.Sprintf("%s%s: %s (%s)", place, d.Severity, d.Message, d.Code)
}

// Place is a further place a diagnostic speaks of.
type Place struct {
	File    string   `json:"file,omitempty"`
	Start   Position `json:"start"`
	Message string   `json:"message"`
}

// Fix is a change that removes what a diagnostic is about.
type Fix struct {
	Title string `json:"title"`
	Edits []Edit `json:"edits"`
	// Guess says that the change is what was probably meant and may grant
	// something else: nobody should make it without a look.
	Guess bool `json:"guess,omitempty"`
}

// Edit replaces the bytes from Start up to End of a source by Text.
type Edit struct {
	Start int    `json:"start"`
	End   int    `json:"end"`
	Text  string `json:"text"`
}

// Apply returns the source with the edits made. It fails where edits overlap
// or lie outside.
func Apply(source string, edits []Edit) (string, error) {
	sorted := slices.SortedStableFunc(slices.Values(edits), func(a, b Edit) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.End, b.End))
	})
	var b strings.Builder
	at := 0
	for _, e := range sorted {
		if e.Start < at || e.End < e.Start || e.End > len(source) {
			return "", permanentf("apply edits: bytes %d to %d overlap another edit or lie outside the file", e.Start, e.End)
		}
		b.WriteString(source[at:e.Start])
		b.WriteString(e.Text)
		at = e.End
	}
	b.WriteString(source[at:])
	return b.String(), nil
}

// Diagnostics are findings in the order of their places.
type Diagnostics []Diagnostic

// Worst returns the highest severity, Off where there is no diagnostic.
func (ds Diagnostics) Worst() Severity {
	worst := Off
	for _, d := range ds {
		worst = max(worst, d.Severity)
	}
	return worst
}

// Err returns the diagnostics of severity Error as one error, nil where there
// is none. The error is permanent: trying again cannot help.
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
	return &InvalidError{Diagnostics: bad}
}

// InvalidError tells that files are not sound.
type InvalidError struct {
	Diagnostics Diagnostics // at least one, all of severity Error
}

// Error returns the first diagnostic and how many more there are.
func (e *InvalidError) Error() string {
	s := e.Diagnostics[0].String()
	if more := len(e.Diagnostics) - 1; more > 0 {
		s += fmt.Sprintf(" (and %d more)", more)
	}
	return s
}

// Permanent reports true: the same files stay invalid.
func (e *InvalidError) Permanent() bool { return true }

// permanentError is an error that needs no type of its own.
type permanentError struct{ error }

func permanentf(format string, args ...any) error {
	return permanentError{fmt.Errorf(format, args...)}
}

// Unwrap returns the error with its text and cause.
func (e permanentError) Unwrap() error { return e.error }

// Permanent reports true: trying again cannot help.
func (permanentError) Permanent() bool { return true }

// sorted fills in the places and orders by them.
func (ds Diagnostics) sorted() Diagnostics {
	for i := range ds {
		ds[i].locate()
	}
	slices.SortStableFunc(ds, func(a, b Diagnostic) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Start.Offset, b.Start.Offset))
	})
	return ds
}

func (d *Diagnostic) locate() {
	if d.doc == nil || d.Start.IsValid() {
		return
	}
	d.File = d.doc.name
	d.Start = d.doc.position(int(d.at.start))
	d.End = d.doc.position(int(max(d.at.end, d.at.start)))
	if d.Path == "" {
		d.Path = d.doc.valueAt(d.at).Path()
	}
}

// valueAt returns the innermost value that holds the whole range.
func (d *Document) valueAt(at span) Value {
	best, size := int32(0), int32(1<<31-1)
	for n := range d.nodes {
		nd := &d.nodes[n]
		if nd.start <= at.start && nd.end >= at.end && at.start < max(nd.end, nd.start+1) && nd.end-nd.start <= size {
			best, size = int32(n), nd.end-nd.start
		}
	}
	return Value{d, best}
}
