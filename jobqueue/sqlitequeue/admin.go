package sqlitequeue

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	sqlite3 "modernc.org/sqlite/lib"

	"lessonkit.example/jobqueue/driver"
	"lessonkit.example/jobqueue/internal/rules"
)

// The fence is kept, so that the next lease has a new token.
const requeueSQL = `
insert into jobqueue_job (id, run_at, created_at, fence, max_attempts, priority,
  queue, kind, unique_key, args, errors, limit_key, key_limit, worker, meta, in_group, after_group,
  saved)
select id, ?2, created_at, fence, max_attempts, priority, queue, kind, unique_key, args, errors,
  limit_key, key_limit, case when limit_key is null and after_group is null then null else 0 end, meta, in_group,
  after_group, saved
from jobqueue_done where id = ?1 and state <> 4
returning queue, coalesce(limit_key, ''), coalesce(after_group, '')`

const deleteDoneSQL = `delete from jobqueue_done where id = ?`

const runNowSQL = `
update jobqueue_job set run_at = ?2 where id = ?1 and worker is null and run_at > ?2 returning queue`

const existsSQL = `
select exists (select 1 from jobqueue_job where id = ?1), exists (select 1 from jobqueue_done where id = ?1)`

func (s *Store) Retry(ctx context.Context, id int64) error { return s.changeOne(ctx, id, s.retry) }

// changeOne changes a job, or returns an error if its state does not allow it.
func (s *Store) changeOne(ctx context.Context, id int64, change change) (err error) {
	defer rules.Classify(&err)
	var signals []driver.Signal
	err = s.update(ctx, func(tx *sql.Tx, now int64) (err error) {
		if signals, err = change(tx, now, id); err == nil && len(signals) == 0 {
			err = stateError(tx, id)
		}
		return err
	})
	if constraint(err) == sqlite3.SQLITE_CONSTRAINT_UNIQUE {
		err = driver.ErrDuplicate
	}
	if err == nil {
		s.emit(signals)
	}
	return err
}

// change changes a job if its state allows it, and returns signals of the change, else none.
type change func(tx *sql.Tx, now, id int64) ([]driver.Signal, error)

// retry makes a job wait to start now.
func (s *Store) retry(tx *sql.Tx, now, id int64) ([]driver.Signal, error) {
	var queue, key, group string
	err := tx.QueryRow(requeueSQL, id, now).Scan(&queue, &key, &group)
	switch {
	case err == nil:
		if _, err = tx.Exec(deleteDoneSQL, id); err == nil {
			_, err = s.promote(context.Background(), tx, now, rules.Names(key), rules.Names(group))
		}
	case errors.Is(err, sql.ErrNoRows):
		err = tx.QueryRow(runNowSQL, id, now).Scan(&queue)
	}
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return []driver.Signal{{Queue: queue}}, err
}

// stateError returns why a job could not be changed.
func stateError(tx *sql.Tx, id int64) error {
	var unfinished, finished bool
	if err := tx.QueryRow(existsSQL, id).Scan(&unfinished, &finished); err != nil {
		return err
	}
	if unfinished || finished {
		return driver.ErrState
	}
	return driver.ErrNotFound
}

const idleSQL = `
select coalesce(limit_key, ''), coalesce(in_group, '') from jobqueue_job
where id = ? and coalesce(worker, 0) = 0`

const cancelRunningSQL = `update jobqueue_job set cancel = 1 where id = ? and worker <> 0`

func (s *Store) Cancel(ctx context.Context, id int64) error { return s.changeOne(ctx, id, s.cancel) }

// cancel cancels an unfinished job.
func (s *Store) cancel(tx *sql.Tx, now, id int64) ([]driver.Signal, error) {
	running, err := affected(tx.Exec(cancelRunningSQL, id))
	if err != nil || running {
		return []driver.Signal{{Cancel: id}}, err
	}
	var key, group string
	err = tx.QueryRow(idleSQL, id).Scan(&key, &group)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err == nil {
		err = archiveOne(tx, now, id, driver.StateCancelled)
	}
	var promoted []driver.Signal
	if err == nil {
		promoted, err = s.promote(context.Background(), tx, now, rules.Names(key), rules.Names(group))
	}
	return append(promoted, driver.Signal{Cancel: id}), err
}

const nextCancelledSQL = `
select d.id from json_each(?2) k cross join jobqueue_done d
where d.id = (
  select id from jobqueue_done where kind = k.value and callback_at <= ?1 order by callback_at limit 1)
order by d.callback_at limit 1`

const (
	callbackSQL     = `update jobqueue_done set callback_at = ?2 where id = ?1`
	callbackDoneSQL = `update jobqueue_done set callback_at = null where id = ?1 and finished_at = ?2`
)

func (s *Store) NextCancelled(ctx context.Context, kinds []string, again time.Duration) (id int64, err error) {
	names, err := json.Marshal(kinds)
	if err != nil {
		return 0, err
	}
	next := func(row *sql.Row) error {
		if err := row.Scan(&id); !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		id = 0
		return nil
	}
	// Most of the time there is none, which a reader finds out without waiting for writers.
	if err := next(s.db.R.QueryRowContext(ctx, nextCancelledSQL, clock(), string(names))); err != nil || id == 0 {
		return 0, err
	}
	err = s.update(ctx, func(tx *sql.Tx, now int64) error {
		err := next(tx.QueryRow(nextCancelledSQL, now, string(names)))
		if err == nil && id != 0 {
			_, err = tx.Exec(callbackSQL, id, now+again.Microseconds())
		}
		return err
	})
	return id, err
}

func (s *Store) CallbackDone(ctx context.Context, id int64, finishedAt time.Time) error {
	return s.update(ctx, func(tx *sql.Tx, _ int64) error {
		_, err := tx.Exec(callbackDoneSQL, id, finishedAt.UnixMicro())
		return err
	})
}

const purgeBatch = 5000

// purgePageSQL returns the statement that looks at jobs for a purge of those of a state. No index
// has their times, which would slow down the end of every job: they are created in the order of
// their ids, and finish later.
func purgePageSQL(state driver.State) string {
	states := ""
	if state != driver.StateSucceeded {
		states = " and state <> 4 and state = ?3" // the index's condition
	}
	return `
select id, created_at <= ?1, queue = ?2 and state = ?3 and finished_at <= ?1
from jobqueue_done where id > ?4` + states + ` order by id limit ` + strconv.Itoa(purgeBatch)
}

const purgeSQL = `
delete from jobqueue_done
where id in (select value from json_each(?4)) and queue = ?2 and state = ?3 and finished_at <= ?1`

func (s *Store) Purge(ctx context.Context, f driver.PurgeFilter) (deleted int, last int64, err error) {
	before := clock() - f.Age.Microseconds()
	last = f.After
	var old []int64
	var id int64
	var passed, isOld bool
	rows, err := s.db.R.QueryContext(ctx, purgePageSQL(f.State), before, f.Queue, f.State, f.After)
	err = eachRow(rows, err, []any{&id, &passed, &isOld}, func() {
		if passed {
			last = id
		}
		if isOld {
			old = append(old, id)
		}
	})
	if err != nil || len(old) == 0 {
		return 0, last, err
	}
	ids, err := json.Marshal(old)
	if err != nil {
		return 0, 0, err
	}
	err = s.update(ctx, func(tx *sql.Tx, _ int64) error {
		res, err := tx.Exec(purgeSQL, before, f.Queue, f.State, string(ids))
		if err != nil {
			return err
		}
		n, err := res.RowsAffected()
		deleted = int(n)
		return err
	})
	return deleted, last, err
}
