package sqlitequeue

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"lessonkit.example/jobqueue"
	"lessonkit.example/jobqueue/driver"
)

const registerSQL = `insert into jobqueue_worker (name, started_at, expires_at) values (?, ?, ?)`

// Register implements jobqueue.Store.
func (s *Store) Register(ctx context.Context, name string, lease time.Duration) (worker int64, err error) {
	err = s.update(ctx, func(r runner, now int64) error {
		res, err := r.exec(registerSQL, name, now, now+lease.Microseconds())
		if err != nil {
			return err
		}
		worker, err = res.LastInsertId()
		return err
	}, registerSQL)
	return worker, err
}

// A worker whose lease has ended but whom nobody has swept yet has lost nothing, so its row is all that counts.
const beatSQL = `update jobqueue_worker set expires_at = ? where id = ?`

const beatCancelledSQL = `select id from jobqueue_job where worker = ? and cancel = 1`

// Beat implements jobqueue.Store.
func (s *Store) Heartbeat(ctx context.Context, worker int64, lease time.Duration) (cancelled []int64, alive bool, err error) {
	err = s.update(ctx, func(r runner, now int64) (err error) {
		cancelled = nil
		if alive, err = affected(r.exec(beatSQL, now+lease.Microseconds(), worker)); err != nil {
			return err
		}
		rows, err := r.query(beatCancelledSQL, worker)
		if err != nil {
			return err
		}
		return each(rows, func() error {
			var id int64
			err := rows.Scan(&id)
			cancelled = append(cancelled, id)
			return err
		})
	}, beatSQL, beatCancelledSQL)
	if err != nil {
		return nil, false, fmt.Errorf("heartbeat: %w", err)
	}
	return cancelled, alive, nil
}

const forgetSQL = `delete from jobqueue_worker where id = ?`

// ?2 is a JSON object of fences by id.
const releaseSQL = `
update jobqueue_job set worker = null, fence = fence + 1, attempt = attempt - 1
where worker = ?1 and not exists (select 1 from json_each(?2) k where k.key = cast(jobqueue_job.id as text) and k.value = fence)
returning queue`

// Release implements jobqueue.Store.
func (s *Store) Release(ctx context.Context, worker int64, keep []driver.Lease, forget bool) (released int, err error) {
	fences := map[string]int{}
	for _, l := range keep {
		fences[strconv.FormatInt(l.ID, 10)] = l.Fence
	}
	leases, err := json.Marshal(fences)
	if err != nil {
		return 0, err
	}
	var queues map[string]bool
	err = s.update(ctx, func(r runner, _ int64) error {
		released, queues = 0, map[string]bool{}
		if forget {
			if _, err := r.exec(forgetSQL, worker); err != nil {
				return err
			}
		}
		rows, err := r.query(releaseSQL, worker, string(leases))
		if err != nil {
			return err
		}
		return each(rows, func() error {
			var queue string
			err := rows.Scan(&queue)
			queues[queue] = true
			released++
			return err
		})
	}, forgetSQL, releaseSQL)
	if err != nil {
		return 0, fmt.Errorf("release: %w", err)
	}
	for queue := range queues {
		s.hub.Emit(driver.Signal{Queue: queue})
	}
	return released, nil
}

const expiredSQL = `select id from jobqueue_worker where expires_at < ?`

const lost = `
update jobqueue_job set worker = null, fence = fence + 1,
  errors = json_insert(case when json_array_length(errors) >= 100 then json_remove(errors, '$[0]') else coalesce(errors, '[]') end,
    '$[#]', json_object('attempt', attempt, 'at', ?1, 'error', 'lease expired'))
`

const takeBackSQL = lost + `where worker = ?2`

const auditSQL = lost + `where worker is not null and worker not in (select id from jobqueue_worker)`

// Sweep implements jobqueue.Store.
func (s *Store) Rescue(ctx context.Context, audit bool) (recovered int, err error) {
	err = s.update(ctx, func(r runner, now int64) error {
		recovered = 0
		rows, err := r.query(expiredSQL, now)
		if err != nil {
			return err
		}
		var dead []int64
		if err := each(rows, func() error {
			var id int64
			err := rows.Scan(&id)
			dead = append(dead, id)
			return err
		}); err != nil {
			return err
		}
		at := timeOf(now).Format(time.RFC3339Nano)
		count := func(res sql.Result, err error) error {
			if err != nil {
				return err
			}
			n, err := res.RowsAffected()
			recovered += int(n)
			return err
		}
		for _, worker := range dead {
			if err := count(r.exec(takeBackSQL, at, worker)); err != nil {
				return err
			}
			if _, err := r.exec(forgetSQL, worker); err != nil {
				return err
			}
		}
		if audit {
			return count(r.exec(auditSQL, at))
		}
		return nil
	}, expiredSQL, takeBackSQL, forgetSQL, auditSQL)
	if err != nil {
		return 0, fmt.Errorf("sweep: %w", err)
	}
	return recovered, nil
}

// CompleteTx finishes the job as succeeded in tx, so that it counts as done if and only if tx commits. A handler calls
// it for its own job, commits, and returns nil. ErrLeaseLost means that the job is no longer the handler's: roll back.
// The job goes to the history even when the worker's queue keeps none.
func (s *Store) CompleteTx(ctx context.Context, tx *sql.Tx, job *driver.Job) error {
	leases := fmt.Sprintf(`{"%d":%d}`, job.ID, job.Fence)
	ok, err := affected(tx.ExecContext(ctx, archiveSQL, leases, job.Worker, micros(s.now())))
	if err == nil && !ok {
		err = jobqueue.ErrLeaseLost
	}
	if err == nil {
		_, err = tx.ExecContext(ctx, deleteSQL, leases, job.Worker)
	}
	if err != nil {
		return fmt.Errorf("complete job %d: %w", job.ID, err)
	}
	driver.MarkCompleted(job)
	return nil
}
