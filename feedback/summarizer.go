package feedback

import "context"

// Summarizer turns the transcripts of lessons into feedback text. It is safe
// for concurrent use. Package summary has one that works anywhere, one for
// chat-completions endpoints, and a fallback from the one to the other.
type Summarizer interface {
	// Summarize makes a summary. Transcripts without a word are an error that
	// is [ErrNothingTranscribed].
	Summarize(ctx context.Context, in SummaryInput) (Summary, error)
}

// SummaryInput is what a [Summarizer] works on.
type SummaryInput struct {
	// Transcripts holds the text of each lesson, in the order of the lessons.
	// None is empty.
	Transcripts []string

	// Names are the names of people (teacher, pupil) that may occur in the
	// transcripts. A summarizer that sends text elsewhere leaves them out unless
	// it was configured to do otherwise.
	Names []string
}

// Summary is feedback text made from transcripts.
type Summary struct {
	Text   string
	Source SummarySource

	// Warning says in one sentence what the teacher should know about how the
	// text came about; it is empty when there is nothing to say.
	Warning string
}

// SummarySource tells where a summary was made.
type SummarySource string

// The sources of a [Summary].
const (
	SummaryLocal  SummarySource = "local"  // made here, from the transcripts' own sentences
	SummaryRemote SummarySource = "remote" // written by a chat-completions endpoint
)
