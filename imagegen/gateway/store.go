package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"time"

	"lessonkit.example/imagegen"
)

// Errors of a Store.
var (
	ErrExists   = errors.New("already exists")
	ErrNotFound = errors.New("not found")
)

// Task is a request for images and its outcome. Stores keep all of its fields; the JSON names are
// those of stored files.
type Task struct {
	ID         string          `json:"id"`
	Caller     string          `json:"caller"`
	Digest     string          `json:"digest,omitempty"` // of the request; only for requests with an Idempotency-Key
	State      imagegen.State  `json:"state"`
	Created    time.Time       `json:"created"`
	Ended      time.Time       `json:"ended,omitzero"`
	Model      string          `json:"model,omitempty"`
	Prompt     string          `json:"prompt"`
	N          int             `json:"n,omitempty"`
	Size       imagegen.Ratio  `json:"size,omitempty"`
	Format     string          `json:"format,omitempty"` // of the images: "png" or "jpeg"; empty for any
	References []Blob          `json:"refs,omitempty"`
	Upstream   string          `json:"upstream,omitempty"` // the generator's own task, if any
	Runs       int             `json:"runs,omitempty"`     // how often it was started, since it last stopped in order
	Images     []Blob          `json:"images,omitempty"`   // by index; those without Name failed
	Usage      json.RawMessage `json:"usage,omitempty"`    // as the generator reported it
	Failure    *Failure        `json:"failure,omitempty"`
	Errors     map[int]string  `json:"errors,omitempty"` // by index, why an image is missing
}

// Blob names stored bytes.
type Blob struct {
	Name   string `json:"name"`           // in the store
	File   string `json:"file,omitempty"` // file name the caller gave
	Type   string `json:"type"`           // media type
	Size   int64  `json:"size"`
	Prompt string `json:"prompt,omitempty"` // revised
}

// Failure is why a task failed, for the caller.
type Failure struct {
	Code       string        `json:"code"`
	Message    string        `json:"message"`
	RetryAfter time.Duration `json:"retry_after,omitempty"` // after which to repeat a request that generated nothing
}

// Store stores tasks and bytes. Its methods are safe for concurrent use. When CreateTask or
// UpdateTask returns, the task is as durable as the store is; readers see a task before or after an
// update, never in between.
type Store interface {
	// CreateTask adds a task; ErrExists if there is one with its ID.
	CreateTask(ctx context.Context, t Task) error
	// UpdateTask replaces a task; ErrNotFound if there is none with its ID.
	UpdateTask(ctx context.Context, t Task) error
	// Task returns a task; ErrNotFound if there is none.
	Task(ctx context.Context, id string) (Task, error)
	// Tasks yields all tasks, in no order. Tasks created or deleted meanwhile may or may not be
	// among them. The error of one that cannot be read need not be the last.
	Tasks(ctx context.Context) iter.Seq2[Task, error]
	// DeleteTask deletes a task; it is not an error if there is none.
	DeleteTask(ctx context.Context, id string) error

	// CreateBlob stores bytes under a name when the Blob is committed, replacing others of that
	// name. Names consist of letters, digits, dots and dashes.
	CreateBlob(ctx context.Context, name string) (imagegen.Blob, error)
	// OpenBlob opens stored bytes; ErrNotFound if there are none.
	OpenBlob(ctx context.Context, name string) (io.ReadSeekCloser, error)
	// DeleteBlob deletes bytes; it is not an error if there are none.
	DeleteBlob(ctx context.Context, name string) error
}
