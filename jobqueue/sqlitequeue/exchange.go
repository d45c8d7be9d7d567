package sqlitequeue

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"lessonkit.example/jobqueue"
	"lessonkit.example/jobqueue/driver"
)

// kept are the columns that a job and its history have in common.
const kept = `run_at, created_at, claimed_at, fence, attempt, max_attempts, priority, until_started, queue, kind, unique_key, args`

// held joins the jobs to the leases in ?1, a JSON object of fences by id; ?2 is the worker. The cross join keeps the
// planner from scanning the jobs.
const held = `from json_each(?1) x cross join jobqueue_job j
where j.id = cast(x.key as integer) and j.fence = x.value and j.worker = ?2`

const archiveSQL = `
insert into jobqueue_done (id, state, finished_at, errors, ` + kept + `)
select j.id, 4, ?3, errors, ` + kept + ` ` + held

const deleteSQL = `delete from jobqueue_job where id in (select j.id ` + held + `)`

const heldSQL = `select j.id ` + held

// withError appends ? to the errors; the oldest of a hundred gives way.
const withError = `json_insert(
  case when json_array_length(errors) >= 100 then json_remove(errors, '$[0]') else coalesce(errors, '[]') end, '$[#]', json(?))`

// A job whose Dead callback alone ran has one attempt more than it may; that is not shown.
const endSQL = `
update jobqueue_job set attempt = case when max_attempts < 0 then attempt else min(attempt, max_attempts) end
where id = ? and fence = ? and worker = ?`

const endDoneSQL = `
insert into jobqueue_done (id, state, finished_at, errors, ` + kept + `)
select id, ?, ?, errors, ` + kept + ` from jobqueue_job where id = ?`

const deleteOneSQL = `delete from jobqueue_job where id = ?`

const noteErrorSQL = `update jobqueue_job set errors = ` + withError + ` where id = ? and fence = ? and worker = ?`

const postponeSQL = `
update jobqueue_job set worker = null, run_at = case when cancel = 1 then ? else ? end, attempt = attempt - ?
where id = ? and fence = ? and worker = ?`

const aliveSQL = `select id from jobqueue_worker where id = ? and expires_at > ?`

// The row of the worker is looked at first (aliveSQL), in the same transaction: a process that was swept while it
// slept must not hold jobs for a worker that nobody will ever sweep again.
const claimSQL = `
update jobqueue_job set worker = ?, fence = fence + 1, attempt = attempt + 1, claimed_at = ?,
  unique_key = case when until_started = 1 then null else unique_key end
where id in (
  select id from jobqueue_job
  where queue = ? and priority = ? and worker is null and run_at <= ? and (run_at, id) > (?, ?)
  order by run_at, id limit ?)
returning id, fence, attempt, max_attempts, priority, queue, kind, args, run_at, created_at, claimed_at, cancel`

const nextSQL = `
select run_at from jobqueue_job where queue = ? and priority = ? and worker is null and run_at > ? order by run_at limit 1`

// Exchange implements jobqueue.Store.
func (s *Store) Exchange(ctx context.Context, x driver.ExchangeRequest) (driver.ExchangeResponse, error) {
	var res driver.ExchangeResponse
	err := s.update(ctx, func(r runner, now int64) error {
		res = driver.ExchangeResponse{}
		if err := outcomes(r, now, x, &res); err != nil {
			return err
		}
		if err := claim(r, now, x, &res); err != nil || !x.LookAhead {
			return err
		}
		return next(r, now, x, &res)
	}, archiveSQL, deleteSQL, heldSQL, endSQL, endDoneSQL, deleteOneSQL, noteErrorSQL, postponeSQL, aliveSQL, claimSQL, nextSQL)
	if err != nil {
		err = fmt.Errorf("exchange: %w", err)
		if isConstraint(err) {
			err = jobqueue.Permanent(err) // the same again will not be accepted
		}
		return driver.ExchangeResponse{}, err
	}
	return res, nil
}

func outcomes(r runner, now int64, x driver.ExchangeRequest, res *driver.ExchangeResponse) error {
	var succeeded, discarded []driver.Lease
	for _, o := range x.Results {
		switch {
		case o.Action == driver.Reschedule:
			ok, err := postpone(r, now, x.Worker, o)
			if err != nil {
				return err
			}
			if !ok {
				res.Lost = append(res.Lost, o.Lease)
			}
		case o.Discard:
			discarded = append(discarded, o.Lease)
		case o.Action == driver.Complete:
			succeeded = append(succeeded, o.Lease)
		default:
			ok, err := end(r, now, x.Worker, o)
			if err != nil {
				return err
			}
			if !ok {
				res.Lost = append(res.Lost, o.Lease)
			}
		}
	}
	if err := retire(r, now, x.Worker, succeeded, true, res); err != nil {
		return err
	}
	return retire(r, now, x.Worker, discarded, false, res)
}

