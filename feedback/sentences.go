package feedback

import (
	"encoding/json"
	"strings"
	"time"
)

// Sentence is a sentence of a transcript.
type Sentence struct {
	Text string
	// Start and End are relative to the start of the recording. Both are 0 if they are unknown.
	Start, End time.Duration
	// Doubtful means that this may not have been said, although the transcriber returned it.
	// Summaries leave it out.
	Doubtful bool
}

// details is the form of [Segment.Details].
type details struct {
	// Sentences are the offset of each in the text and its length, in bytes, its start and end, in
	// milliseconds, and 1 if it is doubtful.
	Sentences [][5]int64 `json:"sentences,omitempty"`
	// Header is how long the recording is according to its header, in milliseconds, if it is
	// shorter.
	Header int64 `json:"header_ms,omitempty"`
}

// maxSentences limits the sentences whose times are kept: those of more than an hour.
const maxSentences = 2000

// detailsOf returns [Segment.Details] for a transcript that is stored as text.
func detailsOf(t Transcript, text string) string {
	var d details
	end := 0
	for _, s := range t.Sentences[:min(len(t.Sentences), maxSentences)] {
		sentence := cleanText(s.Text)
		offset := strings.Index(text[end:], sentence)
		if offset < 0 || sentence == "" {
			continue
		}
		doubtful := int64(0)
		if s.Doubtful {
			doubtful = 1
		}
		start := end + offset
		end = start + len(sentence)
		d.Sentences = append(d.Sentences, [5]int64{
			int64(start), int64(len(sentence)), s.Start.Milliseconds(), s.End.Milliseconds(), doubtful,
		})
	}
	if t.HeaderDuration > t.Duration {
		d.Header = t.HeaderDuration.Milliseconds()
	}
	if d.Sentences == nil && d.Header == 0 {
		return ""
	}
	b, _ := json.Marshal(d) // numbers only
	return string(b)
}

// details returns the parsed Details; those of another form are empty.
func (s Segment) details() (d details) {
	if s.Details != "" && json.Unmarshal([]byte(s.Details), &d) != nil {
		return details{}
	}
	return d
}

// Sentences returns the sentences of EditedText, or else Text, whose times or doubts are known, in
// their order. What is between two sentences that the teacher has not changed is one sentence, with
// the times of those that it replaces.
func (s Segment) Sentences() []Sentence {
	if s.EditedText == nil {
		return s.recognised()
	}
	var out []Sentence
	rest, changed := *s.EditedText, Sentence{}
	add := func(text string) {
		if changed.Text = strings.TrimSpace(text); changed.Text != "" && changed.End > 0 {
			out = append(out, changed)
		}
		changed = Sentence{}
	}
	recognised := s.recognised()
	for i, was := range recognised {
		before, after, same := strings.Cut(rest, was.Text)
		if !same || isLater(before, after, recognised[i:]) {
			if changed.End == 0 {
				changed.Start = was.Start
			}
			changed.End = max(changed.End, was.End)
			continue
		}
		add(before)
		was.Doubtful = false
		out, rest = append(out, was), after
	}
	add(rest)
	return out
}

// isLater reports whether what is between before and after is not the first of the recognised
// sentences but a later one with the same text, since before has one of those in between.
func isLater(before, after string, recognised []Sentence) bool {
	skipped := 0
	for i := 1; i < min(len(recognised), 20); i++ {
		skipped += len(recognised[i-1].Text)
		if next := recognised[i].Text; strings.Contains(before, next) &&
			// Otherwise the teacher has written a sentence that is said again later.
			(skipped <= len(before) || !strings.Contains(after, next)) {
			return true
		}
	}
	return false
}

// recognised returns the sentences of Text.
func (s Segment) recognised() []Sentence {
	var out []Sentence
	for _, m := range s.details().Sentences {
		if start, end := m[0], m[0]+m[1]; start >= 0 && start <= end && end <= int64(len(s.Text)) {
			out = append(out, Sentence{
				Text: s.Text[start:end], Doubtful: m[4] != 0,
				Start: time.Duration(m[2]) * time.Millisecond, End: time.Duration(m[3]) * time.Millisecond,
			})
		}
	}
	return out
}

// certainText returns said without doubtful sentences, and whether there are any.
func (s Segment) certainText() (text string, doubtful bool) {
	rest := s.said()
	if s.EditedText != nil {
		return strings.TrimSpace(rest), false
	}
	var kept strings.Builder
	for _, sentence := range s.recognised() {
		before, after, _ := strings.Cut(rest, sentence.Text)
		if sentence.Doubtful {
			kept.WriteString(strings.TrimRight(before, " "))
			doubtful = true
		} else {
			kept.WriteString(before + sentence.Text)
		}
		rest = after
	}
	return strings.TrimSpace(kept.String() + rest), doubtful
}
