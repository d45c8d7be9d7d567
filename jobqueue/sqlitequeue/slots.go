package sqlitequeue

import (
	"context"
	"database/sql"
)

const (
	addSlotsSQL = `
with recursive series (n) as (select 1 union all select n + 1 from series where n < ?2)
insert into jobqueue_slot (queue, n) select ?1, n from series where true on conflict do nothing`
	takeSlotsSQL = `
update jobqueue_slot set worker = ?2
where queue = ?1 and exists (select 1 from jobqueue_worker where id = ?2 and expires_at > ?5) and n in (
  select n from jobqueue_slot where queue = ?1 and worker is null and n <= ?3 order by n
  limit max(0, ?4 - (select count(*) from jobqueue_slot where queue = ?1 and worker = ?2)))`
	returnSlotsSQL = `
update jobqueue_slot set worker = null where queue = ?1 and n in (
  select n from jobqueue_slot where queue = ?1 and worker = ?2 order by n desc
  limit max(0, (select count(*) from jobqueue_slot where queue = ?1 and worker = ?2) - ?3))`
	countSlotsSQL = `select count(*) from jobqueue_slot where queue = ? and worker = ?`
	// freeSlotsSQL frees what workers have left behind.
	freeSlotsSQL = `
update jobqueue_slot set worker = null
where worker is not null and worker not in (select id from jobqueue_worker)`
)

func (s *Store) Slots(ctx context.Context, worker int64, queue string, limit, target int) (held int, err error) {
	err = s.update(ctx, func(tx *sql.Tx, now int64) (err error) {
		if target > 0 {
			if _, err = tx.Exec(addSlotsSQL, queue, limit); err != nil {
				return err
			}
			if _, err = tx.Exec(takeSlotsSQL, queue, worker, limit, target, now); err != nil {
				return err
			}
		}
		if _, err = tx.Exec(returnSlotsSQL, queue, worker, target); err != nil {
			return err
		}
		return tx.QueryRow(countSlotsSQL, queue, worker).Scan(&held)
	})
	return held, err
}
