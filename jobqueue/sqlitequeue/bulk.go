package sqlitequeue

import (
	"context"
	"database/sql"
	"time"

	sqlite3 "modernc.org/sqlite/lib"

	"lessonkit.example/jobqueue/driver"
	"lessonkit.example/jobqueue/internal/rules"
)

const (
	pauseSQL = `
insert into jobqueue_pause (queue, until) values (?, ?) on conflict (queue) do update set until = excluded.until`
	resumeSQL = `delete from jobqueue_pause where queue = ?`
)

func (s *Store) Pause(ctx context.Context, queue string, until time.Time) (err error) {
	defer rules.Classify(&err)
	err = s.update(ctx, func(tx *sql.Tx, _ int64) (err error) {
		if until.IsZero() {
			_, err = tx.Exec(resumeSQL, queue)
		} else {
			_, err = tx.Exec(pauseSQL, queue, until.UnixMicro())
		}
		return err
	})
	if err == nil && until.IsZero() {
		s.hub.Emit(driver.Signal{Queue: queue})
	}
	return err
}

func (s *Store) RetryMany(ctx context.Context, f driver.Filter) (driver.Page, error) {
	return s.changePage(ctx, f, func(tx *sql.Tx, now, id int64) ([]driver.Signal, error) {
		signals, err := s.retry(tx, now, id)
		if constraint(err) == sqlite3.SQLITE_CONSTRAINT_UNIQUE {
			return nil, nil // only this statement has failed
		}
		return signals, err
	})
}

func (s *Store) CancelMany(ctx context.Context, f driver.Filter) (driver.Page, error) {
	return s.changePage(ctx, f, s.cancel)
}

const filterSQL = ` and (?2 = '' or queue = ?2) and (?3 = '' or kind = ?3) and id < ?4
order by id desc limit ?5`

// changePage changes a page of jobs, and skips those whose state does not allow it.
func (s *Store) changePage(ctx context.Context, f driver.Filter, change change) (p driver.Page, err error) {
	defer rules.Classify(&err)
	query := `select id from jobqueue_job`
	if ended(f.State) {
		query = `select id from jobqueue_done`
	}
	var signals []driver.Signal
	err = s.update(ctx, func(tx *sql.Tx, now int64) error {
		p, signals = driver.Page{}, nil
		page, err := column[int64](tx.Query(query+stateSQL[f.State]+filterSQL,
			now, f.Queue, f.Kind, f.Before, f.Limit))
		if err != nil {
			return err
		}
		for _, id := range page {
			p.Last = id
			changed, err := change(tx, now, id)
			if err != nil {
				return err
			}
			if len(changed) == 0 {
				p.Skipped++
				continue
			}
			p.Changed++
			signals = append(signals, changed...)
		}
		return nil
	})
	if err != nil {
		return driver.Page{}, err
	}
	s.emit(signals)
	return p, nil
}
