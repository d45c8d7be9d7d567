package pgqueue

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"lessonkit.example/jobqueue"
	"lessonkit.example/jobqueue/driver"
	"lessonkit.example/jobqueue/internal/dberr"
)

// sharedColumns are the columns that jobqueue_job and jobqueue_done have in common.
const sharedColumns = `run_at, created_at, claimed_at, fence, attempt, max_attempts, priority, until_started,
  queue, kind, unique_key, args, serial_key, meta, in_group, after_group, saved`

// The arrays are passed as (select $1), so that the planner does not know their length: for a
// thousand leases it would scan the whole table instead of probing the index a thousand times.
const succeedSQL = `
with gone as (
  delete from jobqueue_job j using unnest((select $1::bigint[]), (select $2::int[])) x (id, fence)
  where j.id = x.id and j.fence = x.fence and j.worker = $3::bigint
  returning j.*)
insert into jobqueue_done (id, state, errors, ` + sharedColumns + `)
select id, 4, errors, ` + sharedColumns + ` from gone
returning id`

const discardSQL = `
delete from jobqueue_job j using unnest((select $1::bigint[]), (select $2::int[])) x (id, fence)
where j.id = x.id and j.fence = x.fence and j.worker = $3::bigint
returning j.id`

// withError appends x.error to j.errors with the time of the database; the oldest of a hundred is
// dropped.
const withError = `
case when x.error = '' then j.errors else
  (case when jsonb_array_length(j.errors) >= 100 then j.errors - 0 else coalesce(j.errors, '[]') end)
  || (x.error::jsonb || jsonb_build_object('at', now())) end`

// A job whose Dead callback alone ran has one attempt more than its limit, which is not recorded.
const endSQL = `
with gone as (
  delete from jobqueue_job j using unnest((select $1::bigint[]), (select $2::int[]), $4::smallint[], $5::text[])
    x (id, fence, state, error)
  where j.id = x.id and j.fence = x.fence and j.worker = $3::bigint
  returning j.id, x.state, ` + withError + ` as new_errors, j.run_at, j.created_at, j.claimed_at, j.fence,
    case when j.max_attempts < 0 then j.attempt else least(j.attempt, j.max_attempts) end as attempt,
    j.max_attempts, j.priority, j.until_started, j.queue, j.kind, j.unique_key, j.args, j.serial_key, j.meta,
    j.in_group, j.after_group, j.saved)
insert into jobqueue_done (id, state, errors, ` + sharedColumns + `)
select id, state, new_errors, ` + sharedColumns + ` from gone
returning id`

const rescheduleSQL = `
update jobqueue_job j set
  worker = null,
  run_at = case when j.cancel then now() else now() + x.delay * interval '1 microsecond' end,
  attempt = j.attempt - x.uncounted,
  errors = ` + withError + `
from unnest((select $1::bigint[]), (select $2::int[]), $4::bigint[], $5::int[], $6::text[])
  x (id, fence, delay, uncounted, error)
where j.id = x.id and j.fence = x.fence and j.worker = $3::bigint
returning j.id`

// claimSQL claims the most urgent jobs of several queues.
//
//   - The worker's row is locked against Rescue, and without it nothing is claimed: a process whose
//     jobs were rescued while it slept must not claim jobs for a worker that nobody will ever
//     rescue again. "case" evaluates that once there is a job, so a claim that finds none writes
//     nothing and does not wait for the disk.
//   - The state of the job is looked at again there, because a claim in its turn does not lock the
//     rows that it finds (turnClaimSQL), and servers before November 2025 update a row that has
//     changed meanwhile although its ctid has too.
//   - array(…) is evaluated once for any plan; "id in (… skip locked)" may be repeated.
//   - Priorities are visited one by one, or every claim would step over the jobs scheduled for
//     tomorrow at priority 1.
//   - $4 and $5 are the cursors, four for each queue.
//   - The other "case" hides the selection of kinds from the planner, which would otherwise sort
//     all jobs of a queue where it expects few of a kind.
const (
	claimSQL  = claimUpdate + claimable + claimReturning
	claimable = `array(
    select r.ctid
    from ` + claimQueues + `,
      lateral (
        select s.ctid
        from generate_series(1, 4) p,
          lateral (
            select ctid from jobqueue_job
            where queue = q.name and priority = p::smallint and worker is null and run_at <= now()
              and (run_at, id) > (($4::timestamptz[])[q.i * 4 - 4 + p], ($5::bigint[])[q.i * 4 - 4 + p])
              and case when $6::text[] is null then true else kind = any ($6) end
            order by run_at, id limit q.n` + skipLocked + `) s
        limit q.n) r
    where not exists (select from jobqueue_pause h where h.queue = q.name and h.until > now()))`
	skipLocked  = ` for update skip locked`
	claimUpdate = `
update jobqueue_job set worker = $1::bigint, fence = fence + 1, attempt = attempt + 1, claimed_at = now(),
  unique_key = case when until_started then null else unique_key end
where case when worker is null and run_at <= now() then
    exists (select from jobqueue_worker where id = $1::bigint and expires_at > now() for key share) end
  and ctid = any (`
	claimReturning = `)
returning id, fence, attempt, max_attempts, priority, queue, kind, args, run_at, created_at, claimed_at, cancel,
  serial_key, meta, in_group, after_group, saved`
)

