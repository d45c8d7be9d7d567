package sqlstore_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/pressly/goose/v3"
	"github.com/stretchr/testify/require"

	"lessonkit.example/feedback"
	"lessonkit.example/feedback/sqlstore"
	"lessonkit.example/internal/migrate"
	"lessonkit.example/internal/pgtest"
	"lessonkit.example/internal/sqldb"
)

// databases runs a test on an empty database of each engine.
func databases(t *testing.T, test func(t *testing.T, db *sqldb.DB, url string)) {
	t.Parallel()
	for engine, url := range map[migrate.Engine]string{
		migrate.SQLite: "sqlite:" + filepath.Join(t.TempDir(), "f.db"), migrate.Postgres: pgtest.URL(t),
	} {
		t.Run(string(engine), func(t *testing.T) {
			t.Parallel()
			db, err := sqldb.Open(url)
			require.NoError(t, err)
			t.Cleanup(func() { db.Close() })
			test(t, db, url)
		})
	}
}

// TestMigrateTypes fills a database of the schema before dates and times of day had types, and
// reads it after the migration.
func TestMigrateTypes(t *testing.T) {
	databases(t, func(t *testing.T, db *sqldb.DB, url string) {
		migrateFirst(t, db, 3)
		exec := func(query string, args ...any) {
			_, err := db.W.ExecContext(t.Context(), query, args...)
			require.NoError(t, err)
		}
		teacher, now := uuid.New(), sqldb.Time{Time: time.Date(2026, 5, 31, 9, 0, 0, 1000, time.UTC)}
		profiles := map[string]feedback.Profile{}
		for _, hours := range [][2]string{{"", ""}, {"00:00", "23:59"}, {"09:05", ""}, {"", "10:30"}} {
			p := feedback.Profile{ID: uuid.New(), TeacherID: teacher, Name: hours[0] + "-" + hours[1],
				AcademicYear: 2026, StartTime: hours[0], EndTime: hours[1], CreatedAt: now.Time, UpdatedAt: now.Time}
			exec(`insert into feedback_profiles (profile_id, teacher_id, name, name_folded, grade, subject,
				academic_year, term, guardian_title, start_time, end_time, created_at, updated_at)
				values ($1, $2, $3, $3, '', '', 2026, '', '', $4, $5, $6, $6)`, p.ID, teacher, p.Name, hours[0],
				hours[1], now)
			profiles[p.Name] = p
		}
		p := profiles["-"].ID
		session := uuid.New()
		exec(`insert into feedback_sessions (session_id, teacher_id, profile_id, state, feedback_date, feedback_text,
			generated_text, version, revision, created_at, updated_at)
			values ($1, $2, $3, 'active', '2028-02-29', '', '', 1, 1, $4, $4)`, session, teacher, p, now)
		dates := []string{"9999-12-31", "2026-05-31", "2025-12-31", "0001-01-01"}
		for _, date := range dates {
			exec(`insert into feedback_records (record_id, teacher_id, profile_id, feedback_date, content, session_id,
				created_at) values ($1, $2, $3, $4, 'x', $5, $6)`, uuid.New(), teacher, p, date, session, now)
		}

		store, err := sqlstore.Open(t.Context(), url, nil)
		require.NoError(t, err)
		defer store.Close()
		require.NoError(t, store.Migrate(t.Context()))
		for name, want := range profiles {
			got, err := store.Profile(t.Context(), teacher, want.ID)
			require.NoError(t, err)
			require.Equal(t, want, got, name)
		}
		read, err := store.Session(t.Context(), teacher, session)
		require.NoError(t, err)
		require.Equal(t, "2028-02-29", read.Date)
		records, err := store.Records(t.Context(), teacher, feedback.RecordFilter{}, nil, 10)
		require.NoError(t, err)
		for i, r := range records {
			require.Equal(t, dates[i], r.Date, "newest first")
		}
		require.Len(t, records, len(dates))

		// What workers of the previous version run.
		exec(`update feedback_sessions set revision = revision + 1, updated_at = $2 where session_id = $1`, session,
			now)
		_, err = store.Session(t.Context(), teacher, session)
		require.NoError(t, err)
	})
}

// TestColumnsHaveTypes: the database refuses what is not a date or a time of day.
func TestColumnsHaveTypes(t *testing.T) {
	databases(t, func(t *testing.T, db *sqldb.DB, url string) {
		store, err := sqlstore.Open(t.Context(), url, nil)
		require.NoError(t, err)
		defer store.Close()
		require.NoError(t, store.Migrate(t.Context()))
		at := time.Date(2026, 5, 31, 9, 0, 0, 0, time.UTC)
		p := feedback.Profile{ID: uuid.New(), TeacherID: uuid.New(), Name: "Ming", CreatedAt: at, UpdatedAt: at}
		require.NoError(t, store.InsertProfile(t.Context(), p))
		_, _, err = store.OpenSession(t.Context(), feedback.Session{ID: uuid.New(), TeacherID: p.TeacherID,
			ProfileID: p.ID, Date: "2026-05-31", CreatedAt: at, UpdatedAt: at})
		require.NoError(t, err)
		for _, bad := range []string{
			`update feedback_profiles set start_time = '25:00'`,
			`update feedback_profiles set end_time = 'noon'`,
			`update feedback_sessions set feedback_date = '2026-02-30'`,
			`update feedback_sessions set feedback_date = 'today, perhaps'`,
			`update feedback_sessions set updated_at = 'a while ago'`,
		} {
			_, err := db.W.ExecContext(t.Context(), bad)
			require.Error(t, err, bad)
		}
		if db.Engine == migrate.Postgres {
			for column, want := range map[string]string{
				"feedback_profiles.start_time":    "time without time zone",
				"feedback_profiles.end_time":      "time without time zone",
				"feedback_sessions.feedback_date": "date", "feedback_records.feedback_date": "date",
			} {
				var got string
				require.NoError(t, db.R.QueryRowContext(t.Context(), `select data_type from information_schema.columns
					where table_name || '.' || column_name = $1`, column).Scan(&got))
				require.Equal(t, want, got, column)
			}
			var undocumented int
			require.NoError(t, db.R.QueryRowContext(t.Context(), `select count(*) from pg_class
				where relkind = 'r' and relname like 'feedback\_%' and relname <> 'feedback_migrations'
					and obj_description(oid, 'pg_class') is null`).Scan(&undocumented))
			require.Zero(t, undocumented, "tables without a comment")
		}
	})
}

