package pgqueue

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"lessonkit.example/jobqueue"
	"lessonkit.example/jobqueue/driver"
	"lessonkit.example/jobqueue/internal/rules"
)

// sharedColumns are the columns that jobqueue_job and jobqueue_done have in common.
const sharedColumns = `run_at, created_at, claimed_at, fence, attempt, max_attempts, priority,
  queue, kind, unique_key, args, limit_key, key_limit, meta, in_group, after_group, saved`

// deleteSQL deletes the jobs with leases. The arrays are passed as (select $1), so that the planner
// does not know their length: for a thousand leases it would scan the whole table instead of
// probing the index a thousand times.
const deleteSQL = `
  delete from jobqueue_job j using unnest((select $1::bigint[]), (select $2::int[])) x (id, fence)
  where j.id = x.id and j.fence = x.fence and j.worker = $3::bigint`

const archiveSQL = `
insert into jobqueue_done (id, state, errors, ` + sharedColumns + `)
select id, 4, errors, ` + sharedColumns + ` from gone`

const completeSQL = `
with gone as (` + deleteSQL + ` returning j.*)` + archiveSQL + `
returning id`

// goneSQL deletes the jobs with leases at the places $4, which takes half the time of deleteSQL,
// and keeps these columns. A row that has changed since its claim is elsewhere, and another one may
// be in its place. "is true" keeps the planner from joining.
func goneSQL(columns string) string {
	return `
with here as (
  delete from jobqueue_job j
  where ctid = any ((select $4::tid[])::tid[]) and worker = $3::bigint
    and ((id, fence) in (select * from unnest($1::bigint[], $2::int[]))) is true
  returning ` + columns + `),
elsewhere as (` + deleteSQL + `
    and (select count(*) from here) < cardinality($1::bigint[]) and x.id not in (select id from here)
  returning ` + columns + `),
gone as not materialized (select * from here union all select * from elsewhere)`
}

// succeedSQL and discardSQL return the ids together, because a row for each would take longer.
var (
	succeedSQL = goneSQL("j.*") + `,
done as (` + archiveSQL + `)` + goneIDs
	discardSQL = goneSQL("j.id") + goneIDs
)

const goneIDs = `
select array(select id from gone)`

// withError appends x.error to j.errors with the time of the database; the oldest of a hundred is
// dropped.
const withError = `
case when x.error = '' then j.errors else
  (case when jsonb_array_length(j.errors) >= 100 then j.errors - 0 else coalesce(j.errors, '[]') end)
  || (x.error::jsonb || jsonb_build_object('at', now())) end`

// A job whose OnFailed callback alone ran has one attempt more than its limit, which is not
// recorded.
const endSQL = `
with gone as (
  delete from jobqueue_job j using unnest((select $1::bigint[]), (select $2::int[]), $4::smallint[], $5::text[])
    x (id, fence, state, error)
  where j.id = x.id and j.fence = x.fence and j.worker = $3::bigint
  returning j.id, x.state, ` + withError + ` as new_errors, j.run_at, j.created_at, j.claimed_at, j.fence,
    case when j.max_attempts < 0 then j.attempt else least(j.attempt, j.max_attempts) end as attempt,
    j.max_attempts, j.priority, j.queue, j.kind, j.unique_key, j.args, j.limit_key, j.key_limit,
    j.meta, j.in_group, j.after_group, j.saved)
insert into jobqueue_done (id, state, callback_at, errors, ` + sharedColumns + `)
select id, state, case when state = 6 then now() end, new_errors, ` + sharedColumns + ` from gone
returning id`

// Jobs that were cancelled are left to endSQL.
const rescheduleSQL = `
update jobqueue_job j set
  worker = null,
  run_at = now() + x.delay * interval '1 microsecond',
  attempt = j.attempt - x.uncounted,
  errors = ` + withError + `
from unnest((select $1::bigint[]), (select $2::int[]), $4::bigint[], $5::int[], $6::text[])
  x (id, fence, delay, uncounted, error)
where j.id = x.id and j.fence = x.fence and j.worker = $3::bigint and not j.cancel
returning j.id`

// planSQL makes the statements of its transaction use their indexes. Plans are cached by
// connection: one that was made while the table was small would scan it for hours after it has
// grown. With indexes alone one plan fits any arguments, so none is made for the arguments of a
// claim, which would take longer than the claim. Nothing is compiled: that takes longer than any of
// them. (SET LOCAL would warn about the missing BEGIN.)
const planSQL = indexesSQL + `, set_config('plan_cache_mode', 'force_generic_plan', true)`

const indexesSQL = `
select set_config('enable_seqscan', 'off', true), set_config('enable_hashjoin', 'off', true),
  set_config('enable_mergejoin', 'off', true), set_config('enable_bitmapscan', 'off', true),
  set_config('jit', 'off', true)`

