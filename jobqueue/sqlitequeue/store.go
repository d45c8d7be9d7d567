// Package sqlitequeue keeps a job queue in an SQLite file, for programs of one process or a few on one machine.
//
// [Open] makes a [Store] for jobqueue.NewClient and jobqueue.NewWorker on a file of its own, [New] one on a database
// that you opened; [Store.Migrate] makes its tables. [Store.EnqueueTx] enqueues in a transaction of yours, [Store.CompleteTx] finishes a job in one.
//
// Concurrent calls share one commit, so single inserts of many goroutines do not wait for a disk flush each. Workers of
// the same process are woken at once, those of others find new jobs by polling.
//
// A write whose turn has come is waited for whatever its context says. So while another process, or a transaction of this
// program, keeps the file locked, calls return only after the busy timeout (10 s after [Open]) or the end of that transaction,
// and Run of a worker that stops then may return later than its grace period and 5*time.Second.
package sqlitequeue

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"sync"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"lessonkit.example/internal/migrate"
	"lessonkit.example/internal/sqlitedb"
	"lessonkit.example/jobqueue/driver"
	"lessonkit.example/jobqueue/internal/wake"
)

// Config configures a [Store]. The zero value works.
type Config struct {
	// Now is the clock of the queue. All processes that share the file must agree on it. Defaults to time.Now.
	Now func() time.Time
}

// Store is a jobqueue.Store. It is safe for concurrent use.
type Store struct {
	w, r  *sql.DB
	file  *sqlitedb.DB // nil unless opened here
	now   func() time.Time
	group *sqlitedb.Group
	hub   wake.Hub

	mu    sync.Mutex
	stmts map[string]*sql.Stmt // of w
}

var (
	_ driver.Store    = (*Store)(nil)
	_ driver.Listener = (*Store)(nil)
)

// Open opens the file at path, which is made, readable by its owner only, where there is none. Every commit is kept
// through a power cut. Close the store after use. To enqueue in transactions of your own, use [New] on the database that
// holds your tables.
func Open(path string, cfg Config) (*Store, error) {
	db, err := sqlitedb.Open(path, sqlitedb.Options{})
	if err != nil {
		return nil, fmt.Errorf("sqlitequeue: %w", err)
	}
	s := New(db.W, db.R, cfg)
	s.file = db
	return s, nil
}

// Close closes the file of a store that [Open] made. Databases given to [New] stay their owner's.
func (s *Store) Close() error {
	if s.file == nil {
		return nil
	}
	return s.file.Close()
}

// DB returns the pools that the store uses, for other stores on the same file: jobs can then be
// enqueued in their transactions, by [Store.EnqueueTx]. write has one connection.
func (s *Store) DB() (write, read *sql.DB) { return s.w, s.r }

// New returns a store that writes through write and reads through read. write must have one connection
// (SetMaxOpenConns(1)) and begin transactions with BEGIN IMMEDIATE (_txlock=immediate); both use the driver
// modernc.org/sqlite with journal_mode WAL and a busy_timeout. synchronous FULL keeps every commit through a power cut and
// costs a busy queue little.
func New(write, read *sql.DB, cfg Config) *Store {
	s := &Store{w: write, r: read, now: cfg.Now, group: sqlitedb.NewGroup(write), stmts: map[string]*sql.Stmt{}}
	if s.now == nil {
		s.now = time.Now
	}
	return s
}

//go:embed migrations
var embedded embed.FS

// Migrations returns the schema as goose files, for people who run migrations themselves.
func Migrations() fs.FS {
	sub, err := fs.Sub(embedded, "migrations")
	if err != nil {
		panic(err) // the directory is embedded
	}
	return sub
}

const versionTable = "jobqueue_migrations"

// Migrate makes the tables or brings them up to date. Several processes may do so at once.
func (s *Store) Migrate(ctx context.Context) error {
	return migrate.Up(ctx, s.w, migrate.SQLite, versionTable, Migrations())
}

// Migrated reports whether the tables are there and up to date. It does not wait for those who write.
func (s *Store) Migrated(ctx context.Context) (bool, error) {
	pending, err := migrate.Pending(ctx, s.r, migrate.SQLite, versionTable, Migrations())
	return err == nil && !pending, err
}

// Check implements jobqueue.Store.
func (s *Store) Check(ctx context.Context) error {
	ok, err := s.Migrated(ctx)
	if err == nil && !ok {
		err = fmt.Errorf("%w: tables are missing or older than this program; run Migrate", driver.ErrSchema)
	}
	return err
}

// Wake implements jobqueue.Waker within the process.
func (s *Store) Listen(ctx context.Context, _ func(), f func(driver.Signal) bool) error {
	defer s.hub.Subscribe(f)()
	<-ctx.Done()
	return ctx.Err()
}

// runner runs prepared statements in a transaction.
type runner struct {
	tx    *sql.Tx
	stmts map[string]*sql.Stmt
}

func (r runner) exec(query string, args ...any) (sql.Result, error) {
	return r.tx.Stmt(r.stmts[query]).Exec(args...)
}

func (r runner) query(query string, args ...any) (*sql.Rows, error) {
	return r.tx.Stmt(r.stmts[query]).Query(args...)
}

// update runs f in a write transaction that concurrent callers share. f may run twice, so it sets what it returns anew.
// The statements it uses are named beforehand: there is one connection, so nothing can be prepared inside.
func (s *Store) update(ctx context.Context, f func(r runner, now int64) error, queries ...string) error {
	stmts := make(map[string]*sql.Stmt, len(queries))
	for _, q := range queries {
		stmt, err := s.prepare(ctx, q)
		if err != nil {
			return err
		}
		stmts[q] = stmt
	}
	return s.group.Do(ctx, func(tx *sql.Tx) error { return f(runner{tx, stmts}, micros(s.now())) })
}

func (s *Store) prepare(ctx context.Context, query string) (*sql.Stmt, error) {
	s.mu.Lock()
	stmt := s.stmts[query]
	s.mu.Unlock()
	if stmt != nil {
		return stmt, nil
	}
	stmt, err := s.w.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if old := s.stmts[query]; old != nil {
		stmt.Close()
		return old, nil
	}
	s.stmts[query] = stmt
	return stmt, nil
}

func micros(t time.Time) int64 { return t.UnixMicro() }

// duration is that many microseconds, or the longest Duration.
func duration(us int64) time.Duration {
	return time.Duration(min(us, math.MaxInt64/int64(time.Microsecond))) * time.Microsecond
}

// timeOf takes 0 for no time.
func timeOf(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return time.UnixMicro(us).UTC()
}

func isUnique(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && e.Code() == sqlite3.SQLITE_CONSTRAINT_UNIQUE
}

func isConstraint(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && e.Code()&0xff == sqlite3.SQLITE_CONSTRAINT
}
