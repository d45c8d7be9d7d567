package driver

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Errors that engines return, wrapped: see those of the same names in package jobqueue. ErrName is
// that of CheckName.
var (
	ErrNotFound    = errors.New("jobqueue: not found")
	ErrState       = errors.New("jobqueue: not possible in the job's state")
	ErrDuplicate   = errors.New("jobqueue: another job holds the unique key")
	ErrLeaseLost   = errors.New("jobqueue: lease lost")
	ErrName        = errors.New("jobqueue: invalid name")
	ErrSchema      = errors.New("jobqueue: schema does not match")
	ErrUnavailable = errors.New("jobqueue: database not available")
)

const maxNameLen = 200 // bytes

// CheckName returns an error that wraps [ErrName] and says what has the name, unless a queue, a
// kind, a key, a group or a schedule may have it: 1 to 200 bytes of UTF-8 without NUL.
func CheckName(what, name string) error {
	switch {
	case name == "":
		return fmt.Errorf("%w: %s is empty", ErrName, what)
	case len(name) > maxNameLen:
		return fmt.Errorf("%w: %s has %d bytes, more than %d", ErrName, what, len(name), maxNameLen)
	case !utf8.ValidString(name) || strings.ContainsRune(name, 0):
		return fmt.Errorf("%w: %s %q is not UTF-8 without NUL", ErrName, what, name)
	}
	return nil
}
