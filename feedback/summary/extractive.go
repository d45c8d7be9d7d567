package summary

import (
	"context"
	"strings"
	"unicode"

	"lessonkit.example/feedback"
)

// DefaultMaxWords is the length of a summary when nothing else is configured.
const DefaultMaxWords = 300

// Extractive is a [feedback.Summarizer] that puts a summary together from the
// transcripts' own sentences, without any service: the sentences that have most
// in common with the rest of the lesson, in their order, word for word, each
// said once. The same transcripts always give the same text. It reads Chinese
// and English, also as speech recognisers write them: one utterance a line,
// blanks for pauses, or no punctuation at all, and does sensibly with other languages.
//
// A lesson short enough to be given whole is: only its spaces are tidied, end
// marks added and repeated sentences left out. Names stay in the text, since it
// goes nowhere. The zero value is ready to use and safe for concurrent use.
type Extractive struct {
	// MaxWords bounds the length of the summary, counted as word processors do:
	// each Chinese character and each English word is one. At least one sentence
	// is given, however small the bound. Defaults to [DefaultMaxWords].
	MaxWords int
}

var _ feedback.Summarizer = Extractive{}

func (e Extractive) maxWords() int {
	if e.MaxWords <= 0 {
		return DefaultMaxWords
	}
	return e.MaxWords
}

// Summarize implements [feedback.Summarizer]. Each lesson of which something
// was taken becomes a paragraph. It returns [ErrNoText] when there are no words,
// and the context's error when that ends.
func (e Extractive) Summarize(ctx context.Context, in feedback.SummaryInput) (feedback.Summary, error) {
	text, _, err := e.extract(ctx, in.Transcripts)
	if err != nil {
		return feedback.Summary{}, err
	}
	return feedback.Summary{Text: text, Source: feedback.SummaryLocal}, nil
}

// extract returns the summary of the transcripts and whether it is all of them.
func (e Extractive) extract(ctx context.Context, transcripts []string) (text string, whole bool, err error) {
	var units []unit
	for i, t := range transcripts {
		if err := ctx.Err(); err != nil {
			return "", false, err
		}
		units = append(units, split(t, i)...)
	}
	units = withoutRepeats(units)
	if len(units) == 0 {
		return "", false, ErrNoText
	}
	words := 0
	for _, u := range units {
		words += u.words
	}
	if words <= e.maxWords() {
		return compose(units), true, nil
	}
	vecs, n := vectors(units)
	scores, err := rank(ctx, vecs, n)
	if err != nil {
		return "", false, err
	}
	var chosen []unit
	for i, take := range choose(units, vecs, scores, n, e.maxWords()) {
		if take {
			chosen = append(chosen, units[i])
		} else if i+1 < len(units) {
			units[i+1].glued = false // its other half is not there
		}
	}
	return compose(chosen), false, nil
}

// withoutRepeats drops units that say word for word what one before them said.
func withoutRepeats(units []unit) []unit {
	seen := map[string]bool{}
	out := units[:0]
	dropped := false
	for _, u := range units {
		key := letters(u.text)
		if seen[key] {
			dropped = true
			continue
		}
		seen[key] = true
		if dropped {
			u.glued = false
		}
		dropped = false
		out = append(out, u)
	}
	return out
}

// letters is s without case, spaces and punctuation.
func letters(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, s)
}
