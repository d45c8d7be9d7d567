package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/google/uuid"

	"lessonkit.example/feedback"
	"lessonkit.example/internal/db"
)

// keyUse is what the first request with an idempotency key was answered.
type keyUse struct {
	id      uuid.UUID // of the record or the profile
	created bool
}

var errKeyTaken = errors.New("the idempotency key was used concurrently")

// once updates, again if a concurrent call uses the key first.
func (s *Store) once(ctx context.Context, op string, do func(context.Context, *sql.Tx) error) (err error) {
	for range 3 {
		if err = s.update(ctx, op, do); !errors.Is(err, errKeyTaken) {
			break
		}
	}
	return err
}

// usedKey returns how a key was used, or nil. It fails if that was for another request.
func usedKey(ctx context.Context, tx *sql.Tx, teacher uuid.UUID, key *feedback.IdempotencyKey) (*keyUse, error) {
	if key == nil {
		return nil, nil
	}
	var fingerprint string
	uses, err := all(ctx, tx, func(r row) (u keyUse, err error) {
		return u, r.Scan(&fingerprint, &u.created, &u.id)
	}, `
		select fingerprint, created, coalesce(record_id, profile_id) from feedback_idempotency_keys
		where teacher_id = $1 and key = $2 and used_at > $3`,
		teacher, key.Key, db.Time(key.ExpiredAt))
	if err != nil || len(uses) == 0 { // there is one at most
		return nil, err
	}
	if fingerprint != key.Fingerprint {
		return nil, &feedback.Error{Kind: feedback.ErrKeyReused,
			Message: "the idempotency key was used for another request; use a new key for each request"}
	}
	return &uses[0], nil
}

// useKey stores how a key, if it is not nil, was used; the column is that of the identifier.
func useKey(
	ctx context.Context, tx *sql.Tx, teacher uuid.UUID, key *feedback.IdempotencyKey, u keyUse, column string,
) error {
	if key == nil {
		return nil
	}
	return execOne(ctx, tx, errKeyTaken, `
		insert into feedback_idempotency_keys (teacher_id, key, fingerprint, `+column+`, created, used_at)
		values ($1, $2, $3, $4, $5, $6)
		on conflict (teacher_id, key) do update set fingerprint = excluded.fingerprint,
			record_id = excluded.record_id, profile_id = excluded.profile_id, created = excluded.created,
			used_at = excluded.used_at
		where feedback_idempotency_keys.used_at <= $7`,
		teacher, key.Key, key.Fingerprint, u.id, u.created, db.Time(key.UsedAt), db.Time(key.ExpiredAt))
}

// DeleteIdempotencyKeys deletes the keys that were used before a time. As it is called every hour,
// it also empties SQLite's log, which has the texts that were deleted or edited since.
func (s *Store) DeleteIdempotencyKeys(ctx context.Context, before time.Time) error {
	err := s.exec(ctx, "delete idempotency keys", nil, `delete from feedback_idempotency_keys where used_at < $1`,
		db.Time(before))
	if err == nil {
		_ = s.db.EraseLog(ctx) // or an hour later
	}
	return err
}