const nextSQL = `
select (extract(epoch from min(t.run_at) - now()) * 1000000)::bigint
from unnest($1::text[]) q (name), generate_series(1, 4) p,
  lateral (
    select run_at from jobqueue_job
    where queue = q.name and priority = p::smallint and worker is null and run_at > now()
    order by run_at limit 1) t`

// planSQL makes the statements of its transaction use their indexes. Plans are cached by
// connection: one that was made while the table was small would scan it for hours after it has
// grown. With indexes alone one plan fits any arguments, so none is made for the arguments of a
// claim, which would take longer than the claim. (SET LOCAL would warn about the missing BEGIN.)
const planSQL = `
select set_config('enable_seqscan', 'off', true), set_config('enable_hashjoin', 'off', true),
  set_config('enable_mergejoin', 'off', true), set_config('plan_cache_mode', 'force_generic_plan', true)`

// Exchange implements driver.Store: all statements travel together, in one transaction that needs
// no BEGIN.
func (s *Store) Exchange(
	ctx context.Context, x driver.ExchangeRequest,
) (res driver.ExchangeResponse, err error) {
	err = s.despiteDamage(ctx, func() (err error) {
		res, err = s.exchange(ctx, x)
		return err
	})
	return res, err
}

func (s *Store) exchange(ctx context.Context, x driver.ExchangeRequest) (driver.ExchangeResponse, error) {
	var res driver.ExchangeResponse
	if len(x.Results) == 0 && len(x.Claims) == 0 {
		return res, nil
	}
	var b pgx.Batch
	b.Queue(planSQL)
	keys, promoted := endedKeys(x.Results), []driver.Signal(nil)
	if len(keys) > 0 {
		s.queueLock(&b, keys)
	}
	recorded := make([]int64, 0, len(x.Results)) // ids
	if err := s.queueResults(&b, x, &recorded); err != nil {
		return res, err
	}
	if len(keys) > 0 {
		s.queuePromote(&b, keys, &promoted)
	}
	turn, missed := s.takesTurn(x), 0
	if turn {
		s.queueTurn(&b)
	}
	if len(x.Claims) > 0 {
		s.queueClaims(&b, x, &res, turn, &missed)
	}
	// Only Close reports whether the transaction was committed.
	if err := s.pool.SendBatch(ctx, &b).Close(); err != nil {
		if turn && s.withoutTurns(err) {
			return s.exchange(ctx, x)
		}
		err = fmt.Errorf("exchange: %w", err)
		if isRefusal(err) {
			err = jobqueue.Permanent(err)
		}
		return driver.ExchangeResponse{}, err
	}
	for _, sig := range promoted {
		s.signal(sig)
	}
	if missed > 0 { // there may be more jobs although fewer were claimed than requested
		for _, c := range x.Claims {
			s.hub.Emit(driver.Signal{Queue: c.Queue})
		}
	}
	lostKeys, groups := []string(nil), []string(nil)
	for _, r := range x.Results {
		ok := len(recorded) == len(x.Results) || slices.Contains(recorded, r.ID)
		if !ok {
			res.Lost = append(res.Lost, r.Lease)
			lostKeys = append(lostKeys, r.SerialKey) // it may have ended with CompleteTx
		}
		if r.Group != "" && (!ok || r.Action != driver.Reschedule) {
			groups = append(groups, r.Group)
		}
	}
	s.promoteAfter(ctx, lostKeys, groups)
	if x.LookAhead && s.listening.Load() == 0 {
		_ = s.promoteIdle(ctx) // nobody else knows of jobs of EnqueueTx; tried again soon
	}
	return res, nil
}

// isRefusal reports whether the database will never accept the statements: the error's class is a
// data exception, a violated constraint, or an error of syntax or access.
func isRefusal(err error) bool {
	c := code(err)
	return strings.HasPrefix(c, "22") || strings.HasPrefix(c, "23") || strings.HasPrefix(c, "42")
}

// leases are the first two arguments of a statement that records results.
type leases struct {
	ids    []int64
	fences []int32
}

func (l *leases) add(r driver.Result) {
	l.ids, l.fences = append(l.ids, r.ID), append(l.fences, int32(r.Fence))
}

