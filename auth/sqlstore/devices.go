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

// Sessions implements [auth.Store].
func (s *Store) Sessions(ctx context.Context, userID uuid.UUID, now time.Time) ([]auth.Session, error) {
	const list = `
		select token_hash, user_id, device, created_at, expires_at from auth_sessions
		where user_id = $1 and expires_at > $2
		order by created_at desc, token_hash`
	rows, err := s.db.QueryContext(ctx, list, userID, db.Time(now))
	if err != nil {
		return nil, wrap("list sessions", err)
	}
	defer rows.Close()
	var sessions []auth.Session
	for rows.Next() {
		var session auth.Session
		var hash []byte
		err := rows.Scan(&hash, &session.UserID, &session.Device,
			(*db.Time)(&session.CreatedAt), (*db.Time)(&session.ExpiresAt))
		if err != nil {
			return nil, wrap("list sessions", err)
		}
		copy(session.TokenHash[:], hash)
		sessions = append(sessions, session)
	}
	return sessions, wrap("list sessions", rows.Err())
}

// CreateDevice implements [auth.Store].
func (s *Store) CreateDevice(ctx context.Context, n auth.NewDevice, limit int) error {
	const insert = `
		insert into auth_devices (secret_hash, code, name, address, created_at, expires_at)
		values ($1, $2, $3, $4, $5, $6)`
	err := s.db.Update(ctx, func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `delete from auth_devices where expires_at <= $1`, db.Time(n.CreatedAt))
		if err != nil {
			return err
		}
		var count int
		if err := tx.QueryRowContext(ctx, `select count(*) from auth_devices`).Scan(&count); err != nil {
			return err
		}
		if count >= limit {
			return auth.ErrRateLimited
		}
		_, err = tx.ExecContext(ctx, insert,
			n.SecretHash[:], n.Code, n.Name, n.Address, db.Time(n.CreatedAt), db.Time(n.ExpiresAt))
		return err
	})
	return wrap("create device", err)
}

// Device implements [auth.Store].
func (s *Store) Device(ctx context.Context, code string, now time.Time) (auth.Device, error) {
	const find = `
		select code, name, address, created_at, expires_at from auth_devices
		where code = $1 and user_id is null and expires_at > $2`
	var d auth.Device
	err := s.db.QueryRowContext(ctx, find, code, db.Time(now)).Scan(&d.Code, &d.Name, &d.Address,
		(*db.Time)(&d.CreatedAt), (*db.Time)(&d.ExpiresAt))
	if errors.Is(err, sql.ErrNoRows) {
		return auth.Device{}, auth.ErrDeviceCode
	}
	return d, wrap("find device", err)
}

// ConfirmDevice implements [auth.Store].
func (s *Store) ConfirmDevice(ctx context.Context, code string, userID uuid.UUID, now time.Time) error {
	const confirm = `
		update auth_devices set user_id = $2 where code = $1 and user_id is null and expires_at > $3`
	confirmed, err := s.exec(ctx, confirm, code, userID, db.Time(now))
	if err == nil && confirmed == 0 {
		err = auth.ErrDeviceCode
	}
	return wrap("confirm device", err)
}

// CreateDeviceSession implements [auth.Store].
func (s *Store) CreateDeviceSession(
	ctx context.Context, secret auth.TokenHash, n auth.NewSession,
) (user uuid.UUID, err error) {
	// Sign-ins of one user run one after the other, as those by upsertUser do.
	const lock = `update auth_users set union_id = union_id where id = $1`
	const find = `select user_id from auth_devices where secret_hash = $1 and expires_at > $2`
	const take = `delete from auth_devices where secret_hash = $1 returning name`
	err = s.db.Update(ctx, func(ctx context.Context, tx *sql.Tx) error {
		var owner uuid.NullUUID
		err := tx.QueryRowContext(ctx, find, secret[:], db.Time(n.CreatedAt)).Scan(&owner)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			return auth.ErrDeviceCode
		case err != nil:
			return err
		case !owner.Valid:
			return auth.ErrDevicePending
		}
		if _, err := tx.ExecContext(ctx, lock, owner.UUID); err != nil {
			return err
		}
		err = tx.QueryRowContext(ctx, take, secret[:]).Scan(&n.Device)
		if errors.Is(err, sql.ErrNoRows) {
			return auth.ErrDeviceCode
		}
		if err != nil {
			return err
		}
		user = owner.UUID
		return insertSession(ctx, tx, user, n)
	})
	return user, wrap("create session of a device", err)
}
