package summary

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
)

// label is what a reader marked a word as.
type label byte

const (
	stays  label = iota
	mayGo        // [] words such as "so" at the start of a sentence
	goes         // {} fillers, asides and what is not to be written
	spoilt       // <> what is corrected, withdrawn or said twice
)

// markedText is a text, of which each byte has a label and a place.
type markedText struct {
	text   string
	labels []label
	places []place
}

var markLabels = map[rune]label{'{': goes, '<': spoilt, '[': mayGo, '}': stays, '>': stays, ']': stays}

// markPlaces stand where a place begins.
var markPlaces = map[string]place{"#l ": inLesson, "#h ": inHomework, "#n ": inNotices}

func readMarked(s string) markedText {
	var m markedText
	now, at, skip := stays, inLesson, 0
	for i, r := range s {
		if skip > 0 {
			skip--
			continue
		}
		if p, ok := markPlaces[s[i:min(i+3, len(s))]]; ok {
			at, skip = p, 2
			continue
		}
		if l, ok := markLabels[r]; ok {
			now = l
			continue
		}
		m.add(r, now, at)
	}
	return m
}

func (m *markedText) add(r rune, l label, p place) {
	m.text += string(r)
	for len(m.labels) < len(m.text) {
		m.labels, m.places = append(m.labels, l), append(m.places, p)
	}
}

// plain returns the text as recognisers without punctuation write it, if it has any. Pauses are
// spaces in every other one.
func (m markedText) plain(pauses bool) (markedText, bool) {
	var out markedText
	marks := 0
	for i, r := range m.text {
		digit := i > 0 && i+1 < len(m.text) && unicode.IsDigit(rune(m.text[i-1])) && unicode.IsDigit(rune(m.text[i+1]))
		if strings.ContainsRune(",.?!;，。？！；、：:…", r) && !digit {
			marks++
			if r < unicode.MaxASCII || !pauses {
				continue
			}
			r = ' '
		}
		out.add(unicode.ToLower(r), m.labels[i], m.places[i])
	}
	return out, marks > 5
}

// labelsOf returns the label of each word, and its place. One that has several labels may go.
func (m markedText) labelsOf(words []word) ([]label, []place, error) {
	var text []rune
	var of []label
	var in []place
	for i, r := range m.text {
		if l := letters(string(r)); l != "" {
			text, of, in = append(text, []rune(l)...), append(of, m.labels[i]), append(in, m.places[i])
		}
	}
	var out []label
	var places []place
	at := 0
	for _, w := range words {
		from := at
		for _, r := range letters(w.text) {
			if at == len(text) || text[at] != r {
				return nil, nil, fmt.Errorf("the word %q is not at letter %d", w.text, at)
			}
			if of[at] != of[from] {
				of[from] = mayGo
			}
			at++
		}
		out, places = append(out, of[from]), append(places, in[from])
	}
	if at != len(text) {
		return nil, nil, fmt.Errorf("letters after the last word")
	}
	return out, places, nil
}

// note is what a teacher dictated, written for these tests as a transcriber writes it, with what a
// reader marked in it. Lessons are divided by "==".
type note struct {
	name                             string
	marked                           []markedText // the lessons
	facts, homework, notices, absent []string
	ideal                            string
}

func (n note) lessons() []string {
	var out []string
	for _, m := range n.marked {
		out = append(out, m.text)
	}
	return out
}

// notes returns the notes of a folder of testdata. A file may have several, divided by "----".
func notes(t *testing.T, folder string) []note {
	files, err := filepath.Glob("testdata/" + folder + "/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	var out []note
	for _, f := range files {
		b, err := os.ReadFile(f)
		require.NoError(t, err)
		name := strings.TrimSuffix(filepath.Base(f), ".txt")
		for i, text := range strings.Split(string(b), "\n----\n") {
			n := note{name: fmt.Sprintf("%s %s/%d", folder, name, i+1)}
			sections := strings.Split(text, "\n--- ")
			for _, l := range strings.Split(sections[0], "\n==\n") {
				n.marked = append(n.marked, readMarked(l))
			}
			for _, s := range sections[1:] {
				title, body, _ := strings.Cut(s, "\n")
				lines := strings.Split(strings.TrimSpace(body), "\n")
				switch title {
				case "facts":
					n.facts = lines
				case "homework":
					n.homework = lines
				case "notices":
					n.notices = lines
				case "absent":
					n.absent = lines
				case "ideal":
					n.ideal = body
				default:
					t.Fatalf("%s: unknown section %q", f, title)
				}
			}
			out = append(out, n)
		}
	}
	return out
}
