package pgqueue

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"lessonkit.example/jobqueue/driver"
)

// requeueSQL keeps the fence, so that the token of the next lease is new. A conflict of the unique key is an error, which
// leaves the history as it was.
const requeueSQL = `
with gone as (delete from jobqueue_done where id = $1 and state <> 4 returning *)
insert into jobqueue_job (id, run_at, created_at, fence, max_attempts, priority, until_started, queue, kind, unique_key, args, errors)
select id, clock_timestamp(), created_at, fence, max_attempts, priority, until_started, queue, kind, unique_key, args, errors from gone
returning queue`

const runNowSQL = `
update jobqueue_job set run_at = clock_timestamp() where id = $1 and worker is null and run_at > now() returning queue`

const existsSQL = `
select exists (select from jobqueue_job where id = $1), exists (select from jobqueue_done where id = $1)`

// Retry implements jobqueue.Store.
func (s *Store) Retry(ctx context.Context, id int64) error {
	var queue string
	err := s.pool.QueryRow(ctx, s.q.requeue, id).Scan(&queue)
	if errors.Is(err, pgx.ErrNoRows) {
		err = s.pool.QueryRow(ctx, s.q.runNow, id).Scan(&queue)
	}
	switch {
	case err == nil:
		s.wakeQueue(queue)
		return nil
	case code(err) == uniqueViolation:
		return fmt.Errorf("retry job %d: %w", id, driver.ErrDuplicate)
	case !errors.Is(err, pgx.ErrNoRows):
		return fmt.Errorf("retry job %d: %w", id, err)
	}
	unfinished, finished, err := s.exists(ctx, id)
	switch {
	case err != nil:
		return fmt.Errorf("retry job %d: %w", id, err)
	case unfinished || finished:
		return fmt.Errorf("retry job %d: %w", id, driver.ErrState)
	}
	return fmt.Errorf("retry job %d: %w", id, driver.ErrNotFound)
}

func (s *Store) exists(ctx context.Context, id int64) (unfinished, finished bool, err error) {
	err = s.pool.QueryRow(ctx, s.q.exists, id).Scan(&unfinished, &finished)
	return unfinished, finished, err
}

const cancelWaitingSQL = `
with gone as (delete from jobqueue_job where id = $1 and worker is null returning *)
insert into jobqueue_done (id, state, errors, ` + kept + `)
select id, 6, errors, ` + kept + ` from gone
returning id`

const cancelRunningSQL = `update jobqueue_job set cancel = true where id = $1 and worker is not null returning id`

// Cancel implements jobqueue.Store.
func (s *Store) Cancel(ctx context.Context, id int64) error {
	// A job may start or be put back between the two looks, but hardly ten times in a row.
	for range 10 {
		err := s.pool.QueryRow(ctx, s.q.cancelWaiting, id).Scan(&id)
		if err == nil {
			return nil
		}
		if errors.Is(err, pgx.ErrNoRows) {
			err = s.pool.QueryRow(ctx, s.q.cancelRunning, id).Scan(&id)
		}
		if err == nil {
			s.signal(driver.Signal{Cancel: id})
			return nil
		}
		if !errors.Is(err, pgx.ErrNoRows) {
			return fmt.Errorf("cancel job %d: %w", id, err)
		}
		unfinished, finished, err := s.exists(ctx, id)
		switch {
		case err != nil:
			return fmt.Errorf("cancel job %d: %w", id, err)
		case finished:
			return fmt.Errorf("cancel job %d: %w", id, driver.ErrState)
		case !unfinished:
			return fmt.Errorf("cancel job %d: %w", id, driver.ErrNotFound)
		}
	}
	return fmt.Errorf("cancel job %d: it starts and stops too quickly", id)
}

const purgeBatch = 5000

// Purge implements jobqueue.Store.
func (s *Store) Purge(ctx context.Context, f driver.PurgeFilter) (n int, err error) {
	query, args := purgeSQL(f)
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		// With a limit the planner would begin to read the whole history, sure to find something soon; mostly there is
		// nothing to find.
		if _, err := tx.Exec(ctx, "set local enable_seqscan = off"); err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, qualify(s.cfg.Schema, query), args...)
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
