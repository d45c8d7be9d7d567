package sqlitequeue

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"lessonkit.example/jobqueue"
	"lessonkit.example/jobqueue/driver"
	"lessonkit.example/jobqueue/internal/rules"
)

// sharedColumns are the columns that jobqueue_job and jobqueue_done have in common.
const sharedColumns = `run_at, created_at, claimed_at, fence, attempt, max_attempts, priority,
  queue, kind, unique_key, args, limit_key, key_limit, meta, in_group, after_group, saved`

// leased joins the jobs to the leases in ?1, a JSON object of fences by id; ?2 is the worker. The
// cross join keeps the planner from scanning the jobs.
const leased = `from json_each(?1) x cross join jobqueue_job j
where j.id = cast(x.key as integer) and j.fence = x.value and j.worker = ?2`

const archiveSQL = `
insert into jobqueue_done (id, state, finished_at, errors, ` + sharedColumns + `)
select j.id, 4, ?3, errors, ` + sharedColumns + ` ` + leased

const deleteSQL = `delete from jobqueue_job where id in (select j.id ` + leased + `)`

const leasedSQL = `select j.id ` + leased

// A job whose OnFailed callback alone ran has one attempt more than its limit, which is not
// recorded.
const endSQL = `
update jobqueue_job set attempt = case when max_attempts < 0 then attempt else min(attempt, max_attempts) end
where id = ? and fence = ? and worker = ?`

const archiveOneSQL = `
insert into jobqueue_done (id, state, finished_at, callback_at, errors, ` + sharedColumns + `)
select id, ?1, ?2, case when ?1 = 6 then ?2 end, errors, ` + sharedColumns + ` from jobqueue_job where id = ?3`

const deleteOneSQL = `delete from jobqueue_job where id = ?`

// The oldest of a hundred errors is dropped.
const addErrorSQL = `
update jobqueue_job set errors = json_insert(
  case when json_array_length(errors) >= 100 then json_remove(errors, '$[0]') else coalesce(errors, '[]') end,
  '$[#]', json(?))
where id = ? and fence = ? and worker = ?`

const rescheduleSQL = `
update jobqueue_job set worker = null, run_at = ?, attempt = attempt - ?
where id = ? and fence = ? and worker = ? and cancel = 0`

// The row of the worker is read first, in the same transaction: a process whose jobs were rescued
// while it slept must not claim jobs for a worker that is never rescued again.
const aliveSQL = `select id from jobqueue_worker where id = ? and expires_at > ?`

// presentSQL finds the kinds, of the JSON array ?1, that a queue has due jobs of, by priority: so a
// claim does not step over those of kinds that no worker handles.
const presentSQL = `
select p.value, k.value from json_each('[1, 2, 3, 4]') p cross join json_each(?1) k
where exists (
    select 1 from jobqueue_job
    where kind = k.value and queue = ?2 and priority = p.value and worker is null and run_at <= ?3)
  and not exists (select 1 from jobqueue_pause where queue = ?2 and until > ?3)
order by p.value`

const dueSQL = `
select run_at, id from jobqueue_job
where kind = ? and queue = ? and priority = ? and worker is null and run_at <= ? and (run_at, id) > (?, ?)
order by run_at, id limit ?`

// ?3 is a JSON array of ids.
const claimSQL = `
update jobqueue_job set worker = ?1, fence = fence + 1, attempt = attempt + 1, claimed_at = ?2
where id in (select value from json_each(?3))
returning id, fence, attempt, max_attempts, priority, queue, kind, args, run_at, created_at, claimed_at, cancel,
  coalesce(limit_key, ''), meta, coalesce(in_group, ''), coalesce(after_group, ''),
  saved`

const nextSQL = `
select min((
  select run_at from jobqueue_job
  where kind = k.value and queue = ?2 and priority = p.value and worker is null and run_at > ?3
  order by run_at limit 1))
from json_each(?1) k cross join json_each('[1, 2, 3, 4]') p`

func (s *Store) Exchange(ctx context.Context, x driver.ExchangeRequest) (driver.ExchangeResponse, error) {
	var res driver.ExchangeResponse
	var promoted []driver.Signal
	err := s.update(ctx, func(tx *sql.Tx, now int64) error {
		res = driver.ExchangeResponse{}
		if err := record(tx, now, x, &res); err != nil {
			return err
		}
		keys, groups := endedOf(x.Results, res.Cancelled)
		var err error
		if promoted, err = s.promote(context.WithoutCancel(ctx), tx, now, keys, groups); err != nil {
			return err
		}
		if err := claim(tx, now, x, &res); err != nil || !x.LookAhead {
			return err
		}
		return next(tx, now, x, &res)
	})
	if err != nil {
		if constraint(err) != 0 {
			err = jobqueue.Permanent(err) // the same results will never be accepted
		}
		return driver.ExchangeResponse{}, err
	}
	s.emit(promoted)
	return res, nil
}

