package sqlitequeue

import (
	"context"
	"database/sql"
	"fmt"

	"lessonkit.example/jobqueue"
	"lessonkit.example/jobqueue/driver"
	"lessonkit.example/jobqueue/internal/rules"
)

const saveSQL = `update jobqueue_job set saved = ? where id = ? and fence = ? and worker = ?`

// save reports whether the job is still the worker's.
func save(tx *sql.Tx, worker int64, r driver.Saved) (bool, error) {
	return affected(tx.Exec(saveSQL, string(r.State), r.ID, r.Fence, worker))
}

func (s *Store) Save(ctx context.Context, worker int64, states []driver.Saved) error {
	return s.update(ctx, func(tx *sql.Tx, _ int64) error {
		for _, r := range states {
			if _, err := save(tx, worker, r); err != nil {
				return err
			}
		}
		return nil
	})
}

// SaveTx does what [jobqueue.Job.Save] does, in tx: see [jobqueue.TxStore].
func (s *Store) SaveTx(ctx context.Context, tx *sql.Tx, job *jobqueue.Job, v any) (err error) {
	defer rules.Classify(&err)
	state, err := job.Running().EncodeSaved(v)
	if err != nil {
		return err
	}
	ok, err := affected(tx.ExecContext(ctx, saveSQL, string(state), job.ID, job.Fence, job.Worker))
	if err == nil && !ok {
		err = driver.ErrLeaseLost
	}
	if err != nil {
		return fmt.Errorf("save state of job %d: %w", job.ID, err)
	}
	return nil
}
