package sqlstore

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"lessonkit.example/auth"
	"lessonkit.example/internal/migrate"
	"lessonkit.example/internal/sqldb"
)

// CreateSession implements [auth.Store].
func (s *Store) CreateSession(ctx context.Context, n auth.NewSession) (uuid.UUID, error) {
	const replace = `
		delete from auth_sessions where token_hash = $1 and teacher_id = $2`
	const insert = `
		insert into auth_sessions (token_hash, teacher_id, created_at, expires_at, last_used_at)
		values ($1, $2, $3, $4, $3)`
	// The limit is there because SQLite knows no offset without one.
	const deleteOldest = `
		delete from auth_sessions where token_hash in (
			select token_hash from auth_sessions
			where teacher_id = $1 and token_hash <> $2
			order by created_at desc, token_hash
			limit 1000000 offset $3)`
	var teacher uuid.UUID
	err := s.db.Update(ctx, func(ctx context.Context, tx *sql.Tx) (err error) {
		if teacher, err = upsertTeacher(ctx, tx, n.Identity, n.CreatedAt); err != nil {
			return err
		}
		if n.Replaces != (auth.TokenHash{}) {
			if _, err := tx.ExecContext(ctx, replace, n.Replaces[:], teacher); err != nil {
				return err
			}
		}
		if _, err := tx.ExecContext(ctx, insert, n.TokenHash[:], teacher, sqldb.Time{Time: n.CreatedAt}, sqldb.Time{Time: n.ExpiresAt}); err != nil {
			return err
		}
		if n.MaxSessions > 0 {
			_, err = tx.ExecContext(ctx, deleteOldest, teacher, n.TokenHash[:], n.MaxSessions-1)
		}
		return err
	})
	if err != nil {
		return uuid.Nil, wrap("create session", err)
	}
	return teacher, nil
}

// lookup is the statement behind Session, prepared once on SQLite; pgx keeps
// prepared statements by itself.
type lookup struct{ stmt atomic.Pointer[sql.Stmt] }

const findSession = `
	select teacher_id, created_at, expires_at, last_used_at from auth_sessions where token_hash = $1`

func (s *Store) findSession(ctx context.Context, hash []byte) (*sql.Row, error) {
	if s.db.Engine != migrate.SQLite {
		return s.db.R.QueryRowContext(ctx, findSession, hash), nil
	}
	// A look into a file takes microseconds, and to make it stoppable costs two goroutines.
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	ctx = context.WithoutCancel(ctx)
	stmt := s.find.stmt.Load()
	if stmt == nil {
		// Not in New: the tables may come later. Two that race here each prepare one; one is kept.
		fresh, err := s.db.R.PrepareContext(ctx, findSession)
		if err != nil {
			return nil, err
		}
		if s.find.stmt.CompareAndSwap(nil, fresh) {
			stmt = fresh
		} else {
			fresh.Close()
			stmt = s.find.stmt.Load()
		}
	}
	return stmt.QueryRowContext(ctx, hash), nil
}

// Session implements [auth.Store].
func (s *Store) Session(ctx context.Context, hash auth.TokenHash) (auth.Session, error) {
	var session auth.Session
	var created, expires, used sqldb.Time
	row, err := s.findSession(ctx, hash[:])
	if err == nil {
		err = row.Scan(&session.TeacherID, &created, &expires, &used)
	}
	if errors.Is(err, sql.ErrNoRows) {
		return auth.Session{}, auth.ErrNoSession
	}
	if err != nil {
		return auth.Session{}, wrap("find session", err)
	}
	session.CreatedAt, session.ExpiresAt, session.LastUsedAt = created.Time, expires.Time, used.Time
	return session, nil
}

// DeleteSession implements [auth.Store].
func (s *Store) DeleteSession(ctx context.Context, hash auth.TokenHash) error {
	_, err := s.exec(ctx, `delete from auth_sessions where token_hash = $1`, hash[:])
	return wrap("delete session", err)
}

// DeleteSessions implements [auth.Store].
func (s *Store) DeleteSessions(ctx context.Context, teacherID uuid.UUID) (int, error) {
	n, err := s.exec(ctx, `delete from auth_sessions where teacher_id = $1`, teacherID)
	return n, wrap("delete sessions", err)
}

// markBatch is how many rows one transaction of MarkUsed touches.
const markBatch = 200

// MarkUsed implements [auth.Store]. It is a sequence of short transactions, so
// that it delays nobody; those done before a failure stay done, which repeating
// the call does not mind.
func (s *Store) MarkUsed(ctx context.Context, uses []auth.LastUse) error {
	const mark = `
		update auth_sessions set last_used_at = $2 where token_hash = $1 and last_used_at < $2`
	uses = slices.Clone(uses)
	// One order for all nodes, so that they do not lock each other out.
	slices.SortFunc(uses, func(a, b auth.LastUse) int { return bytes.Compare(a.TokenHash[:], b.TokenHash[:]) })
	for batch := range slices.Chunk(uses, markBatch) {
		err := s.db.Update(ctx, func(ctx context.Context, tx *sql.Tx) error {
			for _, use := range batch {
				if _, err := tx.ExecContext(ctx, mark, use.TokenHash[:], sqldb.Time{Time: use.At}); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return wrap("mark sessions used", err)
		}
	}
	return nil
}

// DeleteExpired implements [auth.Store].
func (s *Store) DeleteExpired(ctx context.Context, now, idleSince time.Time, limit int) (int, error) {
	const deleteExpired = `
		delete from auth_sessions where token_hash in (
			select token_hash from auth_sessions where expires_at <= $1 or last_used_at <= $2 limit $3)`
	n, err := s.exec(ctx, deleteExpired, sqldb.Time{Time: now}, sqldb.Time{Time: idleSince}, limit)
	return n, wrap("delete expired sessions", err)
}

// exec runs one statement and returns how many rows it touched.
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
