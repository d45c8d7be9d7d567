package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"lessonkit.example/feedback"
	"lessonkit.example/internal/sqldb"
)

const profileColumns = `profile_id, teacher_id, name, grade, subject, academic_year, term, guardian_title, start_time, end_time, created_at, updated_at`

func scanProfile(r row) (feedback.Profile, error) {
	var p feedback.Profile
	var created, updated sqldb.Time
	err := r.Scan(&p.ID, &p.TeacherID, &p.Name, &p.Grade, &p.Subject, &p.AcademicYear, &p.Term,
		&p.GuardianTitle, &p.StartTime, &p.EndTime, &created, &updated)
	p.CreatedAt, p.UpdatedAt = created.Time, updated.Time
	return p, err
}

// fold makes names comparable whatever the case and the form of their accents.
func fold(s string) string {
	return norm.NFC.String(cases.Fold().String(norm.NFC.String(s)))
}

var likeEscaper = strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`)

// Defaults implements [feedback.ProfileStore].
func (s *Store) Defaults(ctx context.Context, teacher uuid.UUID) (feedback.Defaults, error) {
	d, err := one(ctx, s.read(), feedback.NotFound("saved defaults"), func(r row) (d feedback.Defaults, err error) {
		return d, r.Scan(&d.Grade, &d.Subject, &d.LessonDurationMinutes)
	}, `select grade, subject, lesson_duration_minutes from feedback_defaults where teacher_id = $1`, teacher)
	return d, wrap("read defaults", err)
}

// SaveDefaults implements [feedback.ProfileStore].
func (s *Store) SaveDefaults(ctx context.Context, teacher uuid.UUID, d feedback.Defaults, at time.Time) error {
	return s.single(ctx, "save defaults", func(ctx context.Context, db execer) error {
		_, err := db.ExecContext(ctx, `
			insert into feedback_defaults (teacher_id, grade, subject, lesson_duration_minutes, updated_at)
			values ($1, $2, $3, $4, $5)
			on conflict (teacher_id) do update set grade = excluded.grade, subject = excluded.subject,
				lesson_duration_minutes = excluded.lesson_duration_minutes, updated_at = excluded.updated_at`,
			teacher, d.Grade, d.Subject, d.LessonDurationMinutes, sqldb.Time{Time: at})
		return err
	})
}

// InsertProfile implements [feedback.ProfileStore].
func (s *Store) InsertProfile(ctx context.Context, p feedback.Profile) error {
	return s.single(ctx, "insert profile", func(ctx context.Context, db execer) error {
		_, err := db.ExecContext(ctx, `
			insert into feedback_profiles (`+profileColumns+`, name_folded)
			values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`,
			p.ID, p.TeacherID, p.Name, p.Grade, p.Subject, p.AcademicYear, p.Term, p.GuardianTitle, p.StartTime, p.EndTime,
			sqldb.Time{Time: p.CreatedAt}, sqldb.Time{Time: p.UpdatedAt}, fold(p.Name))
		return err
	})
}

// ReplaceProfile implements [feedback.ProfileStore].
func (s *Store) ReplaceProfile(ctx context.Context, p feedback.Profile) (out feedback.Profile, err error) {
	err = s.single(ctx, "replace profile", func(ctx context.Context, db execer) (err error) {
		out, err = one(ctx, db, feedback.NotFound("profile"), scanProfile, `
			update feedback_profiles set name = $3, name_folded = $4, grade = $5, subject = $6, academic_year = $7,
				term = $8, guardian_title = $9, start_time = $10, end_time = $11, updated_at = $12
			where profile_id = $1 and teacher_id = $2
			returning `+profileColumns,
			p.ID, p.TeacherID, p.Name, fold(p.Name), p.Grade, p.Subject, p.AcademicYear,
			p.Term, p.GuardianTitle, p.StartTime, p.EndTime, sqldb.Time{Time: p.UpdatedAt})
		return err
	})
	return out, err
}

// Profile implements [feedback.ProfileStore].
func (s *Store) Profile(ctx context.Context, teacher, id uuid.UUID) (feedback.Profile, error) {
	p, err := one(ctx, s.read(), feedback.NotFound("profile"), scanProfile,
		`select `+profileColumns+` from feedback_profiles where profile_id = $1 and teacher_id = $2`, id, teacher)
	return p, wrap("read profile", err)
}

// Profiles implements [feedback.ProfileStore].
func (s *Store) Profiles(ctx context.Context, teacher uuid.UUID, f feedback.ProfileFilter, after *feedback.ProfileKey, limit int) ([]feedback.Profile, error) {
	w := where{`teacher_id = $1`, []any{teacher}}
	if f.Query != "" {
		w.and(`name_folded like $%d escape '\'`, "%"+likeEscaper.Replace(fold(f.Query))+"%")
	}
	if f.Grade != "" {
		w.and(`grade = $%d`, f.Grade)
	}
	if f.Subject != "" {
		w.and(`subject = $%d`, f.Subject)
	}
	if after != nil {
		w.and(`(name, profile_id) > ($%d, $%d)`, after.Name, after.ID)
	}
	items, err := all(ctx, s.read(), scanProfile, w.query(`select `+profileColumns+` from feedback_profiles where `,
		` order by name, profile_id limit $%d`, limit), w.args...)
	return items, wrap("list profiles", err)
}

// DeleteProfile implements [feedback.ProfileStore]. The locks keep segments
// from being added between reading the names of their audio and deleting them.
func (s *Store) DeleteProfile(ctx context.Context, teacher, id uuid.UUID) error {
	return s.update(ctx, "delete profile", func(ctx context.Context, tx *sql.Tx) error {
		scanID := func(r row) (id uuid.UUID, err error) { return id, r.Scan(&id) }
		if _, err := one(ctx, tx, feedback.NotFound("profile"), scanID,
			`select profile_id from feedback_profiles where profile_id = $1 and teacher_id = $2`+s.lock(), id, teacher); err != nil {
			return err
		}
		if _, err := all(ctx, tx, scanID,
			`select session_id from feedback_sessions where profile_id = $1 order by session_id`+s.lock(), id); err != nil {
			return err
		}
		const sessions = `(select session_id from feedback_sessions where profile_id = $1)`
		keys, err := all(ctx, tx, func(r row) (key string, err error) { return key, r.Scan(&key) },
			`select audio_key from feedback_segments where session_id in `+sessions, id)
		if err != nil {
			return err
		}
		for _, key := range keys {
			if err := s.hand(ctx, tx, feedback.Task{Kind: feedback.TaskDeleteAudio, AudioKey: key}); err != nil {
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
		return nil
	})
}

// where gathers conditions and their arguments.
type where struct {
	conditions string
	args       []any
}

// and adds a condition with one %d for the number of each argument.
func (w *where) and(condition string, args ...any) {
	w.conditions += " and " + w.number(condition, args)
}

func (w *where) number(text string, args []any) string {
	numbers := make([]any, len(args))
	for i := range args {
		numbers[i] = len(w.args) + i + 1
	}
	w.args = append(w.args, args...)
	return fmt.Sprintf(text, numbers...)
}

func (w *where) query(head, tail string, args ...any) string {
	return head + w.conditions + w.number(tail, args)
}
