package server

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"

	authstore "lessonkit.example/auth/sqlstore"
	"lessonkit.example/feedback"
	feedbackstore "lessonkit.example/feedback/sqlstore"
	"lessonkit.example/internal/migrate"
	"lessonkit.example/internal/opendb"
	"lessonkit.example/jobqueue"
	"lessonkit.example/jobqueue/admin"
	"lessonkit.example/jobqueue/pgqueue"
	"lessonkit.example/jobqueue/sqlitequeue"
)

// database is one database with the stores of all packages.
type database struct {
	*opendb.DB
	accounts *authstore.Store
	lessons  *feedbackstore.Store
	jobs     jobStore
	client   *admin.Client // of jobs
}

// jobStore is implemented by the job stores of both engines.
type jobStore interface {
	jobqueue.Store
	Migrate(ctx context.Context) error
	Migrated(ctx context.Context) (bool, error)
}

// openDatabase opens postgres://… or sqlite:PATH. PostgreSQL need not be reachable yet.
func openDatabase(ctx context.Context, url string, traces *tracing, log *slog.Logger) (*database, error) {
	db, err := opendb.OpenTraced(ctx, url, traces.statements(url))
	if err != nil {
		return nil, err
	}
	db.OnPoolerMisused = func() { log.Error("DATABASE_URL: " + opendb.PoolerAdvice) }
	if db.Engine == migrate.SQLite {
		jobs := sqlitequeue.New(db.W, db.R, sqlitequeue.Config{OnEnqueue: traces.onEnqueue()})
		return &database{
			DB:       db,
			accounts: authstore.NewSQLite(db.W, db.R),
			lessons:  feedbackstore.NewSQLite(db.W, db.R, outbox(jobs.EnqueueTx)),
			jobs:     jobs,
			client:   admin.NewClient(jobs),
		}, nil
	}
	jobs := pgqueue.New(db.Pool, pgqueue.Config{OnEnqueue: traces.onEnqueue()})
	return &database{
		DB:       db,
		accounts: authstore.NewPostgres(db.W),
		lessons:  feedbackstore.NewPostgres(db.W, outbox(jobs.EnqueueSQL)),
		jobs:     jobs,
		client:   admin.NewClient(jobs),
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
func (db *database) migrate(ctx context.Context) error {
	for _, up := range []func(context.Context) error{db.accounts.Migrate, db.lessons.Migrate, db.jobs.Migrate} {
		if err := up(ctx); err != nil {
			return err
		}
	}
	return db.referTeachers(ctx)
}

// referTeachers adds the foreign keys between the tables of packages that do not know each other: a
// teacher with profiles cannot be deleted. SQLite cannot add foreign keys to a table.
func (db *database) referTeachers(ctx context.Context) error {
	if db.Engine == migrate.SQLite {
		return nil
	}
	return db.Update(ctx, func(ctx context.Context, tx *sql.Tx) error {
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
func (db *database) migrated(ctx context.Context) (bool, error) {
	for _, migrated := range []func(context.Context) (bool, error){
		db.accounts.Migrated, db.lessons.Migrated, db.jobs.Migrated,
	} {
		if ok, err := migrated(ctx); !ok || err != nil {
			return false, err
		}
	}
	return true, nil
}
