package pgqueue

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"lessonkit.example/jobqueue/driver"
	"lessonkit.example/jobqueue/internal/rules"
)

const columns = `id, priority, attempt, max_attempts, fence, queue, kind, coalesce(unique_key, ''), args,
  coalesce(errors, '[]'), created_at, run_at, claimed_at, coalesce(limit_key, ''), meta,
  coalesce(in_group, ''), coalesce(after_group, ''), saved`

const (
	selectJob = `select ` + columns + `, null::timestamptz, coalesce(worker, 0), cancel,
  case when worker = 0 then 7 when worker is not null then 3 when run_at > now() then 2 else 1 end
from jobqueue_job`
	selectDone = `select ` + columns + `, finished_at, 0, false, state from jobqueue_done`
)

const getSQL = selectJob + ` where id = $1 union all ` + selectDone + ` where id = $1`

func (s *Store) Get(ctx context.Context, id int64) (_ *driver.Job, err error) {
	defer rules.Classify(&err)
	// json has no equality, so union all; an id is in one table only.
	jobs, err := s.jobs(ctx, s.sql(getSQL), id)
	if err == nil && len(jobs) == 0 {
		err = driver.ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	return jobs[0], nil
}

// unfinishedSQL and endedSQL select the jobs in each state. The conditions on jobqueue_done match
// those of its index.
var (
	unfinishedSQL = map[driver.State]string{
		driver.StateWaiting:   `worker is null and run_at <= now()`,
		driver.StateScheduled: `worker is null and run_at > now()`,
		driver.StateRunning:   `worker <> 0`,
		driver.StateHeld:      `worker = 0`,
	}
	endedSQL = map[driver.State]string{
		driver.StateSucceeded: `state = 4`,
		driver.StateFailed:    `state <> 4 and state = 5`,
		driver.StateCancelled: `state <> 4 and state = 6`,
	}
)

// listSQL returns the statements that select a page of jobs and the last job that they look at.
// Where an index has the jobs of the state, they look at no others. The running jobs are sorted,
// because the planner would expect to find them soon among all.
func listSQL(state driver.State) (page, last string) {
	query, table, where, order := selectDone, "jobqueue_done", endedSQL[state], "id"
	if unfinished, ok := unfinishedSQL[state]; ok {
		query, table, where = selectJob, "jobqueue_job", unfinished
	}
	indexed := "true"
	switch state {
	case driver.StateFailed, driver.StateCancelled:
		indexed = where
	case driver.StateRunning:
		indexed, order = where, "id + 0"
	}
	window := ` from ` + table + ` where ` + indexed + ` and id < $1 order by ` + order + ` desc `
	page = strings.TrimSuffix(query, table) + `(select *` + window + `limit $2) t where ` + where + `
  and ($3 = '' or queue = $3) and ($4 = '' or kind = $4) order by id desc limit $5`
	return page, `select id` + window + `offset $2 - 1 limit 1`
}

func (s *Store) List(ctx context.Context, f driver.Filter) (jobs []*driver.Job, next int64, err error) {
	defer rules.Classify(&err)
	page, last := listSQL(f.State)
	jobs, err = s.jobs(ctx, s.sql(page), f.Before, driver.ListWindow, f.Queue, f.Kind, f.Limit)
	if err != nil {
		return nil, 0, err
	}
	if len(jobs) == f.Limit {
		return jobs, jobs[f.Limit-1].ID, nil
	}
	err = s.pool.QueryRow(ctx, s.sql(last), f.Before, driver.ListWindow).Scan(&next)
	if errors.Is(err, pgx.ErrNoRows) {
		err = nil
	}
	return jobs, next, err
}

const newestSQL = `
select greatest((select max(id) from jobqueue_job), (select max(id) from jobqueue_done), 0)`

const searchSQL = selectJob + ` where id >= $2 and id < $3 and strpos(args::text, $1) > 0
union all ` + selectDone + ` where id >= $2 and id < $3 and strpos(args::text, $1) > 0
order by id desc limit $4`

func (s *Store) Search(
	ctx context.Context, text string, before int64, limit int,
) (jobs []*driver.Job, from int64, err error) {
	defer rules.Classify(&err)
	if before == 0 {
		if err := s.pool.QueryRow(ctx, s.sql(newestSQL)).Scan(&before); err != nil {
			return nil, 0, err
		}
		before++
	}
	from = max(before-driver.SearchWindow, 1)
	jobs, err = s.jobs(ctx, s.sql(searchSQL), text, from, before, limit)
	return jobs, from, err
}

func (s *Store) jobs(ctx context.Context, query string, args ...any) ([]*driver.Job, error) {
	rows, err := s.pool.Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (*driver.Job, error) {
		var j driver.Job
		var errors, meta []byte
		var claimed, finished *time.Time
		err := row.Scan(&j.ID, &j.Priority, &j.Attempt, &j.MaxAttempts, &j.Fence, &j.Queue, &j.Kind,
			&j.UniqueKey, (*[]byte)(&j.Args), &errors, &j.CreatedAt, &j.RunAt, &claimed,
			&j.LimitKey, &meta, &j.Group, &j.AfterGroup, (*[]byte)(&j.Saved),
			&finished, &j.Worker, &j.Cancelling, &j.State)
		if err != nil {
			return nil, err
		}
		j.CreatedAt, j.RunAt, j.Meta = j.CreatedAt.UTC(), j.RunAt.UTC(), driver.DecodeMeta(meta)
		if claimed != nil {
			j.ClaimedAt = claimed.UTC()
		}
		if finished != nil {
			j.FinishedAt = finished.UTC()
		}
		j.Errors = driver.DecodeErrors(errors)
		for i := range j.Errors {
			j.Errors[i].At = j.Errors[i].At.UTC()
		}
		return &j, nil
	})
}

