package driver

import (
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"
)

const maxSaved = 64 << 10

// Saved is the state of a job that its handler has saved.
type Saved struct {
	Lease
	State json.RawMessage
}

// Saver receives what the handler of a job saves.
type Saver interface {
	// Save has state stored, soon and with the result of the attempt. It returns ErrLeaseLost if
	// the attempt has ended.
	Save(state json.RawMessage) error
	// Saved returns the argument of the last Save, nil if there was none.
	Saved() json.RawMessage
}

// SetSaver has s receive what the handler of j saves. A worker calls it.
func SetSaver(j *Job, s Saver) { j.saver = s }

// SavedNow returns what the handler has saved with Save during this attempt, nil if nothing. A
// store's CompleteTx and SaveTx call it.
func SavedNow(j *Job) json.RawMessage {
	if j.saver == nil {
		return nil
	}
	return j.saver.Saved()
}

// Save stores v as JSON, in place of what was saved before: progress, a position to continue at, or
// a result. The next attempt finds it in Saved, as does Get of package admin. A number named
// "progress" from 0 to 1 is shown as a bar in the pages of package queueui.
//
// Save does not wait for the database: the worker stores the newest value soon, at most once a
// second, and with the result of the attempt. To store it in a transaction, use SaveTx of the
// store. It is safe for concurrent use. It returns an error if v cannot be encoded or is longer
// than 64 KiB, ErrLeaseLost if the attempt has ended, and an error outside of the job's handler.
func (j *Job) Save(v any) error {
	state, err := encodeSaved(j, v)
	if err != nil {
		return err
	}
	if j.saver == nil {
		return fmt.Errorf("jobqueue: save state of job %d: not in its handler", j.ID)
	}
	if err := j.saver.Save(state); err != nil {
		return fmt.Errorf("jobqueue: save state of job %d: %w", j.ID, err)
	}
	return nil
}

// encodeSaved encodes v for Save and SaveTx of j.
func encodeSaved(j *Job, v any) (json.RawMessage, error) {
	state, err := json.Marshal(v)
	switch {
	case err != nil:
	case len(state) > maxSaved:
		err = fmt.Errorf("%d bytes are more than %d", len(state), maxSaved)
	case !utf8.Valid(state):
		err = errors.New("it is not UTF-8")
	}
	if err != nil {
		return nil, fmt.Errorf("jobqueue: save state of job %d: %w", j.ID, err)
	}
	return state, nil
}

// EncodeSavedTx encodes v for SaveTx of j, in a transaction of the caller, whose value a worker
// must not replace by an older one.
func EncodeSavedTx(j *Job, v any) (json.RawMessage, error) {
	if SavedNow(j) != nil {
		return nil, fmt.Errorf("jobqueue: save state of job %d: SaveTx after Save in the same attempt", j.ID)
	}
	return encodeSaved(j, v)
}
