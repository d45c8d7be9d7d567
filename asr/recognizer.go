package asr

import (
	"context"
	"strings"
	"time"
)

// A Recognizer turns speech into text. Its methods may be called by several goroutines at once.
type Recognizer interface {
	// Recognize returns what is said in the audio. It reads the audio through Audio.Open, perhaps more than once, and
	// closes all that it opened before it returns. A recording without speech gives an empty text and no error.
	// It returns soon after ctx ends, with an error in which errors.Is finds the context's error. Every other
	// error tells what to do by method; see the package comment. An implementation bounds how much it runs at once: a
	// call may wait for its turn.
	Recognize(ctx context.Context, audio Audio) (Transcript, error)

	// Status tells whether recognition can be expected to work, from memory: it makes no call and never blocks, so
	// it may be asked for each request of a health page.
	Status(ctx context.Context) Status
}

// Transcript is what was heard.
type Transcript struct {
	// Text is the whole text, trimmed. It is empty when nothing was said.
	Text string
	// Segments are the parts of the text with their times, in order. It is empty when the recogniser gives no times.
	Segments []Segment
	// Language is the language that was recognised, as the recogniser names it ("en", "zh", "english"), or "".
	Language string
	// Duration is how long the recording is, by the recogniser or by the recording's own header. 0 when unknown.
	Duration time.Duration
	// Model names the model that made the text, or "".
	Model string
}

// Segment is a part of a transcript.
type Segment struct {
	// Start and End are counted from the start of the recording.
	Start, End time.Duration
	// Text is trimmed.
	Text string
	// Speaker tells speakers apart ("0", "1"), where the recogniser does. Otherwise "".
	Speaker string
}

// Status tells whether a recogniser is ready.
type Status struct {
	// Available is true when a recording sent now can be expected to be recognised.
	Available bool
	// Provider names the kind of recogniser: "local", "cloud", "command".
	Provider string
	// Model is the model or engine in use, or "" when it is not known.
	Model string
	// Reason says in words why the recogniser is not available, or what was seen. It holds no secret.
	Reason string
	// CheckedAt is when this was last found out (UTC). Zero: never yet.
	CheckedAt time.Time
}

// JoinSegments puts the texts of segments together: with a space between them, except where two characters of a
// script written without spaces meet.
func JoinSegments(segments []Segment) string {
	texts := make([]string, len(segments))
	for i, s := range segments {
		texts[i] = s.Text
	}
	return JoinText(texts...)
}

// JoinText trims each text and puts those that are not empty together: with a space between them, except where
// two characters of a script written without spaces (Chinese, Japanese, Thai …) meet.
func JoinText(texts ...string) string {
	var b strings.Builder
	var last rune
	for _, t := range texts {
		t = strings.TrimSpace(t)
		if t == "" {
			continue
		}
		if b.Len() > 0 && !(unspaced(last) && unspaced(firstRune(t))) {
			b.WriteByte(' ')
		}
		b.WriteString(t)
		last = lastRune(t)
	}
	return b.String()
}