// limitSQL has the server end an exchange after $1 milliseconds if its client is suspended or its
// network fails: when it does not read, when it does not answer, or, since PostgreSQL 17, when it
// has not sent everything. Otherwise the locks would last until the connection breaks.
const limitSQL = `, set_config('tcp_user_timeout', $1, true), set_config('tcp_keepalives_idle', '10', true),
  case when current_setting('transaction_timeout', true) is not null then
    set_config('transaction_timeout', $1, true) end`

// limit returns the milliseconds until the deadline of ctx, at least those of a second, and those
// of a minute if it has none.
func limit(ctx context.Context) string {
	d := time.Minute
	if at, ok := ctx.Deadline(); ok {
		d = max(time.Until(at), time.Second)
	}
	return strconv.FormatInt(d.Milliseconds(), 10)
}

func (s *Store) Exchange(ctx context.Context, x driver.ExchangeRequest) (driver.ExchangeResponse, error) {
	var res driver.ExchangeResponse
	if len(x.Results) == 0 && len(x.Claims) == 0 {
		return res, nil
	}
	again, err := s.exchange(ctx, x, &res)
	if err == nil && again {
		_, err = s.exchange(ctx, driver.ExchangeRequest{Worker: x.Worker, Kinds: x.Kinds, Claims: x.Claims}, &res)
	}
	if err != nil {
		return driver.ExchangeResponse{}, err
	}
	return res, nil
}

// exchange is an exchange whose statements travel together, in one transaction that needs no BEGIN.
// It adds to res and requests fewer jobs if that has some. With again, the same claims would find
// more jobs.
func (s *Store) exchange(
	ctx context.Context, x driver.ExchangeRequest, res *driver.ExchangeResponse,
) (again bool, err error) {
	before := *res
	var b pgx.Batch
	b.Queue(planSQL+limitSQL, limit(ctx))
	var promoted []driver.Signal
	left := map[string]int{} // jobs of each key that have ended with none promoted in their place
	for _, r := range x.Results {
		if r.LimitKey != "" && r.Action != driver.Reschedule {
			left[r.LimitKey]++
		}
	}
	recorded, cancelled := make([]int64, 0, len(x.Results)), []int64(nil) // ids
	if err := s.queueResults(&b, x, &recorded, &cancelled); err != nil {
		return false, err
	}
	if len(left) > 0 {
		s.queuePromote(&b, slices.Sorted(maps.Keys(left)), &promoted, left)
	}
	c := claims{ExchangeRequest: x, claimMode: s.claimMode(x), res: res}
	if c.exclusive {
		b.Queue(claimLockWaitSQL)
		b.Queue(s.sql(claimLockSQL))
	}
	if len(x.Claims) > 0 {
		s.queueClaims(&b, &c)
	}
	// Only Close reports whether the transaction was committed.
	if err := s.pool.SendBatch(ctx, &b).Close(); err != nil {
		if c.exclusive && code(err) == lockNotAvailable {
			s.pauseLock()
			*res = before // what was read by then was rolled back
			return s.exchange(ctx, x, res)
		}
		s.resetIfSilent(err)
		if isRefusal(err) {
			err = jobqueue.Permanent(err)
		}
		return false, err
	}
	for _, sig := range promoted {
		s.signal(sig)
	}
	again = s.claimed(&c)
	if c.keys {
		for _, key := range c.turned {
			left[key]++
		}
	}
	for key, n := range left {
		if n > 0 {
			s.promoter.Add(driver.Signal{LimitKey: key})
		}
	}
	otherKeys, groups := []string(nil), []string(nil)
	for _, r := range x.Results {
		ok := len(recorded) == len(x.Results) || slices.Contains(recorded, r.ID)
		switch {
		case ok:
		case slices.Contains(cancelled, r.ID):
			res.Cancelled = append(res.Cancelled, r.Lease)
		default: // it may have ended with CompleteTx
			res.Lost = append(res.Lost, r.Lease)
		}
		if !ok {
			otherKeys = append(otherKeys, r.LimitKey)
		}
		if r.Group != "" && (!ok || r.Action != driver.Reschedule) {
			groups = append(groups, r.Group)
		}
	}
	s.promoteAfter(ctx, otherKeys, groups)
	if x.LookAhead && s.listening.Load() == 0 {
		s.promoter.Add(driver.Signal{}) // nobody else knows of jobs of EnqueueTx
	}
	return again, nil
}

// isRefusal reports whether the database will never accept the results: the error's class is a data
// exception or a violated constraint. A table or right that is missing (42) is no fault of theirs:
// they wait until somebody gives it back.
func isRefusal(err error) bool {
	c := code(err)
	return strings.HasPrefix(c, "22") || strings.HasPrefix(c, "23")
}

