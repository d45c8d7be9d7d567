package sqlitequeue

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"lessonkit.example/jobqueue/driver"
	"lessonkit.example/jobqueue/internal/rules"
)

const schedulesSQL = `
select name, spec, next_at, coalesce(last_at, 0), skipped, paused from jobqueue_schedule order by name`

func (s *Store) Schedules(ctx context.Context) (schedules []driver.Schedule, now time.Time, err error) {
	defer rules.Classify(&err)
	var r driver.Schedule
	var next, last int64
	rows, err := s.db.R.QueryContext(ctx, schedulesSQL)
	err = eachRow(rows, err, []any{&r.Name, &r.Spec, &next, &last, &r.Skipped, &r.Paused}, func() {
		r.NextAt, r.LastAt = timeOf(next), timeOf(last)
		schedules = append(schedules, r)
	})
	return schedules, timeOf(clock()), err
}

const putScheduleSQL = `
insert into jobqueue_schedule (name, spec, next_at) values (?, ?, ?)
on conflict (name) do update set spec = excluded.spec, next_at = excluded.next_at
where jobqueue_schedule.spec <> excluded.spec`

func (s *Store) PutSchedule(ctx context.Context, n driver.Schedule) error {
	return s.update(ctx, func(tx *sql.Tx, _ int64) error {
		_, err := tx.Exec(putScheduleSQL, n.Name, n.Spec, n.NextAt.UnixMicro())
		return err
	})
}

const tickSQL = `
update jobqueue_schedule set next_at = ?4, skipped = skipped + ?5 + case when paused then ?6 else 0 end
where name = ?1 and spec = ?2 and next_at = ?3 returning paused`

const tickedSQL = `
update jobqueue_schedule set last_at = coalesce(?2, last_at), skipped = skipped + ?3 where name = ?1`

func (s *Store) Tick(ctx context.Context, t driver.Tick) error {
	var enqueued bool
	err := s.update(ctx, func(tx *sql.Tx, now int64) error {
		enqueued = false
		var paused bool
		err := tx.QueryRow(tickSQL, t.Name, t.Spec, t.Due.UnixMicro(), t.Next.UnixMicro(), t.Skipped,
			len(t.Jobs)).Scan(&paused)
		if errors.Is(err, sql.ErrNoRows) {
			return nil // another process was faster
		}
		if err != nil || paused || len(t.Jobs) == 0 {
			return err
		}
		enqueued = true
		results, err := s.insert(context.WithoutCancel(ctx), tx, now, t.Jobs)
		if err != nil {
			return err
		}
		last, skipped := t.Inserted(results)
		_, err = tx.Exec(tickedSQL, t.Name, sql.NullInt64{Int64: last.UnixMicro(), Valid: !last.IsZero()}, skipped)
		return err
	})
	if err == nil && enqueued {
		s.wake(t.Jobs)
	}
	return err
}

// ?2 is now.
var changeScheduleSQL = map[driver.ScheduleChange]string{
	driver.PauseSchedule:  `update jobqueue_schedule set paused = 1 where name = ?1 and ?2`,
	driver.ResumeSchedule: `update jobqueue_schedule set paused = 0 where name = ?1 and ?2`,
	driver.RunSchedule:    `update jobqueue_schedule set next_at = min(next_at, ?2) where name = ?1`,
	driver.DeleteSchedule: `delete from jobqueue_schedule where name = ?1 and ?2`,
}

func (s *Store) ChangeSchedule(ctx context.Context, name string, c driver.ScheduleChange) (err error) {
	defer rules.Classify(&err)
	err = s.update(ctx, func(tx *sql.Tx, now int64) error {
		changed, err := affected(tx.Exec(changeScheduleSQL[c], name, now))
		if err == nil && !changed {
			err = driver.ErrNotFound
		}
		return err
	})
	if err == nil {
		s.hub.Emit(driver.Signal{Schedules: true})
	}
	return err
}
