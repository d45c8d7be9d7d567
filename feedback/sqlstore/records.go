package sqlstore

import (
	"context"
	"database/sql"

	"github.com/google/uuid"

	"lessonkit.example/feedback"
	"lessonkit.example/internal/sqldb"
)

func scanRecord(r row) (feedback.Record, error) {
	var f feedback.Record
	var created sqldb.Time
	err := r.Scan(&f.ID, &f.ProfileID, &f.TeacherID, &f.Date, &f.Content, &f.SessionID, &created)
	f.CreatedAt = created.Time
	return f, err
}

// InsertRecord implements [feedback.Store]. The insert checks the conditions itself, so that the
// common case is one statement.
func (s *Store) InsertRecord(ctx context.Context, r feedback.Record) error {
	if !r.SessionID.Valid {
		return s.single(ctx, "insert record", func(ctx context.Context, db execer) error {
			return insertRecord(ctx, db, r)
		})
	}
	return s.update(ctx, "insert record", func(ctx context.Context, tx *sql.Tx) error {
		noSession := feedback.Invalid("feedback_session_id", "must be a session of this profile")
		if err := execOne(ctx, tx, noSession, `
			update feedback_sessions set state = 'completed', updated_at = $4, revision = revision + 1
			where session_id = $1 and profile_id = $2 and teacher_id = $3`,
			r.SessionID, r.ProfileID, r.TeacherID, sqldb.Time{Time: r.CreatedAt}); err != nil {
			return err
		}
		return insertRecord(ctx, tx, r)
	})
}

func insertRecord(ctx context.Context, db execer, r feedback.Record) error {
	noProfile := feedback.Invalid("profile_id", "must be one of your profiles")
	err := execOne(ctx, db, noProfile, `
		insert into feedback_records
			(record_id, teacher_id, profile_id, feedback_date, content, session_id, created_at)
		select $1, teacher_id, profile_id, $4, $5, $6, $7 from feedback_profiles
		where profile_id = $2 and teacher_id = $3`,
		r.ID, r.ProfileID, r.TeacherID, r.Date, r.Content, r.SessionID, sqldb.Time{Time: r.CreatedAt})
	if sqldb.IsForeignKey(err) { // the profile was deleted concurrently
		return noProfile
	}
	return err
}

// Records implements [feedback.Store].
func (s *Store) Records(
	ctx context.Context, teacher uuid.UUID, f feedback.RecordFilter, after *feedback.RecordKey, limit int,
) ([]feedback.Record, error) {
	var a args
	query := `select record_id, profile_id, teacher_id, feedback_date, content, session_id, created_at
		from feedback_records where teacher_id = ` + a.add(teacher)
	if f.ProfileID.Valid {
		query += ` and profile_id = ` + a.add(f.ProfileID)
	}
	if after != nil {
		query += ` and (feedback_date, created_at, record_id) < (` +
			a.add(after.Date) + `, ` + a.add(sqldb.Time{Time: after.CreatedAt}) + `, ` + a.add(after.ID) + `)`
	}
	query += ` order by feedback_date desc, created_at desc, record_id desc limit ` + a.add(limit)
	items, err := all(ctx, s.db, scanRecord, query, a...)
	return items, wrap("list records", err)
}

// DeleteRecord implements [feedback.Store].
func (s *Store) DeleteRecord(ctx context.Context, teacher, id uuid.UUID) error {
	return s.single(ctx, "delete record", func(ctx context.Context, db execer) error {
		return execOne(ctx, db, feedback.NotFound("record"),
			`delete from feedback_records where record_id = $1 and teacher_id = $2`, id, teacher)
	})
}
