package pgqueue

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"lessonkit.example/jobqueue"
	"lessonkit.example/jobqueue/driver"
	"lessonkit.example/jobqueue/internal/rules"
	"lessonkit.example/jobqueue/internal/wake"
)

// The statements for jobs without a unique key have no "on conflict": for that PostgreSQL inserts a
// row in two steps, of which it logs both.
const (
	onDuplicate = `
on conflict (kind, unique_key) where unique_key is not null do nothing`
	returningID = `
returning id`
)

const insertSQL = `
insert into jobqueue_job (queue, kind, priority, run_at, max_attempts, unique_key, args,
  limit_key, worker, meta, in_group, after_group, key_limit)
values ($1, $2, $3, coalesce($4::timestamptz, clock_timestamp()), $5, $6::text, $7::json, $8::text,
  case when $11::text is not null then 0 end, $9::json, $10::text, $11::text, $12::int)`

// insertInSQL inserts a job in a transaction of the caller, and notifies workers when that commits.
func insertInSQL(insert string) string {
	return `
with job as (` + insert + `)
select id, cardinality(array(select pg_notify($13::text, p)::text from unnest($14::text[]) p)) from job`
}

// The ids of the rows without a key are returned in the order of the rows, because rows are
// inserted in that order; those with a key are matched by it. The last three arrays may be null.
const (
	insertColumns = `queue, kind, priority, run_at, max_attempts, unique_key, args,
  limit_key, worker, meta, in_group, after_group, key_limit`
	insertValues = `queue, kind, priority, coalesce(run_at, clock_timestamp()), max_attempts, unique_key,
  args::json, limit_key,
  case when after_group is not null then 0 end, meta::json, in_group,
  after_group, key_limit
from unnest($1::text[], $2::text[], $3::smallint[], $4::timestamptz[], $5::int[], $6::text[],
  $7::text[], $8::text[], $9::text[], $10::text[], $11::text[], $12::int[])
  as x (queue, kind, priority, run_at, max_attempts, unique_key, args, limit_key, meta,
    in_group, after_group, key_limit)`
	returningInserted = `
returning id, kind, unique_key`

	insertManySQL = `
insert into jobqueue_job (` + insertColumns + `)
select ` + insertValues + returningInserted
	// insertKeyedSQL inserts in the order of the keys: two calls that insert the same ones in
	// different orders would each wait for the other. The ids and times have the order of the rows.
	insertKeyedSQL = `
with jobs (id, ` + insertColumns + `) as materialized (
  select nextval('jobqueue_job_id_seq'), ` + insertValues + `)
insert into jobqueue_job (id, ` + insertColumns + `)
select * from jobs order by kind, unique_key, id` + onDuplicate + returningInserted
)

const findUniqueSQL = `select id from jobqueue_job where kind = $1 and unique_key = $2`

// EnqueuePgx enqueues a job in tx. It exists, and workers are notified of it, when tx commits.
func (s *Store) EnqueuePgx(ctx context.Context, tx pgx.Tx, p jobqueue.Params) (jobqueue.InsertResult, error) {
	return first(s.enqueueIn(ctx, pgxQuerier{tx}, []jobqueue.Params{p}))
}

// EnqueueManyPgx is EnqueuePgx for any number of jobs, as EnqueueManyTx of [jobqueue.TxStore] is.
func (s *Store) EnqueueManyPgx(
	ctx context.Context, tx pgx.Tx, ps []jobqueue.Params,
) ([]jobqueue.InsertResult, error) {
	return s.enqueueIn(ctx, pgxQuerier{tx}, ps)
}

// EnqueueTx is EnqueuePgx for a transaction of database/sql over pgx's stdlib driver.
func (s *Store) EnqueueTx(ctx context.Context, tx *sql.Tx, p jobqueue.Params) (jobqueue.InsertResult, error) {
	return first(s.enqueueIn(ctx, sqlQuerier{tx}, []jobqueue.Params{p}))
}

// EnqueueManyTx is EnqueueManyPgx for a transaction of database/sql over pgx's stdlib driver.
func (s *Store) EnqueueManyTx(
	ctx context.Context, tx *sql.Tx, ps []jobqueue.Params,
) ([]jobqueue.InsertResult, error) {
	return s.enqueueIn(ctx, sqlQuerier{tx}, ps)
}

