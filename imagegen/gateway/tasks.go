package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"lessonkit.example/imagegen"
)

// Errors of a Tasks.
var (
	ErrNotFound  = errors.New("not found")
	ErrTooMany   = errors.New("too many unfinished tasks of one caller") // status 429
	ErrQueueFull = errors.New("too many unfinished tasks")               // status 503
)

// Tasks performs requests for images, usually with a [Performer], and keeps the tasks for some time
// after they have ended. Its methods are safe for concurrent use.
type Tasks interface {
	// Add stores a task, to be performed, and returns its ID. If p.Key is not empty and a task has
	// the same Key, Add adds nothing and returns the ID of that task, unless it has failed with
	// [CodeUnavailable]. It returns ErrTooMany or ErrQueueFull above a limit of its own.
	Add(ctx context.Context, p Params) (id string, added bool, err error)
	// Task returns a task; ErrNotFound if there is none, or no longer.
	Task(ctx context.Context, id string) (Task, error)
	// Wait returns a task when it is done; or before, when ctx ends or tasks are no longer
	// performed because the program stops.
	Wait(ctx context.Context, id string) (Task, error)
}

// Task is a request for images and what has come of it.
type Task struct {
	ID      string // never used again, also not after a restart: images are named after it
	Created time.Time
	Params
	Progress
}

// Params is a request for images, after it has been checked. The JSON names are for storage.
type Params struct {
	Caller     string         `json:"caller"`
	Key        string         `json:"key,omitempty"` // identifies the request, if it has an Idempotency-Key
	Model      string         `json:"model,omitempty"`
	Prompt     string         `json:"prompt"`
	N          int            `json:"n,omitempty"`
	Size       imagegen.Ratio `json:"size,omitempty"`
	Format     string         `json:"format,omitempty"` // of the images: "png" or "jpeg"; empty for any
	References []File         `json:"references,omitempty"`
}

// Progress is what has come of a task so far. The JSON names are for storage.
type Progress struct {
	Started  bool            `json:"started,omitempty"`  // images may have been charged
	Upstream string          `json:"upstream,omitempty"` // the generator's own task, if any
	Ended    time.Time       `json:"ended,omitzero"`
	Images   []File          `json:"images,omitempty"`  // by index; those without Name are missing
	Errors   map[int]string  `json:"errors,omitempty"`  // by index, why an image is missing
	Usage    json.RawMessage `json:"usage,omitempty"`   // as the generator reported it
	Failure  *Failure        `json:"failure,omitempty"` // nil unless the whole task has failed
}

// State returns the state of a task.
func (p Progress) State() imagegen.State {
	switch {
	case p.Failure != nil:
		return imagegen.StateFailed
	case !p.Ended.IsZero():
		return imagegen.StateCompleted
	case p.Started:
		return imagegen.StateProcessing
	}
	return imagegen.StatePending
}

// File names a file in [Files].
type File struct {
	Name     string `json:"name"`
	Original string `json:"original,omitempty"` // file name of a reference
	Type     string `json:"type"`               // media type
	Size     int64  `json:"size"`               // bytes
	Prompt   string `json:"prompt,omitempty"`   // of an image, as revised by the generator
}

// Failure is why a task failed, for the caller.
type Failure struct {
	Code       string        `json:"code"`
	Message    string        `json:"message"`
	RetryAfter time.Duration `json:"retry_after,omitempty"` // with CodeUnavailable
}

// Codes of a Failure that have a meaning for a [Tasks]; there are others.
const (
	CodeUnavailable = "unavailable" // nothing was generated; a later request may succeed
	CodeInternal    = "internal"    // the generator panicked, or the task ended the process
)

// Failed returns the Progress of a task that has failed because it cannot be performed, for a Tasks
// that gives up on it.
func Failed(at time.Time) Progress {
	return Progress{Ended: at, Failure: &Failure{Code: CodeInternal, Message: internalText}}
}
