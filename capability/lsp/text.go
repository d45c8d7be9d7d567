package lsp

import (
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