func first(results []jobqueue.InsertResult, err error) (jobqueue.InsertResult, error) {
	if err != nil {
		return jobqueue.InsertResult{}, err
	}
	return results[0], nil
}

func (s *Store) enqueueIn(
	ctx context.Context, db querier, ps []jobqueue.Params,
) (_ []jobqueue.InsertResult, err error) {
	defer rules.Classify(&err)
	return jobqueue.Insert(ctx, s.cfg.OnEnqueue, ps, func(rs []driver.Record) ([]driver.InsertResult, error) {
		return s.insert(ctx, db, rs, s.signalsOf(rs))
	})
}

// signalsOf returns what wakes workers when the transaction of the caller commits.
func (s *Store) signalsOf(rs []driver.Record) []driver.Signal {
	if s.cfg.PollOnly {
		return nil
	}
	signals, _ := wake.Of(rs)
	_, groups := rules.Awaited(rs)
	for _, group := range groups {
		signals = append(signals, driver.Signal{AfterGroup: group})
	}
	return signals
}

func (s *Store) Insert(ctx context.Context, rs []driver.Record) (results []driver.InsertResult, err error) {
	defer rules.Classify(&err)
	db, notifies := querier(pgxQuerier{s.pool}), s.insertNotifies(rs)
	if notifies {
		db = notifyingQuerier{s, driver.Signal{Queue: rs[0].Queue}}
	}
	results, err = s.insert(ctx, db, rs, nil)
	if err != nil {
		return nil, err
	}
	if !notifies {
		s.wake(rs)
	}
	_, groups := rules.Awaited(rs)
	s.promoteAfter(ctx, nil, groups)
	return results, nil
}

// insertNotifies reports whether the insertion also notifies other processes. It does if there is
// one job that may start at once, no worker in this process, and no notification shortly before.
func (s *Store) insertNotifies(rs []driver.Record) bool {
	return len(rs) == 1 && rs[0].RunAt.IsZero() && !s.cfg.PollOnly && s.hub.Empty() && s.notify.Reserve()
}

// notifyingQuerier sends a statement, its commit and the notification after it in one message, so
// that the notification does not wait until the client has received the result.
type notifyingQuerier struct {
	store  *Store
	signal driver.Signal
}

func (q notifyingQuerier) query(ctx context.Context, query string, scan func(rows) error, args ...any) error {
	var b pgx.Batch
	b.Queue("begin")
	b.Queue(query, args...)
	b.Queue("commit")
	b.Queue(notifyAfterSQL, q.store.channel(), payloads([]driver.Signal{q.signal}))
	results := q.store.pool.SendBatch(ctx, &b)
	defer results.Close() // an error is one of the notification: workers poll as well
	if _, err := results.Exec(); err != nil {
		return err
	}
	rs, err := results.Query()
	if err != nil {
		return err
	}
	err = each(rs, scan)
	rs.Close()
	if _, commitErr := results.Exec(); err == nil {
		err = commitErr
	}
	return err
}

// insert inserts jobs, and sends signals when its transaction commits.
func (s *Store) insert(
	ctx context.Context, db querier, rs []driver.Record, signals []driver.Signal,
) (results []driver.InsertResult, err error) {
	if len(rs) == 1 {
		results = make([]driver.InsertResult, 1)
		results[0].ID, err = s.insertOne(ctx, db, rs[0], signals)
	} else {
		results, err = s.insertMany(ctx, db, rs)
		if err == nil && len(signals) > 0 {
			ignore := func(rows) error { return nil }
			err = db.query(ctx, notifySQL, ignore, s.channel(), payloads(signals))
		}
	}
	if err != nil {
		return nil, err
	}
	for i, r := range rs {
		if results[i].ID == 0 {
			if results[i], err = s.existing(ctx, db, r, signals); err != nil {
				return nil, err
			}
		}
	}
	return results, nil
}

