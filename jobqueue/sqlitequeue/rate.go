package sqlitequeue

import (
	"database/sql"
	"errors"

	"lessonkit.example/jobqueue/driver"
	"lessonkit.example/jobqueue/internal/rules"
)

const rateSQL = `select at from jobqueue_rate where queue = ?`

const setRateSQL = `
insert into jobqueue_rate (queue, at) values (?, ?) on conflict (queue) do update set at = excluded.at`

// rate is the generic cell rate algorithm: every job moves a time forward by the interval between
// two, and the time may be at most the burst ahead of now.
type rate struct {
	driver.Rate
	queue string
	at    int64
	free  int // how many jobs may be claimed now
}

func readRate(tx *sql.Tx, now int64, c driver.ClaimRequest) (r rate, err error) {
	r = rate{Rate: c.Rate, queue: c.Queue, at: now}
	err = tx.QueryRow(rateSQL, c.Queue).Scan(&r.at)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	r.at = max(r.at, now)
	every := r.Every.Microseconds()
	r.free = int(max(0, now+int64(r.Burst)*every-r.at) / every)
	return r, err
}

// spend records that n jobs were claimed, and adds to res when the next one may be.
func (r rate) spend(tx *sql.Tx, now int64, n int, res *driver.ExchangeResponse) error {
	every := r.Every.Microseconds()
	r.at += int64(n) * every
	res.AddNext(rules.Duration(r.at - int64(r.Burst-1)*every - now))
	if n == 0 {
		return nil
	}
	_, err := tx.Exec(setRateSQL, r.queue, r.at)
	return err
}
