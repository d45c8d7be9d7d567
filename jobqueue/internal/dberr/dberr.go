// Package dberr classifies the errors of databases.
package dberr

import (
	"fmt"

	"lessonkit.example/internal/db"
	"lessonkit.example/jobqueue/driver"
)

// Classify wraps an error of a database in driver.ErrSchema or driver.ErrUnavailable if it is one.
func Classify(err *error) {
	switch {
	case *err == nil:
	case db.IsNotMigrated(*err):
		*err = fmt.Errorf("%w (run Migrate): %w", driver.ErrSchema, *err)
	case db.IsUnavailable(*err):
		*err = fmt.Errorf("%w: %w", driver.ErrUnavailable, *err)
	}
}
