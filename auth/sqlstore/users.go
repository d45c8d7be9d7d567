package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/google/uuid"

	"lessonkit.example/auth"
	"lessonkit.example/internal/db"
)

// User implements [auth.Store].
func (s *Store) User(ctx context.Context, id auth.Identity, now time.Time) (uuid.UUID, error) {
	const find = `
		select id from auth_users where platform = $1 and app_id = $2 and subject = $3`
	var user uuid.UUID
	err := s.db.QueryRowContext(ctx, find, id.Platform, id.AppID, id.Subject).Scan(&user)
	if errors.Is(err, sql.ErrNoRows) {
		err = s.db.Update(ctx, func(ctx context.Context, tx *sql.Tx) (err error) {
			user, err = upsertUser(ctx, tx, id, now)
			return err
		})
	}
	return user, wrap("find or create user", err)
}

// Identity implements [auth.Store].
func (s *Store) Identity(ctx context.Context, userID uuid.UUID) (auth.Identity, error) {
	const find = `
		select platform, app_id, subject, union_id from auth_users where id = $1`
	var id auth.Identity
	err := s.db.QueryRowContext(ctx, find, userID).Scan(&id.Platform, &id.AppID, &id.Subject, &id.UnionID)
	if errors.Is(err, sql.ErrNoRows) {
		return auth.Identity{}, auth.ErrNoUser
	}
	return id, wrap("find identity", err)
}

// DeleteUser implements [auth.Store]. The sessions go with the user, by the foreign key.
func (s *Store) DeleteUser(ctx context.Context, userID uuid.UUID) error {
	_, err := s.exec(ctx, `delete from auth_users where id = $1`, userID)
	if err == nil {
		// The user is deleted even if this waits in vain for a reader, or the client has left.
		_ = s.db.EraseLog(context.WithoutCancel(ctx))
	}
	return wrap("delete user", err)
}

// upsertUser finds or creates a user. An existing row is locked until the transaction ends,
// so that concurrent sign-ins of one user run one after the other.
func upsertUser(ctx context.Context, tx *sql.Tx, id auth.Identity, now time.Time) (uuid.UUID, error) {
	const upsert = `
		insert into auth_users (id, platform, app_id, subject, union_id, created_at)
		values ($1, $2, $3, $4, $5, $6)
		on conflict (platform, app_id, subject) do update
		set union_id = case when excluded.union_id = '' then auth_users.union_id else excluded.union_id end
		returning id`
	var user uuid.UUID
	err := tx.QueryRowContext(ctx, upsert,
		uuid.Must(uuid.NewV7()), id.Platform, id.AppID, id.Subject, id.UnionID, db.Time(now)).Scan(&user)
	return user, err
}
