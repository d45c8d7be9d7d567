package feedback

import (
	"cmp"
	"errors"
	"slices"
)

// The values of [Segment.ErrorCode] that this package sets itself.
const (
	codeInterrupted = "transcription_interrupted"
	codeCancelled   = "transcription_cancelled"
	codeTimeout     = "transcription_timeout"
	codeAudioGone   = "recording_missing"
	codeRefused     = "audio_unusable"
	codeFailed      = "recogniser_failed"
)

// failureCodes are all values of Segment.ErrorCode but "".
var failureCodes = []string{
	codeInterrupted, codeCancelled, codeTimeout, codeAudioGone, codeRefused, codeFailed,
	"recogniser_unavailable", "recogniser_lost", "recogniser_misconfigured", "recogniser_account_refused",
	"language_unknown",
}

// FailureCodes returns the values of [Segment.ErrorCode] of failed attempts.
func FailureCodes() []string { return slices.Clone(failureCodes) }

// failureOf returns what is shown to programs and to the teacher of a transcriber's error.
func failureOf(err error) (code, text string) {
	code, text = codeFailed, "the recogniser failed"
	if isPermanent(err) {
		code, text = codeRefused, "the recogniser refused the audio"
	}
	var coded interface{ PublicCode() string }
	if errors.As(err, &coded) && slices.Contains(failureCodes, coded.PublicCode()) {
		code = coded.PublicCode()
	}
	var described interface{ PublicText() string }
	if errors.As(err, &described) {
		text = cmp.Or(cleanText(described.PublicText()), text)
	}
	return code, text
}
