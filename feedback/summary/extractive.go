package summary

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"unicode"

	"lessonkit.example/feedback"
)

// errNoWords is returned for transcripts without words.
var errNoWords = fmt.Errorf("summarize: the transcripts contain no words: %w", feedback.ErrNothingTranscribed)

// Extractive is a [feedback.Summarizer] that selects sentences of the transcripts, without any
// service: the sentences that have most in common with the rest of the lesson, in their order, word
// for word and without repetitions. Its result depends on the transcripts alone. It supports
// Chinese and English, also as transcribers write them: one utterance a line, spaces for
// pauses, or no punctuation at all; other languages get reasonable results.
//
// Of a lesson that is shorter than the limit, only repeated sentences are left out; spaces are
// normalized and missing end marks added. Names are not removed, since the text does not leave the
// process. The zero value is ready to use.
type Extractive struct {
	// MaxWords limits the length of the summary, counted as word processors do: each Chinese
	// character and each English word is one. There is at least one sentence, however low the
	// limit. Defaults to 300.
	MaxWords int
}

var _ feedback.Summarizer = Extractive{}

// Summarize implements [feedback.Summarizer]. Each lesson of which sentences are selected becomes a
// paragraph.
func (e Extractive) Summarize(ctx context.Context, in feedback.SummaryInput) (feedback.Summary, error) {
	text, err := e.extract(ctx, textsOf(in.Lessons))
	if err != nil {
		return feedback.Summary{}, err
	}
	return feedback.Summary{Text: text, Source: feedback.SummaryLocal}, nil
}

// textsOf returns the text of each lesson.
func textsOf(lessons []feedback.SummaryLesson) []string {
	out := make([]string, len(lessons))
	for i, l := range lessons {
		out[i] = l.Text
	}
	return out
}

func (e Extractive) extract(ctx context.Context, transcripts []string) (string, error) {
	var units []unit
	for i, t := range transcripts {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		units = append(units, split(t, i)...)
	}
	units = withoutRepeats(units)
	if len(units) == 0 {
		return "", errNoWords
	}
	words := 0
	for _, u := range units {
		words += u.words
	}
	limit := cmp.Or(max(e.MaxWords, 0), 300)
	if words <= limit {
		return compose(units), nil
	}
	vecs, n := vectors(units)
	scores, err := rank(ctx, vecs, n)
	if err != nil {
		return "", err
	}
	var selected []unit
	for i, take := range choose(units, vecs, scores, n, limit) {
		if take {
			selected = append(selected, units[i])
		} else if i+1 < len(units) {
			units[i+1].glued = false // the piece before it is missing
		}
	}
	return compose(selected), nil
}

// withoutRepeats drops units with the same words as an earlier one.
func withoutRepeats(units []unit) []unit {
	seen := map[string]bool{}
	var out []unit
	for i, u := range units {
		if key := letters(u.text); !seen[key] {
			seen[key] = true
			out = append(out, u)
		} else if i+1 < len(units) {
			units[i+1].glued = false
		}
	}
	return out
}

// letters returns s in lower case without spaces and punctuation.
func letters(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, s)
}
