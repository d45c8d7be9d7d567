package capability

import (
	"fmt"
	"sort"
	"unicode/utf8"
)

// Position is a place in a document. The zero Position is no place.
type Position struct {
	Offset int `json:"offset"` // bytes from the beginning, from 0
	Line   int `json:"line"`   // from 1
	Column int `json:"column"` // Unicode characters from the start of the line, from 1
}

// IsValid reports whether the position is a place.
func (p Position) IsValid() bool { return p.Line > 0 }

// String returns "line:column".
func (p Position) String() string { return fmt.Sprintf("%d:%d", p.Line, p.Column) }

// PositionAt returns the place of an offset in bytes, that of the end for one
// beyond it.
func (d *Document) PositionAt(offset int) Position {
	return d.position(min(max(offset, 0), len(d.src)))
}

// position converts an offset. The table of lines is made when the first place
// is asked for: reading a sound document never needs it.
func (d *Document) position(offset int) Position {
	d.linesOnce.Do(func() {
		d.lines = append(d.lines, 0)
		for i := range len(d.src) {
			if d.src[i] == '\n' {
				d.lines = append(d.lines, int32(i+1))
			}
		}
	})
	line := sort.Search(len(d.lines), func(i int) bool { return int(d.lines[i]) > offset })
	start := int(d.lines[line-1])
	return Position{Offset: offset, Line: line, Column: utf8.RuneCountInString(d.src[start:offset]) + 1}
}

// Line returns the text of a line counted from 1, without its line break, and
// "" for a line that does not exist.
func (d *Document) Line(line int) string {
	d.position(0)
	if line < 1 || line > len(d.lines) {
		return ""
	}
	start, end := int(d.lines[line-1]), len(d.src)
	if line < len(d.lines) {
		end = int(d.lines[line]) - 1
	}
	if end > start && d.src[end-1] == '\r' {
		end--
	}
	return d.src[start:end]
}
