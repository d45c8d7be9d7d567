package syntax

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

// RemoveItem returns the fix that removes an item from its array, with the comma that belongs to
// it. It returns nil in TOML, and for an only item.
func (v Value) RemoveItem(title string) *Fix {
	if v.doc == nil || v.doc.format == TOML {
		return nil
	}
	src, at := v.doc.src, v.Span()
	i := at.End
	for i < len(src) && isSpace(src[i]) {
		i++
	}
	if i < len(src) && src[i] == ',' {
		// Up to the next item, so that the lines before and after join well.
		at.End = i + 1
		for at.End < len(src) && isSpace(src[at.End]) {
			at.End++
		}
		if at.End < len(src) && (src[at.End] == '/' || src[at.End] == ']') {
			at.End = i + 1
		}
		return NewFix(title, at, "")
	}
	k := at.Start
	for k > 0 && isSpace(src[k-1]) {
		k--
	}
	if k > 0 && src[k-1] == ',' {
		return NewFix(title, Span{k - 1, at.End}, "")
	}
	return nil
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
