package imagegen

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Result is the outcome of a call. Beside a [*PartialError] it contains the images that were
// stored.
type Result struct {
	Images    []Info          // stored images, by index; may be more or fewer than requested
	Usage     json.RawMessage // consumption, as the service reports it; nil if it does not
	TaskID    string          // empty for a synchronous response
	RequestID string          // of the response to the request for images
	Attempts  int             // requests for images that were sent
}

// address and serviceError decode values whose JSON type differs between services. Of several
// addresses the first counts.
type (
	address      string
	serviceError struct{ Code, Type, Message string }
)

func (a *address) UnmarshalJSON(p []byte) error {
	var all []string
	if json.Unmarshal(p, (*string)(a)) != nil && json.Unmarshal(p, &all) == nil && len(all) > 0 {
		*a = address(all[0])
	}
	return nil
}

func (e *serviceError) UnmarshalJSON(p []byte) error {
	type object serviceError
	if json.Unmarshal(p, &e.Message) != nil {
		_ = json.Unmarshal(p, (*object)(e))
	}
	return nil
}

func (e *serviceError) orNil() *serviceError {
	if e == nil || *e == (serviceError{}) {
		return nil
	}
	return e
}

// document is a response whose b64_json is the index of the image. A member of another JSON type
// counts as absent.
type document struct {
	Data    items           `json:"data"`
	Usage   json.RawMessage `json:"usage"`
	Error   *serviceError   `json:"error"`
	Message string          `json:"message"` // of a response without content
	Msg     string          `json:"msg"`     // likewise
}

type item struct {
	Image   *int          `json:"b64_json"`
	URL     address       `json:"url"`
	Prompt  string        `json:"revised_prompt"`
	ID      string        `json:"id"`
	Status  string        `json:"status"`
	Error   *serviceError `json:"error"`
	Results struct {
		Images items `json:"images"`
	} `json:"result"`
}

// items is an array of objects, or a single object. Anything else in the array counts as an item
// without content, so that an odd value beside an image does not lose the image.
type items []item

func (l *items) UnmarshalJSON(p []byte) error {
	if p[0] == '{' {
		p = fmt.Appendf(nil, "[%s]", p)
	}
	_ = json.Unmarshal(p, (*[]item)(l))
	return nil
}

func (i item) hasImage() bool { return i.Image != nil || i.URL != "" }

// shape is the kind of a response.
type shape int

const (
	shapeNothing shape = iota // no images, no task, no error
	shapeImages               // image data, URLs or both
	shapeTask                 // a task to be polled, or one that has ended
	shapeError
)

// answer is an interpreted document.
type answer struct {
	shape  shape
	id     string
	state  State
	images []item
	err    serviceError
	usage  json.RawMessage
}

// interpret decides what a response is by its content, not by the order of its members: image data
// takes precedence over URLs, then come a task that has ended, an error, and a task that is not
// done.
func interpret(meta []byte) (answer, error) {
	var d document
	err := json.Unmarshal(meta, &d)
	if _, mismatch := errors.AsType[*json.UnmarshalTypeError](err); err != nil && !mismatch {
		return answer{}, fmt.Errorf("%w: %w", errSyntax, err)
	}
	var one item
	if len(d.Data) > 0 {
		one = d.Data[0]
	}
	a := answer{usage: d.Usage, images: d.Data, state: State(strings.ToLower(one.Status)), id: one.ID}
	if string(d.Usage) == "null" {
		a.usage = nil
	}
	if a.id != "" || a.state != "" { // some services always include an empty error in a task
		d.Error = d.Error.orNil()
		for i := range a.images {
			a.images[i].Error = a.images[i].Error.orNil()
		}
	}
	var data, urls bool
	failure := d.Error
	for _, i := range a.images {
		data, urls = data || i.Image != nil, urls || i.URL != ""
		failure = cmp.Or(failure, i.Error)
	}
	finished := one.Results.Images
	if a.state == StateCompleted {
		for _, i := range finished {
			failure = cmp.Or(failure, i.Error)
		}
	}
	if !data && len(finished) > 0 {
		a.images, urls = finished, false
		data = slices.ContainsFunc(finished, func(i item) bool { return i.Image != nil })
	}
	if failure != nil {
		a.err = *failure
	}
	switch {
	case data, urls:
		a.shape = shapeImages
	case d.Error != nil && !a.state.done():
		a.shape = shapeError
	case a.id != "" || a.state != "":
		a.shape = shapeTask
		if a.state == "" && failure != nil {
			a.state = StateFailed
		}
		if len(finished) == 0 {
			a.images = nil
		}
	case failure != nil:
		a.shape = shapeError
	default:
		a.err.Message = cmp.Or(d.Message, d.Msg)
	}
	return a, nil
}

const noReason = "the service gave no reason"

// taskError returns why a task that has ended has no images, or nil if it has some.
func (a answer) taskError(id string, attempts int) error {
	switch {
	case a.state == StateFailed:
		return &TaskError{ID: id, Code: cmp.Or(a.err.Code, a.err.Type), Message: cmp.Or(a.err.Message, noReason)}
	case !slices.ContainsFunc(a.images, item.hasImage):
		return &Error{Op: "poll", TaskID: id, Message: a.err.Message, Err: ErrNoImages, Attempts: attempts,
			MayHaveRun: true, permanent: true}
	}
	return nil
}
