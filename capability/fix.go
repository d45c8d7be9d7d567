package capability

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"lessonkit.example/capability/internal/syntax"
)

// Fix is a change that removes what a diagnostic is about.
type Fix struct {
	Title string `json:"title"`
	Edits []Edit `json:"edits"`
	// File is the file to change; "" means the one that the diagnostic is about.
	File string `json:"file,omitempty"`
	// Guess reports that the change is a guess and may grant something that was not intended: it
	// must not be made without review.
	Guess bool `json:"guess,omitempty"`

	text *syntax.Document // of File
}

// Edit replaces the bytes from Start up to End of a source by Text.
type Edit struct {
	Start int    `json:"start"`
	End   int    `json:"end"`
	Text  string `json:"text"`
}

// Apply returns the source with the edits made. It fails if edits overlap or are outside the
// source.
func Apply(source string, edits []Edit) (string, error) {
	sorted := slices.SortedStableFunc(slices.Values(edits), func(a, b Edit) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.End, b.End))
	})
	var b strings.Builder
	at := 0
	for _, e := range sorted {
		if e.Start < at || e.End < e.Start || e.End > len(source) {
			return "", fmt.Errorf("apply edits: bytes %d to %d overlap another edit or lie outside the file",
				e.Start, e.End)
		}
		b.WriteString(source[at:e.Start])
		b.WriteString(e.Text)
		at = e.End
	}
	b.WriteString(source[at:])
	return b.String(), nil
}

// Fixed returns the source of the document with the fixes of diagnostics for it, and how many were
// made. Guesses are left out, and so are fixes that overlap one before: check the result
// again, for these and for what a fix has revealed.
func (d *Document) Fixed(found Diagnostics) (source string, fixes int) {
	var edits []Edit
	for _, f := range found {
		if f.Fix == nil || cmp.Or(f.Fix.File, f.File) != d.Name() || f.Fix.Guess || overlap(edits, f.Fix.Edits) {
			continue
		}
		edits = append(edits, f.Fix.Edits...)
		fixes++
	}
	source, err := Apply(d.Source(), edits)
	if err != nil {
		return d.Source(), 0 // a fix whose own edits overlap
	}
	return source, fixes
}

func overlap(edits, more []Edit) bool {
	for _, a := range edits {
		for _, b := range more {
			if a == b || a.Start < b.End && b.Start < a.End {
				return true
			}
		}
	}
	return false
}

// newFix returns the fix that replaces a range by a text.
func newFix(title string, at syntax.Span, text string) *Fix {
	return &Fix{Title: title, Edits: []Edit{{at.Start, at.End, text}}}
}

// RemoveItems returns the fix that removes items from their arrays, with the commas that belong to
// them. It returns nil in TOML, and where an array would have no item left.
func RemoveItems(title string, items ...Value) *Fix {
	items = slices.SortedFunc(slices.Values(items), func(a, b Value) int { return a.span().Start - b.span().Start })
	fix := &Fix{Title: title}
	for i := len(items) - 1; i >= 0; i-- {
		v := items[i]
		if v.text == nil || v.text.Format() == syntax.TOML {
			return nil
		}
		at, last := v.withComma()
		// Where the items after it are removed up to the end of the array, it is the last one too.
		if next := len(fix.Edits) - 1; !last && next >= 0 && fix.Edits[next].Start < at.End {
			end := fix.Edits[next].End
			fix.Edits = fix.Edits[:next]
			at, last = syntax.Span{Start: commaBefore(v.text.Source(), v.span().Start), End: end}, true
		}
		if last && at.Start < 0 {
			return nil
		}
		fix.Edits = append(fix.Edits, Edit{at.Start, at.End, ""})
	}
	slices.Reverse(fix.Edits)
	return fix
}

// addItem returns the fix that adds a string at the end of an array. It names the array's file, so
// it may be that of a diagnostic about another one. It returns nil for TOML's [[tables]].
func addItem(title string, array Value, item string) *Fix {
	src, at, text := array.text.Source(), array.span(), string(syntax.AppendQuoted(nil, item))
	if src[at.Start] != '[' {
		return nil
	}
	fix := &Fix{Title: title, File: array.File(), text: array.text}
	n := array.Len()
	if n == 0 {
		fix.Edits = []Edit{{at.Start, at.End, "[" + text + "]"}}
		return fix
	}
	last := array.Item(n - 1).span()
	line := strings.LastIndexByte(src[:last.Start], '\n') + 1
	before := " "
	if strings.TrimSpace(src[line:last.Start]) == "" { // each item has a line
		before = "\n" + src[line:last.Start]
	}
	end := last.End
	for end < len(src) && syntax.IsSpace(src[end]) {
		end++
	}
	if end < len(src) && src[end] == ',' {
		fix.Edits = []Edit{{end + 1, end + 1, before + text + ","}}
		return fix
	}
	fix.Edits = []Edit{{last.End, last.End, "," + before + text}}
	return fix
}

// withComma returns the bytes to remove together with an item: those up to the next item, or for
// the last one those from the comma before it, which is at -1 if there is none.
func (v Value) withComma() (at syntax.Span, last bool) {
	src, at := v.text.Source(), v.span()
	i := at.End
	for i < len(src) && syntax.IsSpace(src[i]) {
		i++
	}
	if i == len(src) || src[i] != ',' {
		return syntax.Span{Start: commaBefore(src, at.Start), End: at.End}, true
	}
	// Up to the next item, so that the lines before and after join well.
	at.End = i + 1
	for at.End < len(src) && syntax.IsSpace(src[at.End]) {
		at.End++
	}
	if at.End < len(src) && (src[at.End] == '/' || src[at.End] == ']') {
		at.End = i + 1
	}
	return at, false
}

// commaBefore returns the offset of the comma before a value, -1 if there is none.
func commaBefore(src string, at int) int {
	for at > 0 && syntax.IsSpace(src[at-1]) {
		at--
	}
	if at > 0 && src[at-1] == ',' {
		return at - 1
	}
	return -1
}

// Rename returns the fix that gives a key another name, quoted if the key is.
func (v Value) Rename(name string) *Fix {
	at := v.span()
	text := string(syntax.AppendQuoted(nil, name))
	if at.End > at.Start && v.text.Source()[at.Start] != '"' && v.text.Source()[at.Start] != '\'' {
		text = name
	}
	return newFix("Rename it to "+string(syntax.AppendQuoted(nil, name)), at, text)
}

// Replace returns the fix that writes a string in place of a value.
func (v Value) Replace(text string) *Fix {
	quoted := string(syntax.AppendQuoted(nil, text))
	return newFix("Write "+quoted, v.span(), quoted)
}
