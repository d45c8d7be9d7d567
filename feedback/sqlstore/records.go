package sqlstore

import (
	"context"
	"database/sql"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"lessonkit.example/feedback"
	"lessonkit.example/internal/db"
)

const recordColumns = `record_id, profile_id, feedback_date, content, session_id, created_at, academic_year, term,
	version`

// scanRecord returns the function that scans other columns and then recordColumns of a teacher's
// records.
func scanRecord(teacher uuid.UUID, others ...any) func(row) (feedback.Record, error) {
	return func(r row) (feedback.Record, error) {
		f := feedback.Record{TeacherID: teacher}
		err := r.Scan(append(others,
			&f.ID, &f.ProfileID, (*db.Date)(&f.Date), &f.Content, &f.SessionID, (*db.Time)(&f.CreatedAt),
			&f.AcademicYear, &f.Term, &f.Version)...)
		return f, err
	}
}

// InsertRecord inserts r, or fails with [feedback.ErrInvalid] on profile_id or feedback_session_id
// unless the profile is the teacher's and the session is the profile's. The session becomes
// completed, and the outbox, if there is one, is given a [feedback.TaskLearn]. If the session has a
// record of the same date and content, InsertRecord returns that one and created false.
//
// If key is not nil and the teacher has used the key since ExpiredAt, InsertRecord returns what it
// returned then, unless the record has been deleted; it fails with [feedback.ErrKeyReused] if the
// fingerprint is another. Concurrent calls with one key insert one record.
func (s *Store) InsertRecord(
	ctx context.Context, r feedback.Record, key *feedback.IdempotencyKey,
) (stored feedback.Record, created bool, err error) {
	err = s.once(ctx, "insert record", func(ctx context.Context, tx *sql.Tx) (err error) {
		stored, created, err = insertOnce(ctx, tx, r, key)
		if err != nil || stored.ID != r.ID {
			return err
		}
		if err := s.indexRecord(ctx, tx, r); err != nil {
			return err
		}
		if err := s.addLearn(ctx, tx, r); err != nil {
			return err
		}
		used := growth("", longer(r.Content))
		used.TextRows = 1
		_, err = addUsage(ctx, tx, r.TeacherID, used, r.CreatedAt)
		return err
	})
	return stored, created && err == nil, err
}

// addLearn gives the outbox, if there is one, the task to learn from a record of a session.
func (s *Store) addLearn(ctx context.Context, tx *sql.Tx, r feedback.Record) error {
	if !r.SessionID.Valid || s.outbox == nil {
		return nil
	}
	return s.addTask(ctx, tx, feedback.Task{Kind: feedback.TaskLearn, TeacherID: r.TeacherID, RecordID: r.ID})
}

var errRecord = feedback.NotFound("record")

func insertOnce(
	ctx context.Context, tx *sql.Tx, r feedback.Record, key *feedback.IdempotencyKey,
) (stored feedback.Record, created bool, err error) {
	used, err := usedKey(ctx, tx, r.TeacherID, key)
	if err != nil {
		return stored, false, err
	}
	if used != nil {
		stored, err = one(ctx, tx, errRecord, scanRecord(r.TeacherID),
			`select `+recordColumns+` from feedback_records where record_id = $1`, used.id)
		return stored, used.created, err
	}
	stored, created = r, true
	if r.SessionID.Valid {
		same, err := completeSession(ctx, tx, r)
		if err != nil {
			return stored, false, err
		}
		if len(same) > 0 {
			stored, created = same[0], false
		}
	}
	if created {
		stored, err = insertRecord(ctx, tx, r)
	}
	if err == nil {
		err = useKey(ctx, tx, r.TeacherID, key, keyUse{id: stored.ID, created: created}, "record_id")
	}
	if err == nil && !created && key != nil { // the key is a row, too
		_, err = addUsage(ctx, tx, r.TeacherID, feedback.Usage{TextRows: 1}, r.CreatedAt)
	}
	return stored, created, err
}

// completeSession completes the session of r, which locks it until the transaction ends, and
// returns the session's record of the same date and content, if there is one.
func completeSession(ctx context.Context, tx *sql.Tx, r feedback.Record) ([]feedback.Record, error) {
	noSession := feedback.Invalid("feedback_session_id", "must be a session of this profile")
	if err := execOne(ctx, tx, noSession, `
		update feedback_sessions set state = 'completed', updated_at = $4, revision = revision + 1
		where session_id = $1 and profile_id = $2 and teacher_id = $3`,
		r.SessionID, r.ProfileID, r.TeacherID, db.Time(r.CreatedAt)); err != nil {
		return nil, err
	}
	return all(ctx, tx, scanRecord(r.TeacherID), `
		select `+recordColumns+` from feedback_records
		where session_id = $1 and feedback_date = $2 and content = $3 order by record_id limit 1`,
		r.SessionID, r.Date, r.Content)
}

// insertRecord inserts a record with the year and the term of its student.
func insertRecord(ctx context.Context, tx *sql.Tx, r feedback.Record) (feedback.Record, error) {
	noProfile := feedback.Invalid("profile_id", "must be one of your profiles")
	stored, err := one(ctx, tx, noProfile, scanRecord(r.TeacherID), `
		insert into feedback_records (record_id, teacher_id, profile_id, feedback_date, content, content_folded,
			academic_year, term, session_id, created_at, version)
		select $1, teacher_id, profile_id, $4, $5, $6, academic_year, term, $7, $8, 1 from feedback_profiles
		where profile_id = $2 and teacher_id = $3
		returning `+recordColumns,
		r.ID, r.ProfileID, r.TeacherID, r.Date, r.Content, foldText(r.Content), r.SessionID, db.Time(r.CreatedAt))
	if db.IsForeignKey(err) { // the profile was deleted concurrently
		return stored, noProfile
	}
	return stored, err
}

