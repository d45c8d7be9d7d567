package sqlitequeue

import (
	"context"
	"database/sql"
	"encoding/json"
	"time"

	"lessonkit.example/jobqueue/driver"
	"lessonkit.example/jobqueue/internal/rules"
)

// promoteSQL lets the first held job of each key of ?1, a JSON array, run, unless another one of
// the key may.
const promoteSQL = `
update jobqueue_job set worker = null, run_at = max(run_at, ?2)
where id in (
  select (select id from jobqueue_job where worker = 0 and serial_key = k.value order by id limit 1)
  from json_each(?1) k
  where not exists (
    select 1 from jobqueue_job a
    where a.serial_key = k.value and a.serial_key is not null and (a.worker is null or a.worker <> 0)))
returning queue, run_at - ?2`

// promote lets the next job of each key run, if none may, and the jobs that wait for groups without
// unfinished members. It returns signals for their queues. It does not wait for more than the first
// thousand jobs of groups; the promoter continues after the commit, until no job is left.
func (s *Store) promote(
	ctx context.Context, tx *sql.Tx, now int64, keys, groups []string,
) (promoted []driver.Signal, err error) {
	if len(keys) > 0 {
		promoted, err = promoteBy(ctx, tx, promoteSQL, now, keys)
	}
	if err == nil && len(groups) > 0 {
		var more []driver.Signal
		more, err = promoteBy(ctx, tx, promoteGroupsSQL, now, groups)
		promoted = append(promoted, more...)
		if len(more) == maxPromoted {
			for _, group := range groups {
				s.promoter.Add(driver.Signal{AfterGroup: group})
			}
		}
	}
	return promoted, err
}

// promoteRest continues where promote has stopped. What fails here, promoteIdle finds.
func (s *Store) promoteRest(signals []driver.Signal) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var groups []string
	for _, sig := range signals {
		groups = append(groups, sig.AfterGroup)
	}
	var promoted []driver.Signal
	err := s.update(ctx, func(tx *sql.Tx, now int64) (err error) {
		promoted, err = s.promote(context.WithoutCancel(ctx), tx, now, nil, groups)
		return err
	})
	if err == nil {
		s.emit(promoted)
	}
}

func promoteBy(
	ctx context.Context, tx *sql.Tx, query string, now int64, names []string,
) (promoted []driver.Signal, err error) {
	text, err := json.Marshal(names)
	if err != nil {
		return nil, err
	}
	rows, err := tx.QueryContext(ctx, query, string(text), now)
	err = each(rows, err, func() error {
		var sig driver.Signal
		var in int64
		err := rows.Scan(&sig.Queue, &in)
		sig.In = rules.Duration(in)
		promoted = append(promoted, sig)
		return err
	})
	return promoted, err
}

// promoteIdle does the same for all groups. Keys have no idle jobs: what ends or adds a job of a
// key promotes in the same transaction.
func (s *Store) promoteIdle(ctx context.Context, tx *sql.Tx, now int64) ([]driver.Signal, error) {
	var groups []string
	rows, err := tx.QueryContext(ctx, idleGroupsSQL)
	err = each(rows, err, func() error {
		var group string
		err := rows.Scan(&group)
		groups = append(groups, group)
		return err
	})
	if err != nil {
		return nil, err
	}
	return s.promote(ctx, tx, now, nil, groups)
}

func (s *Store) emit(signals []driver.Signal) {
	for _, sig := range signals {
		s.hub.Emit(sig)
	}
}
