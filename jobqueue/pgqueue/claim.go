package pgqueue

import (
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"lessonkit.example/jobqueue/driver"
	"lessonkit.example/jobqueue/internal/rules"
)

// The arguments of the statements that claim: $1 worker, $2 queues, $3 the number of jobs for each,
// $4 and $5 the cursors, four for each queue, $6 kinds.
const requestedQueues = `unnest($2::text[], $3::int[]) with ordinality q (name, n, i)`

// dueSQL returns the statement that selects the ctids of the most urgent jobs of queues, by one of
// the selections below.
//
//   - Priorities are visited one by one, or every claim would step over the jobs scheduled for
//     tomorrow at priority 1.
//   - So are kinds, or every claim would step over the jobs of kinds that no worker handles.
func dueSQL(queues, selection string) string {
	return `
    select r.ctid
    from ` + queues + `,
      lateral (select s.ctid from generate_series(1, 4) p, lateral (` + selection + `) s limit q.n) r
    where not exists (select from jobqueue_pause h where h.queue = q.name and h.until > now())`
}

// dueOf selects the first jobs of a kind in queue q with priority p.
func dueOf(kind, limit string) string {
	return `
            select ctid, run_at, id from jobqueue_job
            where kind = ` + kind + ` and queue = q.name and priority = p::smallint and worker is null
              and run_at <= now()
              and (run_at, id) > (($4::timestamptz[])[q.i * 4 - 4 + p], ($5::bigint[])[q.i * 4 - 4 + p])
            order by run_at, id limit ` + limit
}

// firstOf selects the first jobs of some kinds.
func firstOf(kinds int, limit string) string {
	if kinds == 1 {
		return dueOf(`($6::text[])[1]`, limit)
	}
	return `
        select d.ctid from unnest($6::text[]) k (kind), lateral (` + dueOf("k.kind", limit) + `) d
        order by d.run_at, d.id limit ` + limit
}

// lockedOf is firstOf with locks; it steps over what others have locked. The jobs of several kinds
// are sorted before they are locked: it looks at more of them than it needs, so that there is
// something left behind those of others.
func lockedOf(kinds int) string {
	if kinds == 1 {
		return firstOf(kinds, `q.n for update skip locked`)
	}
	return `
        select j.ctid from (` + firstOf(kinds, "q.n * 4 + 100") + `) f join jobqueue_job j on j.ctid = f.ctid
        where j.worker is null and j.run_at <= now()
        limit q.n for update of j skip locked`
}

// updateClaimed and returningClaimed surround the array of the ctids of the jobs to claim.
//
//   - The worker's row is locked against Rescue, and without it nothing is claimed: a process whose
//     jobs were rescued while it slept must not claim jobs for a worker that is never rescued
//     again. "case" evaluates that once there is a job, so a claim that finds none writes
//     nothing and does not wait for the disk.
//   - The state of the job is looked at again there, because a large claim does not lock the rows
//     that it finds (largeClaimSQL), and servers before November 2025 update a row that has changed
//     meanwhile although its ctid has too.
const (
	updateClaimed = `
update jobqueue_job set worker = $1::bigint, fence = fence + 1, attempt = attempt + 1, claimed_at = now()
where case when worker is null and run_at <= now() then
    exists (select from jobqueue_worker where id = $1::bigint and expires_at > now() for key share) end
  and ctid = any (`
	returningClaimed = `)
returning id, fence, attempt, max_attempts, priority, queue, kind, args, run_at, created_at, claimed_at, cancel,
  limit_key, meta, in_group, after_group, saved`
)

// claimSQL claims jobs of several queues. array(…) is evaluated once for any plan; "id in (… skip
// locked)" may be repeated.
func claimSQL(kinds int) string {
	return updateClaimed + `array(` + dueSQL(requestedQueues, lockedOf(kinds)) + `)` + returningClaimed
}

const nextSQL = `
select (extract(epoch from min(t.run_at) - now()) * 1000000)::bigint
from unnest($1::text[]) q (name), unnest($2::text[]) k (kind), generate_series(1, 4) p,
  lateral (
    select run_at from jobqueue_job
    where kind = k.kind and queue = q.name and priority = p::smallint and worker is null and run_at > now()
    order by run_at limit 1) t`

// cursors returns the arguments $4 and $5 for the queues of claims.
func cursors(claims ...driver.ClaimRequest) (times []time.Time, ids []int64) {
	for _, c := range claims {
		for _, after := range c.After {
			times, ids = append(times, after.RunAt), append(ids, after.ID)
		}
	}
	return times, ids
}