// endedOf returns the limit keys and the groups of the jobs that have ended, each once: also of
// those that were to return, but were cancelled.
func endedOf(results []driver.Result, cancelled []driver.Lease) (keys, groups []string) {
	for _, r := range results {
		if r.Action != driver.Reschedule || slices.Contains(cancelled, r.Lease) {
			keys, groups = append(keys, r.LimitKey), append(groups, r.Group)
		}
	}
	return rules.Names(keys...), rules.Names(groups...)
}

// record records the results of x.
func record(tx *sql.Tx, now int64, x driver.ExchangeRequest, res *driver.ExchangeResponse) error {
	var succeeded, discarded []driver.Lease
	for _, r := range x.Results {
		var ok bool
		var err error
		if r.Saved != nil && !r.Discard {
			if _, err := save(tx, x.Worker, driver.Saved{Lease: r.Lease, State: r.Saved}); err != nil {
				return err
			}
		}
		switch {
		case r.Action == driver.Reschedule:
			ok, err = reschedule(tx, now, x.Worker, r, res)
		case r.Discard:
			discarded = append(discarded, r.Lease)
			continue
		case r.Action == driver.Complete:
			succeeded = append(succeeded, r.Lease)
			continue
		default:
			ok, err = end(tx, now, x.Worker, r)
		}
		if err != nil {
			return err
		}
		if !ok {
			res.Lost = append(res.Lost, r.Lease)
		}
	}
	if err := remove(tx, now, x.Worker, succeeded, true, res); err != nil {
		return err
	}
	return remove(tx, now, x.Worker, discarded, false, res)
}

// remove removes finished jobs, and with archive adds them to the history as succeeded.
func remove(tx *sql.Tx, now, worker int64, leases []driver.Lease, archive bool, res *driver.ExchangeResponse) error {
	if len(leases) == 0 {
		return nil
	}
	fences, err := encodeLeases(leases)
	if err != nil {
		return err
	}
	archived := int64(-1)
	if archive {
		result, err := tx.Exec(archiveSQL, fences, worker, now)
		if err != nil {
			return err
		}
		if archived, err = result.RowsAffected(); err != nil {
			return err
		}
	}
	if archived != int64(len(leases)) { // find out which leases were lost
		found, err := column[int64](tx.Query(leasedSQL, fences, worker))
		if err != nil {
			return err
		}
		held := map[int64]bool{}
		for _, id := range found {
			held[id] = true
		}
		for _, l := range leases {
			if !held[l.ID] {
				res.Lost = append(res.Lost, l)
			}
		}
	}
	_, err = tx.Exec(deleteSQL, fences, worker)
	return err
}

func addError(tx *sql.Tx, now, worker int64, r driver.Result) error {
	if r.Error.Error == "" {
		return nil
	}
	e := r.Error
	e.At = timeOf(now)
	text, err := json.Marshal(e)
	if err != nil {
		return err
	}
	_, err = tx.Exec(addErrorSQL, string(text), r.ID, r.Fence, worker)
	return err
}

func reschedule(tx *sql.Tx, now, worker int64, r driver.Result, res *driver.ExchangeResponse) (bool, error) {
	if err := addError(tx, now, worker, r); err != nil {
		return false, err
	}
	uncounted := 0
	if r.Uncounted {
		uncounted = 1
	}
	ok, err := affected(tx.Exec(rescheduleSQL, now+r.Delay.Microseconds(), uncounted, r.ID, r.Fence, worker))
	if ok || err != nil {
		return ok, err
	}
	r.Action, r.Error = driver.Cancel, driver.AttemptError{} // which it has already
	if ok, err = end(tx, now, worker, r); ok {
		res.Cancelled = append(res.Cancelled, r.Lease)
	}
	return ok, err
}

// end moves a failed or cancelled job to the history.
func end(tx *sql.Tx, now, worker int64, r driver.Result) (bool, error) {
	if err := addError(tx, now, worker, r); err != nil {
		return false, err
	}
	ok, err := affected(tx.Exec(endSQL, r.ID, r.Fence, worker))
	if err != nil || !ok {
		return false, err
	}
	state := driver.StateFailed
	if r.Action == driver.Cancel {
		state = driver.StateCancelled
	}
	return true, archiveOne(tx, now, r.ID, state)
}

func archiveOne(tx *sql.Tx, now, id int64, state driver.State) error {
	if _, err := tx.Exec(archiveOneSQL, state, now, id); err != nil {
		return err
	}
	_, err := tx.Exec(deleteOneSQL, id)
	return err
}

