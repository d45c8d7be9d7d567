package pgqueue

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"lessonkit.example/jobqueue/driver"
)

const registerSQL = `
insert into jobqueue_worker (name, expires_at, queues)
values ($1, now() + $2::bigint * interval '1 microsecond', coalesce($3::text[], '{}'))
returning id`

func (s *Store) Register(
	ctx context.Context, name string, queues []string, lease time.Duration,
) (worker int64, err error) {
	err = s.pool.QueryRow(ctx, s.sql(registerSQL), name, lease.Microseconds(), queues).Scan(&worker)
	return worker, err
}

// The jobs of a worker whose lease has ended are still its own until another process rescues them,
// so only its row counts, without the mark of Rescue.
const heartbeatSQL = `
update jobqueue_worker set expires_at = now() + $2::bigint * interval '1 microsecond'
where id = $1 and expires_at > '-infinity'`

const cancelledSQL = `select id from jobqueue_job where worker = $1 and worker <> 0 and cancel`

func (s *Store) Heartbeat(
	ctx context.Context, worker int64, lease time.Duration,
) (cancelled []int64, alive bool, err error) {
	tag, err := s.pool.Exec(ctx, s.sql(heartbeatSQL), worker, lease.Microseconds())
	s.resetIfSilent(err)
	if err != nil || tag.RowsAffected() == 0 {
		return nil, false, err
	}
	// Apart from the lease, which must not end while somebody alters or rewrites the table of jobs.
	var b pgx.Batch
	b.Queue(planSQL)
	b.Queue(s.sql(cancelledSQL), worker).Query(func(rows pgx.Rows) (err error) {
		cancelled, err = pgx.CollectRows(rows, pgx.RowTo[int64])
		return err
	})
	err = s.pool.SendBatch(ctx, &b).Close()
	return cancelled, true, err
}

const releaseSQL = `
update jobqueue_job j set worker = null, fence = fence + 1, attempt = attempt - 1
where worker = $1 and worker <> 0 and (id, fence) not in (select * from unnest($2::bigint[], $3::int[]))
returning queue`

const unregisterSQL = `delete from jobqueue_worker where id = $1`

func (s *Store) Release(
	ctx context.Context, worker int64, keep []driver.Lease, unregister bool,
) (released int, err error) {
	ids, fences := make([]int64, len(keep)), make([]int32, len(keep))
	for i, l := range keep {
		ids[i], fences[i] = l.ID, int32(l.Fence)
	}
	var b pgx.Batch
	b.Queue(planSQL)
	if unregister {
		b.Queue(s.sql(unregisterSQL), worker) // first, because it waits for claims in progress
		b.Queue(s.sql(freeSlotsSQL))
	}
	queues := map[string]bool{}
	var queue string
	eachRow(b.Queue(s.sql(releaseSQL), worker, ids, fences), []any{&queue}, func() {
		queues[queue] = true
		released++
	})
	if err := s.pool.SendBatch(ctx, &b).Close(); err != nil {
		return 0, err
	}
	for queue := range queues {
		s.signal(driver.Signal{Queue: queue})
	}
	return released, nil
}

// Claims in progress lock the row of their worker, so it is not found here. A marked row stays
// until the last of its jobs is rescued: those that a transaction has locked are stepped over. A
// handler's, with CompleteTx, lasts for hours if its machine loses its power. The statements travel
// together, so that no process can be suspended between two of them and keep the rows locked.
const (
	markDeadSQL = `
update jobqueue_worker set expires_at = '-infinity'
where id = any (array(
  select id from jobqueue_worker where expires_at < now() and expires_at > '-infinity' for update skip locked))`
	ofDead           = `worker = any (array(select id from jobqueue_worker where expires_at = '-infinity'))`
	removeWorkersSQL = `
delete from jobqueue_worker w where expires_at = '-infinity'
  and not exists (select from jobqueue_job where worker <> 0 and worker = w.id)`
)

const rescueSQL = `
update jobqueue_job j set worker = null, fence = fence + 1,
  errors = (case when jsonb_array_length(errors) >= 100 then errors - 0 else coalesce(errors, '[]') end)
    || jsonb_build_object('attempt', attempt, 'at', now(), 'error', '` + driver.LeaseExpired + `')
where ctid = any (array(select ctid from jobqueue_job j where worker <> 0 and `

const (
	rescueJobsSQL    = rescueSQL + ofDead + rescueLimit
	rescueOrphansSQL = rescueSQL + `not exists (select from jobqueue_worker w where w.id = j.worker)` + rescueLimit

	// Of a million jobs some are rescued even if the time for all does not suffice.
	rescueLimit = ` limit 10000 for update skip locked))`
	rescueMost  = 10_000
)

func (s *Store) Rescue(ctx context.Context, orphans bool) (rescued int, err error) {
	rescued, err = s.rescue(ctx, orphans)
	if err == nil {
		err = s.promoteIdle(ctx)
	}
	return rescued, err
}

// rescueWaitSQL limits how long a rescue waits for locks of tables and slots.
const rescueWaitSQL = `select set_config('lock_timeout', '1s', true)`

func (s *Store) rescue(ctx context.Context, orphans bool) (rescued int, err error) {
	var moreJobs, moreOrphans bool
	count := func(more *bool) func(pgconn.CommandTag) error {
		return func(tag pgconn.CommandTag) error {
			n := int(tag.RowsAffected())
			rescued += n
			*more = n == rescueMost
			return nil
		}
	}
	var b pgx.Batch
	b.Queue(rescueWaitSQL)
	b.Queue(planSQL)
	b.Queue(s.sql(markDeadSQL))
	b.Queue(s.sql(rescueJobsSQL)).Exec(count(&moreJobs))
	b.Queue(s.sql(removeWorkersSQL))
	if orphans {
		b.Queue(s.sql(rescueOrphansSQL)).Exec(count(&moreOrphans))
	}
	b.Queue(s.sql(freeSlotsSQL))
	err = s.pool.SendBatch(ctx, &b).Close()
	if err == nil && (moreJobs || moreOrphans) {
		n, err := s.rescue(ctx, moreOrphans)
		return rescued + n, err
	}
	return rescued, err
}
