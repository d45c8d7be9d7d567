package sqlitequeue

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"lessonkit.example/jobqueue/driver"
	"lessonkit.example/jobqueue/internal/rules"
)

const columns = `id, priority, attempt, max_attempts, fence, queue, kind, coalesce(unique_key, ''), args,
  coalesce(errors, '[]'), created_at, run_at, coalesce(claimed_at, 0), coalesce(limit_key, ''),
  meta, coalesce(in_group, ''), coalesce(after_group, ''), saved`

// ?1 is now.
const (
	selectJob = `select ` + columns + `, 0, coalesce(worker, 0), cancel,
  case when worker = 0 then 7 when worker is not null then 3 when run_at > ?1 then 2 else 1 end
from jobqueue_job`
	selectDone = `select ` + columns + `, finished_at, 0, 0, state from jobqueue_done`
)

const getSQL = selectJob + ` where id = ?2 union all ` + selectDone + ` where id = ?2`

func (s *Store) Get(ctx context.Context, id int64) (_ *driver.Job, err error) {
	defer rules.Classify(&err)
	jobs, err := s.jobs(ctx, getSQL, clock(), id)
	if err == nil && len(jobs) == 0 {
		err = driver.ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	return jobs[0], nil
}

// stateSQL selects the jobs in each state; ?1 is now. The conditions on jobqueue_done match those
// of its index.
var stateSQL = map[driver.State]string{
	driver.StateWaiting:   ` where worker is null and run_at <= ?1`,
	driver.StateScheduled: ` where worker is null and run_at > ?1`,
	driver.StateRunning:   ` where worker <> 0 and ?1`,
	driver.StateHeld:      ` where worker = 0 and ?1`,
	driver.StateSucceeded: ` where state = 4 and ?1`,
	driver.StateFailed:    ` where state <> 4 and state = 5 and ?1`,
	driver.StateCancelled: ` where state <> 4 and state = 6 and ?1`,
}

// ended reports whether jobs in a state are in the history.
func ended(state driver.State) bool {
	return state == driver.StateSucceeded || state == driver.StateFailed || state == driver.StateCancelled
}

// listSQL returns the statements that select a page of jobs and the last job that they look at.
// Where an index has the jobs of the state, they look at no others.
func listSQL(state driver.State) (page, last string) {
	query, table := selectJob, "jobqueue_job"
	if ended(state) {
		query, table = selectDone, "jobqueue_done"
	}
	indexed, id := ` where ?1`, `id`
	switch state {
	case driver.StateFailed, driver.StateCancelled:
		indexed = stateSQL[state]
	case driver.StateRunning:
		indexed, id = stateSQL[state], `+id` // or the planner reads all jobs by their ids
	}
	window := ` from ` + table + indexed + ` and ` + id + ` < ?2 order by ` + id + ` desc limit `
	page = strings.TrimSuffix(query, table) + `(select *` + window + `?3)` + stateSQL[state] + `
  and (?4 = '' or queue = ?4) and (?5 = '' or kind = ?5) order by id desc limit ?6`
	return page, `select id` + window + `1 offset ?3 - 1`
}

func (s *Store) List(ctx context.Context, f driver.Filter) (jobs []*driver.Job, next int64, err error) {
	defer rules.Classify(&err)
	page, last := listSQL(f.State)
	jobs, err = s.jobs(ctx, page, clock(), f.Before, driver.ListWindow, f.Queue, f.Kind, f.Limit)
	if err != nil {
		return nil, 0, err
	}
	if len(jobs) == f.Limit {
		return jobs, jobs[f.Limit-1].ID, nil
	}
	err = s.db.R.QueryRowContext(ctx, last, clock(), f.Before, driver.ListWindow).Scan(&next)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return jobs, next, err
}

const newestSQL = `
select max(coalesce((select max(id) from jobqueue_job), 0), coalesce((select max(id) from jobqueue_done), 0))`

const searchSQL = selectJob + ` where id >= ?3 and id < ?4 and instr(args, ?2) > 0
union all ` + selectDone + ` where id >= ?3 and id < ?4 and instr(args, ?2) > 0
order by id desc limit ?5`

func (s *Store) Search(
	ctx context.Context, text string, before int64, limit int,
) (jobs []*driver.Job, from int64, err error) {
	defer rules.Classify(&err)
	if before == 0 {
		if err := s.db.R.QueryRowContext(ctx, newestSQL).Scan(&before); err != nil {
			return nil, 0, err
		}
		before++
	}
	from = max(before-driver.SearchWindow, 1)
	jobs, err = s.jobs(ctx, searchSQL, clock(), text, from, before, limit)
	return jobs, from, err
}

func (s *Store) jobs(ctx context.Context, query string, args ...any) ([]*driver.Job, error) {
	var jobs []*driver.Job
	var row driver.Job
	var errors, meta []byte
	var created, runAt, claimed, finished int64
	into := []any{
		&row.ID, &row.Priority, &row.Attempt, &row.MaxAttempts, &row.Fence, &row.Queue, &row.Kind,
		&row.UniqueKey, (*[]byte)(&row.Args), &errors, &created, &runAt, &claimed,
		&row.LimitKey, &meta, &row.Group, &row.AfterGroup, (*[]byte)(&row.Saved),
		&finished, &row.Worker, &row.Cancelling, &row.State,
	}
	rows, err := s.db.R.QueryContext(ctx, query, args...)
	err = eachRow(rows, err, into, func() {
		j := row
		j.Meta = driver.DecodeMeta(meta)
		j.CreatedAt, j.RunAt = timeOf(created), time.UnixMicro(runAt).UTC()
		j.ClaimedAt, j.FinishedAt = timeOf(claimed), timeOf(finished)
		j.Errors = driver.DecodeErrors(errors)
		jobs = append(jobs, &j)
	})
	return jobs, err
}

// statsSQL finds the kinds in the queues by skipping through the index, and never counts beyond the
// limit (?2).
const statsSQL = `
with recursive kinds (kind) as (
  select min(kind) from jobqueue_job where worker is null
  union all
  select (select min(kind) from jobqueue_job where worker is null and kind > k.kind)
  from kinds k where k.kind is not null),
names (kind, queue) as (
  select kind, (select min(queue) from jobqueue_job j where worker is null and j.kind = k.kind) from kinds k
  where kind is not null
  union all
  select kind, (select min(queue) from jobqueue_job j where worker is null and j.kind = n.kind and queue > n.queue)
  from names n where n.queue is not null),
priorities (p) as (values (1), (2), (3), (4))
select n.queue,
  sum((select count(*) from (select 1 from jobqueue_job
    where worker is null and kind = n.kind and queue = n.queue and priority = p and run_at <= ?1 limit ?2))),
  sum((select count(*) from (select 1 from jobqueue_job
    where worker is null and kind = n.kind and queue = n.queue and priority = p and run_at > ?1 limit ?2))),
  coalesce(min((select min(since) from (select max(run_at, created_at) as since from jobqueue_job
    where worker is null and kind = n.kind and queue = n.queue and priority = p and run_at <= ?1
    order by run_at limit ?2))), ?1)
from names n, priorities where n.queue is not null group by n.queue`

// countsSQL counts the running and held jobs and the newest failed and cancelled ones by queue and
// state.
const countsSQL = `
select queue, 3, count(*) from (select queue from jobqueue_job where worker <> 0 limit ?1) group by queue
union all
select queue, 7, count(*) from (select queue from jobqueue_job where worker = 0 limit ?1) group by queue
union all
select queue, 5, count(*) from (
  select queue from jobqueue_done where state <> 4 and state = 5 order by id desc limit ?1) group by queue
union all
select queue, 6, count(*) from (
  select queue from jobqueue_done where state <> 4 and state = 6 order by id desc limit ?1) group by queue`

const pausesSQL = `select queue, until from jobqueue_pause where until > ?`

const workersSQL = `select id, name, started_at, expires_at, queues from jobqueue_worker order by id`

func (s *Store) Stats(ctx context.Context) (stats driver.Stats, err error) {
	defer rules.Classify(&err)
	tx, err := s.db.R.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return stats, err
	}
	defer func() { _ = tx.Rollback() }() // it has only read
	const limit = driver.StatsLimit + 1
	now := clock()
	var queue string
	var state driver.State
	var n, m int
	var oldest, until int64
	rows, err := tx.QueryContext(ctx, statsSQL, now, limit)
	if err := eachRow(rows, err, []any{&queue, &n, &m, &oldest}, func() {
		q := stats.Queue(queue)
		q.Waiting, q.Scheduled, q.Oldest = min(n, limit), min(m, limit), rules.Duration(now-oldest)
	}); err != nil {
		return stats, err
	}
	rows, err = tx.QueryContext(ctx, countsSQL, limit)
	if err := eachRow(rows, err, []any{&queue, &state, &n}, func() {
		stats.Queue(queue).Set(state, n)
	}); err != nil {
		return stats, err
	}
	rows, err = tx.QueryContext(ctx, pausesSQL, now)
	if err := eachRow(rows, err, []any{&queue, &until}, func() {
		stats.Queue(queue).PausedUntil = timeOf(until)
	}); err != nil {
		return stats, err
	}
	var w driver.WorkerInfo
	var started, expires int64
	var queues []byte
	var malformed error
	rows, err = tx.QueryContext(ctx, workersSQL)
	err = eachRow(rows, err, []any{&w.ID, &w.Name, &started, &expires, &queues}, func() {
		w.StartedAt, w.ExpiresAt, w.Queues = timeOf(started), timeOf(expires), nil
		malformed = errors.Join(malformed, json.Unmarshal(queues, &w.Queues))
		stats.AddWorker(w)
	})
	return stats, errors.Join(err, malformed)
}

const unfinishedIDsSQL = `select id from jobqueue_job where id in (select value from json_each(?))`

func (s *Store) Unfinished(ctx context.Context, jobs []int64) (unfinished []int64, err error) {
	defer rules.Classify(&err)
	text, err := json.Marshal(jobs)
	if err != nil {
		return nil, err
	}
	return column[int64](s.db.R.QueryContext(ctx, unfinishedIDsSQL, string(text)))
}
