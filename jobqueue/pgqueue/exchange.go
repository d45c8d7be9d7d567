package pgqueue

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"lessonkit.example/jobqueue"
	"lessonkit.example/jobqueue/driver"
)

// kept are the columns that a job and its history have in common.
const kept = `run_at, created_at, claimed_at, fence, attempt, max_attempts, priority, until_started, queue, kind, unique_key, args`

// The arrays come by way of (select $1), so that the planner cannot know how long they are: for a thousand leases it would
// scan the whole table rather than probe the index a thousand times.
const succeedSQL = `
with gone as (
  delete from jobqueue_job j using unnest((select $1::bigint[]), (select $2::int[])) x (id, fence)
  where j.id = x.id and j.fence = x.fence and j.worker = $3::bigint
  returning j.*)
insert into jobqueue_done (id, state, errors, ` + kept + `)
select id, 4, errors, ` + kept + ` from gone
returning id`

const discardSQL = `
delete from jobqueue_job j using unnest((select $1::bigint[]), (select $2::int[])) x (id, fence)
where j.id = x.id and j.fence = x.fence and j.worker = $3::bigint
returning j.id`

// withError appends x.error to j.errors with the time of the database; the oldest of a hundred gives way.
const withError = `
case when x.error = '' then j.errors else
  (case when jsonb_array_length(j.errors) >= 100 then j.errors - 0 else coalesce(j.errors, '[]') end)
  || (x.error::jsonb || jsonb_build_object('at', now())) end`

// A job whose Dead callback alone ran has one attempt more than it may; that is not shown.
const endSQL = `
with gone as (
  delete from jobqueue_job j using unnest((select $1::bigint[]), (select $2::int[]), $4::smallint[], $5::text[]) x (id, fence, state, error)
  where j.id = x.id and j.fence = x.fence and j.worker = $3::bigint
  returning j.id, x.state, ` + withError + ` as new_errors, j.run_at, j.created_at, j.claimed_at, j.fence,
    case when j.max_attempts < 0 then j.attempt else least(j.attempt, j.max_attempts) end as attempt,
    j.max_attempts, j.priority, j.until_started, j.queue, j.kind, j.unique_key, j.args)
insert into jobqueue_done (id, state, errors, ` + kept + `)
select id, state, new_errors, ` + kept + ` from gone
returning id`

const postponeSQL = `
update jobqueue_job j set
  worker = null,
  run_at = case when j.cancel then now() else now() + x.delay * interval '1 microsecond' end,
  attempt = j.attempt - x.refund,
  errors = ` + withError + `
from unnest((select $1::bigint[]), (select $2::int[]), $4::bigint[], $5::int[], $6::text[]) x (id, fence, delay, refund, error)
where j.id = x.id and j.fence = x.fence and j.worker = $3::bigint
returning j.id`

// claimSQL takes the most urgent jobs of several queues.
//
//   - The worker's row is locked against the sweeper, and without it nothing is taken: a process that was swept while it
//     slept must not hold jobs for a worker that nobody will ever sweep again.
//   - array(…) is evaluated once, whatever the planner does; "id in (… skip locked)" might be evaluated again.
//   - Priorities are visited one by one, or jobs scheduled for tomorrow at priority 1 would be walked over by every claim.
//   - $4 and $5 are the watermarks, four for each queue.
const claimSQL = `
update jobqueue_job set worker = $1::bigint, fence = fence + 1, attempt = attempt + 1, claimed_at = now(),
  unique_key = case when until_started then null else unique_key end
where exists (select from jobqueue_worker where id = $1::bigint and expires_at > now() for key share)
  and ctid = any (array(
    select r.ctid
    from unnest($2::text[], $3::int[]) with ordinality q (name, n, i),
      lateral (
        select s.ctid
        from generate_series(1, 4) p,
          lateral (
            select ctid from jobqueue_job
            where queue = q.name and priority = p::smallint and worker is null and run_at <= now()
              and (run_at, id) > (($4::timestamptz[])[q.i * 4 - 4 + p], ($5::bigint[])[q.i * 4 - 4 + p])
            order by run_at, id limit q.n for update skip locked) s
        limit q.n) r))
returning id, fence, attempt, max_attempts, priority, queue, kind, args, run_at, created_at, claimed_at, cancel`

const nextSQL = `
select (extract(epoch from min(t.run_at) - now()) * 1000000)::bigint
from unnest($1::text[]) q (name), generate_series(1, 4) p,
  lateral (
    select run_at from jobqueue_job
    where queue = q.name and priority = p::smallint and worker is null and run_at > now()
    order by run_at limit 1) t`

// planSQL has the statements of its transaction planned for the indexes they are meant for. Plans are kept with a connection:
// one that was made while the table was small would scan it for hours after it has grown. (SET LOCAL would warn about the
// missing BEGIN.)
const planSQL = `
select set_config('enable_seqscan', 'off', true), set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true)`

