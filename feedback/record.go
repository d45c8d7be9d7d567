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

// RecordFilter selects records.
type RecordFilter struct {
	ProfileID uuid.NullUUID // of one student; if not valid, of all
}

func (in RecordInput) validate() error {
	var v validator
	v.date("feedback_date", in.Date)
	v.text("content", in.Content, 1, maxContentLength)
	if !visibleASCII(in.IdempotencyKey) || len(in.IdempotencyKey) > maxKeyLength {
		v.fail("idempotency_key", "must be 1 to %d visible ASCII characters", maxKeyLength)
	}
	return v.err()
}

func visibleASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' })
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

// key returns the input's idempotency key, or nil.
func (in RecordInput) key(now time.Time) *IdempotencyKey {
	if in.IdempotencyKey == "" {
		return nil
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "record %s %s %s %s", in.ProfileID, in.SessionID.UUID, in.Date, in.Content))
	return &IdempotencyKey{
		Key: in.IdempotencyKey, Fingerprint: hex.EncodeToString(sum[:]), UsedAt: now, ExpiredAt: now.Add(-keyLifetime),
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
	id, err := uuid.NewV7()
	if err != nil {
		return Record{}, false, err
	}
	now := s.now()
	return s.store.InsertRecord(ctx, Record{ID: id, TeacherID: teacher, ProfileID: in.ProfileID,
		Date: in.Date, Content: in.Content, SessionID: in.SessionID, CreatedAt: now}, in.key(now))
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
	items, more, err := s.store.Records(ctx, teacher, f, after, limit)
	if err != nil {
		return List[Record]{}, err
	}
	return listOf(items, more, func(r Record) cursor {
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
