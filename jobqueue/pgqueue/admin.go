package pgqueue

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"lessonkit.example/jobqueue/driver"
	"lessonkit.example/jobqueue/internal/rules"
)

const (
	pauseSQL = `
insert into jobqueue_pause (queue, until) values ($1, $2) on conflict (queue) do update set until = excluded.until`
	resumeSQL = `delete from jobqueue_pause where queue = $1`
)

func (s *Store) Pause(ctx context.Context, queue string, until time.Time) (err error) {
	defer rules.Classify(&err)
	query, args := pauseSQL, []any{queue, until}
	if until.IsZero() {
		query, args = resumeSQL, args[:1]
	}
	_, err = s.pool.Exec(ctx, s.sql(query), args...)
	if err == nil && until.IsZero() {
		s.signal(driver.Signal{Queue: queue})
	}
	return err
}

// The statements that change jobs begin with page, the jobs that are selected.
const (
	oneIdle      = `with page as (select * from jobqueue_job where id = $1 and coalesce(worker, 0) = 0 for update)`
	oneRunning   = `with page as (select id from jobqueue_job where id = $1 and worker <> 0 for update)`
	oneScheduled = `with page as (
  select id from jobqueue_job where id = $1 and worker is null and run_at > now() for update)`
	oneEnded = `with page as (select * from jobqueue_done where id = $1 and state <> 4 for update)`

	filterSQL = ` and ($1 = '' or queue = $1) and ($2 = '' or kind = $2) and id < $3
  order by id desc limit $4 for update skip locked)`
	manyScheduled = `with page as (select id from jobqueue_job where worker is null and run_at > now()` + filterSQL
	manyEnded     = `with page as (select * from jobqueue_done where state <> 4 and state = $5` + filterSQL
)

// summarySQL returns the size and the last id of a page, the number of changed jobs, their queues,
// the limit keys and groups whose other jobs may have to be promoted, and the jobs of whose
// cancellation workers are told.
const summarySQL = `
select (select count(*) from page), coalesce((select min(id) from page), 0), (select count(*) from changed),
  array(select distinct queue from changed),
  array(select distinct limit_key from changed where limit_key is not null),
  array(select distinct changed_group from changed where changed_group is not null),
  array(select id from changed where signalled)`

// The history keeps the jobs whose unique key is taken. Keys are taken in one order: see
// insertKeyedSQL. The fence is kept, so that the next lease has a new token.
const requeueSQL = `,
changed as (
  insert into jobqueue_job (id, run_at, created_at, fence, max_attempts, priority,
    queue, kind, unique_key, args, errors, limit_key, key_limit, worker, meta, in_group, after_group, saved)
  select id, clock_timestamp(), created_at, fence, max_attempts, priority,
    queue, kind, unique_key, args, errors, limit_key, key_limit,
    case when after_group is not null then 0 end, meta, in_group, after_group, saved
  from page order by kind, unique_key
  on conflict (kind, unique_key) where unique_key is not null do nothing
  returning id, queue, limit_key, after_group as changed_group, false as signalled),
gone as (delete from jobqueue_done where id in (select id from changed))` + summarySQL

const runNowSQL = `,
changed as (
  update jobqueue_job set run_at = clock_timestamp() where id in (select id from page)
  returning id, queue, null::text as limit_key, null::text as changed_group, false as signalled)` + summarySQL

const cancelIdleSQL = `,
changed as (
  delete from jobqueue_job where id in (select id from page)
  returning *, in_group as changed_group, id = (select min(id) from page) as signalled), -- one is enough
added as (
  insert into jobqueue_done (id, state, callback_at, errors, ` + sharedColumns + `)
  select id, 6, now(), errors, ` + sharedColumns + ` from changed)` + summarySQL

const cancelRunningSQL = `,
changed as (
  update jobqueue_job set cancel = true where id in (select id from page)
  returning id, queue, null::text as limit_key, null::text as changed_group, true as signalled)` + summarySQL

const existsSQL = `
select exists (select from jobqueue_job where id = $1), exists (select from jobqueue_done where id = $1)`

func (s *Store) Retry(ctx context.Context, id int64) error {
	return s.changeOne(ctx, id, oneEnded+requeueSQL, oneScheduled+runNowSQL)
}

func (s *Store) Cancel(ctx context.Context, id int64) (err error) {
	// A job may start or stop between two statements, but hardly ten times in a row.
	for range 10 {
		err = s.changeOne(ctx, id, oneIdle+cancelIdleSQL, oneRunning+cancelRunningSQL)
		if !errors.Is(err, errUnfinished) {
			return err
		}
	}
	return err
}

// errUnfinished is the error of a change that does not apply to the state of an unfinished job.
var errUnfinished = fmt.Errorf("%w: it is unfinished", driver.ErrState)

