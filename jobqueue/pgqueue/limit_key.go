package pgqueue

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"lessonkit.example/jobqueue/driver"
	"lessonkit.example/jobqueue/internal/rules"
)

// Who has a turn is nowhere stored: a job that was started keeps its turn until it ends, and the
// first of the others have one as long as fewer jobs of the key have one than the limit of the job
// and of each that waits before it. So nothing has to be counted, freed after a crash or corrected.
//
// Jobs with a key wait like others, in the index that claims read, and a claim decides who gets a
// turn. Jobs that others end, or add with higher ids, never take a turn away. What a transaction
// adds late, with lower ids than those of jobs that a claim at the same time starts, could get the
// same turn from another claim, so claims of such jobs exclude one another.
//
// A claim does not step over a job without a turn again and again: the job becomes held, until the
// end of another promotes it. That may be wrong, since neither sees what the other is doing: both
// look again after their commit, the end of a job only where it has promoted none in its place.

// startedOfKey is the number of jobs of k.key that were started.
const startedOfKey = `(select count(*) from jobqueue_job where limit_key = k.key and claimed_at is not null)`

// waitingOfKey selects the jobs of k.key that were not started, up to the id k.last, by their ids.
// k.most is the highest limit of those that a caller asks about. "id + 0" is in the index of keys;
// with "id" the planner might read the jobs of all keys by the primary key.
const waitingOfKey = `
      select ctid, id, worker, coalesce(key_limit, 1) as most
      from jobqueue_job
      where limit_key = k.key and claimed_at is null and id + 0 <= k.last
      order by limit_key, id + 0`

// turnsOfKey selects those of waitingOfKey that may start.
const turnsOfKey = `
  lateral (
    select ctid, id, worker, row_number() over w + ` + startedOfKey + ` as i, min(most) over w as most
    from (` + waitingOfKey + ` limit k.most) a
    window w as (order by id rows unbounded preceding)) t
where t.i <= t.most`

// fullOfKey has a row if some of waitingOfKey may not start. That is found without a window, which
// would take half as long again.
const fullOfKey = `
  lateral (
    select from (` + waitingOfKey + ` limit k.most + 1) a
    having count(*) + ` + startedOfKey + ` > min(most)) f`

// isHeld is the condition that a job is held, for rows that are given by their ctid. Without "case"
// the planner would look for them among all held jobs, by an index of those.
const isHeld = `case when worker = 0 then true end`

// promoteSQL makes the held jobs of keys wait that may start. It steps over those that others
// promote.
const promoteSQL = `
update jobqueue_job j set worker = null, run_at = greatest(run_at, now())
where ` + isHeld + ` and ctid = any (array(
  select j.ctid
  from (
    select t.ctid
    from unnest($1::text[]) n (key),
      lateral (
        select limit_key as key, 9223372036854775807 as last, coalesce(key_limit, 1) as most
        from jobqueue_job h
        where h.worker = 0 and (h.limit_key, h.id) >= (n.key, 0)
        order by h.limit_key, h.id limit 1) k,` + turnsOfKey + `
      and t.worker = 0 and k.key = n.key) t
  join jobqueue_job j on j.ctid = t.ctid
  where j.worker = 0 for update of j skip locked))
returning queue, (extract(epoch from run_at - now()) * 1000000)::bigint, limit_key`

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

// idleKeysSQL finds keys with held jobs that may start. That happens when a process died before it
// looked again.
var idleKeysSQL = idleSQL("limit_key", `
  exists (
    select from (select g.name as key, 9223372036854775807 as last, coalesce(g.most, 1) as most) k,`+turnsOfKey+`
    and t.worker = 0)`)

// idleWindow is how many keys, and groups, are looked at together: in about 30 ms.
const idleWindow = 5000

// queuePromote adds the statement that lets the next jobs of keys run, and has signals for their
// queues added to promoted and their keys counted down in left.
func (s *Store) queuePromote(b *pgx.Batch, keys []string, promoted *[]driver.Signal, left map[string]int) {
	addSignals(b.Queue(s.sql(promoteSQL), keys), promoted, left)
}

// addSignals does so for each row of promoteSQL or promoteGroupsSQL.
func addSignals(q *pgx.QueuedQuery, promoted *[]driver.Signal, left map[string]int) {
	var queue, key string
	var in int64
	eachRow(q, []any{&queue, &in, &key}, func() {
		*promoted = append(*promoted, driver.Signal{Queue: queue, In: rules.Duration(in)})
		left[key]--
	})
}

// promote lets the next jobs of each key run, as many as may.
func (s *Store) promote(ctx context.Context, keys []string) error {
	for batch := range slices.Chunk(keys, 1000) {
		var b pgx.Batch
		var promoted []driver.Signal
		b.Queue(planSQL)
		s.queuePromote(&b, batch, &promoted, map[string]int{})
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
	ctx, cancel := context.WithTimeout(ctx, promoteTimeout)
	defer cancel()
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
	var name string
	var idle, isEnd bool
	eachRow(b.Queue(s.sql(query), after, idleWindow), []any{&name, &idle, &isEnd}, func() {
		if idle {
			names = append(names, name)
		}
		if isEnd {
			end = name
		}
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

// promoteAll does the same for the keys and groups of which this process was notified. The zero
// Signal is for idle ones.
func (s *Store) promoteAll(signals []driver.Signal) {
	ctx, cancel := context.WithTimeout(context.Background(), promoteTimeout)
	defer cancel()
	var keys, groups []string
	for _, sig := range signals {
		keys, groups = append(keys, sig.LimitKey), append(groups, sig.AfterGroup)
	}
	s.promoteAfter(ctx, keys, groups)
	if slices.Contains(signals, driver.Signal{}) {
		_ = s.promoteIdle(ctx) // tried again soon
	}
}
