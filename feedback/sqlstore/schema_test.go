package sqlstore_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"lessonkit.example/feedback"
	"lessonkit.example/feedback/sqlstore"
	"lessonkit.example/internal/db"
	"lessonkit.example/internal/pgtest"
)

// databases runs a test on a migrated database of each engine.
func databases(t *testing.T, test func(t *testing.T, opened *db.DB, store *sqlstore.Store)) {
	t.Parallel()
	for engine, url := range map[db.Engine]string{
		db.SQLite: "sqlite:" + filepath.Join(t.TempDir(), "f.db"), db.Postgres: pgtest.URL(t),
	} {
		t.Run(string(engine), func(t *testing.T) {
			t.Parallel()
			opened, err := db.Open(url)
			require.NoError(t, err)
			t.Cleanup(func() { opened.Close() })
			store, err := sqlstore.Open(t.Context(), url, nil)
			require.NoError(t, err)
			t.Cleanup(func() { store.Close() })
			require.NoError(t, store.Migrate(t.Context()))
			test(t, opened, store)
		})
	}
}

// TestColumnsHaveTypes: the database refuses what is not a date or a time of day.
func TestColumnsHaveTypes(t *testing.T) {
	databases(t, func(t *testing.T, opened *db.DB, store *sqlstore.Store) {
		at := time.Date(2026, 5, 31, 9, 0, 0, 0, time.UTC)
		p := feedback.Profile{ID: uuid.New(), TeacherID: uuid.New(), Name: "Ming", CreatedAt: at, UpdatedAt: at}
		_, err := store.InsertProfile(t.Context(), p, nil)
		require.NoError(t, err)
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
			_, err := opened.W.ExecContext(t.Context(), bad)
			require.Error(t, err, bad)
		}
		if opened.Engine == db.Postgres {
			var undocumented int
			require.NoError(t, opened.R.QueryRowContext(t.Context(), `select count(*) from pg_class
				where relkind = 'r' and relname like 'feedback\_%' and relname <> 'feedback_migrations'
					and obj_description(oid, 'pg_class') is null`).Scan(&undocumented))
			require.Zero(t, undocumented, "tables without a comment")
		}
	})
}

// TestReferencesHaveAnIndex: deleting a row must not search whole tables for references to it.
func TestReferencesHaveAnIndex(t *testing.T) {
	databases(t, func(t *testing.T, opened *db.DB, _ *sqlstore.Store) {
		references := `
			select c.conrelid::regclass::text, a.attname, exists (select 1 from pg_index i
				where i.indrelid = c.conrelid and i.indkey[0] = c.conkey[1])
			from pg_constraint c join pg_attribute a on a.attrelid = c.conrelid and a.attnum = c.conkey[1]
			where c.contype = 'f' and c.conrelid::regclass::text like 'feedback\_%'`
		if opened.Engine == db.SQLite {
			references = `
				select m.name, f."from", exists (select 1 from pragma_index_list(m.name) l
					join pragma_index_info(l.name) i where i.seqno = 0 and i.name = f."from")
				from sqlite_master m join pragma_foreign_key_list(m.name) f
				where m.type = 'table' and m.name like 'feedback\_%' escape '\'`
		}
		rows, err := opened.R.QueryContext(t.Context(), references)
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
		require.Equal(t, 8, n)
	})
}

// TestListsUseTheirIndexWithoutStatistics explains the lists of records of a new SQLite file, which
// has no statistics: nothing runs analyze.
func TestListsUseTheirIndexWithoutStatistics(t *testing.T) {
	t.Parallel()
	opened, err := db.Open("sqlite:" + filepath.Join(t.TempDir(), "f.db"))
	require.NoError(t, err)
	t.Cleanup(func() { opened.Close() })
	require.NoError(t, sqlstore.NewSQLite(opened.W, opened.R, nil).Migrate(t.Context()))
	for where, index := range map[string]string{
		"teacher_id = $1":                     "feedback_records_by_teacher",
		"teacher_id = $1 and profile_id = $2": "feedback_records_by_profile",
	} {
		rows, err := opened.R.QueryContext(t.Context(), `
			explain query plan select content from feedback_records
			where `+where+`
			order by feedback_date desc, created_at desc, record_id desc limit $3`, "t", "p", 51)
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
