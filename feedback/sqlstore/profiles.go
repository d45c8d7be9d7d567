package sqlstore

import (
	"context"
	"database/sql"
	"time"

	"github.com/google/uuid"

	"lessonkit.example/feedback"
	"lessonkit.example/internal/db"
)

const profileColumns = `profile_id, name, grade, subject, academic_year, term, guardian_title,
	start_time, end_time, created_at, updated_at`

// scanProfile returns the function that scans profileColumns of a teacher's profiles.
func scanProfile(teacher uuid.UUID) func(row) (feedback.Profile, error) {
	return func(r row) (feedback.Profile, error) {
		p := feedback.Profile{TeacherID: teacher}
		err := r.Scan(profileFields(&p)...)
		return p, err
	}
}

func profileFields(p *feedback.Profile) []any {
	return []any{&p.ID, &p.Name, &p.Grade, &p.Subject, &p.AcademicYear, &p.Term, &p.GuardianTitle,
		(*db.TimeOfDay)(&p.StartTime), (*db.TimeOfDay)(&p.EndTime), (*db.Time)(&p.CreatedAt), (*db.Time)(&p.UpdatedAt)}
}

var (
	errProfile  = feedback.NotFound("profile")
	errDefaults = feedback.NotFound("saved defaults")
)

// Defaults returns what the teacher has saved, or [feedback.ErrNotFound].
func (s *Store) Defaults(ctx context.Context, teacher uuid.UUID) (feedback.Defaults, error) {
	d, err := one(ctx, s.db, errDefaults, func(r row) (d feedback.Defaults, err error) {
		err = r.Scan(&d.Grade, &d.Subject, &d.LessonDurationMinutes, &d.Language, &d.MessageTemplate,
			&d.SummaryInstructions)
		return d, err
	}, `
		select grade, subject, lesson_duration_minutes, language, message_template, summary_instructions
		from feedback_defaults where teacher_id = $1`, teacher)
	return d, wrap("read defaults", err)
}

// SaveDefaults inserts or replaces the teacher's defaults.
func (s *Store) SaveDefaults(ctx context.Context, teacher uuid.UUID, d feedback.Defaults, at time.Time) error {
	return s.update(ctx, "save defaults", func(ctx context.Context, tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `
			insert into feedback_defaults (teacher_id, grade, subject, lesson_duration_minutes, language,
				message_template, summary_instructions, updated_at)
			values ($1, $2, $3, $4, $5, $6, $7, $8)
			on conflict (teacher_id) do update set grade = excluded.grade, subject = excluded.subject,
				lesson_duration_minutes = excluded.lesson_duration_minutes, language = excluded.language,
				message_template = excluded.message_template, summary_instructions = excluded.summary_instructions,
				updated_at = excluded.updated_at`,
			teacher, d.Grade, d.Subject, d.LessonDurationMinutes, d.Language, d.MessageTemplate,
			d.SummaryInstructions, db.Time(at)); err != nil {
			return err
		}
		bytes := len(d.Grade) + len(d.Subject) + len(d.MessageTemplate) + len(d.SummaryInstructions)
		_, err := addUsage(ctx, tx, teacher, feedback.Usage{TextBytes: int64(bytes)}, at)
		return err
	})
}

// InsertProfile inserts p. It treats the key as InsertRecord does.
func (s *Store) InsertProfile(
	ctx context.Context, p feedback.Profile, key *feedback.IdempotencyKey,
) (stored feedback.Profile, err error) {
	err = s.once(ctx, "insert profile", func(ctx context.Context, tx *sql.Tx) error {
		used, err := usedKey(ctx, tx, p.TeacherID, key)
		if err != nil {
			return err
		}
		if used != nil {
			stored, err = one(ctx, tx, errProfile, scanProfile(p.TeacherID),
				`select `+profileColumns+` from feedback_profiles where profile_id = $1`, used.id)
			return err
		}
		stored = p
		if _, err := tx.ExecContext(ctx, `
			insert into feedback_profiles (`+profileColumns+`, teacher_id, name_folded)
			values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`,
			p.ID, p.Name, p.Grade, p.Subject, p.AcademicYear, p.Term, p.GuardianTitle,
			db.TimeOfDay(p.StartTime), db.TimeOfDay(p.EndTime), db.Time(p.CreatedAt), db.Time(p.UpdatedAt),
			p.TeacherID, foldText(p.Name)); err != nil {
			return err
		}
		if err := useKey(ctx, tx, p.TeacherID, key, keyUse{id: p.ID, created: true}, "profile_id"); err != nil {
			return err
		}
		size := feedback.Usage{TextBytes: int64(textOfProfile(p)), TextRows: 1}
		_, err = addUsage(ctx, tx, p.TeacherID, size, p.CreatedAt)
		return err
	})
	return stored, err
}

// ReplaceProfile replaces everything but the identifiers and CreatedAt, and returns the result, or
// [feedback.ErrNotFound].
func (s *Store) ReplaceProfile(ctx context.Context, p feedback.Profile) (out feedback.Profile, err error) {
	err = s.update(ctx, "replace profile", func(ctx context.Context, tx *sql.Tx) (err error) {
		out, err = one(ctx, tx, errProfile, scanProfile(p.TeacherID), `
			update feedback_profiles set name = $3, name_folded = $4, grade = $5, subject = $6, academic_year = $7,
				term = $8, guardian_title = $9, start_time = $10, end_time = $11, updated_at = $12
			where profile_id = $1 and teacher_id = $2
			returning `+profileColumns,
			p.ID, p.TeacherID, p.Name, foldText(p.Name), p.Grade, p.Subject, p.AcademicYear,
			p.Term, p.GuardianTitle, db.TimeOfDay(p.StartTime), db.TimeOfDay(p.EndTime),
			db.Time(p.UpdatedAt))
		if err != nil {
			return err
		}
		_, err = addUsage(ctx, tx, p.TeacherID, feedback.Usage{TextBytes: int64(textOfProfile(p))}, p.UpdatedAt)
		return err
	})
	return out, err
}