// insertOne returns the id 0 when another job holds the unique key.
func (s *Store) insertOne(
	ctx context.Context, db querier, r driver.Record, signals []driver.Signal,
) (id int64, err error) {
	query, into := insertSQL+returningID, []any{&id}
	if r.UniqueKey != "" {
		query = insertSQL + onDuplicate + returningID
	}
	args := []any{r.Queue, r.Kind, int16(r.Priority), orNull(r.RunAt), int32(r.MaxAttempts), orNull(r.UniqueKey),
		string(r.Args), orNull(r.LimitKey),
		orNull(string(r.Meta)), orNull(r.Group), orNull(r.AfterGroup), orNull(int32(r.KeyLimit))}
	if len(signals) > 0 {
		var sent int
		query, into = insertInSQL(query), append(into, &sent)
		args = append(args, s.channel(), payloads(signals))
	}
	err = db.query(ctx, s.sql(query), func(rs rows) error { return rs.Scan(into...) }, args...)
	return id, err
}

type uniqueKey struct{ kind, key string }

// insertMany returns the id 0 for records whose unique key another job holds.
func (s *Store) insertMany(ctx context.Context, db querier, rs []driver.Record) ([]driver.InsertResult, error) {
	n := len(rs)
	queues, kinds, args := make([]string, n), make([]string, n), make([]string, n)
	priorities, limits := make([]int16, n), make([]int32, n)
	times := make([]*time.Time, n)
	keys, limited, meta := make([]*string, n), make([]*string, n), make([]*string, n)
	for i := range rs {
		r := &rs[i]
		queues[i], kinds[i], args[i] = r.Queue, r.Kind, string(r.Args)
		priorities[i], limits[i] = int16(r.Priority), int32(r.MaxAttempts)
		times[i], keys[i], limited[i] = orNull(r.RunAt), orNull(r.UniqueKey), orNull(r.LimitKey)
		meta[i] = orNull(string(r.Meta))
	}
	var groups, after []*string
	if slices.ContainsFunc(rs, func(r driver.Record) bool { return r.Group != "" || r.AfterGroup != "" }) {
		for i := range rs {
			groups, after = append(groups, orNull(rs[i].Group)), append(after, orNull(rs[i].AfterGroup))
		}
	}
	var keyLimits []*int32
	if slices.ContainsFunc(rs, func(r driver.Record) bool { return r.KeyLimit > 0 }) {
		for i := range rs {
			keyLimits = append(keyLimits, orNull(int32(rs[i].KeyLimit)))
		}
	}
	query := insertManySQL
	if slices.ContainsFunc(rs, func(r driver.Record) bool { return r.UniqueKey != "" }) {
		query = insertKeyedSQL
	}
	unkeyed := make([]int64, 0, n)
	keyed := map[uniqueKey]int64{}
	err := db.query(ctx, s.sql(query), func(rs rows) error {
		var id int64
		var kind string
		var key *string
		err := rs.Scan(&id, &kind, &key)
		if key == nil {
			unkeyed = append(unkeyed, id)
		} else {
			keyed[uniqueKey{kind, *key}] = id
		}
		return err
	}, queues, kinds, priorities, times, limits, keys, args, limited, meta, groups, after, keyLimits)
	if err != nil {
		return nil, err
	}
	slices.Sort(unkeyed)
	results := make([]driver.InsertResult, n)
	seen := map[uniqueKey]bool{}
	for i, r := range rs {
		if r.UniqueKey == "" {
			results[i].ID, unkeyed = unkeyed[0], unkeyed[1:]
			continue
		}
		k := uniqueKey{r.Kind, r.UniqueKey}
		results[i] = driver.InsertResult{ID: keyed[k], Duplicate: seen[k]}
		seen[k] = true
	}
	return results, nil
}

// existing finds the job that holds the unique key of r. If that has finished meanwhile, r is
// inserted after all.
func (s *Store) existing(
	ctx context.Context, db querier, r driver.Record, signals []driver.Signal,
) (driver.InsertResult, error) {
	for range 10 {
		var id int64
		find := func(rs rows) error { return rs.Scan(&id) }
		if err := db.query(ctx, s.sql(findUniqueSQL), find, r.Kind, r.UniqueKey); err != nil || id != 0 {
			return driver.InsertResult{ID: id, Duplicate: true}, err
		}
		if id, err := s.insertOne(ctx, db, r, signals); err != nil || id != 0 {
			return driver.InsertResult{ID: id}, err
		}
	}
	return driver.InsertResult{}, errors.New("the unique key was freed and taken again at every attempt")
}

// orNull returns nil for the zero value.
func orNull[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}