// retire removes jobs that have succeeded, with or without a place in the history.
func retire(r runner, now, worker int64, batch []driver.Lease, archive bool, res *driver.ExchangeResponse) error {
	if len(batch) == 0 {
		return nil
	}
	fences := map[string]int{}
	for _, l := range batch {
		fences[strconv.FormatInt(l.ID, 10)] = l.Fence
	}
	leases, err := json.Marshal(fences)
	if err != nil {
		return err
	}
	counted := int64(-1)
	if archive {
		result, err := r.exec(archiveSQL, string(leases), worker, now)
		if err != nil {
			return err
		}
		if counted, err = result.RowsAffected(); err != nil {
			return err
		}
	}
	if counted != int64(len(batch)) { // find out which are not ours
		rows, err := r.query(heldSQL, string(leases), worker)
		if err != nil {
			return err
		}
		ids := map[int64]bool{}
		if err := each(rows, func() error {
			var id int64
			err := rows.Scan(&id)
			ids[id] = true
			return err
		}); err != nil {
			return err
		}
		for _, l := range batch {
			if !ids[l.ID] {
				res.Lost = append(res.Lost, l)
			}
		}
	}
	_, err = r.exec(deleteSQL, string(leases), worker)
	return err
}

// affected reports whether a statement changed a row.
func affected(result sql.Result, err error) (bool, error) {
	if err != nil {
		return false, err
	}
	n, err := result.RowsAffected()
	return n > 0, err
}

func noteError(r runner, now, worker int64, o driver.Result) error {
	if o.Error.Error == "" {
		return nil
	}
	e := o.Error
	e.At = timeOf(now)
	text, err := json.Marshal(e)
	if err != nil {
		return err
	}
	_, err = r.exec(noteErrorSQL, string(text), o.ID, o.Fence, worker)
	return err
}

func postpone(r runner, now, worker int64, o driver.Result) (bool, error) {
	if err := noteError(r, now, worker, o); err != nil {
		return false, err
	}
	return affected(r.exec(postponeSQL, now, now+o.Delay.Microseconds(), boolInt(o.Uncounted), o.ID, o.Fence, worker))
}

func end(r runner, now, worker int64, o driver.Result) (bool, error) {
	if err := noteError(r, now, worker, o); err != nil {
		return false, err
	}
	ok, err := affected(r.exec(endSQL, o.ID, o.Fence, worker))
	if err != nil || !ok {
		return false, err
	}
	state := driver.StateFailed
	if o.Action == driver.Cancel {
		state = driver.StateCancelled
	}
	if _, err := r.exec(endDoneSQL, int(state), now, o.ID); err != nil {
		return false, err
	}
	_, err = r.exec(deleteOneSQL, o.ID)
	return err == nil, err
}

func claim(r runner, now int64, x driver.ExchangeRequest, res *driver.ExchangeResponse) error {
	if len(x.Claims) == 0 {
		return nil
	}
	rows, err := r.query(aliveSQL, x.Worker, now)
	if err != nil {
		return err
	}
	var id int64
	if err := scanOne(rows, &id); errors.Is(err, sql.ErrNoRows) {
		return nil
	} else if err != nil {
		return err
	}
	for _, w := range x.Claims {
		for p, after := range w.After {
			if w.Limit <= 0 {
				break
			}
			rows, err := r.query(claimSQL, x.Worker, now, w.Queue, p+1, now, micros(after.RunAt), after.ID, w.Limit)
			if err != nil {
				return err
			}
			if err := each(rows, func() error {
				j := &driver.Job{Worker: x.Worker, State: driver.StateRunning}
				var runAt, created, claimed int64
				err := rows.Scan(&j.ID, &j.Fence, &j.Attempt, &j.MaxAttempts, &j.Priority, &j.Queue, &j.Kind, (*[]byte)(&j.Args),
					&runAt, &created, &claimed, &j.Cancelling)
				j.RunAt, j.CreatedAt, j.ClaimedAt = time.UnixMicro(runAt).UTC(), timeOf(created), timeOf(claimed)
				res.Jobs = append(res.Jobs, j)
				w.Limit--
				return err
			}); err != nil {
				return err
			}
		}
	}
	return nil
}

func next(r runner, now int64, x driver.ExchangeRequest, res *driver.ExchangeResponse) error {
	for _, w := range x.Claims {
		for p := range w.After {
			rows, err := r.query(nextSQL, w.Queue, p+1, now)
			if err != nil {
				return err
			}
			var at int64
			if err := scanOne(rows, &at); errors.Is(err, sql.ErrNoRows) {
				continue
			} else if err != nil {
				return err
			}
			if d := duration(at - now); res.Next == 0 || d < res.Next {
				res.Next = d
			}
		}
	}
	return nil
}

// each calls scan for every row and closes rows.
func each(rows *sql.Rows, scan func() error) error {
	defer rows.Close()
	for rows.Next() {
		if err := scan(); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	return rows.Close()
}
