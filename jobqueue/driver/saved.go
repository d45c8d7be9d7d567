package driver

import "encoding/json"

// Saved is the state of a job that its handler has saved.
type Saved struct {
	Lease
	State json.RawMessage
}

// Running is a job whose handler is running, as CompleteTx and SaveTx of a store need it.
type Running interface {
	// Saved returns what the handler has saved with Save during this attempt, nil if nothing.
	Saved() json.RawMessage
	// EncodeSaved encodes v for SaveTx. It returns an error if the handler has called Save, because
	// the worker may still replace v by that.
	EncodeSaved(v any) (json.RawMessage, error)
	// SetCompleted records that a transaction of the handler completes the job, if it commits.
	SetCompleted()
}
