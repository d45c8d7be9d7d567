// Package rules has what both engines do the same way with records, times and errors.
package rules

import (
	"fmt"
	"math"
	"slices"
	"time"

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

// Duration returns a number of microseconds, or the longest Duration.
func Duration(us int64) time.Duration {
	return time.Duration(min(us, math.MaxInt64/int64(time.Microsecond))) * time.Microsecond
}

// Names returns the texts that are not empty, each once. It changes texts.
func Names(texts ...string) []string {
	slices.Sort(texts)
	texts = slices.Compact(texts)
	if len(texts) > 0 && texts[0] == "" {
		texts = texts[1:]
	}
	return texts
}

// Awaited returns the limit keys of new jobs and the groups that they wait for, each once.
func Awaited(rs []driver.Record) (keys, groups []string) {
	for _, r := range rs {
		if r.LimitKey != "" {
			keys = append(keys, r.LimitKey)
		}
		if r.AfterGroup != "" {
			groups = append(groups, r.AfterGroup)
		}
	}
	return Names(keys...), Names(groups...)
}
