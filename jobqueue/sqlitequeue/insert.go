package sqlitequeue

import (
	"context"
	"database/sql"
	"fmt"

	"lessonkit.example/jobqueue"
	"lessonkit.example/jobqueue/driver"
	"lessonkit.example/jobqueue/internal/wake"
)

const insertSQL = `
insert into jobqueue_job (queue, kind, priority, run_at, created_at, max_attempts, unique_key, until_started, args)
values (?, ?, ?, ?, ?, ?, ?, ?, ?)
on conflict (kind, unique_key) where unique_key is not null do nothing`

const findUniqueSQL = `select id from jobqueue_job where kind = ? and unique_key = ?`

// EnqueueTx enqueues jobs in tx and returns a receipt for each. They exist when tx commits; workers of this process look
// for them as soon as they can write, which is then.
func (s *Store) EnqueueTx(ctx context.Context, tx *sql.Tx, ps ...jobqueue.Params) ([]jobqueue.InsertResult, error) {
	if len(ps) == 0 {
		return nil, nil
	}
	rs, err := jobqueue.Records(ps)
	if err != nil {
		return nil, err
	}
	receipts := make([]jobqueue.InsertResult, len(rs))
	err = s.insert(rs, receipts,
		func(query string, args ...any) (sql.Result, error) { return tx.ExecContext(ctx, query, args...) },
		func(query string, args ...any) (*sql.Rows, error) { return tx.QueryContext(ctx, query, args...) })
	if err != nil {
		return nil, fmt.Errorf("enqueue: %w", err)
	}
	s.wake(rs)
	return receipts, nil
}

// Insert implements jobqueue.Store.
func (s *Store) Insert(ctx context.Context, rs []driver.Record) ([]jobqueue.InsertResult, error) {
	receipts := make([]jobqueue.InsertResult, len(rs))
	err := s.update(ctx, func(r runner, _ int64) error {
		return s.insert(rs, receipts, r.exec, r.query)
	}, insertSQL, findUniqueSQL)
	if err != nil {
		return nil, err
	}
	s.wake(rs)
	return receipts, nil
}

func (s *Store) insert(rs []driver.Record, receipts []jobqueue.InsertResult,
	exec func(string, ...any) (sql.Result, error), query func(string, ...any) (*sql.Rows, error)) error {
	now := micros(s.now())
	for i := range rs {
		r := &rs[i]
		runAt := now
		if !r.RunAt.IsZero() {
			runAt = micros(r.RunAt)
		}
		res, err := exec(insertSQL, r.Queue, r.Kind, r.Priority, runAt, now, r.MaxAttempts,
			sql.NullString{String: r.UniqueKey, Valid: r.UniqueKey != ""}, boolInt(r.UntilStarted), string(r.Args))
		if err != nil {
			return err
		}
		if r.UniqueKey != "" {
			if n, err := res.RowsAffected(); err != nil {
				return err
			} else if n == 0 {
				rows, err := query(findUniqueSQL, r.Kind, r.UniqueKey)
				if err != nil {
					return err
				}
				receipts[i].Duplicate = true
				if err := scanOne(rows, &receipts[i].ID); err != nil {
					return err
				}
				continue
			}
		}
		id, err := res.LastInsertId()
		if err != nil {
			return err
		}
		receipts[i] = jobqueue.InsertResult{ID: id}
	}
	return nil
}

func (s *Store) wake(rs []driver.Record) {
	signals, _ := wake.Of(rs)
	for _, sig := range signals {
		s.hub.Emit(sig)
	}
}

// scanOne scans the first row and returns sql.ErrNoRows when there is none.
func scanOne(rows *sql.Rows, dst ...any) error {
	defer rows.Close()
	if !rows.Next() {
		if err := rows.Err(); err != nil {
			return err
		}
		return sql.ErrNoRows
	}
	if err := rows.Scan(dst...); err != nil {
		return err
	}
	return rows.Close()
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}
