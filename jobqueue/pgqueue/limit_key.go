package pgqueue

import (
	"context"
	"hash/crc32"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"lessonkit.example/jobqueue/driver"
	"lessonkit.example/jobqueue/internal/rules"
)

// A transaction that ends a job with a limit key, or adds one, locks the key, of which 256 share a
// lock, so that of two transactions one sees the other's job. Keys are locked in one order, against
// deadlocks. A lock for each key would exceed the lock table.
const lockKeysSQL = `
select pg_advisory_xact_lock($1, h) from (
  select distinct hashtext(key) & 255 as h from unnest($2::text[]) k (key) order by 1) s`

// promoteSQL gives turns to held jobs of each key, the first ones first, while fewer jobs of the
// key have one than the limit of the job and of each that waits before it. Comparing rows makes the
// planner use the index; the jobs to change are found by id alone, or it would join all held jobs.
const promoteSQL = `
update jobqueue_job j set worker = null, turn = p.turn, run_at = greatest(j.run_at, now())
from unnest($1::text[]) k (key),
  lateral (
    select limit_key, coalesce(key_limit, 1) as most from jobqueue_job h
    where h.worker = 0 and (h.limit_key, h.id) >= (k.key, 0) order by h.limit_key, h.id limit 1) first,
  lateral (select count(*) as n ` + ofKey + ` and first.limit_key = k.key) busy,
  lateral (
    select h.id, t.turn
    from (
      select turn, row_number() over (order by turn) as i from (
        select generate_series(0, first.most - 1) as turn except select a.turn ` + ofKey + `) s) t
    join (
      select id, row_number() over (order by id) as i, min(coalesce(key_limit, 1)) over (order by id) as most from (
        select id, key_limit, limit_key from jobqueue_job h
        where h.worker = 0 and (h.limit_key, h.id) >= (k.key, 0) order by h.limit_key, h.id
        limit greatest(first.most - busy.n, 0)) h
      where limit_key = k.key) h on h.i = t.i
    where h.i + busy.n <= h.most) p
where first.limit_key = k.key and j.id = p.id
returning j.queue, (extract(epoch from j.run_at - now()) * 1000000)::bigint`

// ofKey are the jobs of a key that have a turn.
const ofKey = `from jobqueue_job a where a.limit_key = k.key and a.worker is distinct from 0`

// idleSQL finds the names in a column of held jobs after $1 for which a condition holds, skipping
// from name to name through the index; most is the key_limit of a job. It looks at $2 names, and
// returns the last of so many in any case.
func idleSQL(column, condition string) string {
	return strings.ReplaceAll(`
with recursive names (name, most, n) as (
  (select NAME, key_limit, 1 from jobqueue_job where worker = 0 and NAME > $1 order by NAME limit 1)
  union all
  select h.NAME, h.key_limit, n + 1
  from names p, lateral (
    select NAME, key_limit from jobqueue_job where worker = 0 and NAME > p.name order by NAME limit 1) h
  where n < $2::int)
select name, idle, n = $2::int
from (select name, n, (`+condition+`) as idle from names g) t
where idle or n = $2::int`, "NAME", column)
}

// idleKeysSQL finds keys with held jobs of which more may run. That happens when a process died
// between two steps, or to jobs of EnqueueTx of which no worker was notified.
var idleKeysSQL = idleSQL("limit_key", `
  (select count(*) from jobqueue_job a where a.limit_key = g.name and a.worker is distinct from 0)
  < coalesce(most, 1)`)

// idleWindow is how many keys, and groups, are looked at together: in about 30 ms.
const idleWindow = 5000

func (s *Store) lockNamespace() int32 { return int32(crc32.ChecksumIEEE([]byte(s.channel()))) }

// queueLock adds the statement that locks keys.
func (s *Store) queueLock(b *pgx.Batch, keys []string) {
	b.Queue(lockKeysSQL, s.lockNamespace(), keys)
}

// queuePromote adds the statement that lets the next jobs of keys run, and has their queues added
// to promoted.
func (s *Store) queuePromote(b *pgx.Batch, keys []string, promoted *[]driver.Signal) {
	b.Queue(s.sql(promoteSQL), keys).Query(addSignals(promoted))
}

// addSignals returns a function that adds a signal for each row of promoteSQL or promoteGroupsSQL.
func addSignals(promoted *[]driver.Signal) func(pgx.Rows) error {
	return func(rows pgx.Rows) error {
		var queue string
		var in int64
		_, err := pgx.ForEachRow(rows, []any{&queue, &in}, func() error {
			*promoted = append(*promoted, driver.Signal{Queue: queue, In: rules.Duration(in)})
			return nil
		})
		return err
	}
}

// promote lets the next jobs of each key run, as many as may.
func (s *Store) promote(ctx context.Context, keys []string) error {
	for batch := range slices.Chunk(keys, 1000) {
		var b pgx.Batch
		var promoted []driver.Signal
		b.Queue(planSQL)
		s.queueLock(&b, batch)
		s.queuePromote(&b, batch, &promoted)
		if err := s.pool.SendBatch(ctx, &b).Close(); err != nil {
			return err
		}
		for _, sig := range promoted {
			s.signal(sig)
		}
	}
	return nil
}

// promoteIdle does the same for the idle ones of idleWindow keys and groups, those after the last
// ones of the call before.
func (s *Store) promoteIdle(ctx context.Context) error {
	keys, err := s.idle(ctx, idleKeysSQL, &s.lastKey)
	if err == nil {
		err = s.promote(ctx, keys)
	}
	if err != nil {
		return err
	}
	groups, err := s.idle(ctx, idleGroupsSQL, &s.lastGroup)
	if err == nil && len(groups) > 0 {
		err = s.promoteGroups(ctx, groups)
	}
	return err
}

// idle returns the idle names that query finds after last, which becomes the last one that it has
// looked at, or empty if no more follow.
func (s *Store) idle(ctx context.Context, query string, last *atomic.Value) (names []string, err error) {
	after, _ := last.Load().(string)
	end := ""
	var b pgx.Batch
	b.Queue(planSQL)
	b.Queue(s.sql(query), after, idleWindow).Query(func(rows pgx.Rows) error {
		var name string
		var idle, isEnd bool
		_, err := pgx.ForEachRow(rows, []any{&name, &idle, &isEnd}, func() error {
			if idle {
				names = append(names, name)
			}
			if isEnd {
				end = name
			}
			return nil
		})
		return err
	})
	if err = s.pool.SendBatch(ctx, &b).Close(); err == nil {
		last.Store(end)
	}
	return names, err
}

// promoteAfter promotes jobs after a change of others with these keys and groups, some of which may
// be empty, was committed. What fails here, promoteIdle finds.
func (s *Store) promoteAfter(ctx context.Context, keys, groups []string) {
	if keys = rules.Names(keys...); len(keys) > 0 {
		_ = s.promote(ctx, keys)
	}
	if groups = rules.Names(groups...); len(groups) > 0 {
		_ = s.promoteGroups(ctx, groups)
	}
}

// promoteTimeout is how long promotions wait for locks of others, which keep them for a moment.
const promoteTimeout = 5 * time.Second

// promoteAll does the same for the keys and groups of which this process was notified.
func (s *Store) promoteAll(signals []driver.Signal) {
	ctx, cancel := context.WithTimeout(context.Background(), promoteTimeout)
	defer cancel()
	var keys, groups []string
	for _, sig := range signals {
		keys, groups = append(keys, sig.LimitKey), append(groups, sig.AfterGroup)
	}
	s.promoteAfter(ctx, keys, groups)
}
