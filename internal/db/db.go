// Package db is the database of the SQL stores on both engines: opening, transactions, migrations,
// times, and the classification of errors. It links no driver: a program links those that it
// imports.
package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// Engine is a database engine.
type Engine string

// The engines.
const (
	Postgres Engine = "postgres"
	SQLite   Engine = "sqlite"
)

// DB is a database of either engine. Statements use `$1` placeholders, which both accept. It is
// safe for concurrent use.
type DB struct {
	Engine Engine

	// W is for transactions that write, R for reading outside of a transaction. On PostgreSQL they
	// are the same pool. On SQLite, W has a single connection, which takes the lock of the file
	// when a transaction begins, so never use W inside a transaction of W; R rejects writes.
	W, R *sql.DB

	group  *group // SQLite only
	opened bool   // by this package, so Close closes it
}

// FromPostgres returns a DB on a pool of pgx's database/sql driver.
func FromPostgres(pool *sql.DB) *DB { return &DB{Engine: Postgres, W: pool, R: pool} }

// FromSQLite returns a DB on two pools of one file such as [OpenSQLite] opens.
func FromSQLite(w, r *sql.DB) *DB {
	return &DB{Engine: SQLite, W: w, R: r, group: newGroup(w)}
}

// Open opens `postgres://…` or `sqlite:PATH` with the driver that the program has imported:
// github.com/jackc/pgx/v5/stdlib or modernc.org/sqlite. It does not connect to PostgreSQL yet: a
// server may start before its database. Errors do not contain the address.
func Open(address string) (*DB, error) {
	if path, ok := strings.CutPrefix(address, "sqlite:"); ok {
		if strings.HasPrefix(path, "//") || strings.Contains(path, "?") {
			// sqlite://x.db would create /x.db, and sqlite:x.db?a=b one of that name.
			return nil, errors.New("database address: sqlite:PATH has neither // nor options, as in sqlite:lessons.db")
		}
		return OpenSQLite(path, nil)
	}
	if !strings.HasPrefix(address, "postgres://") && !strings.HasPrefix(address, "postgresql://") {
		return nil, errors.New("database address: must be postgres://… or sqlite:PATH")
	}
	if _, err := url.Parse(address); err != nil {
		return nil, errors.New("database address: not a valid postgres:// address")
	}
	pool, err := sql.Open("pgx", address)
	if err != nil {
		return nil, fmt.Errorf("open postgres: the program must import _ \"github.com/jackc/pgx/v5/stdlib\": %w", err)
	}
	return &DB{Engine: Postgres, W: pool, R: pool, opened: true}, nil
}

// Close closes what [Open] or [OpenSQLite] has opened, and does nothing for pools of the caller.
func (db *DB) Close() error {
	if !db.opened {
		return nil
	}
	return errors.Join(db.R.Close(), db.W.Close()) // which may be the same pool
}

// QueryContext reads outside of a transaction. On SQLite, a query that has begun runs to its end:
// that takes microseconds, while making it stoppable would cost two goroutines.
func (db *DB) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return db.R.QueryContext(db.readContext(ctx), query, args...)
}

// QueryRowContext is like [DB.QueryContext], for one row.
func (db *DB) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	return db.R.QueryRowContext(db.readContext(ctx), query, args...)
}

func (db *DB) readContext(ctx context.Context) context.Context {
	if db.Engine == Postgres || ctx.Err() != nil {
		return ctx
	}
	return context.WithoutCancel(ctx)
}

// updateAttempts is how often a transaction is tried that conflicts with others.
const updateAttempts = 5

// Update runs fn in a transaction and commits it. An error of fn rolls it back. fn may run more
// than once, so it must set, not add to, what it captures: on PostgreSQL after a serialization
// failure or deadlock, on SQLite because concurrent callers share transactions. There the context
// of fn does not end: an interrupted statement would undo what others did in the same transaction.
func (db *DB) Update(ctx context.Context, fn func(ctx context.Context, tx *sql.Tx) error) error {
	if db.group != nil {
		return db.group.do(ctx, func(tx *sql.Tx) error { return fn(context.WithoutCancel(ctx), tx) })
	}
	var err error
	for range updateAttempts {
		if err = db.once(ctx, fn); !isConflict(err) {
			break
		}
	}
	if err != nil && errors.Is(ctx.Err(), context.Canceled) {
		// The driver closes the connection then; the database is not at fault.
		return errors.Join(ctx.Err(), err)
	}
	return err
}

// once commits even if ctx ends meanwhile. PostgreSQL would otherwise cancel its wait for a
// synchronous standby and show a row that only it may have; a caller who repeats the request would
// find it, and lose it with this server.
func (db *DB) once(ctx context.Context, fn func(ctx context.Context, tx *sql.Tx) error) error {
	conn, err := db.W.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	tx, err := conn.BeginTx(context.WithoutCancel(ctx), nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // without effect after the commit
	if err := fn(ctx, tx); err != nil {
		return err
	}
	return tx.Commit()
}