// claim claims the jobs that x requests.
func claim(tx *sql.Tx, now int64, x driver.ExchangeRequest, res *driver.ExchangeResponse) error {
	if len(x.Claims) == 0 {
		return nil
	}
	alive, err := column[int64](tx.Query(aliveSQL, x.Worker, now))
	if err != nil || len(alive) == 0 {
		return err
	}
	kinds, err := json.Marshal(x.Kinds)
	if err != nil {
		return err
	}
	for _, c := range x.Claims {
		var r rate
		if c.Rate.Every > 0 {
			if r, err = readRate(tx, now, c); err != nil {
				return err
			}
			c.Limit = min(c.Limit, r.free)
		}
		before := res.Claimed()
		due, err := mostUrgent(tx, now, string(kinds), c)
		if err == nil && len(due) > 0 {
			err = claimJobs(tx, now, x.Worker, due, res)
		}
		if err != nil {
			return err
		}
		if c.Rate.Every > 0 {
			if err := r.spend(tx, now, res.Claimed()-before, res); err != nil {
				return err
			}
		}
	}
	return nil
}

// mostUrgent returns the ids of up to c.Limit due jobs of kinds, a JSON array.
func mostUrgent(tx *sql.Tx, now int64, kinds string, c driver.ClaimRequest) (due []int64, err error) {
	present := [driver.Priorities][]string{} // kinds
	var p int
	var kind string
	rows, err := tx.Query(presentSQL, kinds, c.Queue, now)
	err = eachRow(rows, err, []any{&p, &kind}, func() { present[p-1] = append(present[p-1], kind) })
	for i := 0; i < len(present) && len(due) < c.Limit && err == nil; i++ {
		after, left := c.After[i], c.Limit-len(due)
		var found []driver.Cursor
		for _, kind := range present[i] {
			var at, id int64
			rows, err := tx.Query(dueSQL, kind, c.Queue, i+1, now, after.RunAt.UnixMicro(), after.ID, left)
			if err := eachRow(rows, err, []any{&at, &id}, func() {
				found = append(found, driver.Cursor{RunAt: time.UnixMicro(at), ID: id})
			}); err != nil {
				return nil, err
			}
		}
		slices.SortFunc(found, driver.Cursor.Compare)
		for _, job := range found[:min(left, len(found))] {
			due = append(due, job.ID)
		}
	}
	return due, err
}

func claimJobs(tx *sql.Tx, now, worker int64, due []int64, res *driver.ExchangeResponse) error {
	text, err := json.Marshal(due)
	if err != nil {
		return err
	}
	row := driver.Job{Worker: worker, State: driver.StateRunning}
	var runAt, created, claimed int64
	var meta []byte
	into := []any{
		&row.ID, &row.Fence, &row.Attempt, &row.MaxAttempts, &row.Priority, &row.Queue, &row.Kind,
		(*[]byte)(&row.Args), &runAt, &created, &claimed, &row.Cancelling, &row.LimitKey, &meta,
		&row.Group, &row.AfterGroup, (*[]byte)(&row.Saved),
	}
	rows, err := tx.Query(claimSQL, worker, now, string(text))
	return eachRow(rows, err, into, func() {
		j := row
		j.Meta = driver.DecodeMeta(meta)
		j.RunAt, j.CreatedAt, j.ClaimedAt = time.UnixMicro(runAt).UTC(), timeOf(created), timeOf(claimed)
		res.AddJob(&j)
	})
}

// next finds the next scheduled job of the claimed queues.
func next(tx *sql.Tx, now int64, x driver.ExchangeRequest, res *driver.ExchangeResponse) error {
	kinds, err := json.Marshal(x.Kinds)
	for i := 0; i < len(x.Claims) && err == nil; i++ {
		var at sql.NullInt64
		err = tx.QueryRow(nextSQL, string(kinds), x.Claims[i].Queue, now).Scan(&at)
		if at.Valid {
			res.AddNext(rules.Duration(at.Int64 - now))
		}
	}
	return err
}

// CompleteTx completes the job as succeeded in tx: see [jobqueue.TxStore].
func (s *Store) CompleteTx(ctx context.Context, tx *sql.Tx, job *jobqueue.Job) (err error) {
	defer rules.Classify(&err)
	if state := job.Running().Saved(); state != nil {
		saved := driver.Saved{Lease: driver.Lease{ID: job.ID, Fence: job.Fence}, State: state}
		if _, err := save(tx, job.Worker, saved); err != nil {
			return fmt.Errorf("complete job %d: %w", job.ID, err)
		}
	}
	lease := fmt.Sprintf(`{"%d":%d}`, job.ID, job.Fence)
	ok, err := affected(tx.ExecContext(ctx, archiveSQL, lease, job.Worker, clock()))
	if err == nil && !ok {
		err = driver.ErrLeaseLost
	}
	if err == nil {
		_, err = tx.ExecContext(ctx, deleteSQL, lease, job.Worker)
	}
	if err == nil {
		var promoted []driver.Signal
		promoted, err = s.promote(ctx, tx, clock(), rules.Names(job.LimitKey), rules.Names(job.Group))
		s.emit(promoted) // workers look as soon as they can write, which is after the commit
	}
	if err != nil {
		return fmt.Errorf("complete job %d: %w", job.ID, err)
	}
	job.Running().SetCompleted()
	return nil
}
