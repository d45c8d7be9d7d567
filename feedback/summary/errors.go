package summary

import (
	"fmt"
	"strings"
	"time"

	"lessonkit.example/feedback"
)

// ErrNoText is returned for transcripts without a single word. It is
// [feedback.ErrNothingTranscribed], and its method Permanent reports true.
var ErrNoText error = noText{}

type noText struct{}

func (noText) Error() string        { return "summarize: the transcripts hold no words" }
func (noText) Permanent() bool      { return true }
func (noText) Is(target error) bool { return target == feedback.ErrNothingTranscribed }

// ChatError tells how a chat-completions endpoint failed. Its text holds nothing
// that was sent or received but the status and a well-known error code.
type ChatError struct {
	Status   int    // of the last answer; 0 when there was none
	Code     string // the endpoint's own error code, when it is a well-known one
	Attempts int    // how often it was asked

	reason    string
	permanent bool
	again     bool          // worth another attempt at once
	away      bool          // busy or not there
	wait      time.Duration // asked for by the endpoint, else 0
	cause     error
}

// Error says what happened, for logs and operators.
func (e *ChatError) Error() string {
	var b strings.Builder
	b.WriteString("summarize: chat-completions endpoint: " + e.reason)
	if e.Code != "" {
		fmt.Fprintf(&b, " (%s)", e.Code)
	}
	if e.Attempts > 1 {
		fmt.Fprintf(&b, ", after %d attempts", e.Attempts)
	}
	return b.String()
}

// Unwrap returns what caused the failure, where that is an error of its own.
func (e *ChatError) Unwrap() error { return e.cause }

// Permanent reports whether trying again cannot help: the endpoint refused the
// key, the model, the request or its content, or the URL is not of such an endpoint.
func (e *ChatError) Permanent() bool { return e.permanent }

// RetryAfter is how long to wait before trying again when the endpoint is busy
// or away, else 0.
func (e *ChatError) RetryAfter() time.Duration {
	if e.wait == 0 && e.away {
		return awayFor
	}
	return e.wait
}
