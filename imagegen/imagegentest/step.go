package imagegentest

import "time"

// Step is what happens to one request for images.
type Step struct {
	kind  kind
	code  int
	index int
	text  string
	wait  time.Duration
	polls []int
}

type kind int

const (
	succeed kind = iota
	refuse
	dropBefore
	dropAfter
	dropMiddle
	stall
	status
	raw
	itemError
	stuck
	failTask
	expired
)

// OK lets the request succeed.
func OK() Step { return Step{} }

// Refuse refuses the next connection, so it has an effect only if the client keeps none open.
func Refuse() Step { return Step{kind: refuse} }

// DropBefore closes the connection before the request is read; nothing is generated.
func DropBefore() Step { return Step{kind: dropBefore} }

// DropAfter closes the connection after the request was read and the generation started.
func DropAfter() Step { return Step{kind: dropAfter} }

// DropMiddle closes the connection in the middle of the response.
func DropMiddle() Step { return Step{kind: dropMiddle} }

// Stall sends half of the response and then nothing more.
func Stall() Step { return Step{kind: stall} }

// Slow lets the request succeed after d.
func Slow(d time.Duration) Step { return Step{wait: d} }

// Status responds with a status, an error object and, unless it is 0, Retry-After in whole seconds.
// Statuses from 500 on, except 503, count as started generations.
func Status(code int, retryAfter time.Duration) Step {
	return Step{kind: status, code: code, wait: retryAfter}
}

// Redirect responds with a status and a location.
func Redirect(code int, location string) Step {
	return Step{kind: status, code: code, text: location}
}

// Raw responds with status 200 and body, after a generation.
func Raw(body string) Step { return Step{kind: raw, text: body} }

// Empty responds with status 200 and no images.
func Empty() Step { return Raw(`{"created":1,"data":[]}`) }

// ItemError lets image number index fail and the others succeed.
func ItemError(index int) Step { return Step{kind: itemError, index: index} }

// Stuck creates a task that never ends. Like the steps below it applies only to [Async].
func Stuck() Step { return Step{kind: stuck} }

// Fail creates a task that fails with a message.
func Fail(message string) Step { return Step{kind: failTask, text: message} }

// Expired creates results whose first k fetches fail with status 403, until the task is polled
// again.
func Expired(k int) Step { return Step{kind: expired, index: k} }

// Polls creates a task whose first polls are answered with these statuses: 0 closes the connection,
// -1 never responds, 200 responds normally.
func Polls(codes ...int) Step { return Step{polls: codes} }