// statsSQL finds the kinds in the queues by skipping through the index, and never counts beyond the
// limit.
const statsSQL = `
with recursive names (kind, queue) as (
  (select kind, queue from jobqueue_job where worker is null order by kind, queue limit 1)
  union all
  select next.* from names n, lateral (
    select kind, queue from jobqueue_job
    where worker is null and (kind, queue) > (n.kind, n.queue) order by kind, queue limit 1) next)
select n.queue, sum(w.count)::bigint, sum(s.count)::bigint,
  coalesce((extract(epoch from now() - min(w.oldest)) * 1000000)::bigint, 0)
from names n, generate_series(1, 4) p,
  lateral (select count(*), min(t.since) as oldest from (
    select greatest(run_at, created_at) as since from jobqueue_job
    where worker is null and kind = n.kind and queue = n.queue and priority = p::smallint and run_at <= now()
    order by run_at limit $1) t) w,
  lateral (select count(*) from (
    select from jobqueue_job
    where worker is null and kind = n.kind and queue = n.queue and priority = p::smallint and run_at > now()
    limit $1) t) s
group by n.queue`

const runningSQL = `
select queue, 3, count(*) from (select queue from jobqueue_job where worker <> 0 limit $1) t group by queue
union all
select queue, 7, count(*) from (select queue from jobqueue_job where worker = 0 limit $1) t group by queue`

const badSQL = `
select queue, state, count(*) from (
  (select queue, state from jobqueue_done where state <> 4 and state = 5 order by id desc limit $1)
  union all
  (select queue, state from jobqueue_done where state <> 4 and state = 6 order by id desc limit $1)) t
group by queue, state`

const pausesSQL = `select queue, until from jobqueue_pause where until > now()`

const workersSQL = `
select id, name, started_at, greatest(expires_at, started_at), queues from jobqueue_worker order by id`

func (s *Store) Stats(ctx context.Context) (_ driver.Stats, err error) {
	defer rules.Classify(&err)
	const limit = driver.StatsLimit + 1
	var stats driver.Stats
	var name string
	var state driver.State
	var n, m int
	var oldest int64
	var until time.Time
	var w driver.WorkerInfo
	var b pgx.Batch
	b.Queue(planSQL)
	eachRow(b.Queue(s.sql(statsSQL), limit), []any{&name, &n, &m, &oldest}, func() {
		q := stats.Queue(name)
		q.Waiting, q.Scheduled, q.Oldest = min(n, limit), min(m, limit), rules.Duration(oldest)
	})
	for _, query := range []string{runningSQL, badSQL} {
		eachRow(b.Queue(s.sql(query), limit), []any{&name, &state, &n}, func() { stats.Queue(name).Set(state, n) })
	}
	eachRow(b.Queue(s.sql(pausesSQL)), []any{&name, &until}, func() {
		stats.Queue(name).PausedUntil = until.UTC()
	})
	eachRow(b.Queue(s.sql(workersSQL)), []any{&w.ID, &w.Name, &w.StartedAt, &w.ExpiresAt, &w.Queues}, func() {
		w.StartedAt, w.ExpiresAt = w.StartedAt.UTC(), w.ExpiresAt.UTC()
		stats.AddWorker(w)
		w.Queues = nil // the next row must not overwrite it
	})
	err = s.pool.SendBatch(ctx, &b).Close()
	return stats, err
}

const unfinishedIDsSQL = `select id from jobqueue_job where id = any ($1::bigint[])`

func (s *Store) Unfinished(ctx context.Context, ids []int64) (unfinished []int64, err error) {
	defer rules.Classify(&err)
	rows, err := s.pool.Query(ctx, s.sql(unfinishedIDsSQL), ids)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[int64])
}
