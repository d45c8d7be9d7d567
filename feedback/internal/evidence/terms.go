package evidence

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mozillazg/go-pinyin"

	"lessonkit.example/feedback/internal/script"
	"lessonkit.example/feedback/internal/sound"
)

// term is what a sentence and a source may have in common: a word, or a Chinese character, or two.
type term struct {
	key    string
	weight float64
	token  int // the number of its last word or character in the text
}

// The weights of a character and of two beside each other, which tell more.
const charWeight, pairWeight = 0.5, 1

// parse returns the words and characters of a text, in lower case, and its terms in their order.
func parse(s string) (tokens []string, terms []term) {
	last, end := "", -1 // the character before
	for i, t := range script.Tokenize(s) {
		word := strings.ToLower(s[t.Start:t.End])
		tokens = append(tokens, word)
		r, _ := utf8.DecodeRuneInString(word)
		switch {
		case !t.Char:
			last = ""
			if w := stem(word); w != "" {
				terms = append(terms, term{w, 1, i})
			}
		case sound.IsGrammar(r) || strings.ContainsRune(common, r):
			last = ""
		default:
			terms = append(terms, term{word, charWeight, i})
			key := syllable(r)
			if last != "" && end == t.Start {
				terms = append(terms, term{last + " " + key, pairWeight, i})
			}
			last, end = key, t.End
		}
	}
	return tokens, terms
}

// Terms returns what a text may have in common with another, with the weights.
func Terms(text string) map[string]float64 {
	_, terms := parse(text)
	weights := map[string]float64{}
	for _, t := range terms {
		weights[t.key] = t.weight
	}
	return weights
}

// common are characters that say little in a feedback.
const common = "一二三四五六七八九十百两几个些们好"

// syllable returns how a character is pronounced, without its tone: recognisers write others that
// sound alike.
func syllable(r rune) string {
	if s := pinyin.SinglePinyin(r, pinyin.NewArgs()); len(s) > 0 {
		return s[0]
	}
	return string(r)
}

var endings = strings.Fields("ations ation ings ing ied ies edly ed es ly er s e y")

// stem returns a word without its ending, or "" if it says little.
func stem(w string) string {
	w = strings.TrimSuffix(strings.TrimSuffix(strings.ReplaceAll(w, "’", "'"), "'s"), "'")
	if stopWords[w] || !strings.ContainsFunc(w, unicode.IsLetter) {
		return ""
	}
	if runes := []rune(w); len(runes) < len(w) { // of a language with more endings
		return string(runes[:min(len(runes), 5)])
	}
	for _, ending := range endings {
		if rest, ok := strings.CutSuffix(w, ending); ok && len(rest) >= 3 {
			w = rest
			break
		}
	}
	if n := len(w); n > 3 && w[n-1] == w[n-2] {
		w = w[:n-1] // "stopp"
	}
	return w
}

// stopWords are English words that say little in a feedback, and numbers, which are written in many
// ways.
var stopWords = func() map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(`
		a about after again all also although always am an and another any are as at be because been before
		being both but by can could did do does doing don't done down each even every few first for from get
		got had has have having he her here hers herself him himself his how i if in into is it it's its
		itself just let like little lot made make makes many may maybe me more most much my need needs no
		not now of off on once one only or other our out over own please quite rather really said say says
		second she should so some still such than that the their them then there these they this those three
		through to today together too two up us very was we well went were what when where which while who
		will with would you your yes okay um uh right good zero four five six seven eight nine ten eleven
		twelve fifteen twenty thirty forty fifty sixty hundred half`) {
		m[w] = true
	}
	return m
}()