// Exchange implements jobqueue.Store: all statements travel together, in one transaction that needs no BEGIN.
func (s *Store) Exchange(ctx context.Context, x driver.ExchangeRequest) (driver.ExchangeResponse, error) {
	var res driver.ExchangeResponse
	var b pgx.Batch
	b.Queue(planSQL)
	counted := make(map[int64]struct{}, len(x.Results))
	if err := s.queueOutcomes(&b, x, counted); err != nil {
		return res, err
	}
	if len(x.Claims) > 0 {
		s.queueClaim(&b, x, &res)
	}
	if b.Len() == 1 {
		return res, nil
	}
	// Only Close tells whether the transaction was committed.
	if err := s.pool.SendBatch(ctx, &b).Close(); err != nil {
		return driver.ExchangeResponse{}, refusal(fmt.Errorf("exchange: %w", err))
	}
	for _, o := range x.Results {
		if _, ok := counted[o.ID]; !ok {
			res.Lost = append(res.Lost, o.Lease)
		}
	}
	return res, nil
}

// refusal marks an error as permanent when the database will not accept these statements however often they come: its class
// is a data exception, a violated constraint or an error of syntax or access.
func refusal(err error) error {
	if c := code(err); strings.HasPrefix(c, "22") || strings.HasPrefix(c, "23") || strings.HasPrefix(c, "42") {
		return jobqueue.Permanent(err)
	}
	return err
}

// queueOutcomes adds a statement for each sort of outcome that x has.
func (s *Store) queueOutcomes(b *pgx.Batch, x driver.ExchangeRequest, counted map[int64]struct{}) error {
	type leases struct {
		ids    []int64
		fences []int32
	}
	var discarded, ended, postponed leases
	succeeded := leases{ids: make([]int64, 0, len(x.Results)), fences: make([]int32, 0, len(x.Results))}
	var states []int16
	var delays []int64
	var refunds []int32
	var endErrors, postponeErrors []string
	add := func(l *leases, o driver.Result) {
		l.ids, l.fences = append(l.ids, o.ID), append(l.fences, int32(o.Fence))
	}
	for _, o := range x.Results {
		switch {
		case o.Action == driver.Reschedule:
			text, err := errorText(o.Error)
			if err != nil {
				return err
			}
			refund := int32(0)
			if o.Uncounted {
				refund = 1
			}
			add(&postponed, o)
			delays, refunds = append(delays, o.Delay.Microseconds()), append(refunds, refund)
			postponeErrors = append(postponeErrors, text)
		case o.Discard:
			add(&discarded, o)
		case o.Action == driver.Complete:
			add(&succeeded, o)
		default:
			text, err := errorText(o.Error)
			if err != nil {
				return err
			}
			state := driver.StateFailed
			if o.Action == driver.Cancel {
				state = driver.StateCancelled
			}
			add(&ended, o)
			states, endErrors = append(states, int16(state)), append(endErrors, text)
		}
	}
	queue := func(l leases, query string, more ...any) {
		if len(l.ids) == 0 {
			return
		}
		b.Queue(query, append([]any{l.ids, l.fences, x.Worker}, more...)...).Query(func(rows pgx.Rows) error {
			var id int64
			_, err := pgx.ForEachRow(rows, []any{&id}, func() error {
				counted[id] = struct{}{}
				return nil
			})
			return err
		})
	}
	queue(succeeded, s.q.succeed)
	queue(discarded, s.q.discard)
	queue(ended, s.q.end, states, endErrors)
	queue(postponed, s.q.postpone, delays, refunds, postponeErrors)
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

// queueClaim adds the statements that take jobs and look ahead.
func (s *Store) queueClaim(b *pgx.Batch, x driver.ExchangeRequest, res *driver.ExchangeResponse) {
	var names []string
	var counts []int32
	var times []time.Time
	var ids []int64
	for _, w := range x.Claims {
		names, counts = append(names, w.Queue), append(counts, int32(w.Limit))
		for _, m := range w.After {
			times, ids = append(times, m.RunAt), append(ids, m.ID)
		}
	}
	b.Queue(s.q.claim, x.Worker, names, counts, times, ids).Query(func(rows pgx.Rows) error {
		defer rows.Close()
		for rows.Next() {
			j := &driver.Job{Worker: x.Worker, State: driver.StateRunning}
			err := rows.Scan(&j.ID, &j.Fence, &j.Attempt, &j.MaxAttempts, &j.Priority, &j.Queue, &j.Kind, (*[]byte)(&j.Args),
				&j.RunAt, &j.CreatedAt, &j.ClaimedAt, &j.Cancelling)
			if err != nil {
				return err
			}
			j.RunAt, j.CreatedAt, j.ClaimedAt = j.RunAt.UTC(), j.CreatedAt.UTC(), j.ClaimedAt.UTC()
			res.Jobs = append(res.Jobs, j)
		}
		return rows.Err()
	})
	if !x.LookAhead {
		return
	}
	b.Queue(s.q.next, names).QueryRow(func(row pgx.Row) error {
		var next *int64
		err := row.Scan(&next)
		if next != nil {
			res.Next = duration(*next)
		}
		return err
	})
}

// duration is that many microseconds, or the longest Duration.
func duration(us int64) time.Duration {
	return time.Duration(min(us, math.MaxInt64/int64(time.Microsecond))) * time.Microsecond
}