// changeOne runs the statements until one changes the job. Otherwise its error is ErrDuplicate,
// ErrNotFound, ErrState or errUnfinished.
func (s *Store) changeOne(ctx context.Context, id int64, queries ...string) (err error) {
	defer rules.Classify(&err)
	for _, query := range queries {
		page, err := s.change(ctx, query, id)
		switch {
		case err != nil || page.Changed > 0:
			return err
		case page.Skipped > 0:
			return driver.ErrDuplicate
		}
	}
	var unfinished, finished bool
	err = s.pool.QueryRow(ctx, s.sql(existsSQL), id).Scan(&unfinished, &finished)
	switch {
	case err != nil:
		return err
	case unfinished:
		return errUnfinished
	case finished:
		return driver.ErrState
	}
	return driver.ErrNotFound
}

func (s *Store) RetryMany(ctx context.Context, f driver.Filter) (driver.Page, error) {
	if f.State == driver.StateScheduled {
		return s.changeMany(ctx, manyScheduled+runNowSQL, f)
	}
	return s.changeMany(ctx, manyEnded+requeueSQL, f, int16(f.State))
}

func (s *Store) CancelMany(ctx context.Context, f driver.Filter) (driver.Page, error) {
	page := `with page as (select id from jobqueue_job where ` + unfinishedSQL[f.State] + filterSQL
	if f.State == driver.StateRunning {
		return s.changeMany(ctx, page+cancelRunningSQL, f)
	}
	return s.changeMany(ctx, page+cancelIdleSQL, f)
}

func (s *Store) changeMany(
	ctx context.Context, query string, f driver.Filter, more ...any,
) (_ driver.Page, err error) {
	defer rules.Classify(&err)
	return s.change(ctx, query, append([]any{f.Queue, f.Kind, f.Before, f.Limit}, more...)...)
}

// pagePlanSQL makes the statement read one page by the index. Without statistics of the jobs that
// have just failed, the planner would sort all of them for every page. Nothing is compiled: a
// plan that cannot do without some of these counts as so expensive that PostgreSQL would compile
// for seconds what takes milliseconds.
const pagePlanSQL = indexesSQL + `, set_config('enable_sort', 'off', true)`

// change runs a statement that changes a page of jobs, and notifies workers.
func (s *Store) change(ctx context.Context, query string, args ...any) (p driver.Page, err error) {
	var total int
	var queues, keys, groups []string
	var cancelled []int64
	var b pgx.Batch
	b.Queue(pagePlanSQL)
	b.Queue(s.sql(query), args...).QueryRow(func(row pgx.Row) error {
		return row.Scan(&total, &p.Last, &p.Changed, &queues, &keys, &groups, &cancelled)
	})
	if err := s.pool.SendBatch(ctx, &b).Close(); err != nil {
		return driver.Page{}, err
	}
	p.Skipped = total - p.Changed
	for _, queue := range queues {
		s.signal(driver.Signal{Queue: queue})
	}
	for _, id := range cancelled {
		s.signal(driver.Signal{Cancel: id})
	}
	s.promoteAfter(ctx, keys, groups)
	return p, nil
}

const nextCancelledSQL = `
update jobqueue_done set callback_at = now() + $2::bigint * interval '1 microsecond'
where id = (
  select d.id
  from unnest($1::text[]) k (kind), lateral (
    select id, callback_at from jobqueue_done where kind = k.kind and callback_at <= now()
    order by callback_at limit 1 for update skip locked) d
  order by d.callback_at limit 1)
returning id`

func (s *Store) NextCancelled(ctx context.Context, kinds []string, again time.Duration) (id int64, err error) {
	err = s.pool.QueryRow(ctx, s.sql(nextCancelledSQL), kinds, again.Microseconds()).Scan(&id)
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, nil
	}
	return id, err
}

const callbackDoneSQL = `update jobqueue_done set callback_at = null where id = $1 and finished_at = $2`

func (s *Store) CallbackDone(ctx context.Context, id int64, finishedAt time.Time) error {
	_, err := s.pool.Exec(ctx, s.sql(callbackDoneSQL), id, finishedAt)
	return err
}

const purgeBatch = 5000

// purgeSQL returns the statement that purges jobs of a state. No index has their times, which would
// slow down the end of every job: they are created in the order of their ids, and finish later.
func purgeSQL(state driver.State) string {
	states := ""
	if state != driver.StateSucceeded {
		states = " and state <> 4 and state = $4::smallint" // the index's condition
	}
	return `
with page as materialized (
  select ctid, id, created_at <= now() - $1::bigint * interval '1 microsecond' as passed,
    queue = $3 and state = $4::smallint and finished_at <= now() - $1::bigint * interval '1 microsecond' as old
  from jobqueue_done where id > $5` + states + `
  order by id limit $2),
gone as (
  delete from jobqueue_done where ctid = any (array(
    select d.ctid from page p join jobqueue_done d on d.ctid = p.ctid where p.old for update of d skip locked))
  returning id)
select (select count(*) from gone), coalesce((select max(id) from page where passed), $5)`
}

func (s *Store) Purge(ctx context.Context, f driver.PurgeFilter) (deleted int, last int64, err error) {
	var b pgx.Batch
	b.Queue(planSQL)
	b.Queue(s.sql(purgeSQL(f.State)), f.Age.Microseconds(), purgeBatch, f.Queue, int16(f.State), f.After).QueryRow(
		func(row pgx.Row) error { return row.Scan(&deleted, &last) })
	err = s.pool.SendBatch(ctx, &b).Close()
	return deleted, last, err
}
