package pgqueue

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"lessonkit.example/jobqueue/driver"
)

const registerSQL = `
insert into jobqueue_worker (name, expires_at) values ($1, now() + $2::bigint * interval '1 microsecond') returning id`

// Register implements jobqueue.Store.
func (s *Store) Register(ctx context.Context, name string, lease time.Duration) (worker int64, err error) {
	err = s.pool.QueryRow(ctx, s.q.register, name, lease.Microseconds()).Scan(&worker)
	return worker, err
}

// A worker whose lease has ended but whom nobody has swept yet has lost nothing, so its row is all that counts.
const beatSQL = `
update jobqueue_worker set expires_at = now() + $2::bigint * interval '1 microsecond' where id = $1 returning id`

const beatCancelledSQL = `select id from jobqueue_job where worker = $1 and cancel`

// Beat implements jobqueue.Store.
func (s *Store) Heartbeat(ctx context.Context, worker int64, lease time.Duration) (cancelled []int64, alive bool, err error) {
	var b pgx.Batch
	b.Queue(s.q.beat, worker, lease.Microseconds()).QueryRow(func(row pgx.Row) error {
		var id int64
		err := row.Scan(&id)
		alive = err == nil
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		return err
	})
	b.Queue(s.q.beatCancelled, worker).Query(func(rows pgx.Rows) (err error) {
		cancelled, err = pgx.CollectRows(rows, pgx.RowTo[int64])
		return err
	})
	if err := s.pool.SendBatch(ctx, &b).Close(); err != nil {
		return nil, false, fmt.Errorf("heartbeat: %w", err)
	}
	return cancelled, alive, nil
}

const releaseSQL = `
update jobqueue_job j set worker = null, fence = fence + 1, attempt = attempt - 1
where worker = $1 and not exists (
  select from unnest($2::bigint[], $3::int[]) k (id, fence) where k.id = j.id and k.fence = j.fence)
returning queue`

const forgetSQL = `delete from jobqueue_worker where id = $1`

// Release implements jobqueue.Store.
func (s *Store) Release(ctx context.Context, worker int64, keep []driver.Lease, forget bool) (released int, err error) {
	ids, fences := make([]int64, len(keep)), make([]int32, len(keep))
	for i, l := range keep {
		ids[i], fences[i] = l.ID, int32(l.Fence)
	}
	var b pgx.Batch
	if forget {
		// First, because this waits for claims under way.
		b.Queue(s.q.forget, worker)
	}
	queues := map[string]bool{}
	b.Queue(s.q.release, worker, ids, fences).Query(func(rows pgx.Rows) error {
		var queue string
		_, err := pgx.ForEachRow(rows, []any{&queue}, func() error {
			queues[queue] = true
			released++
			return nil
		})
		return err
	})
	if err := s.pool.SendBatch(ctx, &b).Close(); err != nil {
		return 0, fmt.Errorf("release: %w", err)
	}
	for queue := range queues {
		s.wakeQueue(queue)
	}
	return released, nil
}

// Claims under way hold the row of their worker, so it is not found here.
const expiredSQL = `select id from jobqueue_worker where expires_at < now() for update skip locked`

const lost = `
update jobqueue_job j set worker = null, fence = fence + 1,
  errors = (case when jsonb_array_length(errors) >= 100 then errors - 0 else coalesce(errors, '[]') end)
    || jsonb_build_object('attempt', attempt, 'at', now(), 'error', 'lease expired')
`

const takeBackSQL = lost + `where worker = any ($1::bigint[])`

const removeWorkersSQL = `delete from jobqueue_worker where id = any ($1::bigint[])`

const auditSQL = lost + `where worker is not null and not exists (select from jobqueue_worker w where w.id = j.worker)`

// Sweep implements jobqueue.Store.
func (s *Store) Rescue(ctx context.Context, audit bool) (recovered int, err error) {
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, s.q.expired)
		if err != nil {
			return err
		}
		dead, err := pgx.CollectRows(rows, pgx.RowTo[int64])
		if err != nil {
			return err
		}
		if len(dead) > 0 {
			tag, err := tx.Exec(ctx, s.q.takeBack, dead)
			if err != nil {
				return err
			}
			recovered += int(tag.RowsAffected())
			if _, err := tx.Exec(ctx, s.q.removeWorkers, dead); err != nil {
				return err
			}
		}
		if audit {
			tag, err := tx.Exec(ctx, s.q.audit)
			if err != nil {
				return err
			}
			recovered += int(tag.RowsAffected())
		}
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("sweep: %w", err)
	}
	return recovered, nil
}
