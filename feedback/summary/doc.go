// Package summary implements [feedback.Summarizer]: it turns the transcripts of lessons into
// feedback text.
//
// [Extractive] selects the most important sentences of a lesson, in Chinese and English, with or
// without punctuation, and needs no other service. [Chat] uses an endpoint of the chat-completions
// protocol. [Fallback] uses one summarizer if another one fails:
//
//	s := summary.Fallback(chat, summary.Extractive{}, logger)
//
// All summarizers fail with [feedback.ErrNothingTranscribed] if the transcripts contain no words,
// are safe for concurrent use, and put no key, transcript or name into errors and log lines.
package summary
