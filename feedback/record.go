package feedback

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// Record is the feedback on a student for one day.
type Record struct {
	ID        uuid.UUID
	TeacherID uuid.UUID
	ProfileID uuid.UUID
	Date      string        // YYYY-MM-DD
	Content   string        // 1 to 20 000 characters
	SessionID uuid.NullUUID // the voice session that the text comes from
	CreatedAt time.Time
}

// RecordInput holds the fields of a new record.
type RecordInput struct {
	ProfileID uuid.UUID
	Date      string
	Content   string
	SessionID uuid.NullUUID // completes this session of the same profile
}

// RecordFilter selects records.
type RecordFilter struct {
	ProfileID uuid.NullUUID // of one student; if not valid, of all
}

func (in RecordInput) validate() error {
	var v validator
	v.date("feedback_date", in.Date)
	v.text("content", in.Content, 1)
	return v.err()
}

// CreateRecord creates a record and completes its session, if it has one. Errors: [ErrInvalid],
// also if the profile is not the teacher's or the session is not the profile's.
func (s *Service) CreateRecord(ctx context.Context, teacher uuid.UUID, in RecordInput) (Record, error) {
	if err := in.validate(); err != nil {
		return Record{}, err
	}
	id, err := uuid.NewV7()
	if err != nil {
		return Record{}, err
	}
	r := Record{ID: id, TeacherID: teacher, ProfileID: in.ProfileID, Date: in.Date,
		Content: in.Content, SessionID: in.SessionID, CreatedAt: s.now()}
	return r, s.store.InsertRecord(ctx, r)
}

// Records lists records, newest first. Errors: [ErrInvalid].
func (s *Service) Records(ctx context.Context, teacher uuid.UUID, f RecordFilter, p Page) (List[Record], error) {
	limit, err := p.limit()
	if err != nil {
		return List[Record]{}, err
	}
	after, err := recordKey(p.Cursor)
	if err != nil {
		return List[Record]{}, err
	}
	items, err := s.store.Records(ctx, teacher, f, after, limit+1)
	if err != nil {
		return List[Record]{}, err
	}
	return cut(items, limit, func(r Record) cursor {
		return cursor{List: "records", Key: []string{r.Date, r.CreatedAt.Format(time.RFC3339Nano)}, ID: r.ID}
	}), nil
}

func recordKey(s string) (*RecordKey, error) {
	c, err := parseCursor(s, "records", 2)
	if c == nil || err != nil {
		return nil, err
	}
	at, err := time.Parse(time.RFC3339Nano, c.Key[1])
	at = at.UTC()
	if err != nil || at.Year() < 1 || at.Year() > 9999 { // outside the range of databases
		return nil, Invalid("cursor", "is not a next_cursor of this list")
	}
	return &RecordKey{Date: c.Key[0], CreatedAt: at, ID: c.ID}, nil
}

// DeleteRecord removes one record. Errors: [ErrNotFound].
func (s *Service) DeleteRecord(ctx context.Context, teacher, id uuid.UUID) error {
	return s.store.DeleteRecord(ctx, teacher, id)
}
