package sqlitequeue

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"sort"
	"strings"
	"time"

	"lessonkit.example/jobqueue/driver"
)

const shown = `id, priority, attempt, max_attempts, fence, queue, kind, coalesce(unique_key, ''), args, coalesce(errors, '[]'),
  created_at, run_at, coalesce(claimed_at, 0)`

// ?1 is now.
const (
	shownJob = `select ` + shown + `, 0, coalesce(worker, 0), cancel,
  case when worker is not null then 3 when run_at > ?1 then 2 else 1 end
from jobqueue_job`
	shownDone = `select ` + shown + `, finished_at, 0, 0, state from jobqueue_done`
)

const getSQL = shownJob + ` where id = ?2 union all ` + shownDone + ` where id = ?2`

// Get implements jobqueue.Store.
func (s *Store) Get(ctx context.Context, id int64) (*driver.Job, error) {
	jobs, err := s.jobs(ctx, getSQL, micros(s.now()), id)
	if err != nil {
		return nil, fmt.Errorf("get job %d: %w", id, err)
	}
	if len(jobs) == 0 {
		return nil, fmt.Errorf("job %d: %w", id, driver.ErrNotFound)
	}
	return jobs[0], nil
}

// List implements jobqueue.Store.
func (s *Store) List(ctx context.Context, f driver.Filter) ([]*driver.Job, error) {
	query, args := shownJob, []any{micros(s.now())}
	where := []string{"?1 > 0"} // every query uses its first argument
	cond := func(format string, arg any) {
		args = append(args, arg)
		where = append(where, fmt.Sprintf(format, len(args)))
	}
	switch f.State {
	case driver.StateWaiting:
		where = append(where, "worker is null and run_at <= ?1")
	case driver.StateScheduled:
		where = append(where, "worker is null and run_at > ?1")
	case driver.StateRunning:
		where = append(where, "worker is not null")
	case driver.StateSucceeded:
		query = shownDone
		where = append(where, "state = 4")
	default:
		query = shownDone
		where = append(where, "state <> 4") // the index's condition
		cond("state = ?%d", int(f.State))
	}
	if f.Queue != "" {
		cond("queue = ?%d", f.Queue)
	}
	if f.Kind != "" {
		cond("kind = ?%d", f.Kind)
	}
	if f.Before != 0 {
		cond("id < ?%d", f.Before)
	}
	args = append(args, f.Limit)
	query += " where " + strings.Join(where, " and ") + fmt.Sprintf(" order by id desc limit ?%d", len(args))
	jobs, err := s.jobs(ctx, query, args...)
	if err != nil {
		return nil, fmt.Errorf("list jobs: %w", err)
	}
	return jobs, nil
}

func (s *Store) jobs(ctx context.Context, query string, args ...any) ([]*driver.Job, error) {
	rows, err := s.r.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	var jobs []*driver.Job
	err = each(rows, func() error {
		j := &driver.Job{}
		var errors []byte
		var created, runAt, claimed, finished int64
		err := rows.Scan(&j.ID, &j.Priority, &j.Attempt, &j.MaxAttempts, &j.Fence, &j.Queue, &j.Kind, &j.UniqueKey,
			(*[]byte)(&j.Args), &errors, &created, &runAt, &claimed, &finished, &j.Worker, &j.Cancelling, &j.State)
		if err != nil {
			return err
		}
		j.CreatedAt, j.RunAt, j.ClaimedAt, j.FinishedAt = timeOf(created), time.UnixMicro(runAt).UTC(), timeOf(claimed), timeOf(finished)
		if err := json.Unmarshal(errors, &j.Errors); err != nil {
			return fmt.Errorf("errors of job %d: %w", j.ID, err)
		}
		jobs = append(jobs, j)
		return nil
	})
	return jobs, err
}

// statsSQL finds the queues by skipping through the index, and never counts beyond the limit (?2).
const statsSQL = `
with recursive names (queue) as (
  select min(queue) from jobqueue_job where worker is null
  union all
  select (select min(queue) from jobqueue_job where worker is null and queue > n.queue)
  from names n where n.queue is not null),
priorities (p) as (values (1), (2), (3), (4))
select n.queue,
  (select sum((select count(*) from (select 1 from jobqueue_job
    where worker is null and queue = n.queue and priority = p and run_at <= ?1 limit ?2))) from priorities),
  (select sum((select count(*) from (select 1 from jobqueue_job
    where worker is null and queue = n.queue and priority = p and run_at > ?1 limit ?2))) from priorities),
  coalesce((select min((select min(run_at) from jobqueue_job
    where worker is null and queue = n.queue and priority = p and run_at <= ?1)) from priorities), ?1)
from names n where n.queue is not null`

const runningSQL = `
select queue, count(*) from (select queue from jobqueue_job where worker is not null limit ?) group by queue`

const badSQL = `
select queue, count(*) from (
  select queue from jobqueue_done where state <> 4 and state = ? order by id desc limit ?) group by queue`

const workersSQL = `select id, name, started_at, expires_at from jobqueue_worker order by id`

// Stats implements jobqueue.Store.
func (s *Store) Stats(ctx context.Context) (stats driver.Stats, err error) {
	const limit = driver.StatsLimit + 1
	queues := map[string]*driver.QueueStats{}
	of := func(name string) *driver.QueueStats {
		if queues[name] == nil {
			queues[name] = &driver.QueueStats{Queue: name}
		}
		return queues[name]
	}
	tx, err := s.r.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return stats, fmt.Errorf("stats: %w", err)
	}
	defer tx.Rollback()
	read := func(query string, scan func(*sql.Rows) error, args ...any) {
		if err != nil {
			return
		}
		var rows *sql.Rows
		if rows, err = tx.QueryContext(ctx, query, args...); err == nil {
			err = each(rows, func() error { return scan(rows) })
		}
	}
	now := micros(s.now())
	read(statsSQL, func(rows *sql.Rows) error {
		var name string
		var waiting, scheduled int
		var oldest int64
		err := rows.Scan(&name, &waiting, &scheduled, &oldest)
		q := of(name)
		q.Waiting, q.Scheduled = min(waiting, limit), min(scheduled, limit)
		q.Oldest = duration(now - oldest)
		return err
	}, now, limit)
	count := func(to func(q *driver.QueueStats) *int) func(*sql.Rows) error {
		return func(rows *sql.Rows) error {
			var name string
			var n int
			err := rows.Scan(&name, &n)
			*to(of(name)) = n
			return err
		}
	}
	read(runningSQL, count(func(q *driver.QueueStats) *int { return &q.Running }), limit)
	read(badSQL, count(func(q *driver.QueueStats) *int { return &q.Failed }), int(driver.StateFailed), limit)
	read(badSQL, count(func(q *driver.QueueStats) *int { return &q.Cancelled }), int(driver.StateCancelled), limit)
	read(workersSQL, func(rows *sql.Rows) error {
		var w driver.WorkerInfo
		var started, expires int64
		err := rows.Scan(&w.ID, &w.Name, &started, &expires)
		w.StartedAt, w.ExpiresAt = timeOf(started), timeOf(expires)
		stats.Workers = append(stats.Workers, w)
		return err
	})
	if err != nil {
		return driver.Stats{}, fmt.Errorf("stats: %w", err)
	}
	for _, q := range queues {
		stats.Queues = append(stats.Queues, *q)
	}
	sort.Slice(stats.Queues, func(i, j int) bool { return stats.Queues[i].Queue < stats.Queues[j].Queue })
	return stats, nil
}
