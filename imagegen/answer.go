package imagegen

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Result is what a call brought. Beside a [*PartialError] it holds the images that were stored.
type Result struct {
	Images    []Info    // stored images, by index; there may be more or fewer than were asked for
	Usage     Usage     // as far as the service says
	Created   time.Time // zero if the service does not say
	TaskID    string    // empty for a synchronous answer
	RequestID string    // of the answer to the request for images
	Attempts  int       // requests for images that were sent

	// Ambiguous counts earlier attempts of this call that ended without an answer: the service may have run, and charged, them too.
	Ambiguous int
}

// Usage is what the service reports as consumed. Numbers it does not report are 0; Raw is its own object, for everything else.
type Usage struct {
	InputTokens, OutputTokens, TotalTokens int64
	TextTokens, ImageTokens                int64 // of the input; ImageTokens is 0 when no reference image was used
	Raw                                    json.RawMessage
}

func parseUsage(raw json.RawMessage) Usage {
	var v struct {
		Input   number `json:"input_tokens"`
		Output  number `json:"output_tokens"`
		Total   number `json:"total_tokens"`
		Details struct {
			Text  number `json:"text_tokens"`
			Image number `json:"image_tokens"`
		} `json:"input_tokens_details"`
	}
	if len(raw) == 0 || string(raw) == "null" {
		return Usage{}
	}
	_ = json.Unmarshal(raw, &v) // a usage of another shape is still there in Raw
	return Usage{int64(v.Input), int64(v.Output), int64(v.Total), int64(v.Details.Text), int64(v.Details.Image), raw}
}

// number, text, addresses and complaint read values whose type differs between services; a type nobody expects counts as absent.
type (
	number    int64
	text      string
	addresses []string
	complaint struct{ Code, Type, Message string }
)

func (n *number) UnmarshalJSON(p []byte) error {
	var f float64
	if json.Unmarshal(bytes.Trim(p, `"`), &f) == nil {
		*n = number(f)
	}
	return nil
}

func (t *text) UnmarshalJSON(p []byte) error {
	var s string
	var n json.Number
	if json.Unmarshal(p, &s) == nil {
		*t = text(s)
	} else if json.Unmarshal(p, &n) == nil {
		*t = text(n)
	}
	return nil
}

func (a *addresses) UnmarshalJSON(p []byte) error {
	var one text
	var many []text
	if json.Unmarshal(p, &many) != nil {
		_ = json.Unmarshal(p, &one)
		many = []text{one}
	}
	*a = nil
	for _, s := range many {
		if s != "" {
			*a = append(*a, string(s))
		}
	}
	return nil
}

func (c *complaint) UnmarshalJSON(p []byte) error {
	var s text
	if _ = json.Unmarshal(p, &s); s != "" {
		c.Message = string(s)
		return nil
	}
	var v struct {
		Code, Type, Message, Detail, Title text
	}
	if json.Unmarshal(p, &v) != nil {
		return nil
	}
	c.Code, c.Type = string(v.Code), string(v.Type)
	for _, s := range []text{v.Message, v.Detail, v.Title} {
		if s != "" {
			c.Message = string(s)
			break
		}
	}
	return nil
}

// said is nil for a complaint without a word.
func (c *complaint) said() *complaint {
	if c == nil || *c == (complaint{}) {
		return nil
	}
	return c
}

// document is an answer as far as it is kept; in it, b64_json is the index of the image.
type document struct {
	Created number          `json:"created"`
	Data    items           `json:"data"`
	Usage   json.RawMessage `json:"usage"`
	Error   *complaint      `json:"error"`
	ID      text            `json:"id"`
	TaskID  text            `json:"task_id"`
}

type item struct {
	Image   *int       `json:"b64_json"`
	URL     addresses  `json:"url"`
	Prompt  text       `json:"revised_prompt"`
	ID      text       `json:"id"`
	TaskID  text       `json:"task_id"`
	Status  text       `json:"status"`
	Error   *complaint `json:"error"`
	Results results    `json:"result"`
}

// results is the result of a task; what is no object has no images.
type results struct{ images items }

func (r *results) UnmarshalJSON(p []byte) error {
	var v struct{ Images items }
	_ = json.Unmarshal(p, &v)
	r.images = v.Images
	return nil
}

// items is an array of objects, or one object alone. What is neither counts as an item without content, so that nothing odd beside
// an image costs the image.
type items []item

func (l *items) UnmarshalJSON(p []byte) error {
	var many []json.RawMessage
	if json.Unmarshal(p, &many) != nil {
		many = []json.RawMessage{p}
	}
	*l = nil
	for _, raw := range many {
		var one item
		if raw[0] == '{' {
			_ = json.Unmarshal(raw, &one)
		} else if p[0] != '[' {
			continue
		}
		*l = append(*l, one)
	}
	return nil
}

// first returns the only object, or the first of the array.
func (l items) first() item {
	if len(l) == 0 {
		return item{}
	}
	return l[0]
}

// some reports whether there is an image in the item, or an address of one.
func (i item) some() bool { return i.Image != nil || len(i.URL) > 0 }

// shape is how an answer is to be read.
type shape int

const (
	shapeNothing shape = iota // no images, no task, no error
	shapeImages               // data, addresses or both
	shapeTask                 // a task to be polled, or one that has ended
	shapeError
)

// answer is a document with its meaning.
type answer struct {
	shape   shape
	id      string
	state   State
	images  []item
	err     complaint
	usage   Usage
	created time.Time
}

// interpret decides what an answer is, by what it holds and not by the order it came in: image data wins over everything, then
// addresses, then a task that has ended, then an error, then a task that goes on.
func interpret(meta []byte) (answer, error) {
	var d document
	if err := json.Unmarshal(meta, &d); err != nil {
		return answer{}, fmt.Errorf("%w: %w", errSyntax, err)
	}
	one := d.Data.first()
	a := answer{usage: parseUsage(d.Usage), images: d.Data, state: State(strings.ToLower(string(one.Status)))}
	if d.Created > 0 {
		a.created = time.Unix(int64(d.Created), 0).UTC()
	}
	for _, id := range []text{one.ID, one.TaskID, d.ID, d.TaskID} {
		if a.id = string(id); a.id != "" {
			break
		}
	}
	if a.id != "" || a.state != "" { // beside a task, an error without a word is a field that is always there
		d.Error = d.Error.said()
		for i := range a.images {
			a.images[i].Error = a.images[i].Error.said()
		}
	}
	var data, urls bool
	failure := d.Error
	for _, i := range a.images {
		data, urls = data || i.Image != nil, urls || len(i.URL) > 0
		failure = cmp.Or(failure, i.Error)
	}
	finished := one.Results.images
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
	case d.Error != nil && !a.state.Done():
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
	}
	return a, nil
}

// task turns the answer into what callers see of a task.
func (a answer) task(id string) *Task {
	t := &Task{ID: id, State: a.state}
	for _, i := range a.images {
		t.URLs = append(t.URLs, i.URL)
	}
	switch {
	case a.state == StateFailed:
		t.Err = &TaskError{ID: id, Message: cmp.Or(a.err.Message, "the service gave no reason")}
	case a.state == StateCompleted && !slices.ContainsFunc(a.images, item.some):
		t.Err = &Error{Op: "poll", TaskID: id, Message: a.err.Message, Err: ErrNoImages, permanent: true, MayHaveRun: true}
	}
	return t
}