// Record returns one record, or [feedback.ErrNotFound].
func (s *Store) Record(ctx context.Context, teacher, id uuid.UUID) (feedback.Record, error) {
	r, err := one(ctx, s.db, errRecord, scanRecord(teacher),
		`select `+recordColumns+` from feedback_records where record_id = $1 and teacher_id = $2`, id, teacher)
	return r, wrap("read record", err)
}

// Records returns up to limit records ordered by date, time of creation and identifier, all
// descending, starting after a key if it is not nil, and whether there are more. It returns fewer,
// but at least one, if they have more than [feedback.MaxPageText] bytes of text.
func (s *Store) Records(
	ctx context.Context, teacher uuid.UUID, f feedback.RecordFilter, after *feedback.RecordKey, limit int,
) (_ []feedback.Record, more bool, err error) {
	if strings.TrimSpace(f.Query) != "" {
		items, more, err := s.search(ctx, teacher, f, after, limit)
		return items, more, wrap("search records", err)
	}
	var a args
	query := `select ` + recordColumns + ` from feedback_records where ` + recordsWhere(&a, teacher, f) +
		recordsAfter(&a, after) + newestFirst + ` limit ` + a.add(limit+1)
	items, more, err := upTo(ctx, s.db, limit, scanRecord(teacher), sizeOfRecord, query, a...)
	return items, more, wrap("list records", err)
}

const newestFirst = ` order by feedback_date desc, created_at desc, record_id desc`

// recordsAfter returns the condition, to be added to others, of the records that come after one.
func recordsAfter(a *args, after *feedback.RecordKey) string {
	if after == nil {
		return ""
	}
	return ` and (feedback_date, created_at, record_id) < (` +
		a.add(after.Date) + `, ` + a.add(db.Time(after.CreatedAt)) + `, ` + a.add(after.ID) + `)`
}

func sizeOfRecord(r feedback.Record) int { return len(r.Content) }

// CountLessons returns how many lessons the sessions of the records have that a filter without a
// query selects.
func (s *Store) CountLessons(ctx context.Context, teacher uuid.UUID, f feedback.RecordFilter) (int, error) {
	var a args
	n, err := one(ctx, s.db, nil, scanValue[int], `select count(*) from feedback_lessons where session_id in (
		select session_id from feedback_records where `+recordsWhere(&a, teacher, f)+`)`, a...)
	return n, wrap("count lessons", err)
}

// recordsWhere returns the condition of a filter without its query.
func recordsWhere(a *args, teacher uuid.UUID, f feedback.RecordFilter) string {
	query := `teacher_id = ` + a.add(teacher)
	if f.ProfileID.Valid {
		query += ` and profile_id = ` + a.add(f.ProfileID)
	}
	if f.From != "" {
		query += ` and feedback_date >= ` + a.add(f.From)
	}
	if f.To != "" {
		query += ` and feedback_date <= ` + a.add(f.To)
	}
	if f.AcademicYear != 0 {
		query += ` and academic_year = ` + a.add(f.AcademicYear)
	}
	if f.Term != "" {
		query += ` and term = ` + a.add(f.Term)
	}
	return query
}

// EditRecord replaces date and content of one record, and increases its version. It fails with
// [feedback.ErrNotFound], or with [feedback.ErrStale] if the edit names versions and the record has
// none of them. The outbox, if there is one, is given a [feedback.TaskLearn] if the record has a
// session and the content is another, which counts as a row of the teacher's usage.
func (s *Store) EditRecord(
	ctx context.Context, teacher, id uuid.UUID, e feedback.RecordEdit, at time.Time,
) (edited feedback.Record, err error) {
	err = s.update(ctx, "edit record", func(ctx context.Context, tx *sql.Tx) error {
		r, err := one(ctx, tx, errRecord, scanRecord(teacher), `
			update feedback_records set version = version + 1 where record_id = $1 and teacher_id = $2
			returning `+recordColumns, id, teacher) // locks it
		if err != nil {
			return err
		}
		if e.IfVersion != nil && !slices.Contains(e.IfVersion, r.Version-1) {
			return &feedback.Error{Kind: feedback.ErrStale,
				Message: "the record has changed since it was read; read it again"}
		}
		used, changed := growth(longer(r.Content), longer(e.Content)), r.Content != e.Content
		r.Date, r.Content = e.Date, e.Content
		edited = r
		if err := execOne(ctx, tx, errRecord, `
			update feedback_records set feedback_date = $2, content = $3, content_folded = $4 where record_id = $1`,
			id, r.Date, r.Content, foldText(r.Content)); err != nil {
			return err
		}
		if !changed {
			return nil
		}
		if err := s.indexRecord(ctx, tx, r); err != nil {
			return err
		}
		if err := s.addLearn(ctx, tx, r); err != nil {
			return err
		}
		used.TextRows = 1 // of the task
		_, err = addUsage(ctx, tx, teacher, used, at)
		return err
	})
	return edited, err
}

// DeleteRecord deletes one record, or fails with [feedback.ErrNotFound].
func (s *Store) DeleteRecord(ctx context.Context, teacher, id uuid.UUID) error {
	_ = s.CheckSpace(ctx) // which makes room for the transaction's log
	return s.exec(ctx, "delete record", errRecord,
		`delete from feedback_records where record_id = $1 and teacher_id = $2`, id, teacher)
}
