package syntax

import "slices"

// Fix is a change that removes what a diagnostic is about.
type Fix struct {
	Title string `json:"title"`
	Edits []Edit `json:"edits"`
	// Guess reports that the change is what was probably meant and may grant something else: it
	// must not be made without review.
	Guess bool `json:"guess,omitempty"`
}

// Edit replaces the bytes from Start up to End of a source by Text.
type Edit struct {
	Start int    `json:"start"`
	End   int    `json:"end"`
	Text  string `json:"text"`
}

// NewFix returns the fix that replaces a range by a text.
func NewFix(title string, at Span, text string) *Fix {
	return &Fix{Title: title, Edits: []Edit{{at.Start, at.End, text}}}
}

// RemoveItems returns the fix that removes items from their arrays, with the commas that belong to
// them. It returns nil in TOML, and where an array would have no item left.
func RemoveItems(title string, items ...Value) *Fix {
	items = slices.SortedFunc(slices.Values(items), func(a, b Value) int { return a.Span().Start - b.Span().Start })
	fix := &Fix{Title: title}
	for i := len(items) - 1; i >= 0; i-- {
		v := items[i]
		if v.doc == nil || v.doc.format == TOML {
			return nil
		}
		at, last := v.withComma()
		// Where the items after it are removed up to the end of the array, it is the last one too.
		if next := len(fix.Edits) - 1; !last && next >= 0 && fix.Edits[next].Start < at.End {
			end := fix.Edits[next].End
			fix.Edits = fix.Edits[:next]
			at, last = Span{v.doc.commaBefore(v.Span().Start), end}, true
		}
		if last && at.Start < 0 {
			return nil
		}
		fix.Edits = append(fix.Edits, Edit{at.Start, at.End, ""})
	}
	slices.Reverse(fix.Edits)
	return fix
}

// withComma returns the bytes to remove together with an item: those up to the next item, or for
// the last one those from the comma before it, which is at -1 if there is none.
func (v Value) withComma() (at Span, last bool) {
	src, at := v.doc.src, v.Span()
	i := at.End
	for i < len(src) && isSpace(src[i]) {
		i++
	}
	if i == len(src) || src[i] != ',' {
		return Span{v.doc.commaBefore(at.Start), at.End}, true
	}
	// Up to the next item, so that the lines before and after join well.
	at.End = i + 1
	for at.End < len(src) && isSpace(src[at.End]) {
		at.End++
	}
	if at.End < len(src) && (src[at.End] == '/' || src[at.End] == ']') {
		at.End = i + 1
	}
	return at, false
}

// commaBefore returns the offset of the comma before a value, -1 if there is none.
func (d *Document) commaBefore(at int) int {
	for at > 0 && isSpace(d.src[at-1]) {
		at--
	}
	if at > 0 && d.src[at-1] == ',' {
		return at - 1
	}
	return -1
}

// Rename returns the fix that gives a key another name, quoted if the key is.
func (v Value) Rename(name string) *Fix {
	at := v.Span()
	text := string(AppendQuoted(nil, name))
	if at.End > at.Start && v.doc.src[at.Start] != '"' && v.doc.src[at.Start] != '\'' {
		text = name
	}
	return NewFix("Rename it to "+string(AppendQuoted(nil, name)), at, text)
}

// Replace returns the fix that writes a string in place of a value.
func (v Value) Replace(text string) *Fix {
	quoted := string(AppendQuoted(nil, text))
	return NewFix("Write "+quoted, v.Span(), quoted)
}
