package feedback

import (
	"time"

	"github.com/google/uuid"
)

// Record is feedback that was given about a student on a day.
type Record struct {
	ID        uuid.UUID
	TeacherID uuid.UUID
	ProfileID uuid.UUID
	Date      string        // YYYY-MM-DD
	Content   string        // 1 to 20 000 characters
	SessionID uuid.NullUUID // the voice session that the text came from
	CreatedAt time.Time
}

// RecordInput is a record to be made.
type RecordInput struct {
	ProfileID uuid.UUID
	Date      string
	Content   string
	SessionID uuid.NullUUID // completes this session of the same profile
}

// RecordFilter chooses records.
type RecordFilter struct {
	ProfileID uuid.NullUUID // of one student; all where not valid
}

func (in RecordInput) validate() error {
	var v validator
	v.date("feedback_date", in.Date)
	v.text("content", in.Content, 1)
	return v.err()
}
