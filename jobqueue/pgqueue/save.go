package pgqueue

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5"

	"lessonkit.example/jobqueue"
	"lessonkit.example/jobqueue/driver"
	"lessonkit.example/jobqueue/internal/rules"
)

// saveSQL is for leases with results, or of the caller's transaction.
const saveSQL = `
update jobqueue_job j set saved = x.saved::json
from unnest((select $1::bigint[]), (select $2::int[]), $4::text[]) x (id, fence, saved)
where j.id = x.id and j.fence = x.fence and j.worker = $3::bigint
returning j.id`

// saveOneSQL waits for nobody: the row may be locked by a transaction of the handler, or by an
// exchange that ends the job.
const saveOneSQL = `
update jobqueue_job set saved = $4::text::json
where ctid = (select ctid from jobqueue_job where id = $1 and fence = $2 and worker = $3 for update skip locked)`

// queueSaved adds the statement that saves the states of x's results, if they have any.
func (s *Store) queueSaved(b *pgx.Batch, x driver.ExchangeRequest) {
	var saved leases
	var states []string
	for _, r := range x.Results {
		if r.Saved != nil && !r.Discard {
			saved.add(r)
			states = append(states, string(r.Saved))
		}
	}
	if len(states) > 0 {
		b.Queue(s.sql(saveSQL), saved.ids, saved.fences, x.Worker, states)
	}
}

func (s *Store) Save(ctx context.Context, worker int64, states []driver.Saved) error {
	var b pgx.Batch
	b.Queue(planSQL)
	for _, r := range states {
		b.Queue(s.sql(saveOneSQL), r.ID, r.Fence, worker, string(r.State))
	}
	return s.pool.SendBatch(ctx, &b).Close()
}

// SavePgx does what [jobqueue.Job.Save] does, in tx, as SaveTx of [jobqueue.TxStore] does.
func (s *Store) SavePgx(ctx context.Context, tx pgx.Tx, job *jobqueue.Job, v any) error {
	return s.saveTx(ctx, pgxQuerier{tx}, job, v)
}

// SaveTx is SavePgx for a transaction of database/sql over pgx's stdlib driver.
func (s *Store) SaveTx(ctx context.Context, tx *sql.Tx, job *jobqueue.Job, v any) error {
	return s.saveTx(ctx, sqlQuerier{tx}, job, v)
}

func (s *Store) saveTx(ctx context.Context, db querier, job *jobqueue.Job, v any) (err error) {
	defer rules.Classify(&err)
	state, err := job.Running().EncodeSaved(v)
	if err != nil {
		return err
	}
	if err := s.save(ctx, db, job, state); err != nil {
		return fmt.Errorf("save state of job %d: %w", job.ID, err)
	}
	return nil
}

func (s *Store) save(ctx context.Context, db querier, job *jobqueue.Job, state json.RawMessage) error {
	var id int64
	err := db.query(ctx, s.sql(saveSQL), func(rs rows) error { return rs.Scan(&id) },
		[]int64{job.ID}, []int32{int32(job.Fence)}, job.Worker, []string{string(state)})
	if err == nil && id == 0 {
		err = driver.ErrLeaseLost
	}
	return err
}
