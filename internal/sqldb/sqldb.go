// Package sqldb is the common part of the SQL stores on their two engines: a database handle,
// transactions, reading, times, and the classification of errors. It links no driver: a program
// links the drivers that it imports.
package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"net/url"
	"strings"
	"sync"

	"lessonkit.example/internal/migrate"
	"lessonkit.example/internal/sqlitedb"
)

// DB is a database of either engine. Statements use `$1` placeholders, which both accept. It is
// safe for concurrent use.
type DB struct {
	Engine migrate.Engine

	// W is for transactions that write, R for reading outside of a transaction. On PostgreSQL they
	// are the same pool.
	W, R *sql.DB

	group      *sqlitedb.Group // SQLite only
	statements sync.Map        // SQLite only: query → *sql.Stmt of R
	opened     bool            // by Open, so Close closes it
}

// FromPostgres returns a DB on a pool of pgx's database/sql driver.
func FromPostgres(db *sql.DB) *DB {
	return &DB{Engine: migrate.Postgres, W: db, R: db}
}

// FromSQLite returns a DB on two pools such as [sqlitedb.Open] returns.
func FromSQLite(w, r *sql.DB) *DB {
	return &DB{Engine: migrate.SQLite, W: w, R: r, group: sqlitedb.NewGroup(w)}
}

// Open opens `postgres://…` or `sqlite:PATH` with the driver that the program has imported:
// github.com/jackc/pgx/v5/stdlib or modernc.org/sqlite. It does not connect to PostgreSQL yet: a
// server may start before its database. Each statement on PostgreSQL has a timeout,
// [StatementTimeout].
func Open(address string) (*DB, error) {
	if path, ok := strings.CutPrefix(address, "sqlite:"); ok {
		db, err := sqlitedb.Open(path)
		if err != nil {
			return nil, err
		}
		opened := FromSQLite(db.W, db.R)
		opened.opened = true
		return opened, nil
	}
	if err := CheckPostgres(address); err != nil {
		return nil, err
	}
	db, err := openLimited(address, StatementTimeout)
	if err != nil {
		return nil, err
	}
	opened := FromPostgres(db)
	opened.opened = true
	return opened, nil
}

// ErrPostgresAddress is the error of an address that is not a URL, which it does not repeat.
var ErrPostgresAddress = errors.New("database address: not a valid postgres:// address")

// CheckPostgres returns an error, without the address, if it is not the URL of a PostgreSQL
// database.
func CheckPostgres(address string) error {
	if !strings.HasPrefix(address, "postgres://") && !strings.HasPrefix(address, "postgresql://") {
		return errors.New("database address: must be postgres://… or sqlite:PATH")
	}
	if _, err := url.Parse(address); err != nil {
		return ErrPostgresAddress
	}
	return nil
}

// Close closes what [Open] opened, and does nothing for pools of the caller.
func (db *DB) Close() error {
	if !db.opened {
		return nil
	}
	err := db.W.Close()
	if db.R != db.W {
		err = errors.Join(db.R.Close(), err)
	}
	return err
}

// updateAttempts is how often a transaction is tried that conflicts with others.
const updateAttempts = 5

// Update runs fn in a transaction and commits it. An error of fn rolls it back. fn may run more
// than once: on PostgreSQL after a serialization failure or deadlock, on SQLite because callers
// share transactions, see [sqlitedb.Group]. There the context of fn does not end: an interrupted
// statement would undo what others did in the same transaction.
func (db *DB) Update(ctx context.Context, fn func(ctx context.Context, tx *sql.Tx) error) error {
	if db.group != nil {
		return db.group.Do(ctx, func(tx *sql.Tx) error { return fn(context.WithoutCancel(ctx), tx) })
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

func (db *DB) once(ctx context.Context, fn func(ctx context.Context, tx *sql.Tx) error) error {
	tx, err := db.W.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // without effect after the commit
	if err := fn(ctx, tx); err != nil {
		return err
	}
	return tx.Commit()
}

// Migrate applies the migrations in the folder migrations/postgres or migrations/sqlite that table
// does not list yet.
func (db *DB) Migrate(ctx context.Context, table string, migrations fs.FS) error {
	return migrate.Up(ctx, db.W, db.Engine, table, db.folder(migrations))
}

// Migrated reports whether all migrations are applied. It changes nothing.
func (db *DB) Migrated(ctx context.Context, table string, migrations fs.FS) (bool, error) {
	pending, err := migrate.Pending(ctx, db.R, db.Engine, table, db.folder(migrations))
	return !pending && err == nil, err
}

func (db *DB) folder(migrations fs.FS) fs.FS {
	dir := "migrations/postgres"
	if db.Engine == migrate.SQLite {
		dir = "migrations/sqlite"
	}
	files, err := fs.Sub(migrations, dir)
	if err != nil {
		panic(err) // only an invalid name is an error
	}
	return files
}
