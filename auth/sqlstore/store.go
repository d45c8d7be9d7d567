// Package sqlstore keeps teachers and their sessions in PostgreSQL or SQLite:
// an [auth.Store] on database/sql, one code for both engines. [Open] is all
// that most programs need; [NewPostgres] and [NewSQLite] take databases that a
// program has open already. Call [Store.Migrate] before the first use.
//
// Tables are prefixed auth_, so they fit beside others in one database. Session
// tokens are stored as their SHA-256 alone.
package sqlstore

import (
	"context"
	"database/sql"
	"embed"
	"fmt"

	"lessonkit.example/auth"
	"lessonkit.example/internal/sqldb"
)

// Store is an [auth.Store] in a database. It is safe for concurrent use, also
// by several programs on one database.
type Store struct {
	db   *sqldb.DB
	find lookup
}

var _ auth.Store = (*Store)(nil)

// Open opens a database given by its address, postgres://… or sqlite:PATH (the
// file is made where there is none). PostgreSQL is not contacted yet: a program
// may start before its database. Close the store after use.
func Open(ctx context.Context, address string) (*Store, error) {
	db, err := sqldb.Open(ctx, address)
	if err != nil {
		return nil, fmt.Errorf("sqlstore: %w", err)
	}
	return &Store{db: db}, nil
}

// NewPostgres uses a pool of pgx's database/sql driver, such as
// stdlib.OpenDBFromPool makes, and which stays the caller's to close.
func NewPostgres(db *sql.DB) *Store { return &Store{db: sqldb.FromPostgres(db)} }

// NewSQLite uses two pools of the modernc.org/sqlite driver on one file: write
// with a single connection and immediate transactions, and read. Both need
// foreign keys on, WAL and a busy timeout, and stay the caller's to close.
func NewSQLite(write, read *sql.DB) *Store { return &Store{db: sqldb.FromSQLite(write, read)} }

// Close closes the database of a store that [Open] made.
func (s *Store) Close() error { return s.db.Close() }

const migrationsTable = "auth_migrations"

//go:embed migrations
var migrations embed.FS

// Migrate makes the tables, or brings them up to date. Several programs may
// call it at once.
func (s *Store) Migrate(ctx context.Context) error {
	return wrap("migrate", s.db.Migrate(ctx, migrationsTable, migrations))
}

// Migrated tells whether the tables are up to date. It changes nothing.
func (s *Store) Migrated(ctx context.Context) (bool, error) {
	ok, err := s.db.Migrated(ctx, migrationsTable, migrations)
	return ok, wrap("check migrations", err)
}

// wrap names the operation, and marks what says that the database is away.
func wrap(operation string, err error) error {
	if err == nil {
		return nil
	}
	err = fmt.Errorf("%s: %w", operation, err)
	if sqldb.IsUnavailable(err) {
		return auth.Unavailable(err)
	}
	return err
}