// TestReferencesHaveAnIndex: deleting a row must not search whole tables for references to it.
func TestReferencesHaveAnIndex(t *testing.T) {
	databases(t, func(t *testing.T, db *sqldb.DB, url string) {
		store, err := sqlstore.Open(t.Context(), url, nil)
		require.NoError(t, err)
		defer store.Close()
		require.NoError(t, store.Migrate(t.Context()))
		references := `
			select c.conrelid::regclass::text, a.attname, exists (select 1 from pg_index i
				where i.indrelid = c.conrelid and i.indkey[0] = c.conkey[1])
			from pg_constraint c join pg_attribute a on a.attrelid = c.conrelid and a.attnum = c.conkey[1]
			where c.contype = 'f' and c.conrelid::regclass::text like 'feedback\_%'`
		if db.Engine == migrate.SQLite {
			references = `
				select m.name, f."from", exists (select 1 from pragma_index_list(m.name) l
					join pragma_index_info(l.name) i where i.seqno = 0 and i.name = f."from")
				from sqlite_master m join pragma_foreign_key_list(m.name) f
				where m.type = 'table' and m.name like 'feedback\_%' escape '\'`
		}
		rows, err := db.R.QueryContext(t.Context(), references)
		require.NoError(t, err)
		defer rows.Close()
		n := 0
		for rows.Next() {
			var table, column string
			var indexed bool
			require.NoError(t, rows.Scan(&table, &column, &indexed))
			require.True(t, indexed, "no index of %s begins with %s", table, column)
			n++
		}
		require.NoError(t, rows.Err())
		require.Equal(t, 7, n)
	})
}

// TestTypesCanBeUndone: the previous version works again after going back.
func TestTypesCanBeUndone(t *testing.T) {
	databases(t, func(t *testing.T, db *sqldb.DB, _ string) {
		migrateFirst(t, db, 4)
		dialect := map[migrate.Engine]goose.Dialect{
			migrate.SQLite: goose.DialectSQLite3, migrate.Postgres: goose.DialectPostgres,
		}[db.Engine]
		p, err := goose.NewProvider(dialect, db.W, os.DirFS(filepath.Join("migrations", string(db.Engine))),
			goose.WithTableName("feedback_migrations"), goose.WithDisableGlobalRegistry(true))
		require.NoError(t, err)
		_, err = p.DownTo(t.Context(), 3)
		require.NoError(t, err)
		fillFirstSchema(t, db.W)
		var start, date string
		require.NoError(t, db.W.QueryRowContext(t.Context(), `select p.start_time, s.feedback_date
			from feedback_profiles p join feedback_sessions s on s.profile_id = p.profile_id`).Scan(&start, &date))
		require.Equal(t, []string{"", "2026-05-31"}, []string{start, date})
		migrateFirst(t, db, 4)
	})
}

// TestListsUseTheirIndexWithoutStatistics explains the lists of records of a new SQLite file, which
// has no statistics: nothing runs analyze.
func TestListsUseTheirIndexWithoutStatistics(t *testing.T) {
	t.Parallel()
	db, err := sqldb.Open("sqlite:" + filepath.Join(t.TempDir(), "f.db"))
	require.NoError(t, err)
	t.Cleanup(func() { db.Close() })
	require.NoError(t, sqlstore.NewSQLite(db.W, db.R, nil).Migrate(t.Context()))
	for where, index := range map[string]string{
		"teacher_id = $1":                     "feedback_records_by_teacher",
		"teacher_id = $1 and profile_id = $2": "feedback_records_by_profile",
	} {
		rows, err := db.R.QueryContext(t.Context(), `explain query plan select content from feedback_records where `+
			where+` order by feedback_date desc, created_at desc, record_id desc limit $3`, "t", "p", 51)
		require.NoError(t, err)
		var plan []string
		for rows.Next() {
			var id, parent, unused int
			var step string
			require.NoError(t, rows.Scan(&id, &parent, &unused, &step))
			plan = append(plan, step)
		}
		require.NoError(t, rows.Err())
		require.Len(t, plan, 1, "no sorting: %q", plan)
		require.Contains(t, plan[0], "USING INDEX "+index)
	}
}
