package sqldb

import (
	"database/sql/driver"
	"fmt"
	"time"
)

// Time is a point in time as both engines keep it: in UTC, to the
// microsecond. SQLite stores the text that Value makes, of fixed width, so
// that it sorts as time does and reads well in the sqlite3 shell; PostgreSQL
// reads the same text into a timestamptz.
type Time struct{ time.Time }

const timeLayout = "2006-01-02T15:04:05.000000Z"

// Value implements [driver.Valuer]. The zero time is NULL.
func (t Time) Value() (driver.Value, error) {
	if t.IsZero() {
		return nil, nil
	}
	return t.UTC().Format(timeLayout), nil
}

// Scan implements sql.Scanner. NULL is the zero time.
func (t *Time) Scan(src any) error {
	switch v := src.(type) {
	case nil:
		t.Time = time.Time{}
	case time.Time:
		t.Time = v.UTC().Truncate(time.Microsecond)
	case string:
		parsed, err := time.Parse(timeLayout, v)
		if err != nil {
			return fmt.Errorf("time %q in the database: %w", v, err)
		}
		t.Time = parsed
	default:
		return fmt.Errorf("time in the database: unexpected %T", src)
	}
	return nil
}