// Profile returns one profile, or [feedback.ErrNotFound].
func (s *Store) Profile(ctx context.Context, teacher, id uuid.UUID) (feedback.Profile, error) {
	p, err := one(ctx, s.db, errProfile, scanProfile(teacher),
		`select `+profileColumns+` from feedback_profiles where profile_id = $1 and teacher_id = $2`, id, teacher)
	return p, wrap("read profile", err)
}

// Profiles returns up to limit profiles ordered by name (by code point), then identifier, starting
// after a key if it is not nil, and whether there are more. It returns fewer, but at least one, if
// they have more than [feedback.MaxPageText] bytes of text.
func (s *Store) Profiles(
	ctx context.Context, teacher uuid.UUID, f feedback.ProfileFilter, after *feedback.ProfileKey, limit int,
) (_ []feedback.Profile, more bool, err error) {
	var a args
	query := `
		select ` + profileColumns + `, (
			select max(r.feedback_date) from feedback_records r where r.profile_id = feedback_profiles.profile_id)
		from feedback_profiles where teacher_id = ` + a.add(teacher)
	if f.Query != "" {
		query += ` and ` + contains(&a, "name_folded", f.Query)
	}
	if f.Grade != "" {
		query += ` and grade = ` + a.add(f.Grade)
	}
	if f.Subject != "" {
		query += ` and subject = ` + a.add(f.Subject)
	}
	if after != nil {
		query += ` and (name, profile_id) > (` + a.add(after.Name) + `, ` + a.add(after.ID) + `)`
	}
	query += ` order by name, profile_id limit ` + a.add(limit+1)
	scan := func(r row) (feedback.Profile, error) {
		p := feedback.Profile{TeacherID: teacher}
		err := r.Scan(append(profileFields(&p), (*db.Date)(&p.LastDate))...)
		return p, err
	}
	items, more, err := upTo(ctx, s.db, limit, scan, textOfProfile, query, a...)
	return items, more, wrap("list profiles", err)
}

func textOfProfile(p feedback.Profile) int {
	return len(p.Name) + len(p.Grade) + len(p.Subject) + len(p.Term) + len(p.GuardianTitle)
}

// DeleteProfile deletes a profile with its records, sessions, lessons and segments and those of the
// teacher's words that its name contains, and gives the outbox a [feedback.TaskDeleteAudio] for
// each recording whose audio has not expired. On a disk that is full, it may delete records before
// all else, as may EraseTeacher. On SQLite, hashes of the records' pairs of characters stay
// in an index until SQLite merges it.
func (s *Store) DeleteProfile(ctx context.Context, teacher, id uuid.UUID) error {
	err := s.erase(ctx, "delete profile", func(ctx context.Context, tx *sql.Tx) error {
		return s.deleteProfile(ctx, tx, teacher, id)
	}, `teacher_id = $1 and profile_id = $2`, teacher, id)
	if err == nil {
		// It is deleted even if this waits in vain for a reader, or the client has left.
		_ = s.db.EraseLog(context.WithoutCancel(ctx))
	}
	return err
}

// deleteProfile deletes a profile with what belongs to it. The locks prevent that a segment is
// added between reading the audio keys and deleting the segments.
func (s *Store) deleteProfile(ctx context.Context, tx *sql.Tx, teacher, id uuid.UUID) error {
	name, err := one(ctx, tx, errProfile, scanValue[string],
		`select name from feedback_profiles where profile_id = $1 and teacher_id = $2`+s.forUpdate(), id, teacher)
	if err != nil {
		return err
	}
	if _, err := all(ctx, tx, scanValue[uuid.UUID],
		`select session_id from feedback_sessions where profile_id = $1 order by session_id`+s.forUpdate(),
		id); err != nil {
		return err
	}
	const sessions = `(select session_id from feedback_sessions where profile_id = $1)`
	keys, err := all(ctx, tx, scanValue[string],
		`select audio_key from feedback_segments where audio_deleted_at is null and session_id in `+sessions, id)
	if err != nil {
		return err
	}
	for _, key := range keys {
		if err := s.addTask(ctx, tx, feedback.Task{Kind: feedback.TaskDeleteAudio, AudioKey: key}); err != nil {
			return err
		}
	}
	for _, statement := range []string{
		`delete from feedback_segments where session_id in ` + sessions,
		`delete from feedback_lessons where session_id in ` + sessions,
		`delete from feedback_records where profile_id = $1`,
		`delete from feedback_sessions where profile_id = $1`,
		`delete from feedback_profiles where profile_id = $1`,
	} {
		if _, err := tx.ExecContext(ctx, statement, id); err != nil {
			return err
		}
	}
	// Parts of the name that were learnt from the records. The two engines have no other function
	// in common that finds one text in another.
	_, err = tx.ExecContext(ctx, `
		delete from feedback_words where teacher_id = $1 and replace(cast($2 as text), word, '') <> $2`, teacher, name)
	return err
}
