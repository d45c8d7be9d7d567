// Package summary turns the transcripts of lessons into feedback text: it holds
// implementations of [feedback.Summarizer].
//
// [Extractive] needs nothing but the text: it picks a lesson's own most telling
// sentences, in Chinese and English, with or without punctuation.
package summary
