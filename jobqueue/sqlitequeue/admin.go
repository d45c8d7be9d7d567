package sqlitequeue

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"lessonkit.example/jobqueue/driver"
)

// The fence is kept, so that the token of the next lease is new.
const requeueSQL = `
insert into jobqueue_job (id, run_at, created_at, fence, max_attempts, priority, until_started, queue, kind, unique_key, args, errors)
select id, ?2, created_at, fence, max_attempts, priority, until_started, queue, kind, unique_key, args, errors
from jobqueue_done where id = ?1 and state <> 4
returning queue`

const deleteDoneSQL = `delete from jobqueue_done where id = ?`

const runNowSQL = `
update jobqueue_job set run_at = ?2 where id = ?1 and worker is null and run_at > ?2 returning queue`

const existsSQL = `
select exists (select 1 from jobqueue_job where id = ?1), exists (select 1 from jobqueue_done where id = ?1)`

// Retry implements jobqueue.Store.
func (s *Store) Retry(ctx context.Context, id int64) error {
	var queue string
	err := s.update(ctx, func(r runner, now int64) error {
		rows, err := r.query(requeueSQL, id, now)
		if err != nil {
			return err
		}
		if err = scanOne(rows, &queue); err == nil {
			_, err = r.exec(deleteDoneSQL, id)
			return err
		} else if !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		if rows, err = r.query(runNowSQL, id, now); err != nil {
			return err
		}
		if err = scanOne(rows, &queue); !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		unfinished, finished, err := exists(r, id)
		switch {
		case err != nil:
			return err
		case unfinished || finished:
			return driver.ErrState
		}
		return driver.ErrNotFound
	}, requeueSQL, deleteDoneSQL, runNowSQL, existsSQL)
	if isUnique(err) {
		err = driver.ErrDuplicate
	}
	if err != nil {
		return fmt.Errorf("retry job %d: %w", id, err)
	}
	s.hub.Emit(driver.Signal{Queue: queue})
	return nil
}

func exists(r runner, id int64) (unfinished, finished bool, err error) {
	rows, err := r.query(existsSQL, id)
	if err != nil {
		return false, false, err
	}
	err = scanOne(rows, &unfinished, &finished)
	return unfinished, finished, err
}

const cancelWaitingSQL = `
insert into jobqueue_done (id, state, finished_at, errors, ` + kept + `)
select id, 6, ?2, errors, ` + kept + ` from jobqueue_job where id = ?1 and worker is null`

const cancelRunningSQL = `update jobqueue_job set cancel = 1 where id = ? and worker is not null`

// Cancel implements jobqueue.Store.
func (s *Store) Cancel(ctx context.Context, id int64) error {
	var running bool
	err := s.update(ctx, func(r runner, now int64) error {
		running = false
		done, err := affected(r.exec(cancelWaitingSQL, id, now))
		if err != nil {
			return err
		}
		if done {
			_, err := r.exec(deleteOneSQL, id)
			return err
		}
		if running, err = affected(r.exec(cancelRunningSQL, id)); err != nil || running {
			return err
		}
		_, finished, err := exists(r, id)
		switch {
		case err != nil:
			return err
		case finished:
			return driver.ErrState
		}
		return driver.ErrNotFound
	}, cancelWaitingSQL, deleteOneSQL, cancelRunningSQL, existsSQL)
	if err != nil {
		return fmt.Errorf("cancel job %d: %w", id, err)
	}
	if running {
		s.hub.Emit(driver.Signal{Cancel: id})
	}
	return nil
}

const purgeBatch = 5000

const purgeSQL = `
delete from jobqueue_done where id in (
  select id from jobqueue_done where finished_at <= ?1 and state = ?2 and queue = ?3 limit ?4)`

// Purge implements jobqueue.Store.
func (s *Store) Purge(ctx context.Context, f driver.PurgeFilter) (n int, err error) {
	err = s.update(ctx, func(r runner, now int64) error {
		res, err := r.exec(purgeSQL, now-f.Age.Microseconds(), int(f.State), f.Queue, purgeBatch)
		if err != nil {
			return err
		}
		deleted, err := res.RowsAffected()
		n = int(deleted)
		return err
	}, purgeSQL)
	return n, err
}
