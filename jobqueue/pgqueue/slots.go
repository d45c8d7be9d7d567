package pgqueue

import (
	"context"

	"github.com/jackc/pgx/v5"
)

const (
	addSlotsSQL = `
insert into jobqueue_slot (queue, n) select $1, n from generate_series(1, $2::int) n on conflict do nothing`
	takeSlotsSQL = `
update jobqueue_slot set worker = $2
where exists (select from jobqueue_worker where id = $2 and expires_at > now() for key share)
  and ctid = any (array(
    select ctid from jobqueue_slot where queue = $1 and worker is null and n <= $3 order by n
    limit greatest(0, $4::bigint - (select count(*) from jobqueue_slot where queue = $1 and worker = $2))
    for update skip locked))`
	returnSlotsSQL = `
update jobqueue_slot set worker = null where ctid = any (array(
  select ctid from jobqueue_slot where queue = $1 and worker = $2 order by n desc
  limit greatest(0, (select count(*) from jobqueue_slot where queue = $1 and worker = $2) - $3::bigint)))`
	countSlotsSQL = `select count(*) from jobqueue_slot where queue = $1 and worker = $2`
	// freeSlotsSQL frees what workers have left behind, except where a job waits for its rescue.
	freeSlotsSQL = `
update jobqueue_slot s set worker = null
where worker is not null
  and not exists (select from jobqueue_worker w where w.id = s.worker and w.expires_at > '-infinity')
  and (worker, queue) not in (select worker, queue from jobqueue_job where worker <> 0 and ` + ofDead + `)`
)

func (s *Store) Slots(ctx context.Context, worker int64, queue string, limit, target int) (held int, err error) {
	var b pgx.Batch
	if target > 0 {
		b.Queue(s.sql(addSlotsSQL), queue, limit)
		b.Queue(s.sql(takeSlotsSQL), queue, worker, limit, target)
	}
	b.Queue(s.sql(returnSlotsSQL), queue, worker, target)
	b.Queue(s.sql(countSlotsSQL), queue, worker).QueryRow(func(row pgx.Row) error { return row.Scan(&held) })
	err = s.pool.SendBatch(ctx, &b).Close()
	return held, err
}
