package pgqueue

import (
	"context"

	"github.com/jackc/pgx/v5"

	"lessonkit.example/jobqueue/driver"
	"lessonkit.example/jobqueue/internal/rules"
)

// promoteGroupsSQL lets the jobs start that wait for one of the groups, if that has no unfinished
// member: at most 1000 of them, so that no transaction is long. It runs after the commit that ended
// members: inside it, two workers that end the last two members at the same time would each see the
// other's. The member is looked up by a subquery, once for each group, because "not exists" would
// make the planner join all jobs.
const promoteGroupsSQL = `
with promoted as (
  update jobqueue_job set worker = null, run_at = greatest(run_at, now())
  where ` + isHeld + ` and ctid = any (array(
    select c.ctid
    from unnest($1::text[]) g (name),
      lateral (select ctid from jobqueue_job where worker = 0 and after_group = g.name limit 1000) c
    where (select m.id from jobqueue_job m where m.in_group = g.name limit 1) is null
    limit 1000))
  returning queue, run_at)
select queue, (extract(epoch from min(run_at) - now()) * 1000000)::bigint, '' from promoted group by queue`

// idleGroupsSQL finds groups without members that jobs wait for, as idleKeysSQL does for keys.
var idleGroupsSQL = idleSQL("after_group",
	`(select m.id from jobqueue_job m where m.in_group = g.name limit 1) is null`)

// promoteGroups lets the jobs start that wait for groups of which no member is unfinished. It does
// not wait for more than the first thousand; the promoter continues until no job is left.
func (s *Store) promoteGroups(ctx context.Context, groups []string) error {
	var b pgx.Batch
	var promoted []driver.Signal
	b.Queue(planSQL)
	addSignals(b.Queue(s.sql(promoteGroupsSQL), groups), &promoted, map[string]int{})
	if err := s.pool.SendBatch(ctx, &b).Close(); err != nil || len(promoted) == 0 {
		return err
	}
	for _, sig := range promoted {
		s.signal(sig)
	}
	for _, group := range groups {
		s.promoter.Add(driver.Signal{AfterGroup: group})
	}
	return nil
}

const groupStatsSQL = `
select 1, count(*) from (select from jobqueue_job where in_group = $1 limit $2) t
union all
select s, (select count(*) from (select from jobqueue_done where in_group = $1 and state = s limit $2) t)
from unnest('{4,5,6}'::smallint[]) s`

func (s *Store) GroupStats(ctx context.Context, group string) (g driver.GroupStats, err error) {
	defer rules.Classify(&err)
	rows, err := s.pool.Query(ctx, s.sql(groupStatsSQL), group, driver.StatsLimit+1)
	if err == nil {
		var state driver.State
		var n int
		_, err = pgx.ForEachRow(rows, []any{&state, &n}, func() error {
			g.Set(state, n)
			return nil
		})
	}
	return g, err
}

const deleteGroupSQL = `
with done as (
  delete from jobqueue_done
  where ctid = any (array(select ctid from jobqueue_done where in_group = $1 limit $2 for update)) returning id),
unfinished as (
  delete from jobqueue_job
  where ctid = any (array(select ctid from jobqueue_job where in_group = $1 limit $2 for update)) returning limit_key)
select (select count(*) from done) + (select count(*) from unfinished),
  array(select distinct limit_key from unfinished where limit_key is not null)`

func (s *Store) DeleteGroup(ctx context.Context, group string) (deleted int, err error) {
	defer rules.Classify(&err)
	var keys []string
	// A job that others claim, change or end during the statement is found only by the next one.
	for look := 0; look < 3 && deleted == 0 && err == nil; look++ {
		err = s.pool.QueryRow(ctx, s.sql(deleteGroupSQL), group, purgeBatch).Scan(&deleted, &keys)
	}
	if err == nil {
		s.promoteAfter(ctx, keys, []string{group})
	}
	return deleted, err
}
