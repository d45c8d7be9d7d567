package server

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	authstore "lessonkit.example/auth/sqlstore"
	"lessonkit.example/feedback"
	feedbackstore "lessonkit.example/feedback/sqlstore"
	"lessonkit.example/jobqueue"
	"lessonkit.example/jobqueue/pgqueue"
	"lessonkit.example/jobqueue/sqlitequeue"
)

// database is one database with the stores of all packages.
type database struct {
	engine   string  // "postgres" or "sqlite"
	name     string  // for the log: the file, or the host and the name
	read     *sql.DB // on PostgreSQL also for writing
	accounts *authstore.Store
	lessons  *feedbackstore.Store
	jobs     jobqueue.Store
	client   *jobqueue.Client // of jobs

	// poolerMisused is true once statements have failed because the database is behind a connection
	// pooler that its address does not consider.
	poolerMisused atomic.Bool

	// Close closes the database.
	Close func() error
}

// databaseMistake returns why openDatabase does not accept an address, or "". With // or options
// the path of an SQLite file would be that of another file, which is created: data seems to be
// lost.
func databaseMistake(address string) string {
	file, isFile := strings.CutPrefix(address, "sqlite:")
	if isFile && file != "" && !strings.HasPrefix(file, "//") && !strings.Contains(file, "?") {
		return ""
	}
	_, err := pgqueue.PoolConfig(address, nil)
	certificate, unreadable := errors.AsType[*fs.PathError](err)
	_, rest, _ := strings.Cut(address, "://")
	end := strings.IndexAny(rest, "/?#") // of the host
	path, query, _ := strings.Cut(rest[max(end, 0):], "?")
	setting, _, _ := strings.Cut(query, "=") // its value may have an @
	switch {
	case unreadable:
		return certificate.Error()
	case err != nil:
		return "must be a valid postgres://… address or sqlite:PATH, a plain path"
	case end >= 0 && strings.Contains(path+setting, "@"): // the log would have a part of the password as a name
		return "must have %40, %2F, %3F and %23 in place of @, /, ? and # in the password"
	}
	return ""
}

// checkDirectory returns an error if the directory of an SQLite database is missing, which migrate
// makes: made by a server, it would hide a wrong path, or a volume that is not mounted.
func checkDirectory(address string) error {
	path, ok := strings.CutPrefix(address, "sqlite:")
	if !ok {
		return nil
	}
	_, err := os.Stat(filepath.Dir(path))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("DATABASE_URL: %w; run `migrate`, which makes it, or correct the address", err)
	case err != nil:
		return fmt.Errorf("DATABASE_URL: %w", err)
	}
	return nil
}

// openDatabase opens postgres://… or sqlite:PATH. PostgreSQL need not be reachable yet: a server
// may start before its database.
func openDatabase(ctx context.Context, address string, traces *tracing, log *slog.Logger) (*database, error) {
	if path, ok := strings.CutPrefix(address, "sqlite:"); ok {
		return openSQLite(path, traces)
	}
	return openPostgres(ctx, address, traces, log)
}

func openSQLite(path string, traces *tracing) (*database, error) {
	jobs, err := sqlitequeue.Open(path, sqlitequeue.Config{
		OnEnqueue: traces.onEnqueue(), Trace: traces.statements("sqlite"),
	})
	if err != nil {
		return nil, err
	}
	write, read := jobs.DB()
	return &database{
		engine:   "sqlite",
		name:     path,
		read:     read,
		accounts: authstore.NewSQLite(write, read),
		lessons:  feedbackstore.NewSQLite(write, read, outbox(jobs.EnqueueTx)),
		jobs:     jobs,
		client:   jobqueue.NewClient(jobs),
		Close:    jobs.Close,
	}, nil
}

func openPostgres(ctx context.Context, address string, traces *tracing, log *slog.Logger) (*database, error) {
	d := &database{engine: "postgres"}
	config, err := pgqueue.PoolConfig(address, d.watchPooler(traces.statements("postgresql"), log))
	if err != nil {
		return nil, err
	}
	d.name = config.ConnConfig.Host + "/" + config.ConnConfig.Database
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	jobs := pgqueue.New(pool, pgqueue.Config{OnEnqueue: traces.onEnqueue()})
	d.read = stdlib.OpenDBFromPool(pool)
	d.accounts = authstore.NewPostgres(d.read)
	d.lessons = feedbackstore.NewPostgres(d.read, outbox(jobs.EnqueueTx))
	d.jobs, d.client = jobs, jobqueue.NewClient(jobs)
	d.Close = func() error {
		defer pool.Close()
		return d.read.Close()
	}
	return d, nil
}

// watchPooler adds to trace, which may be nil, that prepared statements are noticed which are not
// found or exist already. pgx prepares the statements of a connection once. A pooler in transaction
// mode runs each transaction on any connection of the server, where other statements are prepared.
func (d *database) watchPooler(trace statementTrace, log *slog.Logger) statementTrace {
	return func(ctx context.Context, statement string) (context.Context, func(error)) {
		var end func(error)
		if trace != nil {
			ctx, end = trace(ctx, statement)
		}
		return ctx, func(err error) {
			if end != nil {
				end(err)
			}
			const undefinedStatement, duplicateStatement = "26000", "42P05"
			e, ok := errors.AsType[*pgconn.PgError](err)
			if ok && (e.Code == undefinedStatement || e.Code == duplicateStatement) && !d.poolerMisused.Swap(true) {
				log.Error("DATABASE_URL: the database is behind a connection pooler in transaction mode, such as " +
					"pgbouncer: add default_query_exec_mode=exec to the address of the database")
			}
		}
	}
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
	if d.engine == "sqlite" {
		return nil
	}
	for _, table := range []string{"feedback_profiles", "feedback_defaults"} {
		var exists bool
		if err := d.read.QueryRowContext(ctx, `
			select exists (select from pg_constraint where conname = $1 and conrelid = to_regclass($2))`,
			table+"_teacher", table).Scan(&exists); err != nil {
			return err
		}
		if exists {
			continue
		}
		if _, err := d.read.ExecContext(ctx, `alter table `+table+`
			drop constraint if exists `+table+`_teacher, -- added by another process since
			add constraint `+table+`_teacher foreign key (teacher_id) references auth_users (id)`); err != nil {
			return fmt.Errorf("reference teachers from %s: %w", table, err)
		}
	}
	return nil
}

// readOnly reports whether PostgreSQL accepts no writes. It fails if the database does not answer.
func (d *database) readOnly(ctx context.Context) (bool, error) {
	if d.engine == "sqlite" {
		return false, d.read.PingContext(ctx)
	}
	var setting string
	err := d.read.QueryRowContext(ctx, "show transaction_read_only").Scan(&setting)
	return setting == "on", err
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
