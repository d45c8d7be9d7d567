package sqlstore

import (
	"context"
	"database/sql"
	"time"

	"github.com/google/uuid"

	"lessonkit.example/feedback"
)

// EraseTeacher implements [feedback.Store].
func (s *Store) EraseTeacher(ctx context.Context, teacher uuid.UUID, again time.Time) error {
	s.makeRoom(ctx)
	err := s.update(ctx, "erase teacher", func(ctx context.Context, tx *sql.Tx) error {
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
	})
	if err != nil {
		return err
	}
	if err := s.db.EraseLog(ctx); again.IsZero() {
		return wrap("erase teacher", err) // there is no task that would do it again
	}
	return nil
}
