package driver

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Usable returns an error when s is nil or has no database.
func Usable(s Store) error {
	if s == nil {
		return errors.New("jobqueue: the store is nil")
	}
	return s.Usable()
}

const maxNameLen = 200 // bytes

// CheckName returns an error, which begins with what it names, unless a queue, a kind, a key, a
// group or a schedule may have the name: 1 to 200 bytes of UTF-8 without NUL.
func CheckName(what, name string) error {
	switch {
	case name == "":
		return fmt.Errorf("jobqueue: %s is empty", what)
	case len(name) > maxNameLen:
		return fmt.Errorf("jobqueue: %s has %d bytes, more than %d", what, len(name), maxNameLen)
	case !utf8.ValidString(name) || strings.ContainsRune(name, 0):
		return fmt.Errorf("jobqueue: %s %q is not UTF-8 without NUL", what, name)
	}
	return nil
}
