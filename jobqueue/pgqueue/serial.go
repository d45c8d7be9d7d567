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

// A transaction that ends a job with a serial key, or adds one, locks the key, of which 256 share a
// lock, so that of two transactions one sees the other's job. Keys are locked in one order, against
// deadlocks. A lock for each key would exceed the lock table.
const lockKeysSQL = `
select pg_advisory_xact_lock($1, h) from (
  select distinct hashtext(key) & 255 as h from unnest($2::text[]) k (key) order by 1) s`

// promoteSQL lets the first held job of each key run, unless another one of the key may. Comparing
// rows makes the planner use the index; "not exists" would make it join all jobs.
const promoteSQL = `
update jobqueue_job set worker = null, run_at = greatest(run_at, now())
where worker = 0 and ctid = any (array(
  select n.ctid
  from unnest($1::text[]) k (key),
    lateral (
      select serial_key, ctid from jobqueue_job h
      where h.worker = 0 and (h.serial_key, h.id) >= (k.key, 0) order by h.serial_key, h.id limit 1) n
  where n.serial_key = k.key
    and (select a.id from jobqueue_job a where a.serial_key = k.key and a.worker is distinct from 0 limit 1) is null))
returning queue, (extract(epoch from run_at - now()) * 1000000)::bigint`

// idleSQL finds the names in a column of held jobs after $1 for which busy selects nothing,
// skipping from name to name through the index. It looks at $2 names, and returns the last of so
// many in any case.
func idleSQL(column, busy string) string {
	return strings.ReplaceAll(`
with recursive names (name, n) as (
  select (select NAME from jobqueue_job where worker = 0 and NAME > $1 order by NAME limit 1), 1
  union all
  select (select NAME from jobqueue_job where worker = 0 and NAME > p.name order by NAME limit 1), n + 1
  from names p where p.name is not null and n < $2::int)
select name, idle, n = $2::int
from (select name, n, (`+busy+` limit 1) is null as idle from names g) t
where name is not null and (idle or n = $2::int)`, "NAME", column)
}

// idleKeysSQL finds keys with held jobs of which none may run. That happens when a process died
// between two steps, or to jobs of EnqueueTx of which no worker was notified.
var idleKeysSQL = idleSQL("serial_key",
	`select a.id from jobqueue_job a where a.serial_key = g.name and a.worker is distinct from 0`)

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

// promote lets the next job of each key run, if none may.
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
		keys, groups = append(keys, sig.SerialKey), append(groups, sig.AfterGroup)
	}
	s.promoteAfter(ctx, keys, groups)
}
