package asr

import (
	"context"
	"time"
)

// A Recognizer converts speech to text. It is safe for concurrent use.
type Recognizer interface {
	// Recognize returns the transcript of the audio. It reads the audio through Audio.Open, more
	// than once or, during an outage, not at all, and closes every reader before it returns. For a
	// recording without speech, the text is empty and the error nil. An implementation limits how
	// many recordings it processes at once: a call may wait.
	//
	// It returns soon after ctx ends, or at once if ctx has ended already, with an error that wraps
	// the error of ctx and is not an *Error, because it says nothing about the recording or the
	// recogniser. Other errors are of type *Error, contain no secrets, and have
	//   - the class ErrUnusableAudio if the recording is empty, not audio, or raw PCM without a
	//     rate in its ContentType; and, if the recogniser can tell, if it is damaged;
	//   - no class, and the cause in Err, if the recording cannot be opened or read, or ends before
	//     Size bytes;
	//   - else the class that the package documentation describes.
	Recognize(ctx context.Context, audio Audio) (Transcript, error)

	// Status reports whether recognition is expected to work. It returns what is already known,
	// without a request and without blocking, so that a health endpoint can call it every time.
	// After a recording was recognised, it is available.
	Status(ctx context.Context) Status
}

// Transcript is the result of recognition.
type Transcript struct {
	// Text is the whole text, trimmed, as the recogniser returns it: see Punctuated. It is empty if
	// nothing was said.
	Text string
	// Segments are the parts of the text, in order of Start; JoinSegments makes Text of them. It is
	// empty if the recogniser does not return times.
	Segments []Segment
	// Words are the words of the text with their times, in order. It is empty if the recogniser
	// does not return them.
	Words []Word
	// Language is the language of the speech, as the recogniser names it ("en", "zh", "english"),
	// or "".
	Language string
	// Duration is the length of the recording, or 0 if it is unknown.
	Duration time.Duration
	// HeaderDuration is how long the recording is according to its header, if that is much more
	// than Duration, since the recording was cut off; else 0.
	HeaderDuration time.Duration
	// Model is the name of the model that was used, or "".
	Model string
}

// Segment is a part of a transcript.
type Segment struct {
	// Start and End are relative to the start of the recording.
	Start, End time.Duration
	// Text is trimmed.
	Text string

	// The figures of recognisers of Whisper's kind, as in OpenAI's verbose_json: how likely it is
	// that nobody speaks, from 0 to 1; the mean natural logarithm of the probabilities of the
	// tokens, at most 0; and the size of the text divided by its compressed size. 0 if the
	// recogniser does not return them.
	NoSpeechProb, AvgLogProb, CompressionRatio float64
}

// Word is a word of a transcript. Its times are relative to the start of the recording.
type Word struct {
	Start, End time.Duration
	Text       string
}

// Status tells whether a recogniser is ready.
type Status struct {
	// Available reports whether recognition of a recording sent now is expected to work.
	Available bool
	// Provider is the kind of recogniser: "local", "cloud", "command". It is never empty.
	Provider string
	// Model is the name of the model or engine in use, or "" if it is unknown.
	Model string
	// Reason tells why the recogniser is not available, or what else was observed. It contains no
	// secret.
	Reason string
	// CheckedAt is when the status was determined (UTC). Zero means not yet.
	CheckedAt time.Time
}
