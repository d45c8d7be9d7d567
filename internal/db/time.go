package db

import (
	"database/sql/driver"
	"fmt"
	"time"
)

// Time is a time as both engines store it: in UTC, to the microsecond. SQLite stores the text that
// Value returns, whose fixed width makes it sort by time; PostgreSQL converts the same text to a
// timestamptz.
type Time time.Time

const timeLayout = "2006-01-02T15:04:05.000000Z"

// Value implements [driver.Valuer]. The zero time is NULL.
func (t Time) Value() (driver.Value, error) {
	if time.Time(t).IsZero() {
		return nil, nil
	}
	return time.Time(t).UTC().Format(timeLayout), nil
}

// Scan implements sql.Scanner. NULL is the zero time.
func (t *Time) Scan(src any) error {
	switch v := src.(type) {
	case nil:
		*t = Time{}
	case time.Time:
		*t = Time(v.UTC().Truncate(time.Microsecond))
	case string:
		parsed, err := time.Parse(time.RFC3339Nano, v) // has a fast path, unlike our layout
		if err != nil {
			return fmt.Errorf("time %q in the database: %w", v, err)
		}
		*t = Time(parsed)
	default:
		return fmt.Errorf("time in the database: unexpected %T", src)
	}
	return nil
}

// Date is a date in the form YYYY-MM-DD, which SQLite stores as text and PostgreSQL as a date, or
// "" for NULL.
type Date string

// Scan implements sql.Scanner.
func (d *Date) Scan(src any) error {
	switch v := src.(type) {
	case time.Time:
		*d = Date(v.Format(time.DateOnly))
	case string:
		*d = Date(v)
	case nil:
		*d = ""
	default:
		return fmt.Errorf("date in the database: unexpected %T", src)
	}
	return nil
}

// TimeOfDay is a time of day in the form HH:MM, which SQLite stores as text and PostgreSQL as a
// time, or "" for NULL.
type TimeOfDay string

const timeOfDayLength = len("15:04")

// Value implements [driver.Valuer].
func (t TimeOfDay) Value() (driver.Value, error) {
	if t == "" {
		return nil, nil
	}
	return string(t), nil
}

// Scan implements sql.Scanner.
func (t *TimeOfDay) Scan(src any) error {
	switch v := src.(type) {
	case nil:
		*t = ""
	case string:
		*t = TimeOfDay(v[:min(len(v), timeOfDayLength)]) // without the seconds of PostgreSQL
	default:
		return fmt.Errorf("time of day in the database: unexpected %T", src)
	}
	return nil
}
