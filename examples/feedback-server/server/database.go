package server

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"

	authstore "lessonkit.example/auth/sqlstore"
	"lessonkit.example/feedback"
	feedbackstore "lessonkit.example/feedback/sqlstore"
	"lessonkit.example/internal/db"
	"lessonkit.example/internal/opendb"
	"lessonkit.example/jobqueue"
	"lessonkit.example/jobqueue/pgqueue"
	"lessonkit.example/jobqueue/sqlitequeue"
)

// database is one database with the stores of all packages.
type database struct {
	*opendb.DB
	accounts *authstore.Store
	lessons  *feedbackstore.Store
	jobs     jobStore
	client   *jobqueue.Client // of jobs
}

// jobStore is implemented by the job stores of both engines.
type jobStore interface {
	jobqueue.Store
	Migrate(ctx context.Context) error
	Migrated(ctx context.Context) (bool, error)
}

// openDatabase opens postgres://… or sqlite:PATH. PostgreSQL need not be reachable yet.
func openDatabase(ctx context.Context, url string, traces *tracing, log *slog.Logger) (*database, error) {
	opened, err := opendb.OpenTraced(ctx, url, traces.statements(url))
	if err != nil {
		return nil, err
	}
	opened.OnPoolerMisused = func() { log.Error("DATABASE_URL: " + opendb.PoolerAdvice) }
	if opened.Engine == db.SQLite {
		jobs := sqlitequeue.New(opened.W, opened.R, sqlitequeue.Config{OnEnqueue: traces.onEnqueue()})
		return &database{
			DB:       opened,
			accounts: authstore.NewSQLite(opened.W, opened.R),
			lessons:  feedbackstore.NewSQLite(opened.W, opened.R, outbox(jobs.EnqueueTx)),
			jobs:     jobs,
			client:   jobqueue.NewClient(jobs),
		}, nil
	}
	jobs := pgqueue.New(opened.Pool, pgqueue.Config{OnEnqueue: traces.onEnqueue()})
	return &database{
		DB:       opened,
		accounts: authstore.NewPostgres(opened.W),
		lessons:  feedbackstore.NewPostgres(opened.W, outbox(jobs.EnqueueSQL)),
		jobs:     jobs,
		client:   jobqueue.NewClient(jobs),
	}, nil
}

type enqueueTx func(ctx context.Context, tx *sql.Tx, p jobqueue.Params) (jobqueue.InsertResult, error)

// outbox enqueues the job of a task in the transaction that stores the reason for the task: both
// are committed or neither.
func outbox(enqueue enqueueTx) feedbackstore.Outbox {
	return func(ctx context.Context, tx *sql.Tx, t feedback.Task) error {
		_, err := enqueue(ctx, tx, jobOf(ctx, t))
		return err
	}
}

// migrate brings all tables up to date.
func (d *database) migrate(ctx context.Context) error {
	for _, up := range []func(context.Context) error{d.accounts.Migrate, d.lessons.Migrate, d.jobs.Migrate} {
		if err := up(ctx); err != nil {
			return err
		}
	}
	return d.referTeachers(ctx)
}

// referTeachers adds the foreign keys between the tables of packages that do not know each other: a
// teacher with profiles cannot be deleted. SQLite cannot add foreign keys to a table.
func (d *database) referTeachers(ctx context.Context) error {
	if d.Engine == db.SQLite {
		return nil
	}
	return d.Update(ctx, func(ctx context.Context, tx *sql.Tx) error {
		for _, table := range []string{"feedback_profiles", "feedback_defaults"} {
			var exists bool
			if err := tx.QueryRowContext(ctx, `
				select exists (select from pg_constraint where conname = $1 and conrelid = to_regclass($2))`,
				table+"_teacher", table).Scan(&exists); err != nil {
				return err
			}
			if exists {
				continue
			}
			if _, err := tx.ExecContext(ctx, `alter table `+table+`
				drop constraint if exists `+table+`_teacher, -- added by another process since
				add constraint `+table+`_teacher foreign key (teacher_id) references auth_users (id)`); err != nil {
				return fmt.Errorf("reference teachers from %s: %w", table, err)
			}
		}
		return nil
	})
}

// migrated reports whether all tables are up to date.
func (d *database) migrated(ctx context.Context) (bool, error) {
	for _, migrated := range []func(context.Context) (bool, error){
		d.accounts.Migrated, d.lessons.Migrated, d.jobs.Migrated,
	} {
		if ok, err := migrated(ctx); !ok || err != nil {
			return false, err
		}
	}
	return true, nil
}
