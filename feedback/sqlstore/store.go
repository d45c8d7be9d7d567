// Package sqlstore implements [feedback.Store] on PostgreSQL and SQLite.
//
//	store, err := sqlstore.Open(ctx, "sqlite:lessons.db", outbox) // or postgres://…
//	if err != nil {
//		return err
//	}
//	err = store.Migrate(ctx)
//
// [NewPostgres] uses a pool of pgx's driver, [NewSQLite] two pools of one file, of which one has a
// single connection and writes; [Open] opens either by its URL, with the driver that the program
// imports: github.com/jackc/pgx/v5/stdlib or modernc.org/sqlite. [Store.Migrate] brings the tables
// (prefix feedback_) up to date. No extensions or enumerated types are used.
//
// Background work is handed to an [Outbox], within the transaction that makes it necessary.
package sqlstore

import (
	"context"
	"database/sql"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/semaphore"

	"lessonkit.example/feedback"
	"lessonkit.example/internal/db"
)

// Outbox stores a task as a job of a queue. It must use tx for that and no other connection to the
// database. If it returns an error, the transaction is rolled back. It is called again for the same
// task if a transaction is repeated.
//
// With the queues of package jobqueue, it calls EnqueueTx of a sqlitequeue.Store on the same file
// or of a pgqueue.Store on the same database:
//
//	func(ctx context.Context, tx *sql.Tx, t feedback.Task) error {
//		job := jobqueue.Params{Kind: string(t.Kind), Args: t, RunAt: t.Turn}
//		_, err := queue.EnqueueTx(ctx, tx, job)
//		return err
//	}
//
// A program whose teachers can be erased also gives the jobs of [feedback.TaskTranscribe] and
// [feedback.TaskLearn] a Group of the teacher, for jobqueue.Client.DeleteGroup: see
// [feedback.Service.EraseTeacher].
type Outbox func(ctx context.Context, tx *sql.Tx, t feedback.Task) error

// Store implements [feedback.Store]. It is safe for concurrent use, also by several processes on
// one database.
type Store struct {
	// Reserve is the space, in bytes, that is kept free on the file system of an SQLite file, so
	// that signing in and deleting always work: what SQLite deletes it overwrites, which takes as
	// much space again for a moment. 0 means a twentieth of the file system and at most 1 GiB, but
	// at least the lesser of a third and 64 MiB; a negative value means none. It must not be
	// changed while the store is used.
	Reserve int64

	db     *db.DB
	outbox Outbox

	searching     *semaphore.Weighted // on SQLite
	searchTimeout time.Duration
}

var _ feedback.Store = (*Store)(nil)

func newStore(opened *db.DB, outbox Outbox) *Store {
	return &Store{db: opened, outbox: outbox, searching: semaphore.NewWeighted(1), searchTimeout: searchTimeout}
}

// NewPostgres returns a store on a pool of the pgx driver (package
// github.com/jackc/pgx/v5/stdlib), which the caller closes. If outbox is nil, operations with
// background work, such as taking a recording, fail with [feedback.ErrNoOutbox].
func NewPostgres(pool *sql.DB, outbox Outbox) *Store {
	return newStore(db.FromPostgres(pool), outbox)
}

// NewSQLite returns a store on two pools of one file, which the caller closes: write with
// SetMaxOpenConns(1) and immediate transactions, and read for everything else. Both need the pragma
// foreign_keys(1). DB of a sqlitequeue.Store returns such pools: the store and the queue can share
// one file, and should where the outbox adds jobs to the queue; rows of the caller may be in it
// too. If outbox is nil, operations with background work fail with [feedback.ErrNoOutbox].
func NewSQLite(write, read *sql.DB, outbox Outbox) *Store {
	return newStore(db.FromSQLite(write, read), outbox)
}

// Open opens a database by its URL, `postgres://…` or `sqlite:PATH`, and creates a missing file.
// The caller closes the store. PostgreSQL need not be reachable yet; how long a statement may take
// there is the caller's: limit it by ctx, or use [NewPostgres] on a pool with limits, such as one
// of pgqueue.PoolConfig.
func Open(_ context.Context, url string, outbox Outbox) (*Store, error) {
	opened, err := db.Open(url)
	if err != nil {
		return nil, err
	}
	return newStore(opened, outbox), nil
}

// Close closes the database of a store returned by [Open], and does nothing for others.
func (s *Store) Close() error { return s.db.Close() }

//go:embed migrations
var migrations embed.FS

const migrationsTable = "feedback_migrations"

// Migrate applies the missing migrations. Several processes may call it concurrently. It
// needs PostgreSQL's own address, not a pooler in transaction mode: its lock belongs to a
// connection.
func (s *Store) Migrate(ctx context.Context) error {
	return wrap("migrate", s.db.Migrate(ctx, migrationsTable, s.db.Files(migrations)))
}

// Migrated reports whether all migrations have been applied. It changes nothing.
func (s *Store) Migrated(ctx context.Context) (bool, error) {
	ok, err := s.db.Migrated(ctx, migrationsTable, s.db.Files(migrations))
	return ok, wrap("check migrations", err)
}

