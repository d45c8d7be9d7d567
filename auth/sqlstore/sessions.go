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

// CreateSession implements [auth.Store].
func (s *Store) CreateSession(ctx context.Context, n auth.NewSession) (uuid.UUID, error) {
	const replace = `
		delete from auth_sessions where token_hash = $1 and user_id = $2`
	var user uuid.UUID
	err := s.db.Update(ctx, func(ctx context.Context, tx *sql.Tx) (err error) {
		if user, err = upsertUser(ctx, tx, n.Identity, n.CreatedAt); err != nil {
			return err
		}
		if n.Replaces != (auth.TokenHash{}) {
			if _, err := tx.ExecContext(ctx, replace, n.Replaces[:], user); err != nil {
				return err
			}
		}
		return insertSession(ctx, tx, user, n)
	})
	return user, wrap("create session", err)
}

// insertSession stores a session and deletes the user's oldest beyond the limit.
func insertSession(ctx context.Context, tx *sql.Tx, user uuid.UUID, n auth.NewSession) error {
	const insert = `
		insert into auth_sessions (token_hash, user_id, device, created_at, expires_at)
		values ($1, $2, $3, $4, $5)`
	// The limit is there because SQLite has no offset without one.
	const deleteOldest = `
		delete from auth_sessions where token_hash in (
			select token_hash from auth_sessions
			where user_id = $1 and token_hash <> $2
			order by created_at desc, token_hash
			limit 1000000 offset $3)`
	_, err := tx.ExecContext(ctx, insert,
		n.TokenHash[:], user, n.Device, db.Time(n.CreatedAt), db.Time(n.ExpiresAt))
	if err == nil && n.MaxSessions > 0 {
		_, err = tx.ExecContext(ctx, deleteOldest, user, n.TokenHash[:], n.MaxSessions-1)
	}
	return err
}

// Session implements [auth.Store].
func (s *Store) Session(ctx context.Context, hash auth.TokenHash) (auth.Session, error) {
	const find = `
		select user_id, device, created_at, expires_at from auth_sessions where token_hash = $1`
	session := auth.Session{TokenHash: hash}
	err := s.db.QueryRowContext(ctx, find, hash[:]).Scan(
		&session.UserID, &session.Device, (*db.Time)(&session.CreatedAt), (*db.Time)(&session.ExpiresAt))
	if errors.Is(err, sql.ErrNoRows) {
		return auth.Session{}, auth.ErrNoSession
	}
	return session, wrap("find session", err)
}

// DeleteSession implements [auth.Store].
func (s *Store) DeleteSession(ctx context.Context, hash auth.TokenHash) error {
	_, err := s.exec(ctx, `delete from auth_sessions where token_hash = $1`, hash[:])
	return wrap("delete session", err)
}

// DeleteSessions implements [auth.Store].
func (s *Store) DeleteSessions(ctx context.Context, userID uuid.UUID) error {
	// The devices first: one that is signing in meanwhile has its session when they are gone.
	const deleteDevices = `delete from auth_devices where user_id = $1`
	const deleteSessions = `delete from auth_sessions where user_id = $1`
	err := s.db.Update(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, deleteDevices, userID); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, deleteSessions, userID)
		return err
	})
	return wrap("delete sessions", err)
}

// DeleteExpired implements [auth.Store].
func (s *Store) DeleteExpired(ctx context.Context, now time.Time, limit int) (int, error) {
	const deleteDevices = `delete from auth_devices where expires_at <= $1`
	if _, err := s.exec(ctx, deleteDevices, db.Time(now)); err != nil {
		return 0, wrap("delete expired devices", err)
	}
	const deleteExpired = `
		delete from auth_sessions where token_hash in (
			select token_hash from auth_sessions where expires_at <= $1 limit $2)`
	n, err := s.exec(ctx, deleteExpired, db.Time(now), limit)
	return n, wrap("delete expired sessions", err)
}

// exec runs one statement and returns how many rows it changed.
func (s *Store) exec(ctx context.Context, statement string, args ...any) (int, error) {
	var n int64
	err := s.db.Update(ctx, func(ctx context.Context, tx *sql.Tx) error {
		result, err := tx.ExecContext(ctx, statement, args...)
		if err != nil {
			return err
		}
		n, err = result.RowsAffected()
		return err
	})
	return int(n), err
}
