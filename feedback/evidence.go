package feedback

import (
	"slices"
	"strings"

	"github.com/google/uuid"

	"lessonkit.example/feedback/internal/evidence"
)

// SummarySentence is a sentence of a generated text.
type SummarySentence struct {
	Text string
	// Sources are the segments, or of a [Report] the records, that the sentence comes from, in
	// their order. Of a text of [SummaryLocal] they are those in which its words were said.
	Sources []uuid.UUID
	// Supported is false if they say too little of it: the sentence may be invented.
	Supported bool
	// Unsure is that of the [Summary]: the teacher should read the sentence again.
	Unsure bool
}

// source is a text that a summary may come from.
type source struct {
	id   uuid.UUID // of a segment or a record
	text string
}

func textsOf(sources []source) []string {
	texts := make([]string, len(sources))
	for i, s := range sources {
		texts[i] = s.text
	}
	return texts
}

// evidenceOf returns the first sentences of a summary about a student, up to 500, with their
// sources. There are none if the text is in another script than the sources.
func evidenceOf(summary Summary, sources []source, student string) []SummarySentence {
	var out []SummarySentence
	for _, found := range evidence.Find(summary.Text, textsOf(sources), student) {
		s := SummarySentence{Text: found.Text, Supported: found.Supported}
		// It may be two sentences of the summary, as where the first ends with "the scale of D."
		s.Unsure = slices.ContainsFunc(summary.Unsure, func(u string) bool { return strings.Contains(s.Text, u) })
		for _, i := range found.Sources {
			s.Sources = append(s.Sources, sources[i].id)
		}
		out = append(out, s)
	}
	return out
}
