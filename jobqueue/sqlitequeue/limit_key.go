package sqlitequeue

import (
	"context"
	"database/sql"
	"encoding/json"
	"time"

	"lessonkit.example/jobqueue/driver"
	"lessonkit.example/jobqueue/internal/rules"
)

// promoteSQL gives the lowest free turn to the first held job of each key of ?1, a JSON array, if
// fewer jobs of the key than the limit of the job have one.
const promoteSQL = `
update jobqueue_job as j set worker = null, run_at = max(run_at, ?2), turn = (
  select min(t.turn) from (select 0 as turn union all select a.turn + 1 ` + ofKey + `) t
  where not exists (select 1 ` + ofKey + ` and a.turn = t.turn))
where id in (
    select (select id from jobqueue_job where worker = 0 and limit_key = k.value order by id limit 1)
    from json_each(?1) k)
  and (select count(*) ` + ofKey + `) < coalesce(key_limit, 1)
returning queue, run_at - ?2, iif(key_limit > 1, limit_key, '')`

// ofKey are the jobs of a key that have a turn.
const ofKey = `from jobqueue_job a
where a.limit_key = j.limit_key and a.limit_key is not null and (a.worker is null or a.worker <> 0)`

// promote lets the next jobs of each key run, as many as may, and the jobs that wait for groups
// without unfinished members. It returns signals for their queues. It does not wait for more than
// the first thousand jobs of groups; the promoter continues after the commit, until no job is left.
func (s *Store) promote(
	ctx context.Context, tx *sql.Tx, now int64, keys, groups []string,
) (promoted []driver.Signal, err error) {
	for len(keys) > 0 && err == nil {
		var more []driver.Signal
		more, keys, err = promoteBy(ctx, tx, promoteSQL, now, keys)
		promoted = append(promoted, more...)
	}
	if err == nil && len(groups) > 0 {
		var more []driver.Signal
		more, _, err = promoteBy(ctx, tx, promoteGroupsSQL, now, groups)
		promoted = append(promoted, more...)
		if len(more) == maxPromoted {
			for _, group := range groups {
				s.promoter.Add(driver.Signal{AfterGroup: group})
			}
		}
	}
	return promoted, err
}

// promoteRest continues where promote has stopped. What fails here, Rescue finds.
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

// promoteBy returns signals for the promoted jobs, and the keys of which another one may follow.
func promoteBy(
	ctx context.Context, tx *sql.Tx, query string, now int64, names []string,
) (promoted []driver.Signal, keys []string, err error) {
	text, err := json.Marshal(names)
	if err != nil {
		return nil, nil, err
	}
	var queue, key string
	var in int64
	rows, err := tx.QueryContext(ctx, query, string(text), now)
	err = eachRow(rows, err, []any{&queue, &in, &key}, func() {
		promoted = append(promoted, driver.Signal{Queue: queue, In: rules.Duration(in)})
		keys = append(keys, key)
	})
	return promoted, rules.Names(keys...), err
}

func (s *Store) emit(signals []driver.Signal) {
	for _, sig := range signals {
		s.hub.Emit(sig)
	}
}