// querier is a pool or a transaction.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// update runs fn in a transaction. fn may run more than once.
func (s *Store) update(ctx context.Context, op string, fn func(ctx context.Context, tx *sql.Tx) error) error {
	return wrap(op, s.db.Update(ctx, fn))
}

// exec runs a single statement, and returns notFound, which may be nil, if it changes no row.
func (s *Store) exec(ctx context.Context, op string, notFound error, query string, args ...any) error {
	return s.update(ctx, op, func(ctx context.Context, tx *sql.Tx) error {
		return execOne(ctx, tx, notFound, query, args...)
	})
}

// forUpdate returns the clause that locks rows until the transaction ends. SQLite has a single
// writer.
func (s *Store) forUpdate() string {
	if s.db.Engine == db.Postgres {
		return " for update"
	}
	return ""
}

// enqueue adds the task of a segment's round.
func (s *Store) enqueue(ctx context.Context, tx *sql.Tx, g feedback.Segment, round int64, turn time.Time) error {
	return s.addTask(ctx, tx,
		feedback.Task{Kind: feedback.TaskTranscribe, SegmentID: g.ID, Round: round, TeacherID: g.TeacherID,
			Turn: turn})
}

func (s *Store) addTask(ctx context.Context, tx *sql.Tx, t feedback.Task) error {
	if s.outbox == nil {
		return &feedback.Error{Kind: feedback.ErrNoOutbox,
			Message: "recordings are not taken: the service has no queue for their transcription"}
	}
	if err := s.outbox(ctx, tx, t); err != nil {
		return fmt.Errorf("outbox: %w", err)
	}
	return nil
}

// args are the arguments of a statement.
type args []any

// add adds an argument and returns its placeholder.
func (a *args) add(v any) string {
	*a = append(*a, v)
	return fmt.Sprintf("$%d", len(*a))
}

// elements returns a subquery for the elements of a list that is $1, of a type of PostgreSQL's, and
// the argument for it: JSON, which both engines can expand.
func (s *Store) elements(list any, postgresType string) (subquery, arg string) {
	text, _ := json.Marshal(list) // identifiers and keys
	subquery = `select value from json_each($1)`
	if s.db.Engine == db.Postgres {
		subquery = `select cast(jsonb_array_elements_text(cast($1 as jsonb)) as ` + postgresType + `)`
	}
	return subquery, string(text)
}

// row is *sql.Row or *sql.Rows.
type row interface{ Scan(dest ...any) error }

// scanValue scans a row of one column.
func scanValue[T any](r row) (v T, err error) {
	err = r.Scan(&v)
	return v, err
}

// all returns every row of a query.
func all[T any](
	ctx context.Context, q querier, scan func(row) (T, error), query string, args ...any,
) ([]T, error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var items []T
	for rows.Next() {
		item, err := scan(rows)
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	return items, rows.Err()
}

// upTo returns the rows of a query as long as there are at most limit of them and they have at most
// [feedback.MaxPageText] bytes by size and rowSize; at least one. more means that the query has
// others, which are not read.
func upTo[T any](
	ctx context.Context, q querier, limit int, scan func(row) (T, error), size func(T) int, query string, args ...any,
) (items []T, more bool, err error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, false, err
	}
	defer rows.Close()
	for bytes := 0; rows.Next(); {
		item, err := scan(rows)
		if err != nil {
			return nil, false, err
		}
		bytes += size(item) + rowSize
		if len(items) == limit || len(items) > 0 && bytes > feedback.MaxPageText {
			return items, true, nil
		}
		items = append(items, item)
	}
	return items, false, rows.Err()
}

// rowSize is about what identifiers and times of a row take in an answer, in bytes.
const rowSize = 500

// one returns a single row, or notFound.
func one[T any](
	ctx context.Context, q querier, notFound error, scan func(row) (T, error), query string, args ...any,
) (T, error) {
	item, err := scan(q.QueryRowContext(ctx, query, args...))
	if errors.Is(err, sql.ErrNoRows) {
		err = notFound
	}
	return item, err
}

// execOne runs a statement, and returns notFound if it changes no row.
func execOne(ctx context.Context, tx *sql.Tx, notFound error, query string, args ...any) error {
	res, err := tx.ExecContext(ctx, query, args...)
	if err != nil {
		return err
	}
	n, err := res.RowsAffected()
	if err == nil && n == 0 {
		err = notFound
	}
	return err
}

// wrap returns the errors of package feedback unchanged, classifies those of an unavailable
// database, and adds the operation to all others.
func wrap(op string, err error) error {
	if err == nil {
		return nil
	}
	if db.IsNotMigrated(err) {
		op += " (run Migrate)"
	}
	var known *feedback.Error
	switch {
	case errors.As(err, &known):
		return err
	case db.IsUnavailable(err):
		return &feedback.Error{Kind: feedback.ErrUnavailable, Message: "the database is not available",
			Err: fmt.Errorf("%s: %w", op, err)}
	}
	return fmt.Errorf("feedback/sqlstore: %s: %w", op, err)
}
