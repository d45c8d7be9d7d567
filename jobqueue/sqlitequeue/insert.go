package sqlitequeue

import (
	"context"
	"database/sql"

	"lessonkit.example/jobqueue"
	"lessonkit.example/jobqueue/driver"
	"lessonkit.example/jobqueue/internal/rules"
	"lessonkit.example/jobqueue/internal/wake"
)

const insertSQL = `
insert into jobqueue_job (queue, kind, priority, run_at, created_at, max_attempts, unique_key, args,
  limit_key, worker, meta, in_group, after_group, key_limit)
values (?, ?, ?, ?, ?, ?, ?, ?, ?9, case when ?9 is null and ?12 is null then null else 0 end, ?10, ?11, ?12,
  nullif(?13, 0))
on conflict (kind, unique_key) where unique_key is not null do nothing`

const findUniqueSQL = `select id from jobqueue_job where kind = ? and unique_key = ?`

// EnqueueTx enqueues a job in tx. It exists when tx commits; workers of this process look for it as
// soon as they can write, which is then.
func (s *Store) EnqueueTx(ctx context.Context, tx *sql.Tx, p jobqueue.Params) (jobqueue.InsertResult, error) {
	results, err := s.EnqueueManyTx(ctx, tx, []jobqueue.Params{p})
	if err != nil {
		return jobqueue.InsertResult{}, err
	}
	return results[0], nil
}

// EnqueueManyTx is EnqueueTx for any number of jobs: see [jobqueue.TxStore].
func (s *Store) EnqueueManyTx(
	ctx context.Context, tx *sql.Tx, ps []jobqueue.Params,
) (_ []jobqueue.InsertResult, err error) {
	defer rules.Classify(&err)
	return jobqueue.Insert(ctx, s.onEnqueue, ps, func(rs []driver.Record) ([]driver.InsertResult, error) {
		results, err := s.insert(ctx, tx, clock(), rs)
		if err == nil {
			s.wake(rs)
		}
		return results, err
	})
}

func (s *Store) Insert(ctx context.Context, rs []driver.Record) (results []driver.InsertResult, err error) {
	defer rules.Classify(&err)
	err = s.update(ctx, func(tx *sql.Tx, now int64) (err error) {
		// Not ctx: others share the transaction.
		results, err = s.insert(context.WithoutCancel(ctx), tx, now, rs)
		return err
	})
	if err != nil {
		return nil, err
	}
	s.wake(rs)
	return results, nil
}

func (s *Store) insert(ctx context.Context, tx *sql.Tx, now int64, rs []driver.Record) ([]driver.InsertResult, error) {
	insert := func(args ...any) (sql.Result, error) { return tx.ExecContext(ctx, insertSQL, args...) }
	if len(rs) > 1 { // a pool of the caller prepares a statement for each execution; those of Open keep it
		stmt, err := tx.PrepareContext(ctx, insertSQL)
		if err != nil {
			return nil, err
		}
		defer stmt.Close()
		insert = func(args ...any) (sql.Result, error) { return stmt.ExecContext(ctx, args...) }
	}
	results := make([]driver.InsertResult, len(rs))
	for i, r := range rs {
		runAt := now
		if !r.RunAt.IsZero() {
			runAt = r.RunAt.UnixMicro()
		}
		res, err := insert(r.Queue, r.Kind, r.Priority, runAt, now, r.MaxAttempts,
			textOrNull(r.UniqueKey), string(r.Args), textOrNull(r.LimitKey),
			textOrNull(string(r.Meta)), textOrNull(r.Group), textOrNull(r.AfterGroup),
			r.KeyLimit)
		inserted, err := affected(res, err)
		switch {
		case err != nil:
		case inserted:
			results[i].ID, err = res.LastInsertId()
		default:
			results[i].Duplicate = true
			err = tx.QueryRowContext(ctx, findUniqueSQL, r.Kind, r.UniqueKey).Scan(&results[i].ID)
		}
		if err != nil {
			return nil, err
		}
	}
	keys, groups := rules.Awaited(rs)
	_, err := s.promote(ctx, tx, now, keys, groups) // wake signals the queues of all
	return results, err
}

func textOrNull(s string) sql.NullString { return sql.NullString{String: s, Valid: s != ""} }

func (s *Store) wake(rs []driver.Record) {
	signals, _ := wake.Of(rs)
	for _, sig := range signals {
		s.hub.Emit(sig)
	}
}
