package imagegen

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"
)

// Errors that the errors of this package wrap.
var (
	// ErrInvalidRequest: the request cannot be sent as it is; nothing was sent.
	ErrInvalidRequest = errors.New("invalid request")
	// ErrModerated: the service's content filter refused the prompt, a reference or the images.
	// Repeating the request is pointless and may be charged.
	ErrModerated = errors.New("refused by moderation")
	// ErrNoImages: the service finished without an image and without a reason, most often because
	// of a content filter. Repeating the request is pointless and may be charged.
	ErrNoImages = errors.New("the service returned no images")
	// ErrStore: the [Sink] failed, as it does when the disk is full.
	ErrStore = errors.New("the images could not be stored")
	// ErrTooLarge: a reference, the images or the rest of a response are too large.
	ErrTooLarge = errors.New("too large")
	// ErrNotImage: the data is not an image.
	ErrNotImage = errors.New("not an image")
	// ErrBlockedAddress: a URL to fetch leads into a private or special network.
	ErrBlockedAddress = errors.New("address is not public, and AllowPrivate is not set")
)

// Error is the failure of one operation: a refused request, a network fault, or a malformed
// response. It never contains the API key, image data or the query of a URL.
type Error struct {
	Op        string // "generate", "edit", "poll", "fetch" or "reference"
	Status    int    // HTTP status; 0 without a response
	Code      string // of the service's error object
	Type      string // of the service's error object
	Message   string // the service's own words: at most 4 KiB, without control characters
	RequestID string // X-Request-Id of the response
	TaskID    string // the task concerned, if any
	Attempts  int    // requests for images sent by the call

	// MayHaveRun reports that the service may have started to generate, and so may charge, although
	// no image arrived.
	MayHaveRun bool

	Err error // the cause, if it is not the service's response

	retryAfter time.Duration
	permanent  bool
	class      fault
}

// fault is how far a request came before it failed.
type fault int

const (
	faultAnswered  fault = iota // the service responded, or the failure is local: never sent again
	faultRefused                // status 429, or 503 with Retry-After: refused before any work
	faultUnsent                 // the service cannot have received the request
	faultAmbiguous              // sent, without any byte of a response
)

// Error returns what failed and what the service reported, on one line.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Op)
	if e.TaskID != "" {
		fmt.Fprintf(&b, " task %s", clean(e.TaskID, 128))
	}
	if e.Status != 0 {
		fmt.Fprintf(&b, ": status %d", e.Status)
	}
	if e.Code != "" {
		fmt.Fprintf(&b, ": %s", e.Code)
	}
	if e.Message != "" {
		fmt.Fprintf(&b, ": %s", e.Message)
	}
	if e.Err != nil {
		fmt.Fprintf(&b, ": %s", strings.ReplaceAll(e.Err.Error(), "\n", "; "))
	}
	if e.retryAfter >= time.Second {
		fmt.Fprintf(&b, " (retry after %v)", e.retryAfter.Round(time.Second))
	}
	if e.RequestID != "" {
		fmt.Fprintf(&b, " (request %s)", e.RequestID)
	}
	if e.MayHaveRun {
		b.WriteString(" (the service may have generated and charged images all the same)")
	}
	return b.String()
}

// Unwrap returns the cause, or nil if the failure is the service's response.
func (e *Error) Unwrap() error { return e.Err }

// Is makes errors.Is(e, ErrModerated) true if the service's code or type says so.
func (e *Error) Is(target error) bool { return target == ErrModerated && moderated(e.Code, e.Type) }

// moderated reports whether one of the codes is that of a content filter, as OpenAI's, Azure's and
// compatible services have them.
func moderated(codes ...string) bool {
	return slices.ContainsFunc(codes, func(code string) bool {
		switch strings.ToLower(strings.ReplaceAll(code, "_", "")) {
		case "moderationblocked", "contentpolicyviolation", "contentfilter", "responsibleaipolicyviolation":
			return true
		}
		return false
	})
}

// Permanent reports whether the same call cannot succeed: the service refused the request or, with
// Status 401, the key, which other calls have too; or the request is invalid.
func (e *Error) Permanent() bool {
	if e.permanent || errors.Is(e, ErrModerated) || errors.Is(e.Err, ErrInvalidRequest) ||
		errors.Is(e.Err, ErrNoImages) {
		return true
	}
	switch e.Status {
	case 408, 409, 425, 429:
		return false
	}
	return e.Status >= 400 && e.Status < 500
}

func (e *Error) retryFetch() bool {
	return e.Status == 0 && !e.permanent || e.Status == 429 || e.Status >= 500
}

// RetryAfter returns the Retry-After of the response; 30 s if the service refused the request
// without one, or could not be reached at all; and 0 for other failures.
func (e *Error) RetryAfter() time.Duration {
	if e.retryAfter == 0 && (e.class == faultUnsent || e.class == faultRefused) && !e.permanent {
		return 30 * time.Second
	}
	return e.retryAfter
}

// TaskError reports a task that failed. A new request may be charged again.
type TaskError struct {
	ID      string
	Code    string // of the service's error object; empty if it has none
	Message string // the service's own words
}

// Is makes errors.Is(e, ErrModerated) true if the service's code says so.
func (e *TaskError) Is(target error) bool { return target == ErrModerated && moderated(e.Code) }

// Error returns the task and the service's message.
func (e *TaskError) Error() string {
	return fmt.Sprintf("task %s failed: %s", clean(e.ID, 128), e.Message)
}

// Permanent returns true: the service gave up on this request.
func (e *TaskError) Permanent() bool { return true }

// WaitError reports that waiting ended before the task did, or before its images could be fetched.
// The task continues and is charged; [Client.Wait] with TaskID resumes it. Sending the request
// again would pay twice.
type WaitError struct {
	TaskID string
	Err    error
}

// Error returns the task, and why waiting ended.
func (e *WaitError) Error() string {
	return fmt.Sprintf("stopped waiting for task %s, which can be resumed: %v", clean(e.TaskID, 128), e.Err)
}

// Unwrap returns why waiting ended.
func (e *WaitError) Unwrap() error { return e.Err }

// PartialError is returned beside a [Result] with some of the images. Failed contains, by index,
// why the others are missing.
type PartialError struct {
	Failed map[int]error
}

// Error returns which images are missing, counted from 1, and why.
func (e *PartialError) Error() string {
	var parts []string
	for _, i := range slices.Sorted(maps.Keys(e.Failed)) {
		parts = append(parts, fmt.Sprintf("image %d: %v", i+1, e.Failed[i]))
	}
	return "images are missing: " + strings.Join(parts, "; ")
}

// Unwrap returns the causes, in the order of the images.
func (e *PartialError) Unwrap() []error {
	var all []error
	for _, i := range slices.Sorted(maps.Keys(e.Failed)) {
		all = append(all, e.Failed[i])
	}
	return all
}

// clean makes foreign text safe for an error or a log: one line, cut after limit bytes, without
// control characters.
func clean(s string, limit int) string {
	if len(s) > limit {
		s = s[:limit] + "…"
	}
	s = strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return ' '
		}
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, ""))
	return strings.Join(strings.Fields(s), " ")
}
