package summary

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"lessonkit.example/feedback"
)

var errNoWords = fmt.Errorf("summarize: the transcripts contain no words to write: %w", feedback.ErrNothingTranscribed)

// Local is a [feedback.Summarizer] that works in this process: it turns what a teacher dictates
// into text, in the teacher's words. It leaves out fillers, repeated words, false starts and what
// was said to others, applies corrections in speech ("Thursday, no, Friday"), and obeys "don't
// write this"; everything else stays. It supports Chinese and English, with or without punctuation;
// of other languages, it normalizes spaces and end marks. Names are not removed, since the text
// does not leave the process.
//
// Models decide, which are trained from notes marked by hand, and phrases where a mistake would be
// worst, such as "just between us". Both are sometimes wrong: of 24 notes that the models had not
// seen, 1 in 300 words that should stay was lost, 1 in 3 fillers and asides stayed, and of 140
// words that should not be there 73 were, most of them corrected without a word such as "no". A
// request not to write something may be missed if its words are unusual. The sentences of which
// the models are least sure are [feedback.Summary.Unsure]: of the 302 sentences of these notes 87,
// among them 52 of the 86 that were wrong. The teacher reads the text before a family does.
//
// The text has a paragraph for each lesson, then one for homework and one for notices, such as the
// times of lessons, concerts, fees and what to bring. That of a report has sentences on what
// changed from the oldest to the newest records, on what was reached, and of the newest record,
// each with its day. The zero value is ready to use.
type Local struct {
	// MaxWords is the length above which the text is shortened by whole sentences, counted as word
	// processors do: each Chinese character and each English word is one. Homework, notices and
	// sentences with numbers, dates or times stay, however low the limit. Defaults to 600.
	MaxWords int
}

var _ feedback.Summarizer = Local{}

// Summarize implements [feedback.Summarizer]. A text that was shortened has a
// [feedback.WarningShortened], which names what was left out.
func (l Local) Summarize(ctx context.Context, in feedback.SummaryInput) (feedback.Summary, error) {
	s, left, err := feedback.Summary{Source: feedback.SummaryLocal}, []string(nil), error(nil)
	if in.Report {
		s.Text, err = l.report(ctx, in)
	} else {
		s.Text, s.Unsure, left, err = l.text(ctx, textsOf(in.Lessons), strings.Fields(in.Student))
	}
	if err != nil {
		return feedback.Summary{}, err
	}
	if len(left) > 0 {
		warnNaming(&s, feedback.WarningShortened,
			fmt.Sprintf("The text was long; these sentences were left out (%d):", len(left)), left)
	}
	return s, nil
}

// text returns the text of lessons, the sentences of it that are to be read again, and those that
// were left out to shorten it.
func (l Local) text(ctx context.Context, transcripts, names []string) (text string, unsure, left []string, err error) {
	var all []piece
	for i, t := range transcripts {
		words, err := clean(ctx, t)
		if err != nil {
			return "", nil, nil, err
		}
		all = append(all, pieces(words, i)...)
	}
	if len(all) == 0 {
		return "", nil, nil, errNoWords
	}
	rest, out := shorten(all, cmp.Or(max(l.MaxWords, 0), 600))
	for _, p := range out {
		left = append(left, write(p.words, names))
	}
	text, unsure = compose(rest, names)
	return text, unsure, left, nil
}

func textsOf(lessons []feedback.SummaryLesson) []string {
	out := make([]string, len(lessons))
	for i, l := range lessons {
		out[i] = l.Text
	}
	return out
}
