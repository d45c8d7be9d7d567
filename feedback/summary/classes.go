package summary

import (
	_ "embed"
	"strings"
)

//go:embed classes.txt
var classText string

// classes returns the classes of the words of phrases as a set of bits, by the first word of each
// phrase, and the number of each class by its name.
var phrasesOf, classNumber = func() (map[string][]phrase, map[string]int) {
	phrases, numbers := map[string][]phrase{}, map[string]int{}
	for line := range strings.Lines(classText) {
		title, list, ok := strings.Cut(strings.TrimSpace(line), ": ")
		if !ok || line[0] == '#' {
			continue
		}
		n := len(numbers)
		numbers[title] = n
		for p := range strings.FieldsSeq(list) {
			words := parseSentence(strings.ReplaceAll(p, "_", " "))
			lows := make([]string, len(words))
			for i, w := range words {
				lows[i] = w.low
			}
			phrases[lows[0]] = append(phrases[lows[0]], phrase{lows, n})
		}
	}
	return phrases, numbers
}()

// phrase is some words of a class.
type phrase struct {
	words []string
	class int
}

// learnt are the classes of which the model has learnt something.
var learnt = uint64(1)<<classNumber["corrects"] - 1

// classSet returns some classes as a set.
func classSet(titles string) (set uint64) {
	for title := range strings.FieldsSeq(titles) {
		set |= 1 << classNumber[title]
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
					out[i+j] |= 1 << p.class
					if j > 0 && learnt>>p.class&1 == 1 {
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
