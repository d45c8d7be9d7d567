package feedback

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
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
	// AcademicYear and Term are those of the student when the record was saved.
	AcademicYear int
	Term         string
	// Version counts the edits, beginning with 1.
	Version int64
}

// RecordInput holds the fields of a new record.
type RecordInput struct {
	ProfileID uuid.UUID
	Date      string
	Content   string
	SessionID uuid.NullUUID // completes this session of the same profile

	// IdempotencyKey, if not "", names the request: for a day, a repeated request with the same key
	// creates nothing. 1 to 255 visible ASCII characters.
	IdempotencyKey string
}

// RecordEdit replaces the date and the content of a record.
type RecordEdit struct {
	Date    string
	Content string
	// IfVersion, if not nil, makes the edit fail with [ErrStale] unless the record has one of these
	// versions.
	IfVersion []int64
}

func (e RecordEdit) validate() error {
	var v validator
	v.date("feedback_date", e.Date)
	v.text("content", e.Content, 1, maxContentLength)
	return v.err()
}

// RecordFilter selects records. All conditions must hold; a zero field is no condition.
type RecordFilter struct {
	ProfileID    uuid.NullUUID // of one student
	Query        string        // its words are parts of the content, ignoring case and width; at most 100 characters
	From, To     string        // the first and the last day, YYYY-MM-DD
	AcademicYear int           // equals exactly; 1900 to 2200
	Term         string        // equals exactly
}

func (f RecordFilter) validate() error {
	var v validator
	v.line("query", f.Query)
	if f.From != "" {
		v.date("from", f.From)
	}
	if f.To != "" {
		v.date("to", f.To)
	}
	if f.From != "" && f.To != "" && f.From > f.To {
		v.fail("to", "is before from")
	}
	if f.AcademicYear != 0 {
		v.between("academic_year", f.AcademicYear, minAcademicYear, maxAcademicYear)
	}
	v.line("term", f.Term)
	return v.err()
}

func (in RecordInput) validate() error {
	var v validator
	v.date("feedback_date", in.Date)
	v.text("content", in.Content, 1, maxContentLength)
	v.key(in.IdempotencyKey)
	return v.err()
}

const (
	maxKeyLength = 255            // of an idempotency key
	keyLifetime  = 24 * time.Hour // of an idempotency key
)

// IdempotencyKey identifies a request that a client may send repeatedly.
type IdempotencyKey struct {
	Key         string
	Fingerprint string    // of what is requested; the same for the same input
	UsedAt      time.Time // now
	ExpiredAt   time.Time // uses up to this time are forgotten
}

func (v *validator) key(key string) {
	hidden := func(r rune) bool { return r <= ' ' || r > '~' }
	if len(key) > maxKeyLength || strings.ContainsFunc(key, hidden) {
		v.fail("idempotency_key", "must be 1 to %d visible ASCII characters", maxKeyLength)
	}
}

// newKey returns the key of a request for what is asked, or nil if there is none.
func newKey(key string, now time.Time, asked string) *IdempotencyKey {
	if key == "" {
		return nil
	}
	sum := sha256.Sum256([]byte(asked))
	return &IdempotencyKey{
		Key: key, Fingerprint: hex.EncodeToString(sum[:]), UsedAt: now, ExpiredAt: now.Add(-keyLifetime),
	}
}

// CreateRecord creates a record and completes its session, if it has one. If the session has a
// record of this date and content already, CreateRecord returns that one and created false. A
// repeated idempotency key returns what its first use returned. By a [TaskLearn], names by which
// the content replaces what was recognised or summarized in the session become [Service.Words].
// Errors: [ErrInvalid], also if the profile is not the teacher's or the session is not the
// profile's; [ErrKeyReused].
func (s *Service) CreateRecord(
	ctx context.Context, teacher uuid.UUID, in RecordInput,
) (_ Record, created bool, err error) {
	if err := in.validate(); err != nil {
		return Record{}, false, err
	}
	if err := s.checkText(ctx, teacher); err != nil {
		return Record{}, false, err
	}
	now := s.now()
	asked := fmt.Sprintf("record %s %s %s %s", in.ProfileID, in.SessionID.UUID, in.Date, in.Content)
	return s.store.InsertRecord(ctx, Record{ID: uuid.Must(uuid.NewV7()), TeacherID: teacher,
		ProfileID: in.ProfileID, Date: in.Date, Content: in.Content, SessionID: in.SessionID, CreatedAt: now},
		newKey(in.IdempotencyKey, now, asked))
}

// Record returns one record. Errors: [ErrNotFound].
func (s *Service) Record(ctx context.Context, teacher, id uuid.UUID) (Record, error) {
	return s.store.Record(ctx, teacher, id)
}

// EditRecord replaces the date and the content of a record. Like CreateRecord, it teaches
// [Service.Words]. Errors: [ErrInvalid], [ErrNotFound], [ErrStale].
func (s *Service) EditRecord(ctx context.Context, teacher, id uuid.UUID, e RecordEdit) (Record, error) {
	if err := e.validate(); err != nil {
		return Record{}, err
	}
	if err := s.checkText(ctx, teacher); err != nil {
		return Record{}, err
	}
	return s.store.EditRecord(ctx, teacher, id, e, s.now())
}

// Records lists records, newest first. Errors: [ErrInvalid].
func (s *Service) Records(ctx context.Context, teacher uuid.UUID, f RecordFilter, p Page) (List[Record], error) {
	if err := f.validate(); err != nil {
		return List[Record]{}, err
	}
	limit, c, err := p.parse("records", 2)
	if err != nil {
		return List[Record]{}, err
	}
	after, err := recordKey(c)
	if err != nil {
		return List[Record]{}, err
	}
	items, more, err := s.store.Records(ctx, teacher, f, after, limit)
	if err != nil {
		return List[Record]{}, err
	}
	return listOf(items, more, func(r Record) cursor {
		return cursor{List: "records", Key: []string{r.Date, r.CreatedAt.Format(time.RFC3339Nano)}, ID: r.ID}
	}), nil
}

func recordKey(c *cursor) (*RecordKey, error) {
	if c == nil {
		return nil, nil
	}
	at, err := time.Parse(time.RFC3339Nano, c.Key[1])
	at = at.UTC()
	var v validator
	v.date("cursor", c.Key[0])
	if err != nil || v.err() != nil || at.Year() < 1 || at.Year() > 9999 { // outside the range of databases
		return nil, Invalid("cursor", "is not a next_cursor of this list")
	}
	return &RecordKey{Date: c.Key[0], CreatedAt: at, ID: c.ID}, nil
}

// DeleteRecord removes one record. Errors: [ErrNotFound].
func (s *Service) DeleteRecord(ctx context.Context, teacher, id uuid.UUID) error {
	return s.store.DeleteRecord(ctx, teacher, id)
}
