// Package summary implements [feedback.Summarizer]: it turns the transcripts of lessons into
// feedback text.
//
// [Local] turns what a teacher dictates into text in this process: it leaves out fillers, applies
// corrections in speech and keeps everything else, in Chinese and English, with or without
// punctuation. [Chat] uses an endpoint of the chat-completions protocol. [Fallback] uses one
// summarizer if another one fails:
//
//	s := summary.Fallback(chat, summary.Local{}, logger)
//
// All summarizers fail with [feedback.ErrNothingTranscribed] if the transcripts contain no words,
// as does Local if none of them are to be written. They are safe for concurrent use, and put no
// key, transcript or name into errors and log lines.
package summary
