// Package summary turns the transcripts of lessons into feedback text: it holds
// the implementations of [feedback.Summarizer].
//
// [Extractive] needs nothing but the text: it picks a lesson's own most telling
// sentences, in Chinese and English, with or without punctuation. [Chat] asks
// any endpoint that speaks the chat-completions protocol. [Fallback] uses the
// second where the first fails, and says so:
//
//	s := summary.Fallback(chat, summary.Extractive{}, logger)
//
// # Errors
//
// Errors tell by method what a caller may do: Permanent() true means that trying
// again cannot help; RetryAfter() > 0 says how long to wait first. [ErrNoText]
// is returned by every summarizer of this package for an input without words.
// No error and no log line holds a key, a transcript or a name.
//
// # Concurrency
//
// Every summarizer here is safe for concurrent use.
package summary
