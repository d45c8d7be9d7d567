package pgqueue

import (
	"context"
	"hash/crc32"
	"slices"
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

// idleKeysSQL finds keys with held jobs of which none may run, skipping from key to key through the
// index. That happens when a process died between two steps, or to jobs of EnqueueTx of which no
// worker was notified.
const idleKeysSQL = `
with recursive keys (key) as (
  (select serial_key from jobqueue_job where worker = 0 order by serial_key limit 1)
  union all
  select (select serial_key from jobqueue_job where worker = 0 and serial_key > k.key order by serial_key limit 1)
  from keys k where k.key is not null)
select key from keys k
where key is not null
  and (select a.id from jobqueue_job a where a.serial_key = k.key and a.worker is distinct from 0 limit 1) is null
limit 1000`

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

// promoteIdle does the same for all keys and groups.
func (s *Store) promoteIdle(ctx context.Context) error {
	keys, err := s.texts(ctx, idleKeysSQL)
	if err == nil {
		err = s.promote(ctx, keys)
	}
	if err != nil {
		return err
	}
	groups, err := s.texts(ctx, idleGroupsSQL)
	if err == nil {
		err = s.promoteGroups(ctx, groups)
	}
	return err
}

func (s *Store) texts(ctx context.Context, query string) ([]string, error) {
	rows, err := s.pool.Query(ctx, s.sql(query))
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
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
