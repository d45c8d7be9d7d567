package sqlitequeue

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"time"

	"lessonkit.example/jobqueue/driver"
	"lessonkit.example/jobqueue/internal/rules"
)

const (
	addMinuteSQL = `
insert into jobqueue_minute as m (queue, minute, finished, failed, waits) values (?, ?, ?, ?, ?)
on conflict (minute, queue) do update set finished = m.finished + excluded.finished,
  failed = m.failed + excluded.failed,
  waits = (
    select json_group_array(a.value + b.value)
    from json_each(m.waits) a cross join json_each(excluded.waits) b where b.key = a.key)`

	oldMinutesSQL = `delete from jobqueue_minute where minute < ?`

	minutesSQL = `
select queue, minute, finished, failed, waits from jobqueue_minute
where minute >= ?1 and (?2 = '' or queue = ?2) order by queue, minute`
)

func (s *Store) AddMinutes(ctx context.Context, minutes []driver.Minute) error {
	return s.update(ctx, func(tx *sql.Tx, now int64) error {
		_, err := tx.Exec(oldMinutesSQL, now-driver.KeepMinutes.Microseconds())
		for i := 0; i < len(minutes) && err == nil; i++ {
			m := minutes[i]
			waits, _ := json.Marshal(m.Waits) // numbers
			_, err = tx.Exec(addMinuteSQL, m.Queue, timeOf(now).Truncate(time.Minute).UnixMicro(), m.Finished,
				m.Failed, string(waits))
		}
		return err
	})
}

func (s *Store) Minutes(ctx context.Context, queue string, last time.Duration) (ms []driver.Minute, err error) {
	defer rules.Classify(&err)
	var m driver.Minute
	var at int64
	var waits []byte
	var malformed error
	rows, err := s.db.R.QueryContext(ctx, minutesSQL, clock()-last.Microseconds(), queue)
	err = eachRow(rows, err, []any{&m.Queue, &at, &m.Finished, &m.Failed, &waits}, func() {
		m.At = timeOf(at)
		malformed = errors.Join(malformed, json.Unmarshal(waits, &m.Waits))
		ms = append(ms, m)
	})
	return ms, errors.Join(err, malformed)
}
