// Package sqlitequeue stores a job queue in an SQLite file, for programs of one process or a few on
// one machine.
//
//	store, err := sqlitequeue.Open("jobs.db", sqlitequeue.Config{})
//	if err != nil {
//		return err
//	}
//	err = store.Migrate(ctx)
//
// [Open] returns a [Store] for jobqueue.NewClient and jobqueue.NewWorker, [Store.Migrate] creates
// its tables. [Store.EnqueueTx] enqueues in a transaction of the caller, [Store.CompleteTx]
// completes a job in one.
//
// Concurrent calls share one commit, so many goroutines that insert single jobs do not each wait
// for a disk flush. Workers of the same process are woken at once, those of other processes find
// new jobs by polling.
//
// While a transaction of this program that was begun on the write pool of [Store.DB] is open, other
// writes wait until it ends or their context does: so Enqueue must not be called inside of one (use
// [Store.EnqueueTx]), and one that is never ended stops all work.
//
// A write that has begun to wait for another process does not stop when its context ends. So while
// that holds the lock of the file, calls return only after the busy timeout of 10 s, and Run of a
// stopping worker may return later than its ShutdownTimeout and 5 s.
package sqlitequeue

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"lessonkit.example/internal/db"
	"lessonkit.example/jobqueue"
	"lessonkit.example/jobqueue/driver"
	"lessonkit.example/jobqueue/internal/rules"
	"lessonkit.example/jobqueue/internal/wake"
)

// Config configures a [Store]. The zero value works.
type Config struct {
	// OnEnqueue is called before jobs are enqueued. With EnqueueTx it must not write to the file by
	// other means, because the transaction holds its lock.
	OnEnqueue jobqueue.EnqueueHook
	// Trace is called before each statement, also of others that use [Store.DB], with its text
	// without arguments. The statement then has the context that it returns; the function that it
	// returns, which may be nil, is called once when the statement has ended and its rows are read.
	// It is called concurrently. Neither begin nor commit is traced, because concurrent callers
	// share transactions.
	Trace func(ctx context.Context, statement string) (context.Context, func(error))
}

// Store is a jobqueue.Store. It is safe for concurrent use. Package jobqueue calls its methods that
// have no comment: those of driver.Store.
type Store struct {
	db  *db.DB
	hub wake.Hub

	promoter  *wake.Coalescer // of groups with many jobs
	onEnqueue jobqueue.EnqueueHook
}

var _ jobqueue.TxStore = (*Store)(nil)

// Open opens the file at path, which it creates, readable by its owner only, if it does not exist.
// Every commit survives a power failure. Close the store after use. To enqueue in transactions of
// the caller, begin them on the write pool of [Store.DB].
func Open(path string, cfg Config) (*Store, error) {
	opened, err := db.OpenSQLite(path, cfg.Trace)
	if err != nil {
		return nil, fmt.Errorf("sqlitequeue: %w", err)
	}
	s := &Store{db: opened, onEnqueue: cfg.OnEnqueue}
	s.promoter = wake.NewCoalescer(s.promoteRest)
	return s, nil
}

// Close closes the file.
func (s *Store) Close() error { return s.db.Close() }

// DB returns the pools that the store uses, for other tables in the same file: transactions begun
// on write, which has one connection, can enqueue jobs with [Store.EnqueueTx].
func (s *Store) DB() (write, read *sql.DB) { return s.db.W, s.db.R }

//go:embed migrations
var embedded embed.FS

var migrations, _ = fs.Sub(embedded, "migrations") // cannot fail, the directory is embedded

const versionTable = "jobqueue_migrations"

// Migrate creates the tables or updates them. Several processes may do so at once. The error is
// [jobqueue.ErrUnavailable] while the database is not available.
func (s *Store) Migrate(ctx context.Context) (err error) {
	defer rules.Classify(&err)
	return s.db.Migrate(ctx, versionTable, migrations)
}

// Migrated reports whether the tables exist and are up to date. It does not wait for writers.
func (s *Store) Migrated(ctx context.Context) (_ bool, err error) {
	defer rules.Classify(&err)
	return s.db.Migrated(ctx, versionTable, migrations)
}

// EnqueueHook returns Config.OnEnqueue. Package jobqueue calls it.
func (s *Store) EnqueueHook() jobqueue.EnqueueHook { return s.onEnqueue }

// Listen implements driver.Store within the process.
func (s *Store) Listen(ctx context.Context, _ func(), f func(driver.Signal) bool) error {
	defer s.hub.Subscribe(f)()
	<-ctx.Done()
	return ctx.Err()
}

// update runs f in a write transaction that concurrent callers share. f may run twice, so it must
// not depend on what it has assigned before.
func (s *Store) update(ctx context.Context, f func(tx *sql.Tx, now int64) error) error {
	return s.db.Update(ctx, func(_ context.Context, tx *sql.Tx) error { return f(tx, clock()) })
}

// clock returns the time as the tables store it, in microseconds.
func clock() int64 { return time.Now().UnixMicro() }

// timeOf returns the zero Time for 0.
func timeOf(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return time.UnixMicro(us).UTC()
}

// constraint returns the extended result code of a violated constraint, or 0 for another error.
func constraint(err error) int {
	var e *sqlite.Error
	if errors.As(err, &e) && e.Code()&0xff == sqlite3.SQLITE_CONSTRAINT {
		return e.Code()
	}
	return 0
}

// eachRow scans each row into variables, calls row after each, and closes rows.
func eachRow(rows *sql.Rows, err error, into []any, row func()) error {
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return err
		}
		row()
	}
	return rows.Err()
}

// column returns the values of rows that have one.
func column[T any](rows *sql.Rows, err error) (all []T, _ error) {
	var v T
	err = eachRow(rows, err, []any{&v}, func() { all = append(all, v) })
	return all, err
}

// affected reports whether a statement changed a row.
func affected(result sql.Result, err error) (bool, error) {
	if err != nil {
		return false, err
	}
	n, err := result.RowsAffected()
	return n > 0, err
}
