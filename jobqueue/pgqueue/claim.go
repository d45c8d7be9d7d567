package pgqueue

import (
	"cmp"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"lessonkit.example/jobqueue/driver"
	"lessonkit.example/jobqueue/internal/rules"
)

// The arguments of the statements that claim: $1 worker, $2 queues, $3 the number of jobs for each,
// $4 and $5 the cursors, four for each queue, $6 kinds.
const requestedQueues = `unnest($2::text[], $3::int[]) with ordinality q (name, n, i)`

// dueSQL returns the statement that selects the most urgent jobs of queues, at most as many as the
// limit for each queue, in their order, by one of the selections below.
//
//   - Priorities are visited one by one, or every claim would step over the jobs scheduled for
//     tomorrow at priority 1.
//   - So are kinds, or every claim would step over the jobs of kinds that no worker handles.
func dueSQL(columns, queues, limit, selection string) string {
	return `
    select ` + columns + `
    from ` + queues + `,
      lateral (select s.* from generate_series(1, 4) p, lateral (` + selection + `) s limit ` + limit + `) r
    where not exists (select from jobqueue_pause h where h.queue = q.name and h.until > now())`
}

// dueOf selects the first jobs of a kind in queue q with priority p. A job that needs a turn of its
// limit key has a key there.
func dueOf(kind, limit string) string {
	return `
            select ctid, priority, run_at, id, case when claimed_at is null then limit_key end as key, key_limit
            from jobqueue_job
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
        select d.* from unnest($6::text[]) k (kind), lateral (` + dueOf("k.kind", limit) + `) d
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

// claimable is the condition on a row that a claim changes.
//
//   - The worker's row is locked against Rescue, and without it nothing is claimed: a process whose
//     jobs were rescued while it slept must not claim jobs for a worker that is never rescued
//     again. "case" evaluates that once there is a job, so a claim that finds none writes
//     nothing and does not wait for the disk.
//   - The state of the job is looked at again there, because a claim that excludes others does not
//     lock the rows that it finds, and servers before November 2025 update a row that has changed
//     meanwhile although its ctid has too.
//
// In claimedColumns a job that was found but not claimed has no claimed_at.
const (
	claimable = `
  case when j.worker is null and j.run_at <= now() then
    exists (select from jobqueue_worker where id = $1::bigint and expires_at > now() for key share) end`
	claimedColumns = `j.id, j.fence, j.attempt, j.max_attempts, j.priority, j.queue, j.kind, j.args, j.run_at,
  j.created_at, j.claimed_at, j.cancel, j.limit_key, j.meta, j.in_group, j.after_group, j.saved,
  j.ctid as place`
)

// plainClaim claims jobs that need no turn of a limit key (see limit_key.go). Unless only free ones
// are wanted, it returns the others too, and leaves them alone. array(…) is evaluated once for any
// plan; "id in (… skip locked)" may be repeated.
//
// An exclusive claim, which holds the lock of claims, does not lock the rows that it finds before
// it updates them, which saves time and space in the log. Instead it waits for another claim or a
// cancellation that changes one of them at the same time, and leaves that row alone.
func plainClaim(queues string, kinds int, exclusive, onlyFree bool) (with, update string) {
	const free = `(j.limit_key is null or j.claimed_at is not null)`
	selection, only := lockedOf(kinds), ""
	if exclusive {
		selection = firstOf(kinds, "q.n")
	}
	if onlyFree {
		only = `
  and ` + free
	}
	return `
found as materialized (select array(` + dueSQL("r.ctid", queues, "q.n", selection) + `) as jobs)`, `
update jobqueue_job j set worker = case when ` + free + ` then $1::bigint end,
  fence = fence + ` + free + `::int, attempt = attempt + ` + free + `::int,
  claimed_at = case when ` + free + ` then now() end
where` + claimable + `
  and ctid = any ((select jobs from found)::tid[])` + only + `
returning ` + claimedColumns + `, (select cardinality(jobs) from found) as found`
}

// keyedClaim is plainClaim for an exclusive claim that gives turns to jobs with limit keys. Those
// that get none become held; with far, also those of them that follow. Keys are looked at in the
// order of their index, in which neighbours share pages.
func keyedClaim(queues string, kinds int, far bool) (with, update string) {
	limit, beyond := "q.n", "false"
	if far {
		limit = "greatest(q.n, 1000)"
		beyond = "row_number() over (partition by q.i order by r.priority, r.run_at, r.id) > q.n"
	}
	const turn = `j.id not in (select id from held)`
	due := dueSQL("r.*, "+beyond+" as beyond", queues, limit, firstOf(kinds, limit))
	return `
found as materialized (` + due + `),
keys as materialized (
  select key, max(id) as last, max(coalesce(key_limit, 1)) as most from found where key is not null
  group by key order by key),
full_keys as materialized (select k.* from keys k,` + fullOfKey + `),
turns as materialized (select t.id from full_keys k,` + turnsOfKey + `),
held as materialized (
  select id from found where (key in (select key from full_keys)) is true and id not in (select id from turns)),
jobs as materialized (
  select array(select ctid from found where not beyond or id in (select id from held)) as ctids)`, `
update jobqueue_job j set worker = case when ` + turn + ` then $1::bigint else 0 end,
  fence = fence + (` + turn + `)::int, attempt = attempt + (` + turn + `)::int,
  claimed_at = case when ` + turn + ` then now() end
where` + claimable + `
  and ctid = any ((select ctids from jobs)::tid[])
returning ` + claimedColumns + `, (select count(*) from found) as found`
}

// claimSQL claims jobs of several queues.
func claimSQL(with, update string) string {
	return `
with ` + with + update
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

// claims are the claims of an exchange, and what they found.
type claims struct {
	driver.ExchangeRequest
	claimMode
	res *driver.ExchangeResponse

	keyed  bool     // a job with a limit key was found
	turned []string // limit keys of jobs that did not get a turn
	missed int      // jobs that others changed before they could be claimed
}

// claimMode is how jobs are claimed.
type claimMode struct {
	exclusive bool // while the transaction holds the lock of claims
	keys      bool // exclusive, and gives turns of limit keys
	paused    bool // not exclusive because others have waited for the lock in vain
	far       bool // look for more jobs without a turn
}

// of returns the parts of the statement that claims jobs of queues.
func (c *claims) of(queues string) (with, update string) {
	if c.keys {
		return keyedClaim(queues, len(c.Kinds), c.far)
	}
	return plainClaim(queues, len(c.Kinds), c.exclusive, c.paused)
}

// queueClaims adds the statements that claim jobs and look ahead. Claims of queues with a rate come
// last, because they lock a row until the commit.
func (s *Store) queueClaims(b *pgx.Batch, c *claims) {
	var all, names []string
	var limits []int32
	var plain, rated []driver.ClaimRequest
	claimed := map[string]int{}
	for _, j := range c.res.Jobs {
		claimed[j.Queue]++
	}
	for _, r := range c.Claims {
		all, r.Limit = append(all, r.Queue), r.Limit-claimed[r.Queue]
		if r.Rate.Every > 0 {
			rated = append(rated, r)
			continue
		}
		plain, names, limits = append(plain, r), append(names, r.Queue), append(limits, int32(r.Limit))
	}
	if len(plain) > 0 {
		times, ids := cursors(plain...)
		b.Queue(s.sql(claimSQL(c.of(requestedQueues))), c.Worker, names, limits, times, ids, c.Kinds).Query(c.receive)
	}
	if c.LookAhead {
		b.Queue(s.sql(nextSQL), all, c.Kinds).QueryRow(func(row pgx.Row) error {
			var next *int64
			err := row.Scan(&next)
			if next != nil {
				c.res.AddNext(rules.Duration(*next))
			}
			return err
		})
	}
	// All lock the rows of queues in the same order.
	slices.SortFunc(rated, func(a, b driver.ClaimRequest) int { return cmp.Compare(a.Queue, b.Queue) })
	for _, r := range rated {
		s.queueRateClaim(b, c, r)
	}
}

// receive adds the claimed jobs to c.res. All rows are scanned into the same variables, because a
// claim has thousands.
func (c *claims) receive(rows pgx.Rows) error {
	row := driver.Job{State: driver.StateRunning, Worker: c.Worker}
	var meta pgtype.DriverBytes
	var claimed pgtype.Timestamptz
	var place pgtype.TID
	found, listed := 0, 0
	into := []any{
		&row.ID, &row.Fence, &row.Attempt, &row.MaxAttempts, &row.Priority, (*sharedText)(&row.Queue),
		(*sharedText)(&row.Kind), (*[]byte)(&row.Args), &row.RunAt, &row.CreatedAt, &claimed,
		&row.Cancelling, (*sharedText)(&row.LimitKey), &meta, (*sharedText)(&row.Group),
		(*sharedText)(&row.AfterGroup), (*[]byte)(&row.Saved), &place, &listed,
	}
	_, err := pgx.ForEachRow(rows, into, func() error {
		found++
		c.keyed = c.keyed || row.LimitKey != ""
		if !claimed.Valid {
			c.turned = append(c.turned, row.LimitKey)
			return nil
		}
		j := row
		j.Row = uint64(place.BlockNumber)<<16 | uint64(place.OffsetNumber)
		j.Meta = driver.DecodeMeta(meta)
		j.RunAt, j.CreatedAt, j.ClaimedAt = j.RunAt.UTC(), j.CreatedAt.UTC(), claimed.Time.UTC()
		c.res.AddJob(&j)
		return nil
	})
	if c.exclusive {
		c.missed += max(0, listed-found)
	}
	return err
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
// waits for a lock that the others hold until their commit; so do claims of jobs with limit keys,
// of which one must see what another has started. A suspended process may hold the lock for long,
// so a worker that has waited in vain claims without it for a while, only jobs without keys.
const (
	largeClaim     = 500 // jobs; fewer are claimed faster than others commit
	exclusivePause = 10 * time.Second
	keyedPause     = time.Second // in place of it where jobs with keys wait
	keyedFor       = time.Minute // after a job with a key, all claims take the lock

	claimLockWaitSQL = `select set_config('lock_timeout', '500ms', true)`
	claimLockSQL     = `select pg_advisory_xact_lock(hashtext('jobqueue'), 'jobqueue_job'::regclass::int)`
)

// claimMode returns how to claim the jobs of x.
func (s *Store) claimMode(x driver.ExchangeRequest) claimMode {
	jobs := 0
	for _, c := range x.Claims {
		jobs += c.Limit
	}
	now := time.Now().UnixNano()
	keys := jobs > 0 && now < s.keyedUntil.Load()
	exclusive := keys || jobs >= largeClaim
	if exclusive && now < s.exclusiveAgain.Load() {
		return claimMode{paused: true}
	}
	return claimMode{exclusive: exclusive, keys: keys, far: s.lookFar.Load()}
}

// pauseLock makes claims do without the lock for a while.
func (s *Store) pauseLock() {
	now := time.Now()
	pause := exclusivePause
	if now.UnixNano() < s.keyedUntil.Load() {
		pause = keyedPause
	}
	s.exclusiveAgain.Store(now.Add(pause).UnixNano())
}

// claimed remembers what the next claim has to know, and makes workers claim again if there may be
// more jobs although fewer were claimed than requested. It returns true if a claim that gives turns
// would find more.
func (s *Store) claimed(c *claims) (again bool) {
	if c.keyed {
		s.keyedUntil.Store(time.Now().Add(keyedFor).UnixNano())
	}
	if c.keys {
		s.lookFar.Store(len(c.turned) > 0)
	}
	if c.missed > 0 || c.keys && len(c.turned) > 0 {
		for _, r := range c.Claims {
			s.hub.Emit(driver.Signal{Queue: r.Queue})
		}
	}
	return !c.keys && len(c.turned) > 0
}

// The generic cell rate algorithm: every job moves a time forward by the interval between two, and
// the time may be at most the burst ahead of now.

const addRateSQL = `insert into jobqueue_rate (queue, at) values ($1, now()) on conflict do nothing`

// rateClaimSQL is claimSQL for one queue; $7 is the interval in microseconds, $8 the burst.
func rateClaimSQL(with, update string) string {
	return `
with rate as (
  select greatest(at, now()) as at, $7::bigint * interval '1 microsecond' as every
  from jobqueue_rate where queue = ($2::text[])[1] for update),
tokens as (
  select greatest(floor(extract(epoch from now() + $8::int * every - at) / extract(epoch from every)), 0)::int as n
  from rate),
` + with + `,
took as (` + update + `),
spent as (
  update jobqueue_rate
  set at = (select at from rate) + (select count(claimed_at) from took) * (select every from rate)
  where queue = ($2::text[])[1] and exists (select from took where claimed_at is not null))
select * from took`
}

// allowedQueues is requestedQueues with as many jobs as there are tokens.
const allowedQueues = `(select name, least(n, (select n from tokens)) as n, i from ` + requestedQueues + `) q`

const nextTokenSQL = `
select (extract(epoch from at - ($3::int - 1) * ($2::bigint * interval '1 microsecond') - now()) * 1000000)::bigint
from jobqueue_rate where queue = $1`

// queueRateClaim adds the statements that claim jobs of a queue with a rate.
func (s *Store) queueRateClaim(b *pgx.Batch, c *claims, r driver.ClaimRequest) {
	every := r.Rate.Every.Microseconds()
	times, ids := cursors(r)
	b.Queue(s.sql(addRateSQL), r.Queue)
	b.Queue(s.sql(rateClaimSQL(c.of(allowedQueues))), c.Worker, []string{r.Queue}, []int32{int32(r.Limit)},
		times, ids, c.Kinds, every, r.Rate.Burst).Query(c.receive)
	b.Queue(s.sql(nextTokenSQL), r.Queue, every, r.Rate.Burst).QueryRow(func(row pgx.Row) error {
		var in int64
		err := row.Scan(&in)
		c.res.AddNext(rules.Duration(in))
		return err
	})
}