// queueClaims adds the statements that claim jobs and look ahead. With exclusive, missed becomes
// the number of jobs that others changed before they could be claimed. Claims of queues with a rate
// come last, because they lock a row until the commit.
func (s *Store) queueClaims(
	b *pgx.Batch, x driver.ExchangeRequest, res *driver.ExchangeResponse, exclusive bool, missed *int,
) {
	var all, names []string
	var limits []int32
	var plain, rated []driver.ClaimRequest
	for _, c := range x.Claims {
		all = append(all, c.Queue)
		if c.Rate.Every > 0 {
			rated = append(rated, c)
			continue
		}
		plain, names, limits = append(plain, c), append(names, c.Queue), append(limits, int32(c.Limit))
	}
	if len(plain) > 0 {
		query, receive := claimSQL(len(x.Kinds)), claimed(x, res)
		if exclusive {
			query, receive = largeClaimSQL(len(x.Kinds)), claimedOfFound(x, res, missed)
		}
		times, ids := cursors(plain...)
		b.Queue(s.sql(query), x.Worker, names, limits, times, ids, x.Kinds).Query(receive)
	}
	if x.LookAhead {
		b.Queue(s.sql(nextSQL), all, x.Kinds).QueryRow(func(row pgx.Row) error {
			var next *int64
			err := row.Scan(&next)
			if next != nil {
				res.AddNext(rules.Duration(*next))
			}
			return err
		})
	}
	for _, c := range rated {
		s.queueRateClaim(b, x, c, res)
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
			&row.Cancelling, (*sharedText)(&row.LimitKey), &meta, (*sharedText)(&row.Group),
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

// Large claims at the same time would step over the rows that the others have locked, so each
// waits for a lock that the others hold until their commit. A suspended process may hold it for
// long, so a worker that has waited in vain claims without the lock for a while.
const (
	largeClaim     = 500 // jobs; fewer are claimed faster than others commit
	exclusivePause = 10 * time.Second

	claimLockWaitSQL = `select set_config('lock_timeout', '500ms', true)`
	claimLockSQL     = `select pg_advisory_xact_lock($1, 256)` // 0 to 255 are of limit keys
)

// largeClaimSQL is claimSQL for a claim that holds the lock of claims. It does not lock the rows
// that it finds before it updates them, which saves time and space in the log. Instead it waits for
// a smaller claim or a cancellation that changes one of them at the same time, and leaves that row
// alone. The last column is how many rows were found.
func largeClaimSQL(kinds int) string {
	return `
with found as materialized (select array(` + dueSQL(requestedQueues, firstOf(kinds, "q.n")) + `) as jobs)` +
		updateClaimed + `(select jobs from found)::tid[]` + returningClaimed + `,
  (select cardinality(jobs) from found)`
}

// claimedOfFound returns a function that adds the claimed jobs to res and sets missed to how many
// were found but not claimed; 0 if none was claimed.
func claimedOfFound(x driver.ExchangeRequest, res *driver.ExchangeResponse, missed *int) func(pgx.Rows) error {
	var found int
	receive := claimed(x, res, &found)
	return func(rows pgx.Rows) error {
		err := receive(rows)
		*missed = max(0, found-int(rows.CommandTag().RowsAffected()))
		return err
	}
}

// claimsExclusively reports whether the claims of x take the lock of claims.
func (s *Store) claimsExclusively(x driver.ExchangeRequest) bool {
	jobs := 0
	for _, c := range x.Claims {
		jobs += c.Limit
	}
	return jobs >= largeClaim && time.Now().UnixNano() >= s.exclusiveAgain.Load()
}

// queueClaimLock adds the statements that take the lock of claims, until the transaction ends.
func (s *Store) queueClaimLock(b *pgx.Batch) {
	b.Queue(claimLockWaitSQL)
	b.Queue(claimLockSQL, s.lockNamespace())
}

// The generic cell rate algorithm: every job moves a time forward by the interval between two, and
// the time may be at most the burst ahead of now.

const addRateSQL = `insert into jobqueue_rate (queue, at) values ($1, now()) on conflict do nothing`

// rateClaimSQL is claimSQL for one queue; $7 is the interval in microseconds, $8 the burst.
func rateClaimSQL(kinds int) string {
	return `
with rate as (
  select greatest(at, now()) as at, $7::bigint * interval '1 microsecond' as every
  from jobqueue_rate where queue = ($2::text[])[1] for update),
tokens as (
  select greatest(floor(extract(epoch from now() + $8::int * every - at) / extract(epoch from every)), 0)::int as n
  from rate),
took as (` + updateClaimed + `array(` + dueSQL(allowedQueues, lockedOf(kinds)) + `)` + returningClaimed + `),
spent as (
  update jobqueue_rate set at = (select at from rate) + (select count(*) from took) * (select every from rate)
  where queue = ($2::text[])[1] and exists (select from took))
select * from took`
}

// allowedQueues is requestedQueues with as many jobs as there are tokens.
const allowedQueues = `(select name, least(n, (select n from tokens)) as n, i from ` + requestedQueues + `) q`

const nextTokenSQL = `
select (extract(epoch from at - ($3::int - 1) * ($2::bigint * interval '1 microsecond') - now()) * 1000000)::bigint
from jobqueue_rate where queue = $1`

// queueRateClaim adds the statements that claim jobs of a queue with a rate.
func (s *Store) queueRateClaim(
	b *pgx.Batch, x driver.ExchangeRequest, c driver.ClaimRequest, res *driver.ExchangeResponse,
) {
	every := c.Rate.Every.Microseconds()
	times, ids := cursors(c)
	b.Queue(s.sql(addRateSQL), c.Queue)
	b.Queue(s.sql(rateClaimSQL(len(x.Kinds))), x.Worker, []string{c.Queue}, []int32{int32(c.Limit)}, times, ids,
		x.Kinds,
		every, c.Rate.Burst).Query(claimed(x, res))
	b.Queue(s.sql(nextTokenSQL), c.Queue, every, c.Rate.Burst).QueryRow(func(row pgx.Row) error {
		var in int64
		err := row.Scan(&in)
		res.AddNext(rules.Duration(in))
		return err
	})
}
