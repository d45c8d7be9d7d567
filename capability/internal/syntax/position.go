package syntax

import (
	"sort"
	"strings"
	"sync"
	"unicode/utf8"
)

// lineTable contains the offsets at which lines begin, and how many characters begin before each
// block of the text. It is built on first use, because a valid document usually needs no positions.
type lineTable struct {
	once   sync.Once
	starts []int
	blocks []int
}

// blockSize is the number of bytes that are counted for the column of one position: a hostile file
// has only one line.
const blockSize = 1 << 10

func (d *Document) table() *lineTable {
	d.lines.once.Do(func() {
		d.lines.starts = append(d.lines.starts, 0)
		characters := 0
		for i := range len(d.src) {
			if i%blockSize == 0 {
				d.lines.blocks = append(d.lines.blocks, characters)
			}
			if utf8.RuneStart(d.src[i]) {
				characters++
			}
			if d.src[i] == '\n' {
				d.lines.starts = append(d.lines.starts, i+1)
			}
		}
		d.lines.blocks = append(d.lines.blocks, characters)
	})
	return &d.lines
}

// charactersBefore returns the number of characters that begin before an offset.
func (d *Document) charactersBefore(offset int) int {
	block := offset / blockSize
	count := d.table().blocks[block]
	for i := block * blockSize; i < offset; i++ {
		if utf8.RuneStart(d.src[i]) {
			count++
		}
	}
	return count
}

// LineColumn returns the line and the column of an offset in the source, both from 1; the column
// counts Unicode characters.
func (d *Document) LineColumn(offset int) (line, column int) {
	starts := d.table().starts
	line = sort.Search(len(starts), func(i int) bool { return starts[i] > offset })
	return line, d.charactersBefore(offset) - d.charactersBefore(starts[line-1]) + 1
}

// lineOf returns the line of an offset.
func (d *Document) lineOf(offset int) int {
	line, _ := d.LineColumn(offset)
	return line
}

// Around returns the text of a line before and after an offset, at most a number of characters of
// each.
func (d *Document) Around(offset, most int) (before, after string) {
	start := d.table().starts[d.lineOf(offset)-1]
	text, _, _ := strings.Cut(d.src[start:], "\n")
	text = strings.TrimSuffix(text, "\r")
	at := min(offset-start, len(text))
	from, to := at, at
	for n := 0; n < most && from > 0; n++ {
		_, size := utf8.DecodeLastRuneInString(text[:from])
		from -= size
	}
	for n := 0; n < most && to < len(text); n++ {
		_, size := utf8.DecodeRuneInString(text[to:])
		to += size
	}
	return text[from:at], text[at:to]
}
