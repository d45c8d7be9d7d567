package imagegentest

import (
	"net/http"
	"time"
)

// Step is what happens to one request for images.
type Step struct {
	kind   kind
	code   int
	index  int
	text   string
	wait   time.Duration
	header http.Header
	polls  []int
}

type kind int

const (
	succeed kind = iota
	refuse
	tlsEOF
	dropBefore
	dropAfter
	dropMiddle
	stall
	status
	raw
	itemError
	stuck
	failTask
	unknownState
	expired
	vanish
)

// OK lets a request succeed.
func OK() Step { return Step{} }

// Refuse refuses the connection. It concerns the next connection, so it takes effect only when none is kept open.
func Refuse() Step { return Step{kind: refuse} }

// TLSEOF closes the next connection in the middle of the TLS handshake.
func TLSEOF() Step { return Step{kind: tlsEOF} }

// DropBefore closes the connection before the request is read whole; nothing is generated.
func DropBefore() Step { return Step{kind: dropBefore} }

// DropAfter closes the connection after the request was read and the generation started.
func DropAfter() Step { return Step{kind: dropAfter} }

// DropMiddle closes the connection in the middle of the answer.
func DropMiddle() Step { return Step{kind: dropMiddle} }

// Stall sends half of the answer and then nothing more.
func Stall() Step { return Step{kind: stall} }

// Slow lets the request succeed after d.
func Slow(d time.Duration) Step { return Step{wait: d} }

// Status answers with that status and an error object, and, unless it is 0, with Retry-After in whole seconds. Statuses from 500
// on, except 503, count as started generations.
func Status(code int, retryAfter time.Duration) Step {
	return Step{kind: status, code: code, wait: retryAfter}
}

// Redirect answers with that status and location.
func Redirect(code int, location string) Step {
	return Step{kind: status, code: code, header: http.Header{"Location": {location}}}
}

// Raw answers 200 with body, after a generation.
func Raw(body string) Step { return Step{kind: raw, text: body} }

// HTML answers 200 with the page of some proxy.
func HTML() Step { return Raw("<!doctype html><html><body>upstream is sleeping</body></html>") }

// Empty answers 200 with no images.
func Empty() Step { return Raw(`{"created":1,"data":[]}`) }

// ItemError lets image number index fail, the others succeed.
func ItemError(index int) Step { return Step{kind: itemError, index: index} }

// Stuck makes a task that never ends. Like the steps below it has a meaning only when the answer is a task.
func Stuck() Step { return Step{kind: stuck} }

// Fail makes a task that fails with that message.
func Fail(message string) Step { return Step{kind: failTask, text: message} }

// UnknownState makes a task that passes through a state the interface does not name.
func UnknownState() Step { return Step{kind: unknownState} }

// Vanish makes a task that completes without images.
func Vanish() Step { return Step{kind: vanish} }

// Expired makes results whose first k fetches are answered 403, until the task is asked about again.
func Expired(k int) Step { return Step{kind: expired, index: k} }

// Polls makes a task whose first polls are answered with these statuses; 0 closes the connection, -1 never
// answers, 200 answers as usual.
func Polls(codes ...int) Step { return Step{polls: codes} }