// queueResults adds one statement for each kind of result that x has.
func (s *Store) queueResults(b *pgx.Batch, x driver.ExchangeRequest, recorded *[]int64) error {
	s.queueSaved(b, x)
	var discarded, ended, rescheduled leases
	succeeded := leases{ids: make([]int64, 0, len(x.Results)), fences: make([]int32, 0, len(x.Results))}
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
	queue := func(l leases, query string, more ...any) {
		if len(l.ids) == 0 {
			return
		}
		b.Queue(s.sql(query), append([]any{l.ids, l.fences, x.Worker}, more...)...).Query(func(rows pgx.Rows) error {
			var id int64
			_, err := pgx.ForEachRow(rows, []any{&id}, func() error {
				*recorded = append(*recorded, id)
				return nil
			})
			return err
		})
	}
	queue(succeeded, succeedSQL)
	queue(discarded, discardSQL)
	queue(ended, endSQL, states, endErrors)
	queue(rescheduled, rescheduleSQL, delays, uncounted, rescheduleErrors)
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

// queueClaims adds the statements that claim jobs and look ahead. With turn, missed becomes the
// number of jobs that others changed before they could be claimed.
func (s *Store) queueClaims(
	b *pgx.Batch, x driver.ExchangeRequest, res *driver.ExchangeResponse, turn bool, missed *int,
) {
	var names, plain []string
	var limits []int32
	var times []time.Time
	var ids []int64
	for _, c := range x.Claims {
		names = append(names, c.Queue)
		if c.Rate.Every > 0 {
			continue
		}
		plain, limits = append(plain, c.Queue), append(limits, int32(c.Limit))
		for _, after := range c.After {
			times, ids = append(times, after.RunAt), append(ids, after.ID)
		}
	}
	if len(plain) > 0 {
		query, receive := claimSQL, claimed(x, res)
		if turn {
			query, receive = turnClaimSQL, claimedInTurn(x, res, missed)
		}
		b.Queue(s.sql(query), x.Worker, plain, limits, times, ids, x.Kinds).Query(receive)
	}
	if x.LookAhead {
		b.Queue(s.sql(nextSQL), names).QueryRow(func(row pgx.Row) error {
			var next *int64
			err := row.Scan(&next)
			if next != nil {
				res.AddNext(duration(*next))
			}
			return err
		})
	}
	for _, c := range x.Claims {
		if c.Rate.Every > 0 {
			s.queueRateClaim(b, x, c, res)
		}
	}
}

// claimed returns a function that adds the claimed jobs to res. All rows are scanned into the same
// variables, because a claim has thousands; columns after those of claimSQL into more.
func claimed(x driver.ExchangeRequest, res *driver.ExchangeResponse, more ...any) func(pgx.Rows) error {
	return func(rows pgx.Rows) error {
		row := driver.Job{Worker: x.Worker, State: driver.StateRunning}
		var meta pgtype.DriverBytes
		into := []any{
			&row.ID, &row.Fence, &row.Attempt, &row.MaxAttempts, &row.Priority, (*sharedText)(&row.Queue),
			(*sharedText)(&row.Kind), (*[]byte)(&row.Args), &row.RunAt, &row.CreatedAt, &row.ClaimedAt,
			&row.Cancelling, (*sharedText)(&row.SerialKey), &meta, (*sharedText)(&row.Group),
			(*sharedText)(&row.AfterGroup), (*[]byte)(&row.Saved),
		}
		_, err := pgx.ForEachRow(rows, append(into, more...), func() error {
			j := row
			j.Meta = driver.DecodeMeta(meta)
			j.RunAt, j.CreatedAt, j.ClaimedAt = j.RunAt.UTC(), j.CreatedAt.UTC(), j.ClaimedAt.UTC()
			res.AddJob(&j)
			return nil
		})
		return err
	}
}

// sharedText is a text of a row, empty where that is null. As long as the rows have the same text,
// which the names of queues and kinds often are, they share its memory.
type sharedText string

// ScanBytes implements pgtype.BytesScanner.
func (t *sharedText) ScanBytes(text []byte) error {
	if string(*t) != string(text) {
		*t = sharedText(text)
	}
	return nil
}

// duration returns us microseconds, or the longest Duration.
func duration(us int64) time.Duration {
	return time.Duration(min(us, math.MaxInt64/int64(time.Microsecond))) * time.Microsecond
}

// CompleteTx completes the job as succeeded in tx, if and when tx commits. A handler calls it for
// its own job, commits, and returns nil. ErrLeaseLost means that the job is no longer the
// handler's: roll back. The job goes to the history even when the worker's queue keeps none.
func (s *Store) CompleteTx(ctx context.Context, tx pgx.Tx, job *jobqueue.Job) error {
	return s.complete(ctx, pgxQuerier{tx}, job)
}

// CompleteSQL is CompleteTx for a transaction of database/sql over pgx's stdlib driver.
func (s *Store) CompleteSQL(ctx context.Context, tx *sql.Tx, job *jobqueue.Job) error {
	return s.complete(ctx, sqlQuerier{tx}, job)
}

func (s *Store) complete(ctx context.Context, db querier, job *jobqueue.Job) (err error) {
	defer dberr.Classify(&err)
	if state := driver.SavedNow(job); state != nil {
		if err := s.save(ctx, db, job, state); err != nil {
			return fmt.Errorf("complete job %d: %w", job.ID, err)
		}
	}
	var id int64
	err = db.query(ctx, s.sql(succeedSQL), func(rs rows) error { return rs.Scan(&id) },
		[]int64{job.ID}, []int32{int32(job.Fence)}, job.Worker)
	if err == nil && id == 0 {
		err = driver.ErrLeaseLost
	}
	if err != nil {
		return fmt.Errorf("complete job %d: %w", job.ID, err)
	}
	driver.MarkCompleted(job)
	return nil
}
