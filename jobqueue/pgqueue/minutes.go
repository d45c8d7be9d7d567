package pgqueue

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"lessonkit.example/jobqueue/driver"
	"lessonkit.example/jobqueue/internal/rules"
)

const (
	addMinuteSQL = `
insert into jobqueue_minute as m (queue, minute, finished, failed, waits)
values ($1, date_trunc('minute', now()), $2, $3, $4)
on conflict (minute, queue) do update set finished = m.finished + excluded.finished,
  failed = m.failed + excluded.failed,
  waits = array(select a + b from unnest(m.waits, excluded.waits) with ordinality w (a, b, i) order by i)`

	oldMinutesSQL = `delete from jobqueue_minute where minute < now() - $1::bigint * interval '1 microsecond'`

	minutesSQL = `
select queue, minute, finished, failed, waits from jobqueue_minute
where minute >= now() - $1::bigint * interval '1 microsecond' and ($2 = '' or queue = $2)
order by queue, minute`
)

// AddMinutes implements driver.Store. Workers lock the rows in one order.
func (s *Store) AddMinutes(ctx context.Context, minutes []driver.Minute) error {
	slices.SortFunc(minutes, func(a, b driver.Minute) int { return cmp.Compare(a.Queue, b.Queue) })
	var b pgx.Batch
	b.Queue(s.sql(oldMinutesSQL), driver.KeepMinutes.Microseconds())
	for _, m := range minutes {
		b.Queue(s.sql(addMinuteSQL), m.Queue, m.Finished, m.Failed, m.Waits[:])
	}
	return s.pool.SendBatch(ctx, &b).Close()
}

func (s *Store) Minutes(ctx context.Context, queue string, last time.Duration) (ms []driver.Minute, err error) {
	defer rules.Classify(&err)
	rows, err := s.pool.Query(ctx, s.sql(minutesSQL), last.Microseconds(), queue)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (m driver.Minute, err error) {
		var waits []int
		err = row.Scan(&m.Queue, &m.At, &m.Finished, &m.Failed, &waits)
		copy(m.Waits[:], waits)
		m.At = m.At.UTC()
		return m, err
	})
}
