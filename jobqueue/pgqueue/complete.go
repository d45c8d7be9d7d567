package pgqueue

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/jackc/pgx/v5"

	"lessonkit.example/jobqueue"
	"lessonkit.example/jobqueue/driver"
)

// CompleteTx finishes the job as succeeded in tx, so that it counts as done if and only if tx commits. A handler calls
// it for its own job, commits, and returns nil. ErrLeaseLost means that the job is no longer the handler's: roll back.
// The job goes to the history even when the worker's queue keeps none.
func (s *Store) CompleteTx(ctx context.Context, tx pgx.Tx, job *driver.Job) error {
	return s.complete(ctx, pgxQuerier{tx}, job)
}

// CompleteSQL is CompleteTx for a transaction of database/sql over pgx's stdlib driver.
func (s *Store) CompleteSQL(ctx context.Context, tx *sql.Tx, job *driver.Job) error {
	return s.complete(ctx, sqlQuerier{tx}, job)
}

func (s *Store) complete(ctx context.Context, db querier, job *driver.Job) error {
	var id int64
	err := db.query(ctx, s.q.succeed, func(row scanner) error { return row.Scan(&id) },
		[]int64{job.ID}, []int32{int32(job.Fence)}, job.Worker)
	if err != nil {
		return fmt.Errorf("complete job %d: %w", job.ID, err)
	}
	if id == 0 {
		return fmt.Errorf("complete job %d: %w", job.ID, jobqueue.ErrLeaseLost)
	}
	driver.MarkCompleted(job)
	return nil
}
