package sqlstore_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// columnsTyped: the database refuses what is not a date or a time of day.
func columnsTyped(t *testing.T, f *fixture) {
	f.session(f.profile("Ming"))
	for _, bad := range []string{
		`update feedback_profiles set start_time = '25:00'`,
		`update feedback_profiles set end_time = 'noon'`,
		`update feedback_sessions set feedback_date = '2026-02-30'`,
		`update feedback_sessions set feedback_date = 'today, perhaps'`,
		`update feedback_sessions set updated_at = 'a while ago'`,
	} {
		_, err := f.db.ExecContext(t.Context(), bad)
		require.Error(t, err, bad)
	}
	if f.postgres {
		var undocumented int
		require.NoError(t, f.db.QueryRowContext(t.Context(), `select count(*) from pg_class
			where relkind = 'r' and relname like 'feedback\_%' and relname <> 'feedback_migrations'
				and obj_description(oid, 'pg_class') is null`).Scan(&undocumented))
		require.Zero(t, undocumented, "tables without a comment")
	}
}

// referencesIndexed: deleting a row must not search whole tables for references to it.
func referencesIndexed(t *testing.T, f *fixture) {
	references := `
		select c.conrelid::regclass::text, a.attname, exists (select 1 from pg_index i
			where i.indrelid = c.conrelid and i.indkey[0] = c.conkey[1])
		from pg_constraint c join pg_attribute a on a.attrelid = c.conrelid and a.attnum = c.conkey[1]
		where c.contype = 'f' and c.conrelid::regclass::text like 'feedback\_%'`
	if !f.postgres {
		references = `
			select m.name, f."from", exists (select 1 from pragma_index_list(m.name) l
				join pragma_index_info(l.name) i where i.seqno = 0 and i.name = f."from")
			from sqlite_master m join pragma_foreign_key_list(m.name) f
			where m.type = 'table' and m.name like 'feedback\_%' escape '\'`
	}
	rows, err := f.db.QueryContext(t.Context(), references)
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
}

// TestListsUseTheirIndexWithoutStatistics explains the lists of records of a new SQLite file, which
// has no statistics: nothing runs analyze.
func TestListsUseTheirIndexWithoutStatistics(t *testing.T) {
	t.Parallel()
	f := openSQLite(t)
	for where, index := range map[string]string{
		"teacher_id = $1":                     "feedback_records_by_teacher",
		"teacher_id = $1 and profile_id = $2": "feedback_records_by_profile",
	} {
		rows, err := f.db.QueryContext(t.Context(), `
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
