package imagegen

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
)

// Sentinels that errors of this package wrap.
var (
	// ErrInvalidRequest: the request cannot be sent as it is; nothing was sent.
	ErrInvalidRequest = errors.New("invalid request")
	// ErrNoImages: the service finished without an image and without a reason, most often a content filter. Repeating it is
	// pointless and may be charged.
	ErrNoImages = errors.New("the service returned no images")
	// ErrTooLarge: a limit of [Limits] was passed.
	ErrTooLarge = errors.New("too large")
	// ErrNotImage: the bytes are something else than an image.
	ErrNotImage = errors.New("not an image")
	// ErrBlockedAddress: an address to fetch from leads into a private or special network.
	ErrBlockedAddress = errors.New("address is not public")
	// ErrStalled: an answer had begun and then no byte came for [Config].Stall.
	ErrStalled = errors.New("the connection fell silent")
)

// Error is a failure of one operation: a request that was not accepted, a network fault, an answer that makes no sense.
// It never holds the key, image data or the query of an address.
type Error struct {
	Op        string // "generate", "edit", "poll", "fetch" or "reference"
	Status    int    // of the HTTP answer; 0 when there was none
	Code      string // of the service's error object
	Type      string // of the service's error object
	Message   string // the service's own words, cut to 4 KiB, without control characters
	RequestID string // X-Request-Id of the answer
	TaskID    string // the task concerned, if any
	Attempts  int    // requests sent for this operation, at least

	// MayHaveRun is true when the service may have begun to generate, and so may charge, though no image arrived.
	MayHaveRun bool

	Err error // the cause, if it is not the service's answer

	retryAfter time.Duration
	permanent  bool
	class      fault
}

// fault says how far a request came before it failed.
type fault int

const (
	faultAnswered  fault = iota // the service has answered, or the failure is ours: never sent again
	faultRefused                // answered 429, or 503 with Retry-After: the service declined before any work
	faultUnsent                 // the service cannot have seen the request
	faultAmbiguous              // sent, and no byte of an answer came
)

// Error says what failed and what the service said, on one line.
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
		fmt.Fprintf(&b, ": %v", e.Err)
	}
	if e.RequestID != "" {
		fmt.Fprintf(&b, " (request %s)", e.RequestID)
	}
	if e.MayHaveRun {
		b.WriteString(" (the service may have generated, and charged, all the same)")
	}
	return b.String()
}

// Unwrap returns the cause; nil when it is the service's answer.
func (e *Error) Unwrap() error { return e.Err }

// Permanent reports whether the same call cannot succeed: the service refused the request itself or the key, or the request is
// invalid.
func (e *Error) Permanent() bool {
	if e.permanent || errors.Is(e.Err, ErrInvalidRequest) || errors.Is(e.Err, ErrNoImages) {
		return true
	}
	switch e.Status {
	case 408, 409, 425, 429:
		return false
	}
	return e.Status >= 400 && e.Status < 500
}

// RetryAfter returns how long the service asked to be left alone, or half a minute when it declined without saying how long, or could not be reached at all. 0 when the
// failure says nothing of the kind.
func (e *Error) RetryAfter() time.Duration {
	if e.retryAfter == 0 && (e.class == faultUnsent || e.class == faultRefused) && !e.permanent {
		return 30 * time.Second
	}
	return e.retryAfter
}

// TaskError is a task that ended as failed. A new request may be charged anew.
type TaskError struct {
	ID      string
	Message string // the service's own words
}

// Error names the task and gives the service's words.
func (e *TaskError) Error() string {
	return fmt.Sprintf("task %s failed: %s", clean(e.ID, 128), e.Message)
}

// Permanent is true: the service has given up on this very request.
func (e *TaskError) Permanent() bool { return true }

// WaitError says that waiting ended before the task did, or before its images could be fetched. The task goes on and is charged;
// [Client.Wait] with TaskID takes it up again. Sending the request anew would pay twice.
type WaitError struct {
	TaskID string
	Err    error
}

// Error names the task, and why waiting ended.
func (e *WaitError) Error() string {
	return fmt.Sprintf("stopped waiting for task %s, which can be resumed: %v", clean(e.TaskID, 128), e.Err)
}

// Unwrap returns why waiting ended.
func (e *WaitError) Unwrap() error { return e.Err }

// PartialError stands beside a [Result] that holds some of the images: Failed says, by index, why others are missing.
type PartialError struct {
	Failed map[int]error
}

func (e *PartialError) indexes() []int {
	var all []int
	for i := range e.Failed {
		all = append(all, i)
	}
	slices.Sort(all)
	return all
}

// Error counts the missing images, and says for each why.
func (e *PartialError) Error() string {
	var parts []string
	for _, i := range e.indexes() {
		parts = append(parts, fmt.Sprintf("image %d: %v", i, e.Failed[i]))
	}
	return fmt.Sprintf("%d of the images are missing: %s", len(e.Failed), strings.Join(parts, "; "))
}

// Unwrap returns the single causes, in the order of the images.
func (e *PartialError) Unwrap() []error {
	var all []error
	for _, i := range e.indexes() {
		all = append(all, e.Failed[i])
	}
	return all
}

// clean makes text from outside fit for an error or a log: one line, no control characters, at most limit bytes.
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
