package sqlstore

import (
	"context"
	"database/sql"

	"github.com/google/uuid"

	"lessonkit.example/feedback"
	"lessonkit.example/internal/sqldb"
)

// scanRecords reads what Records selects: all but the teacher, who asks.
func scanRecords(teacher uuid.UUID) func(row) (feedback.Record, error) {
	return func(r row) (feedback.Record, error) {
		f := feedback.Record{TeacherID: teacher}
		var created sqldb.Time
		err := r.Scan(&f.ID, &f.ProfileID, &f.Date, &f.Content, &f.SessionID, &created)
		f.CreatedAt = created.Time
		return f, err
	}
}

// InsertRecord implements [feedback.RecordStore]. The conditions are part of
// the insert, so that the common case is one statement.
func (s *Store) InsertRecord(ctx context.Context, r feedback.Record) error {
	const op = "insert record"
	if !r.SessionID.Valid {
		return s.single(ctx, op, func(ctx context.Context, db execer) error { return insertRecord(ctx, db, r) })
	}
	return s.update(ctx, op, func(ctx context.Context, tx *sql.Tx) error {
		err := changed(tx.ExecContext(ctx, `
			update feedback_sessions set state = 'completed', updated_at = $4, revision = revision + 1
			where session_id = $1 and profile_id = $2 and teacher_id = $3`,
			r.SessionID, r.ProfileID, r.TeacherID, sqldb.Time{Time: r.CreatedAt}))(
			feedback.Invalid("feedback_session_id", "must be a session of this profile"))
		if err != nil {
			return err
		}
		return insertRecord(ctx, tx, r)
	})
}

func insertRecord(ctx context.Context, db execer, r feedback.Record) error {
	noProfile := feedback.Invalid("profile_id", "must be one of your profiles")
	err := changed(db.ExecContext(ctx, `
		insert into feedback_records (record_id, teacher_id, profile_id, feedback_date, content, session_id, created_at)
		select $1, teacher_id, profile_id, $4, $5, $6, $7 from feedback_profiles where profile_id = $2 and teacher_id = $3`,
		r.ID, r.ProfileID, r.TeacherID, r.Date, r.Content, r.SessionID, sqldb.Time{Time: r.CreatedAt}))(noProfile)
	if sqldb.IsForeignKey(err) { // the profile went away this moment
		return noProfile
	}
	return err
}

// Records implements [feedback.RecordStore].
func (s *Store) Records(ctx context.Context, teacher uuid.UUID, f feedback.RecordFilter, after *feedback.RecordKey, limit int) ([]feedback.Record, error) {
	w := where{`teacher_id = $1`, []any{teacher}}
	if f.ProfileID.Valid {
		w = where{`profile_id = $1`, []any{f.ProfileID}}
		w.and(`teacher_id = $%d`, teacher)
	}
	if after != nil {
		w.and(`(feedback_date, created_at, record_id) < ($%d, $%d, $%d)`, after.Date, sqldb.Time{Time: after.CreatedAt}, after.ID)
	}
	items, err := all(ctx, s.read(), scanRecords(teacher), w.query(
		`select record_id, profile_id, feedback_date, content, session_id, created_at from feedback_records where `,
		` order by feedback_date desc, created_at desc, record_id desc limit $%d`, limit), w.args...)
	return items, wrap("list records", err)
}

// DeleteRecord implements [feedback.RecordStore].
func (s *Store) DeleteRecord(ctx context.Context, teacher, id uuid.UUID) error {
	return s.single(ctx, "delete record", func(ctx context.Context, db execer) error {
		return changed(db.ExecContext(ctx,
			`delete from feedback_records where record_id = $1 and teacher_id = $2`, id, teacher))(feedback.NotFound("record"))
	})
}