// leases are arguments of a statement that records results: the first two, and those of goneSQL.
type leases struct {
	ids    []int64
	fences []int32
	places pgtype.FlatArray[pgtype.TID]
}

func (l *leases) add(r driver.Result) {
	l.ids, l.fences = append(l.ids, r.ID), append(l.fences, int32(r.Fence))
	l.places = append(l.places, pgtype.TID{ // none where saving moves the row
		BlockNumber: uint32(r.Row >> 16), OffsetNumber: uint16(r.Row), Valid: r.Row != 0 && r.Saved == nil})
}

// queueResults adds one statement for each kind of result that x has. To recorded they add the ids
// of the jobs for which it is done, to cancelled those of jobs that were to return but have ended.
func (s *Store) queueResults(b *pgx.Batch, x driver.ExchangeRequest, recorded, cancelled *[]int64) error {
	s.queueSaved(b, x)
	var discarded, ended, rescheduled leases
	succeeded := leases{
		make([]int64, 0, len(x.Results)), make([]int32, 0, len(x.Results)), make([]pgtype.TID, 0, len(x.Results))}
	var states []int16
	var delays []int64
	var uncounted []int32
	var endErrors, rescheduleErrors []string
	for _, r := range x.Results {
		text, err := errorText(r.Error)
		if err != nil {
			return err
		}
		switch {
		case r.Action == driver.Reschedule:
			rescheduled.add(r)
			delays, rescheduleErrors = append(delays, r.Delay.Microseconds()), append(rescheduleErrors, text)
			uncounted = append(uncounted, 0)
			if r.Uncounted {
				uncounted[len(uncounted)-1] = 1
			}
		case r.Discard:
			discarded.add(r)
		case r.Action == driver.Complete:
			succeeded.add(r)
		default:
			state := driver.StateFailed
			if r.Action == driver.Cancel {
				state = driver.StateCancelled
			}
			ended.add(r)
			states, endErrors = append(states, int16(state)), append(endErrors, text)
		}
	}
	queue := func(done *[]int64, l leases, query string, more ...any) {
		if len(l.ids) == 0 {
			return
		}
		var id int64
		eachRow(b.Queue(s.sql(query), append([]any{l.ids, l.fences, x.Worker}, more...)...), []any{&id}, func() {
			*done = append(*done, id)
		})
	}
	remove := func(l leases, query string) {
		if len(l.ids) == 0 {
			return
		}
		b.Queue(s.sql(query), l.ids, l.fences, x.Worker, l.places).QueryRow(func(row pgx.Row) error {
			var ids []int64
			err := row.Scan(&ids)
			*recorded = append(*recorded, ids...)
			return err
		})
	}
	remove(succeeded, succeedSQL)
	remove(discarded, discardSQL)
	queue(recorded, ended, endSQL, states, endErrors)
	queue(recorded, rescheduled, rescheduleSQL, delays, uncounted, rescheduleErrors)
	states = slices.Repeat([]int16{int16(driver.StateCancelled)}, len(rescheduled.ids))
	queue(cancelled, rescheduled, endSQL, states, rescheduleErrors)
	return nil
}

// errorText encodes e without its time, which the database adds; "" when there is no error.
func errorText(e driver.AttemptError) (string, error) {
	if e.Error == "" {
		return "", nil
	}
	text, err := json.Marshal(e)
	return string(text), err
}

// CompletePgx completes the job as succeeded in tx, as CompleteTx of [jobqueue.TxStore] does.
func (s *Store) CompletePgx(ctx context.Context, tx pgx.Tx, job *jobqueue.Job) error {
	return s.complete(ctx, pgxQuerier{tx}, job)
}

// CompleteTx is CompletePgx for a transaction of database/sql over pgx's stdlib driver.
func (s *Store) CompleteTx(ctx context.Context, tx *sql.Tx, job *jobqueue.Job) error {
	return s.complete(ctx, sqlQuerier{tx}, job)
}

func (s *Store) complete(ctx context.Context, db querier, job *jobqueue.Job) (err error) {
	defer rules.Classify(&err)
	if state := job.Running().Saved(); state != nil {
		if err := s.save(ctx, db, job, state); err != nil {
			return fmt.Errorf("complete job %d: %w", job.ID, err)
		}
	}
	var id int64
	err = db.query(ctx, s.sql(completeSQL), func(rs rows) error { return rs.Scan(&id) },
		[]int64{job.ID}, []int32{int32(job.Fence)}, job.Worker)
	if err == nil && id == 0 {
		err = driver.ErrLeaseLost
	}
	if err != nil {
		return fmt.Errorf("complete job %d: %w", job.ID, err)
	}
	job.Running().SetCompleted()
	return nil
}
