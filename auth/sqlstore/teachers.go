package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/google/uuid"

	"lessonkit.example/auth"
	"lessonkit.example/internal/sqldb"
)

// Teacher implements [auth.Store].
func (s *Store) Teacher(ctx context.Context, id auth.Identity, now time.Time) (uuid.UUID, error) {
	const find = `
		select id from auth_teachers where platform = $1 and app_id = $2 and subject = $3`
	var teacher uuid.UUID
	err := s.db.QueryRowContext(ctx, find, id.Platform, id.AppID, id.Subject).Scan(&teacher)
	if errors.Is(err, sql.ErrNoRows) {
		err = s.db.Update(ctx, func(ctx context.Context, tx *sql.Tx) (err error) {
			teacher, err = upsertTeacher(ctx, tx, id, now)
			return err
		})
	}
	if err != nil {
		return uuid.Nil, wrap("find or create teacher", err)
	}
	return teacher, nil
}

// Identity implements [auth.Store].
func (s *Store) Identity(ctx context.Context, teacherID uuid.UUID) (auth.Identity, error) {
	const find = `
		select platform, app_id, subject, union_id from auth_teachers where id = $1`
	var id auth.Identity
	err := s.db.QueryRowContext(ctx, find, teacherID).Scan(&id.Platform, &id.AppID, &id.Subject, &id.UnionID)
	if errors.Is(err, sql.ErrNoRows) {
		return auth.Identity{}, auth.ErrNoTeacher
	}
	if err != nil {
		return auth.Identity{}, wrap("find identity", err)
	}
	return id, nil
}

// DeleteTeacher implements [auth.Store]. The sessions go with the teacher, by the foreign key.
func (s *Store) DeleteTeacher(ctx context.Context, teacherID uuid.UUID) error {
	_, err := s.exec(ctx, `delete from auth_teachers where id = $1`, teacherID)
	return wrap("delete teacher", err)
}

// upsertTeacher finds or creates a teacher. An existing row is locked until the transaction ends,
// so that concurrent sign-ins of one teacher run one after the other.
func upsertTeacher(ctx context.Context, tx *sql.Tx, id auth.Identity, now time.Time) (uuid.UUID, error) {
	const upsert = `
		insert into auth_teachers (id, platform, app_id, subject, union_id, created_at)
		values ($1, $2, $3, $4, $5, $6)
		on conflict (platform, app_id, subject) do update
		set union_id = case when excluded.union_id = '' then auth_teachers.union_id else excluded.union_id end
		returning id`
	candidate, err := uuid.NewV7()
	if err != nil {
		return uuid.Nil, err
	}
	var teacher uuid.UUID
	err = tx.QueryRowContext(ctx, upsert,
		candidate, id.Platform, id.AppID, id.Subject, id.UnionID, sqldb.Time{Time: now}).Scan(&teacher)
	return teacher, err
}
