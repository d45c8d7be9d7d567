package summary

import (
	_ "embed"
	"strings"
)

//go:embed classes.txt
var classText string

// phrasesOf are the phrases of classes by their first words, classBits a bit for each class by its
// name.
var phrasesOf, classBits = func() (map[string][]phrase, map[string]uint64) {
	phrases, bits := map[string][]phrase{}, map[string]uint64{}
	for line := range strings.Lines(classText) {
		title, list, ok := strings.Cut(strings.TrimSpace(line), ": ")
		if !ok || line[0] == '#' {
			continue
		}
		bits[title] = 1 << len(bits)
		for p := range strings.FieldsSeq(list) {
			words := parseSentence(strings.ReplaceAll(p, "_", " "))
			lows := make([]string, len(words))
			for i, w := range words {
				lows[i] = w.low
			}
			phrases[lows[0]] = append(phrases[lows[0]], phrase{lows, bits[title]})
		}
	}
	return phrases, bits
}()

// phrase is some words of a class.
type phrase struct {
	words []string
	class uint64
}

// learnt are the classes of which the model has learnt something.
var learnt = classSet("corrects") - 1

// classSet returns some classes as a set.
func classSet(titles string) (set uint64) {
	for title := range strings.FieldsSeq(titles) {
		bit, ok := classBits[title]
		if !ok {
			panic("summary: there is no class " + title)
		}
		set |= bit
	}
	return set
}

// goesOnBit is set in the classes of a word at which a phrase goes on: nothing begins there.
const goesOnBit = 63

// classesOf returns the classes of each word.
func classesOf(words []word) []uint64 {
	out := make([]uint64, len(words))
	for i, w := range words {
		for _, p := range phrasesOf[w.low] {
			if matches(words[i:], p.words) {
				for j := range p.words {
					out[i+j] |= p.class
					if j > 0 && learnt&p.class != 0 {
						out[i+j] |= 1 << goesOnBit
					}
				}
			}
		}
	}
	return out
}

// matches reports whether words begin with a phrase, with at most a comma within it.
func matches(words []word, phrase []string) bool {
	if len(phrase) > len(words) {
		return false
	}
	for i, p := range phrase {
		if words[i].low != p || i+1 < len(phrase) && words[i].end >= sentence {
			return false
		}
	}
	return true
}
