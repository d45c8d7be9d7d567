package sqlstore_test

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"lessonkit.example/feedback"
	"lessonkit.example/feedback/sqlstore"
	"lessonkit.example/internal/migrate"
	"lessonkit.example/internal/pgtest"
	"lessonkit.example/internal/sqldb"
)

// TestMigrateRound fills a database of the first schema, in which the column token held both the
// round and the lease token, and continues with it after the migration.
func TestMigrateRound(t *testing.T) {
	t.Parallel()
	for engine, url := range map[migrate.Engine]string{
		migrate.SQLite: "sqlite:" + filepath.Join(t.TempDir(), "f.db"), migrate.Postgres: pgtest.URL(t),
	} {
		t.Run(string(engine), func(t *testing.T) {
			t.Parallel()
			db, err := sqldb.Open(url)
			require.NoError(t, err)
			defer db.Close()
			migrateFirst(t, db, 1)
			ids := fillFirstSchema(t, db.W)

			outbox := func(context.Context, *sql.Tx, feedback.Task) error { return nil }
			s, err := sqlstore.Open(t.Context(), url, outbox)
			require.NoError(t, err)
			defer s.Close()
			migrated, err := s.Migrated(t.Context())
			require.NoError(t, err)
			require.False(t, migrated)
			require.NoError(t, s.Migrate(t.Context()))

			fail := func(segment string, round int64) feedback.SegmentState {
				g, err := s.FailTranscription(t.Context(), ids[segment], round, "code", "given up", true, time.Now())
				require.NoError(t, err)
				return g.State
			}
			require.Equal(t, feedback.SegmentQueued, fail("queued", 16), "an older round")
			require.Equal(t, feedback.SegmentFailed, fail("queued", 17))
			require.Equal(t, feedback.SegmentTranscribing, fail("transcribing", 4), "an older round")
			require.Equal(t, feedback.SegmentTranscribed, fail("transcribed", 99))
			require.Equal(t, feedback.SegmentFailed, fail("without a round", 3), "any round")

			result := feedback.TranscriptionResult{State: feedback.SegmentTranscribed, Text: "hello", Attempts: 1}
			_, err = s.FinishTranscription(t.Context(), ids["transcribing"], "another lease", result, time.Now())
			require.ErrorIs(t, err, feedback.ErrSuperseded)
			_, err = s.FinishTranscription(t.Context(), ids["without a round, transcribing"], "lease-2", result,
				time.Now())
			require.NoError(t, err, "the attempt that was running before the migration")
			g, err := s.FinishTranscription(t.Context(), ids["transcribing"], "lease 1", result, time.Now())
			require.NoError(t, err, "the attempt that was running before the migration")
			require.Equal(t, "hello", g.Text)
			require.Equal(t, feedback.SegmentTranscribed, g.State)
		})
	}
}

// migrateFirst applies the first n migrations.
func migrateFirst(t *testing.T, db *sqldb.DB, n int) {
	t.Helper()
	dir := filepath.Join("migrations", string(db.Engine))
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	files := fstest.MapFS{}
	for _, entry := range entries[:n] {
		data, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		require.NoError(t, err)
		files[entry.Name()] = &fstest.MapFile{Data: data}
	}
	require.NoError(t, migrate.Up(t.Context(), db.W, db.Engine, "feedback_migrations", files))
}

// fillFirstSchema inserts a segment for each form that the column token could have, and returns
// their identifiers by name.
func fillFirstSchema(t *testing.T, db *sql.DB) map[string]uuid.UUID {
	t.Helper()
	now := sqldb.Time{Time: time.Now()}
	profile, session, lesson, teacher := uuid.New(), uuid.New(), uuid.New(), uuid.New()
	exec := func(query string, args ...any) {
		_, err := db.ExecContext(t.Context(), query, args...)
		require.NoError(t, err)
	}
	exec(`insert into feedback_profiles (profile_id, teacher_id, name, name_folded, grade, subject, academic_year,
		term, guardian_title, start_time, end_time, created_at, updated_at)
		values ($1, $2, 'Ming', 'ming', '', '', 2026, '', '', '', '', $3, $3)`, profile, teacher, now)
	exec(`insert into feedback_sessions (session_id, teacher_id, profile_id, state, feedback_date, feedback_text,
		generated_text, version, revision, created_at, updated_at)
		values ($1, $2, $3, 'active', '2026-05-31', '', '', 1, 20, $4, $4)`, session, teacher, profile, now)
	exec(`insert into feedback_lessons (lesson_id, session_id, teacher_id, number, state, applied, started_at,
		revision)
		values ($1, $2, $3, 1, 'recording', $4, $5, 2)`, lesson, session, teacher, false, now)
	ids := map[string]uuid.UUID{}
	for i, s := range []struct{ name, state, token string }{
		{"queued", "queued", "17"},
		{"transcribing", "transcribing", "5 lease 1"},
		{"transcribed", "transcribed", ""},
		{"without a round", "queued", ""},
		{"without a round, transcribing", "transcribing", "lease-2"},
	} {
		id := uuid.New()
		exec(`insert into feedback_segments (segment_id, lesson_id, session_id, teacher_id, sequence, state, text,
			error, attempts, token,
				audio_key, duration_ms, size_bytes, sha256, content_type, created_at, changed_at, revision)
			values ($1, $2, $3, $4, $5, $6, '', '', 0, $7, $8, 0, 1, '', 'audio/mpeg', $9, $9, 3)`,
			id, lesson, session, teacher, i, s.state, sql.NullString{String: s.token, Valid: s.token != ""},
			id.String(), now)
		ids[s.name] = id
	}
	return ids
}
