// Package sqlstore keeps the feedback book in PostgreSQL or SQLite: one code
// over database/sql for both engines.
//
// [NewPostgres] takes a pool of pgx's driver, [NewSQLite] two pools of the same
// file, one of them with a single connection that writes; [Open] makes either
// from an address. [Store.Migrate] brings the tables (prefix feedback_) up to
// date. No extensions, triggers or enumerated types are used.
//
// Work for the background goes through an [Outbox], within the transaction
// that makes it necessary.
package sqlstore

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"sync"

	"lessonkit.example/feedback"
	"lessonkit.example/internal/migrate"
	"lessonkit.example/internal/sqldb"
)

// Outbox keeps a task as a job, using the transaction it is given and nothing
// else of the database. Its error undoes the transaction. It may be called
// again for the same task when a transaction is repeated.
type Outbox func(ctx context.Context, tx *sql.Tx, t feedback.Task) error

// Store implements [feedback.Store]. It is safe for concurrent use, also by
// several processes on one database.
type Store struct {
	db     *sqldb.DB
	outbox Outbox

	kept sync.Map // SQLite: query → *sql.Stmt, prepared once a connection
}

var _ feedback.Store = (*Store)(nil)

// NewPostgres returns a store on a pool of the pgx driver (package
// github.com/jackc/pgx/v5/stdlib), which stays the caller's to close. With a
// nil outbox every operation that makes background work fails.
func NewPostgres(db *sql.DB, outbox Outbox) *Store {
	return &Store{db: sqldb.FromPostgres(db), outbox: outbox}
}

// NewSQLite returns a store on two pools of one file, which stay the caller's
// to close: write with SetMaxOpenConns(1) and immediate transactions, read for
// everything else. Both need the pragma foreign_keys(1). With a nil outbox every
// operation that makes background work fails.
func NewSQLite(write, read *sql.DB, outbox Outbox) *Store {
	return &Store{db: sqldb.FromSQLite(write, read), outbox: outbox}
}

// Open opens `postgres://…` or `sqlite:PATH`, creating a file that is not
// there; the caller closes the store. PostgreSQL need not be reachable yet.
func Open(ctx context.Context, url string, outbox Outbox) (*Store, error) {
	db, err := sqldb.Open(ctx, url)
	if err != nil {
		return nil, err
	}
	return &Store{db: db, outbox: outbox}, nil
}

// Close closes the database of a store that [Open] made.
func (s *Store) Close() error { return s.db.Close() }

//go:embed migrations
var migrations embed.FS

// migrationsTable lists the applied migrations.
const migrationsTable = "feedback_migrations"

// Migrate applies the migrations that are missing. Several processes may call
// it at once.
func (s *Store) Migrate(ctx context.Context) error {
	return wrap("migrate", s.db.Migrate(ctx, migrationsTable, migrations))
}

// Migrated tells whether all migrations are applied. It changes nothing.
func (s *Store) Migrated(ctx context.Context) (bool, error) {
	ok, err := s.db.Migrated(ctx, migrationsTable, migrations)
	return ok, wrap("check migrations", err)
}

// querier is a pool, a transaction, or a pool whose statements are kept.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// read is for reading outside of a transaction.
func (s *Store) read() querier {
	if s.db.Engine == migrate.Postgres {
		return s.db.R // pgx keeps statements itself
	}
	return keeper{s}
}

// keeper prepares each statement once, which spares SQLite the parsing, and
// lets it run to its end: a page is read within microseconds, and to make that
// stoppable would cost two goroutines a query.
type keeper struct{ s *Store }

func (k keeper) stmt(ctx context.Context, query string) (*sql.Stmt, error) {
	if st, ok := k.s.kept.Load(query); ok {
		return st.(*sql.Stmt), ctx.Err()
	}
	st, err := k.s.db.R.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	if old, loaded := k.s.kept.LoadOrStore(query, st); loaded {
		st.Close()
		return old.(*sql.Stmt), nil
	}
	return st, nil
}

func (k keeper) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	st, err := k.stmt(ctx, query)
	if err != nil {
		return nil, err
	}
	return st.QueryContext(context.WithoutCancel(ctx), args...)
}

func (k keeper) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	st, err := k.stmt(ctx, query)
	if err != nil {
		return k.s.db.R.QueryRowContext(ctx, query, args...) // says what is wrong
	}
	return st.QueryRowContext(context.WithoutCancel(ctx), args...)
}

// update runs fn in a transaction. fn may run more than once.
func (s *Store) update(ctx context.Context, op string, fn func(ctx context.Context, tx *sql.Tx) error) error {
	return wrap(op, s.db.Update(ctx, fn))
}

// execer is a transaction, or PostgreSQL's pool.
type execer interface {
	querier
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// single is update for a change that is one statement, which PostgreSQL
// commits by itself: a third of the round trips.
func (s *Store) single(ctx context.Context, op string, fn func(ctx context.Context, db execer) error) error {
	if s.db.Engine == migrate.Postgres {
		return wrap(op, fn(ctx, s.db.W))
	}
	return s.update(ctx, op, func(ctx context.Context, tx *sql.Tx) error { return fn(ctx, tx) })
}

// lock is the clause that keeps a row from changing until the transaction
// ends. SQLite has one writer at a time.
func (s *Store) lock() string {
	if s.db.Engine == migrate.Postgres {
		return " for update"
	}
	return ""
}

func (s *Store) hand(ctx context.Context, tx *sql.Tx, t feedback.Task) error {
	if s.outbox == nil {
		return errors.New("the store has no outbox for background work")
	}
	if err := s.outbox(ctx, tx, t); err != nil {
		return fmt.Errorf("outbox: %w", err)
	}
	return nil
}

// all reads every row of a query.
func all[T any](ctx context.Context, q querier, scan func(row) (T, error), query string, args ...any) ([]T, error) {
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

// row is *sql.Row and *sql.Rows.
type row interface{ Scan(dest ...any) error }

// one reads a single row; none is notFound.
func one[T any](ctx context.Context, q querier, notFound error, scan func(row) (T, error), query string, args ...any) (T, error) {
	item, err := scan(q.QueryRowContext(ctx, query, args...))
	if errors.Is(err, sql.ErrNoRows) {
		err = notFound
	}
	return item, err
}

// changed demands that a statement changed a row: changed(tx.Exec(…))(notFound).
func changed(r sql.Result, err error) func(notFound error) error {
	return func(notFound error) error {
		if err != nil {
			return err
		}
		n, err := r.RowsAffected()
		if err == nil && n == 0 {
			err = notFound
		}
		return err
	}
}

// wrap leaves the domain's errors alone, marks a database that is away, and
// names the operation of everything else.
func wrap(op string, err error) error {
	var domain *feedback.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &domain):
		return err
	case sqldb.IsUnavailable(err):
		return &feedback.Error{Kind: feedback.ErrUnavailable, Message: "the database is not available",
			Err: fmt.Errorf("%s: %w", op, err)}
	}
	return fmt.Errorf("feedback/sqlstore: %s: %w", op, err)
}
