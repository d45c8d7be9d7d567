package sqlitequeue

import (
	"context"
	"database/sql"

	"lessonkit.example/jobqueue/driver"
	"lessonkit.example/jobqueue/internal/rules"
)

const maxPromoted = 1000 // by promoteGroupsSQL

// promoteGroupsSQL lets the jobs start that wait for one of the groups of ?1, a JSON array, if that
// has no unfinished member: at most 1000 of them, so that no transaction is long.
const promoteGroupsSQL = `
update jobqueue_job set worker = null, run_at = max(run_at, ?2)
where id in (
  select c.id from json_each(?1) g cross join jobqueue_job c
  where c.after_group = g.value and c.worker = 0
    and not exists (select 1 from jobqueue_job m where m.in_group = g.value)
  limit 1000)
returning queue, run_at - ?2, ''`

// idleGroupsSQL finds groups without members that jobs wait for, skipping from group to group
// through the index. There are only those that a process has left that died before promoteRest.
// Keys have no idle jobs: what ends or adds a job of a key promotes in the same transaction.
const idleGroupsSQL = `
with recursive groups (name) as (
  select min(after_group) from jobqueue_job where worker = 0 and after_group is not null
  union all
  select (select min(after_group) from jobqueue_job where worker = 0 and after_group > g.name)
  from groups g where g.name is not null)
select name from groups g
where name is not null and not exists (select 1 from jobqueue_job m where m.in_group = g.name)
limit 1000`

const groupStatsSQL = `
select 1, (select count(*) from (select 1 from jobqueue_job where in_group = ?1 limit ?2))
union all
select column1, (select count(*) from (select 1 from jobqueue_done where in_group = ?1 and state = column1 limit ?2))
from (values (4), (5), (6))`

func (s *Store) GroupStats(ctx context.Context, group string) (g driver.GroupStats, err error) {
	defer rules.Classify(&err)
	var state driver.State
	var n int
	rows, err := s.db.R.QueryContext(ctx, groupStatsSQL, group, driver.StatsLimit+1)
	err = eachRow(rows, err, []any{&state, &n}, func() { g.Set(state, n) })
	return g, err
}

const (
	deleteGroupSQL = `
delete from jobqueue_job where id in (select id from jobqueue_job where in_group = ?1 limit ?2)
returning coalesce(limit_key, '')`
	deleteGroupDoneSQL = `
delete from jobqueue_done where id in (select id from jobqueue_done where in_group = ?1 limit ?2) returning ''`
)

func (s *Store) DeleteGroup(ctx context.Context, group string) (deleted int, err error) {
	defer rules.Classify(&err)
	var promoted []driver.Signal
	err = s.update(ctx, func(tx *sql.Tx, now int64) (err error) {
		var keys []string
		for _, query := range []string{deleteGroupSQL, deleteGroupDoneSQL} {
			found, err := column[string](tx.Query(query, group, purgeBatch))
			if err != nil {
				return err
			}
			keys = append(keys, found...)
		}
		deleted = len(keys)
		promoted, err = s.promote(context.WithoutCancel(ctx), tx, now, rules.Names(keys...), rules.Names(group))
		return err
	})
	if err != nil {
		return 0, err
	}
	s.emit(promoted)
	return deleted, nil
}
