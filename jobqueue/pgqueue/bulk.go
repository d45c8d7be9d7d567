package pgqueue

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/jackc/pgx/v5"

	"lessonkit.example/jobqueue"
	"lessonkit.example/jobqueue/driver"
	"lessonkit.example/jobqueue/internal/dberr"
)

const (
	pauseSQL = `
insert into jobqueue_pause (queue, until) values ($1, $2) on conflict (queue) do update set until = excluded.until`
	resumeSQL = `delete from jobqueue_pause where queue = $1`
)

// Pause implements driver.Store.
func (s *Store) Pause(ctx context.Context, queue string, until time.Time) (err error) {
	defer dberr.Classify(&err)
	query, args := pauseSQL, []any{queue, until}
	if until.IsZero() {
		query, args = resumeSQL, args[:1]
	}
	if _, err := s.pool.Exec(ctx, s.sql(query), args...); err != nil {
		return fmt.Errorf("pause or resume queue %q: %w", queue, err)
	}
	if until.IsZero() {
		s.signal(driver.Signal{Queue: queue})
	}
	return nil
}

const filterSQL = ` and ($1 = '' or queue = $1) and ($2 = '' or kind = $2) and id < $3
  order by id desc limit $4 for update skip locked`

// summarySQL returns the size and the last id of a page, the number of changed jobs, their queues,
// and the serial keys and groups whose other jobs may have to be promoted.
const summarySQL = `
select (select count(*) from page), coalesce((select min(id) from page), 0), (select count(*) from changed),
  array(select distinct queue from changed),
  array(select distinct serial_key from changed where serial_key is not null),
  array(select distinct changed_group from changed where changed_group is not null)`

// The history keeps the jobs whose unique key is taken.
const requeueManySQL = `
with page as (select * from jobqueue_done where state <> 4 and state = $5` + filterSQL + `),
changed as (
  insert into jobqueue_job (id, run_at, created_at, fence, max_attempts, priority, until_started,
    queue, kind, unique_key, args, errors, serial_key, worker, meta, in_group, after_group,
    saved)
  select id, clock_timestamp(), created_at, fence, max_attempts, priority, until_started,
    queue, kind, unique_key, args, errors, serial_key,
    case when serial_key is null and after_group is null then null else 0 end, meta, in_group, after_group, saved
  from page
  on conflict (kind, unique_key) where unique_key is not null do nothing
  returning id, queue, serial_key, after_group as changed_group),
gone as (delete from jobqueue_done where id in (select id from changed))` + summarySQL

const runManyNowSQL = `
with page as (select id from jobqueue_job where worker is null and run_at > now()` + filterSQL + `),
changed as (
  update jobqueue_job set run_at = clock_timestamp() where id in (select id from page)
  returning queue, null::text as serial_key, null::text as changed_group)` + summarySQL

// RetryMany implements driver.Store.
func (s *Store) RetryMany(ctx context.Context, f driver.Filter) (driver.Page, error) {
	if f.State == driver.StateScheduled {
		return s.changePage(ctx, runManyNowSQL, f)
	}
	return s.changePage(ctx, requeueManySQL, f, int16(f.State))
}

const cancelManySQL = `),
changed as (delete from jobqueue_job where id in (select id from page) returning *, in_group as changed_group),
added as (
  insert into jobqueue_done (id, state, callback_at, errors, ` + sharedColumns + `)
  select id, 6, now(), errors, ` + sharedColumns + ` from changed)` + summarySQL

const cancelManyRunningSQL = `),
changed as (
  update jobqueue_job set cancel = true where id in (select id from page)
  returning id, queue, null::text as serial_key, null::text as changed_group)` + summarySQL + `,
  array(select id from changed)`

var unfinishedSQL = map[driver.State]string{
	driver.StateWaiting:   `worker is null and run_at <= now()`,
	driver.StateScheduled: `worker is null and run_at > now()`,
	driver.StateHeld:      `worker = 0`,
	driver.StateRunning:   `worker <> 0`,
}

// CancelMany implements driver.Store.
func (s *Store) CancelMany(ctx context.Context, f driver.Filter) (driver.Page, error) {
	page := `with page as (select id from jobqueue_job where ` + unfinishedSQL[f.State] + filterSQL
	if f.State != driver.StateRunning {
		p, err := s.changePage(ctx, page+cancelManySQL, f)
		if p.Changed > 0 {
			s.signal(driver.Signal{Cancel: p.Last}) // one is enough
		}
		return p, err
	}
	return s.changePage(ctx, page+cancelManyRunningSQL, f)
}

// pagePlanSQL makes the statement read one page by the index. Without statistics of the jobs that
// have just failed, the planner would sort all of them for every page.
const pagePlanSQL = `
select set_config('enable_seqscan', 'off', true), set_config('enable_hashjoin', 'off', true),
  set_config('enable_mergejoin', 'off', true), set_config('enable_bitmapscan', 'off', true),
  set_config('enable_sort', 'off', true)`

// changePage runs a statement that changes a page of jobs, and notifies workers.
func (s *Store) changePage(
	ctx context.Context, query string, f driver.Filter, more ...any,
) (p driver.Page, err error) {
	defer dberr.Classify(&err)
	if f.Before == 0 {
		f.Before = math.MaxInt64
	}
	var total int
	var queues, keys, groups []string
	var running []int64
	into := []any{&total, &p.Last, &p.Changed, &queues, &keys, &groups}
	if f.State == driver.StateRunning {
		into = append(into, &running)
	}
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, pagePlanSQL); err != nil {
			return err
		}
		args := append([]any{f.Queue, f.Kind, f.Before, f.Limit}, more...)
		return tx.QueryRow(ctx, s.sql(query), args...).Scan(into...)
	})
	if err != nil {
		return driver.Page{}, fmt.Errorf("change jobs that are %v: %w", jobqueue.State(f.State), err)
	}
	p.Skipped = total - p.Changed
	for _, queue := range queues {
		s.signal(driver.Signal{Queue: queue})
	}
	for _, id := range running {
		s.signal(driver.Signal{Cancel: id})
	}
	s.promoteAfter(ctx, keys, groups)
	return p, nil
}
