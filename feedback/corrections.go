package feedback

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
	"unique"

	"lessonkit.example/feedback/internal/script"
	"lessonkit.example/feedback/internal/sound"
)

const (
	// maxCorrected is how many words, or characters of a script without spaces, a name has at most.
	maxCorrected = 3
	// maxCorrections limits what is learnt from one text.
	maxCorrections = 50
	// maxCompared limits how many words are compared with names by their sound.
	maxCompared = 5000
)

// corrections returns the names that somebody has put in the place of words that sound alike: in
// saved and in one of the recognised texts, the two words before it and the two after it are equal,
// where there are any. What was recognised anywhere needs no correction. It fails if ctx ends.
func corrections(ctx context.Context, recognised []string, saved string) ([]string, error) {
	words := tokens(saved)
	named := map[string]bool{} // in the middle of a sentence, where a capital letter means a name
	for _, w := range words {
		if !w.first && isCapital(w.text) {
			named[w.text] = true
		}
	}
	all := strings.ToLower(strings.Join(recognised, "\n"))
	names := map[surroundings][]string{}
	for i := range words {
		for n := 1; n <= maxCorrected && i+n <= len(words); n++ {
			at, name := around(words, i, i+n), nameOf(saved, words[i:i+n], named)
			if name != "" && at.enough() && !slices.Contains(names[at], name) {
				names[at] = append(names[at], name)
			}
		}
	}
	var found []string
	compared := 0
	for _, transcript := range recognised {
		if err := ctx.Err(); err != nil || len(names) == 0 {
			return nil, err
		}
		was := tokens(transcript)
		for i := range was {
			for n := 1; n <= maxCorrected && i+n <= len(was); n++ {
				said := transcript[was[i].start:was[i+n-1].end]
				for _, name := range names[around(was, i, i+n)] {
					if strings.EqualFold(said, name) ||
						slices.ContainsFunc(found, func(f string) bool { return strings.Contains(name, f) }) {
						continue
					}
					if compared++; compared > maxCompared || len(found) == maxCorrections {
						return found, nil
					}
					if sound.Alike(said, name) && !strings.Contains(all, strings.ToLower(name)) {
						found = append(found, name)
					}
				}
			}
		}
	}
	return found, nil
}

// surroundings are the two words before a place in a text and the two after it, in lower case.
type surroundings [4]unique.Handle[string]

func around(words []token, start, end int) (s surroundings) {
	for i, at := range []int{start - 2, start - 1, end, end + 1} {
		if at >= 0 && at < len(words) {
			s[i] = words[at].folded
		}
	}
	return s
}

// enough reports whether there are words on one side at least.
func (s surroundings) enough() bool {
	var none unique.Handle[string]
	return s[0] != none || s[3] != none
}

// The words beside Chinese names, where these are written without a space.
var (
	beforeName = regexp.MustCompile(`(?:^|[^\p{L}\p{N}]|今天|昨天|这次|同学|老师|朋友|孩子|还有|表扬|[和跟与让给请叫教对是但])$`)
	afterName  = regexp.MustCompile(`^(?:$|[^\p{L}\p{N}]|同学|老师|小朋友|妈妈|爸爸|家长|今天|昨天|非常|已经|可以|` +
		`[这在的也很真和跟与把能会有是说都还就要需上完表学练画弹唱跳写读做认第对从一进每])`)
)

// nameOf returns the name that words of s are, or "": one to three words with a capital letter, of
// which one at the start of a sentence counts only if it is a name elsewhere, or two or three
// Chinese characters beside words that stand beside names.
func nameOf(s string, words []token, named map[string]bool) string {
	start, end := words[0].start, words[len(words)-1].end
	var texts []string
	chinese, length := 0, 0
	for _, w := range words {
		texts, length = append(texts, w.text), length+len(w.text)
		switch r, _ := utf8.DecodeRuneInString(w.text); {
		case unicode.Is(unicode.Han, r) && !sound.IsGrammar(r):
			chinese++
		case !isCapital(w.text) || w.first && !named[w.text]:
			return ""
		}
	}
	if chinese == 0 {
		return strings.Join(texts, " ")
	}
	const near = 4 * utf8.UTFMax // the longest of the words beside names
	if chinese > 1 && chinese == len(words) && length == end-start &&
		beforeName.MatchString(strings.ToValidUTF8(s[max(0, start-near):start], "")) &&
		afterName.MatchString(strings.ToValidUTF8(s[end:min(len(s), end+near)], "")) {
		return s[start:end]
	}
	return ""
}

// isCapital reports whether a word begins with a capital letter and has others.
func isCapital(word string) bool {
	r, size := utf8.DecodeRuneInString(word)
	return unicode.IsUpper(r) && len(word) > size
}

// token is a word, or a character of a script without spaces.
type token struct {
	text   string
	folded unique.Handle[string] // in lower case
	first  bool                  // in its sentence

	start, end int // byte offsets
}

func tokens(s string) []token {
	end, found := 0, script.Tokenize(s)
	all := make([]token, 0, len(found))
	for _, t := range found {
		word, between := s[t.Start:t.End], s[end:t.Start]
		first := len(all) == 0 || strings.ContainsFunc(between, func(r rune) bool {
			return r == '\n' || script.IsTerminator(r)
		})
		all = append(all, token{word, unique.Make(strings.ToLower(word)), first, t.Start, t.End})
		end = t.End
	}
	return all
}
