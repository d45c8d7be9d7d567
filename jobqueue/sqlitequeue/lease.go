package sqlitequeue

import (
	"context"
	"database/sql"
	"encoding/json"
	"strconv"
	"time"

	"lessonkit.example/jobqueue/driver"
	"lessonkit.example/jobqueue/internal/rules"
)

func (s *Store) Register(
	ctx context.Context, name string, queues []string, lease time.Duration,
) (worker int64, err error) {
	served, err := json.Marshal(append([]string{}, queues...))
	if err != nil {
		return 0, err
	}
	err = s.update(ctx, func(tx *sql.Tx, now int64) error {
		return tx.QueryRow(
			`insert into jobqueue_worker (name, started_at, expires_at, queues) values (?, ?, ?, ?) returning id`,
			name, now, now+lease.Microseconds(), string(served)).Scan(&worker)
	})
	return worker, err
}

// The jobs of a worker whose lease has ended are still its own until another process rescues them,
// so only its row counts.
const heartbeatSQL = `update jobqueue_worker set expires_at = ? where id = ?`

const cancelledSQL = `select id from jobqueue_job where worker = ? and worker <> 0 and cancel = 1`

func (s *Store) Heartbeat(
	ctx context.Context, worker int64, lease time.Duration,
) (cancelled []int64, alive bool, err error) {
	err = s.update(ctx, func(tx *sql.Tx, now int64) (err error) {
		if alive, err = affected(tx.Exec(heartbeatSQL, now+lease.Microseconds(), worker)); err != nil {
			return err
		}
		cancelled, err = column[int64](tx.Query(cancelledSQL, worker))
		return err
	})
	return cancelled, alive && err == nil, err
}

const unregisterSQL = `delete from jobqueue_worker where id = ?`

// ?2 is a JSON object of fences by id.
const releaseSQL = `
update jobqueue_job set worker = null, fence = fence + 1, attempt = attempt - 1
where worker = ?1 and worker <> 0 and not exists (
  select 1 from json_each(?2) k where k.key = cast(jobqueue_job.id as text) and k.value = fence)
returning queue`

func (s *Store) Release(
	ctx context.Context, worker int64, keep []driver.Lease, unregister bool,
) (released int, err error) {
	fences, err := encodeLeases(keep)
	if err != nil {
		return 0, err
	}
	var queues []string // of each job
	err = s.update(ctx, func(tx *sql.Tx, _ int64) (err error) {
		if unregister {
			if _, err := tx.Exec(unregisterSQL, worker); err != nil {
				return err
			}
			if _, err := tx.Exec(freeSlotsSQL); err != nil {
				return err
			}
		}
		queues, err = column[string](tx.Query(releaseSQL, worker, fences))
		return err
	})
	if err != nil {
		return 0, err
	}
	released = len(queues)
	for _, queue := range rules.Names(queues...) {
		s.hub.Emit(driver.Signal{Queue: queue})
	}
	return released, nil
}

// encodeLeases returns a JSON object of fences by id.
func encodeLeases(leases []driver.Lease) (string, error) {
	fences := make(map[string]int, len(leases))
	for _, l := range leases {
		fences[strconv.FormatInt(l.ID, 10)] = l.Fence
	}
	text, err := json.Marshal(fences)
	return string(text), err
}

const expiredSQL = `select id from jobqueue_worker where expires_at < ?`

const rescueSQL = `
update jobqueue_job set worker = null, fence = fence + 1,
  errors = json_insert(
    case when json_array_length(errors) >= 100 then json_remove(errors, '$[0]') else coalesce(errors, '[]') end,
    '$[#]', json_object('attempt', attempt, 'at', ?1, 'error', '` + driver.LeaseExpired + `'))
where worker <> 0 and worker `

const (
	rescueJobsSQL    = rescueSQL + `= ?2`
	rescueOrphansSQL = rescueSQL + `not in (select id from jobqueue_worker)`
)

func (s *Store) Rescue(ctx context.Context, orphans bool) (rescued int, err error) {
	var idle []string
	if orphans { // which looks at all groups, so others can write meanwhile
		if idle, err = column[string](s.db.R.QueryContext(ctx, idleGroupsSQL)); err != nil {
			return 0, err
		}
	}
	var promoted []driver.Signal
	err = s.update(ctx, func(tx *sql.Tx, now int64) error {
		rescued = 0
		at := timeOf(now).Format(time.RFC3339Nano)
		rescue := func(query string, args ...any) error {
			res, err := tx.Exec(query, args...)
			if err != nil {
				return err
			}
			n, err := res.RowsAffected()
			rescued += int(n)
			return err
		}
		dead, err := column[int64](tx.Query(expiredSQL, now))
		if err != nil {
			return err
		}
		for _, worker := range dead {
			if err := rescue(rescueJobsSQL, at, worker); err != nil {
				return err
			}
			if _, err := tx.Exec(unregisterSQL, worker); err != nil {
				return err
			}
		}
		if orphans {
			if err := rescue(rescueOrphansSQL, at); err != nil {
				return err
			}
		}
		if _, err := tx.Exec(freeSlotsSQL); err != nil {
			return err
		}
		promoted, err = s.promote(context.WithoutCancel(ctx), tx, now, nil, idle)
		return err
	})
	if err == nil {
		s.emit(promoted)
	}
	return rescued, err
}
