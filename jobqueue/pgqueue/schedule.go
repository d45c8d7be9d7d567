package pgqueue

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"lessonkit.example/jobqueue/driver"
	"lessonkit.example/jobqueue/internal/rules"
)

// The clock is read even if there are no schedules.
const schedulesSQL = `
select coalesce(s.name, ''), coalesce(s.spec, ''), coalesce(s.next_at, now), s.last_at, coalesce(s.skipped, 0),
  coalesce(s.paused, false), now
from (select clock_timestamp() as now) t left join jobqueue_schedule s on true order by s.name`

func (s *Store) Schedules(ctx context.Context) (schedules []driver.Schedule, now time.Time, err error) {
	defer rules.Classify(&err)
	rows, err := s.pool.Query(ctx, s.sql(schedulesSQL))
	if err == nil {
		var r driver.Schedule
		var last *time.Time
		columns := []any{&r.Name, &r.Spec, &r.NextAt, &last, &r.Skipped, &r.Paused, &now}
		_, err = pgx.ForEachRow(rows, columns, func() error {
			r.NextAt, r.LastAt = r.NextAt.UTC(), time.Time{}
			if last != nil {
				r.LastAt = last.UTC()
			}
			if r.Name != "" {
				schedules = append(schedules, r)
			}
			return nil
		})
	}
	return schedules, now.UTC(), err
}

const putScheduleSQL = `
insert into jobqueue_schedule (name, spec, next_at) values ($1, $2, $3)
on conflict (name) do update set spec = excluded.spec, next_at = excluded.next_at
where jobqueue_schedule.spec <> excluded.spec`

func (s *Store) PutSchedule(ctx context.Context, n driver.Schedule) error {
	_, err := s.pool.Exec(ctx, s.sql(putScheduleSQL), n.Name, n.Spec, n.NextAt)
	return err
}

// Of several processes that are equally fast, the others wait here for the first one to commit and
// then find another next_at. The server ends the transaction of one whose machine loses its power.
const tickSQL = `
update jobqueue_schedule set next_at = $4, skipped = skipped + $5 + case when paused then $6::bigint else 0 end
where name = $1 and spec = $2 and next_at = $3
returning paused, set_config('idle_in_transaction_session_timeout', '15s', true)`

const tickedSQL = `
update jobqueue_schedule set last_at = coalesce($2, last_at), skipped = skipped + $3 where name = $1`

func (s *Store) Tick(ctx context.Context, t driver.Tick) error {
	var enqueued bool
	err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		var paused bool
		err := tx.QueryRow(ctx, s.sql(tickSQL), t.Name, t.Spec, t.Due, t.Next, t.Skipped,
			int64(len(t.Jobs))).Scan(&paused, nil)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil // another process was faster
		}
		if err != nil || paused || len(t.Jobs) == 0 {
			return err
		}
		enqueued = true
		results, err := s.insert(ctx, pgxQuerier{tx}, t.Jobs, nil)
		if err != nil {
			return err
		}
		last, skipped := t.Inserted(results)
		_, err = tx.Exec(ctx, s.sql(tickedSQL), t.Name, orNull(last), skipped)
		return err
	})
	if err == nil && enqueued {
		s.wake(t.Jobs)
		_, groups := rules.Awaited(t.Jobs)
		s.promoteAfter(ctx, nil, groups)
	}
	return err
}

var changeScheduleSQL = map[driver.ScheduleChange]string{
	driver.PauseSchedule:  `update jobqueue_schedule set paused = true where name = $1`,
	driver.ResumeSchedule: `update jobqueue_schedule set paused = false where name = $1`,
	driver.RunSchedule:    `update jobqueue_schedule set next_at = least(next_at, clock_timestamp()) where name = $1`,
	driver.DeleteSchedule: `delete from jobqueue_schedule where name = $1`,
}

func (s *Store) ChangeSchedule(ctx context.Context, name string, c driver.ScheduleChange) (err error) {
	defer rules.Classify(&err)
	tag, err := s.pool.Exec(ctx, s.sql(changeScheduleSQL[c]), name)
	if err == nil && tag.RowsAffected() == 0 {
		err = driver.ErrNotFound
	}
	if err == nil {
		s.signal(driver.Signal{Schedules: true})
	}
	return err
}
