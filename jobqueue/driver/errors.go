package driver

import "errors"

// Errors that engines return, wrapped; ErrName is that of CheckName.
var (
	// ErrNotFound: no job has this id, neither unfinished nor in the history, or no schedule has
	// this name.
	ErrNotFound = errors.New("jobqueue: not found")
	// ErrState: the state of the job does not allow the operation.
	ErrState = errors.New("jobqueue: not possible in the job's state")
	// ErrDuplicate: another job holds the unique key.
	ErrDuplicate = errors.New("jobqueue: another job holds the unique key")
	// ErrLeaseLost: the job is no longer leased to the caller.
	ErrLeaseLost = errors.New("jobqueue: lease lost")
	// ErrName: a queue, kind, key, group or schedule cannot have the name.
	ErrName = errors.New("jobqueue: invalid name")
	// ErrSchema: the tables are missing or of another version; the store's Migrate creates them.
	ErrSchema = errors.New("jobqueue: schema does not match")
	// ErrUnavailable: the database cannot be reached, is stopping or overloaded, or its disk fails.
	ErrUnavailable = errors.New("jobqueue: database not available")
)
