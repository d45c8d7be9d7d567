package syntax

// RemoveItem returns the edit that removes an item from its array, with the comma that belongs to
// it. It returns nil in TOML, and for an only item.
func (v Value) RemoveItem(title string) *Edit {
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
		return &Edit{Title: title, Span: at}
	}
	k := at.Start
	for k > 0 && isSpace(src[k-1]) {
		k--
	}
	if k > 0 && src[k-1] == ',' {
		return &Edit{Title: title, Span: Span{k - 1, at.End}}
	}
	return nil
}

// Rename returns the edit that gives a key another name, quoted if the key is.
func (v Value) Rename(name string) *Edit {
	at := v.Span()
	text := string(AppendQuoted(nil, name))
	if at.End > at.Start && v.doc.src[at.Start] != '"' && v.doc.src[at.Start] != '\'' {
		text = name
	}
	return &Edit{Title: "Rename it to " + string(AppendQuoted(nil, name)), Span: at, Text: text}
}

// Replace returns the edit that writes a string in place of a value.
func (v Value) Replace(text string) *Edit {
	quoted := string(AppendQuoted(nil, text))
	return &Edit{Title: "Write " + quoted, Span: v.Span(), Text: quoted}
}
