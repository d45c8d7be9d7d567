package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/google/uuid"

	"lessonkit.example/feedback"
	"lessonkit.example/internal/db"
)

// erase runs a transaction that deletes the records that where selects, and more. On a disk without
// space for SQLite's log of that, the records are deleted before, some at a time.
func (s *Store) erase(
	ctx context.Context, op string, fn func(ctx context.Context, tx *sql.Tx) error, where string, args ...any,
) error {
	if s.CheckSpace(ctx) == nil {
		err := s.update(ctx, op, fn)
		if s.db.Engine == db.Postgres || !errors.Is(err, feedback.ErrUnavailable) {
			return err
		}
	}
	for {
		_ = s.CheckSpace(ctx) // which makes room for the transaction's log
		err := s.exec(ctx, op, errRecord, `
			delete from feedback_records where record_id in (
				select record_id from feedback_records where `+where+` limit 50)`, args...)
		if errors.Is(err, feedback.ErrNotFound) {
			return s.update(ctx, op, fn)
		}
		if err != nil {
			return err
		}
	}
}

// EraseTeacher deletes everything of a teacher, and gives the outbox the tasks that DeleteProfile
// does. If there is an outbox and again is not zero, it is also given a [feedback.TaskEraseTeacher]
// with again as its Turn.
func (s *Store) EraseTeacher(ctx context.Context, teacher uuid.UUID, again time.Time) error {
	err := s.erase(ctx, "erase teacher", func(ctx context.Context, tx *sql.Tx) error {
		profiles, err := all(ctx, tx, scanValue[uuid.UUID],
			`select profile_id from feedback_profiles where teacher_id = $1 order by profile_id`+s.forUpdate(),
			teacher)
		if err != nil {
			return err
		}
		for _, profile := range profiles {
			if err := s.deleteProfile(ctx, tx, teacher, profile); err != nil {
				return err
			}
		}
		for _, table := range []string{"feedback_defaults", "feedback_usage", "feedback_words"} {
			if _, err := tx.ExecContext(ctx, `delete from `+table+` where teacher_id = $1`, teacher); err != nil {
				return err
			}
		}
		if s.outbox == nil || again.IsZero() {
			return nil
		}
		return s.addTask(ctx, tx, feedback.Task{Kind: feedback.TaskEraseTeacher, TeacherID: teacher, Turn: again})
	}, `teacher_id = $1`, teacher)
	if err != nil {
		return err
	}
	if err := errors.Join(s.mergePairs(ctx), s.db.EraseLog(ctx)); again.IsZero() {
		return wrap("erase teacher", err) // there is no task that would do it again
	}
	return nil
}

// mergePairs writes SQLite's index of pairs anew, without what it still has of deleted records,
// some pages at a time, so that others write in between.
func (s *Store) mergePairs(ctx context.Context) error {
	if s.db.Engine == db.Postgres {
		return nil
	}
	const merge = `insert into feedback_record_pairs (feedback_record_pairs, rank) values ('merge', $1)`
	for pages := -500; ; pages = 500 { // a negative number begins
		var before, after int
		err := s.db.Update(ctx, func(ctx context.Context, tx *sql.Tx) error {
			if err := tx.QueryRowContext(ctx, `select total_changes()`).Scan(&before); err != nil {
				return err
			}
			if _, err := tx.ExecContext(ctx, merge, pages); err != nil {
				return err
			}
			return tx.QueryRowContext(ctx, `select total_changes()`).Scan(&after)
		})
		if err != nil || after-before < 2 { // a merge that finds nothing to do counts as one
			return err
		}
	}
}
