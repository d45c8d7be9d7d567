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

// Words returns the teacher's words, most recently used first.
func (s *Store) Words(ctx context.Context, teacher uuid.UUID) ([]string, error) {
	words, err := teacherWords(ctx, s.db, teacher)
	return words, wrap("read words", err)
}

func teacherWords(ctx context.Context, q querier, teacher uuid.UUID) ([]string, error) {
	return all(ctx, q, scanValue[string],
		`select word from feedback_words where teacher_id = $1 order by used_at desc, word`, teacher)
}

// SaveWords replaces the teacher's words, of which no two are equal. The first one counts as the
// most recently used.
func (s *Store) SaveWords(ctx context.Context, teacher uuid.UUID, words []string, at time.Time) error {
	return s.update(ctx, "save words", func(ctx context.Context, tx *sql.Tx) error {
		bytes := int64(len(strings.Join(words, "")))
		if _, err := addUsage(ctx, tx, teacher, feedback.Usage{TextBytes: bytes}, at); err != nil { // as in UseWords
			return err
		}
		if _, err := tx.ExecContext(ctx, `delete from feedback_words where teacher_id = $1`, teacher); err != nil {
			return err
		}
		return useWords(ctx, tx, teacher, words, at)
	})
}

// UseWords adds words of a student's records to the teacher's, or marks those that are there as
// used, the first one most recently. Beyond [feedback.MaxWords], those that have not been used for
// longest are deleted. It fails with [feedback.ErrNotFound] if the student has been deleted
// meanwhile.
func (s *Store) UseWords(ctx context.Context, teacher, profile uuid.UUID, words []string, at time.Time) error {
	return s.update(ctx, "use words", func(ctx context.Context, tx *sql.Tx) error {
		if _, err := one(ctx, tx, errProfile, scanValue[uuid.UUID],
			`select profile_id from feedback_profiles where profile_id = $1 and teacher_id = $2`+s.forUpdate(),
			profile, teacher); err != nil {
			return err
		}
		// The row of the usage serializes changes of a teacher's words: those that another
		// transaction has inserted and not committed cannot be locked.
		if _, err := addUsage(ctx, tx, teacher, feedback.Usage{}, at); err != nil {
			return err
		}
		return useWords(ctx, tx, teacher, words, at)
	})
}

// useWords adds words, each as used a microsecond before the previous one, which keeps their order,
// and deletes those that are too many then. They are written in alphabetical order, so that
// concurrent calls do not deadlock.
func useWords(ctx context.Context, tx *sql.Tx, teacher uuid.UUID, words []string, at time.Time) error {
	usedAt := map[string]time.Time{}
	for i, word := range words {
		usedAt[word] = at.Add(-time.Duration(i) * time.Microsecond)
	}
	for _, word := range slices.Sorted(slices.Values(words)) {
		if _, err := tx.ExecContext(ctx, `
			insert into feedback_words (teacher_id, word, used_at) values ($1, $2, $3)
			on conflict (teacher_id, word) do update set used_at = excluded.used_at`,
			teacher, word, db.Time(usedAt[word])); err != nil {
			return err
		}
	}
	_, err := tx.ExecContext(ctx, `
		delete from feedback_words where teacher_id = $1 and word not in (
			select word from feedback_words where teacher_id = $1 order by used_at desc, word limit $2)`,
		teacher, feedback.MaxWords)
	return err
}

// Hints returns what a transcriber should know about recordings of a session: the language of the
// teacher's defaults, or "", and the words to expect: the student's name, the subject and the
// teacher's words. Without the session it fails with [feedback.ErrNotFound].
func (s *Store) Hints(ctx context.Context, teacher, session uuid.UUID) (language string, words []string, err error) {
	var name, subject string
	_, err = one(ctx, s.db, errSession, func(r row) (struct{}, error) {
		return struct{}{}, r.Scan(&name, &subject, &language)
	}, `
		select p.name, p.subject, coalesce(d.language, '')
		from feedback_sessions s join feedback_profiles p on p.profile_id = s.profile_id
			left join feedback_defaults d on d.teacher_id = s.teacher_id
		where s.session_id = $1 and s.teacher_id = $2`, session, teacher)
	if err != nil {
		return "", nil, wrap("read hints", err)
	}
	words, err = teacherWords(ctx, s.db, teacher)
	words = slices.DeleteFunc(slices.Concat([]string{name, subject}, words), func(w string) bool { return w == "" })
	return language, words, wrap("read hints", err)
}
