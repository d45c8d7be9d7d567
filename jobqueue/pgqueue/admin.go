package pgqueue

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"lessonkit.example/jobqueue/driver"
	"lessonkit.example/jobqueue/internal/dberr"
)

// The fence is kept, so that the next lease has a new token. A conflict of the unique key is an
// error, which leaves the history unchanged.
const requeueSQL = `
with gone as (delete from jobqueue_done where id = $1 and state <> 4 returning *)
insert into jobqueue_job (id, run_at, created_at, fence, max_attempts, priority, until_started,
  queue, kind, unique_key, args, errors, serial_key, worker, meta, in_group, after_group,
  saved)
select id, clock_timestamp(), created_at, fence, max_attempts, priority, until_started,
  queue, kind, unique_key, args, errors, serial_key,
  case when serial_key is null and after_group is null then null else 0 end, meta, in_group, after_group, saved
from gone
returning queue, coalesce(serial_key, ''), coalesce(after_group, '')`

const runNowSQL = `
update jobqueue_job set run_at = clock_timestamp() where id = $1 and worker is null and run_at > now() returning queue`

const existsSQL = `
select exists (select from jobqueue_job where id = $1), exists (select from jobqueue_done where id = $1)`

// Retry implements driver.Store.
func (s *Store) Retry(ctx context.Context, id int64) (err error) {
	defer dberr.Classify(&err)
	var queue, serial, group string
	err = s.pool.QueryRow(ctx, s.sql(requeueSQL), id).Scan(&queue, &serial, &group)
	if errors.Is(err, pgx.ErrNoRows) {
		err = s.pool.QueryRow(ctx, s.sql(runNowSQL), id).Scan(&queue)
	}
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		unfinished, finished, existsErr := s.exists(ctx, id)
		switch err = existsErr; {
		case err != nil:
		case unfinished || finished:
			err = driver.ErrState
		default:
			err = driver.ErrNotFound
		}
	case code(err) == uniqueViolation:
		err = driver.ErrDuplicate
	}
	if err != nil {
		return fmt.Errorf("retry job %d: %w", id, err)
	}
	s.signal(driver.Signal{Queue: queue})
	s.promoteAfter(ctx, []string{serial}, []string{group})
	return nil
}

func (s *Store) exists(ctx context.Context, id int64) (unfinished, finished bool, err error) {
	err = s.pool.QueryRow(ctx, s.sql(existsSQL), id).Scan(&unfinished, &finished)
	return unfinished, finished, err
}

const cancelIdleSQL = `
with gone as (delete from jobqueue_job where id = $1 and coalesce(worker, 0) = 0 returning *)
insert into jobqueue_done (id, state, callback_at, errors, ` + sharedColumns + `)
select id, 6, now(), errors, ` + sharedColumns + ` from gone
returning coalesce(serial_key, ''), coalesce(in_group, '')`

const cancelRunningSQL = `update jobqueue_job set cancel = true where id = $1 and worker <> 0 returning id`

// Cancel implements driver.Store.
func (s *Store) Cancel(ctx context.Context, id int64) (err error) {
	defer dberr.Classify(&err)
	if err := s.cancel(ctx, id); err != nil {
		return fmt.Errorf("cancel job %d: %w", id, err)
	}
	return nil
}

func (s *Store) cancel(ctx context.Context, id int64) error {
	// A job may start or stop between the two statements, but hardly ten times in a row.
	for range 10 {
		var serial, group string
		err := s.pool.QueryRow(ctx, s.sql(cancelIdleSQL), id).Scan(&serial, &group)
		if !errors.Is(err, pgx.ErrNoRows) {
			if err == nil {
				s.signal(driver.Signal{Cancel: id})
			}
			s.promoteAfter(ctx, []string{serial}, []string{group})
			return err
		}
		err = s.pool.QueryRow(ctx, s.sql(cancelRunningSQL), id).Scan(&id)
		if err == nil {
			s.signal(driver.Signal{Cancel: id})
		}
		if !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
		unfinished, finished, err := s.exists(ctx, id)
		switch {
		case err != nil:
			return err
		case finished:
			return driver.ErrState
		case !unfinished:
			return driver.ErrNotFound
		}
	}
	return errors.New("the job started or stopped at every attempt")
}

const nextCancelledSQL = `
update jobqueue_done set callback_at = now() + $2::bigint * interval '1 microsecond'
where id = (
  select id from jobqueue_done where callback_at <= now() and kind = any ($1)
  order by callback_at limit 1 for update skip locked)
returning id`

// NextCancelled implements driver.Store.
func (s *Store) NextCancelled(ctx context.Context, kinds []string, again time.Duration) (id int64, err error) {
	err = s.pool.QueryRow(ctx, s.sql(nextCancelledSQL), kinds, again.Microseconds()).Scan(&id)
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, nil
	}
	return id, err
}

const callbackDoneSQL = `update jobqueue_done set callback_at = null where id = $1`

// CallbackDone implements driver.Store.
func (s *Store) CallbackDone(ctx context.Context, id int64) error {
	_, err := s.pool.Exec(ctx, s.sql(callbackDoneSQL), id)
	return err
}

const purgeBatch = 5000

// Purge implements driver.Store.
func (s *Store) Purge(ctx context.Context, f driver.PurgeFilter) (n int, err error) {
	query, args := purgeSQL(f)
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		// With a limit the planner would scan the whole history, expecting to find rows soon;
		// usually there are none.
		if _, err := tx.Exec(ctx, "set local enable_seqscan = off"); err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, s.sql(query), args...)
		n = int(tag.RowsAffected())
		return err
	})
	return n, err
}

func purgeSQL(f driver.PurgeFilter) (query string, args []any) {
	where, args := "state = 4", []any{f.Age.Microseconds(), purgeBatch, f.Queue}
	if f.State != driver.StateSucceeded {
		where, args = "state <> 4 and state = $4", append(args, int16(f.State)) // the index's condition
	}
	return `
delete from jobqueue_done where ctid = any (array(
  select ctid from jobqueue_done
  where finished_at <= now() - $1::bigint * interval '1 microsecond' and ` + where + ` and queue = $3
  limit $2 for update skip locked))`, args
}
