package lsp

import (
	"slices"
	"sort"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// text is the text of a file with the offsets of its lines.
type text struct {
	src   string
	lines []int
}

func newText(src string) *text {
	t := &text{src: src, lines: []int{0}}
	for at := 0; ; {
		end := strings.IndexByte(src[at:], '\n')
		if end < 0 {
			return t
		}
		at += end + 1
		t.lines = append(t.lines, at)
	}
}

// offset returns the offset in bytes of a position; one outside the text is moved to its nearest
// end.
func (t *text) offset(p position) int {
	if p.Line < 0 {
		return 0
	}
	if p.Line >= len(t.lines) {
		return len(t.src)
	}
	end := len(t.src)
	if p.Line+1 < len(t.lines) {
		end = t.lines[p.Line+1] - 1
	}
	at := t.lines[p.Line]
	for units := 0; at < end; {
		r, size := utf8.DecodeRuneInString(t.src[at:])
		if units += utf16.RuneLen(r); units > p.Character {
			break
		}
		at += size
	}
	return at
}

// position returns the position of an offset.
func (t *text) position(offset int) position {
	offset = min(max(offset, 0), len(t.src))
	line := sort.SearchInts(t.lines, offset+1) - 1
	p := position{Line: line}
	for _, r := range t.src[t.lines[line]:offset] {
		p.Character += utf16.RuneLen(r)
	}
	return p
}

func (t *text) span(start, end int) span { return span{t.position(start), t.position(end)} }

// maxCopied is how many bytes of a text the changes of one message may copy.
const maxCopied = 256 << 20

// changed returns the text after changes, which are made one after the other. It returns nil if
// that is too much work.
func (t *text) changed(changes []change) *text {
	copied := 0
	for _, c := range changes {
		if copied += len(t.src) + len(c.Text); copied > maxCopied {
			return nil
		}
		if c.Range == nil {
			t = newText(c.Text)
			continue
		}
		ends := []int{t.offset(c.Range.Start), t.offset(c.Range.End)}
		slices.Sort(ends)
		t = newText(t.src[:ends[0]] + c.Text + t.src[ends[1]:])
	}
	return t
}
