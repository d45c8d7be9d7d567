// Package sqlstore is an [auth.Store] in PostgreSQL or SQLite, on database/sql. [Open] is enough
// for most programs, with the driver that they import (github.com/jackc/pgx/v5/stdlib or
// modernc.org/sqlite); [NewPostgres] and [NewSQLite] take databases that the program has already
// opened. Call [Store.Migrate] before the first use.
//
//	store, err := sqlstore.Open(ctx, "sqlite:users.db") // or postgres://…
//	if err != nil {
//		return err
//	}
//	err = store.Migrate(ctx)
//
// Table names begin with auth_, so they fit beside others in one database. Of a session token only
// the SHA-256 is stored.
package sqlstore

import (
	"context"
	"database/sql"
	"embed"
	"fmt"

	"lessonkit.example/auth"
	"lessonkit.example/internal/db"
)

// Store is an [auth.Store] in a database. It is safe for concurrent use, also
// by several programs on one database.
type Store struct {
	db *db.DB
}

var _ auth.Store = (*Store)(nil)

// Open opens a database by its address, postgres://… or sqlite:PATH (a file that does not exist
// is created). It does not connect to PostgreSQL yet: a program may start before its database.
// How long a statement may take there is the caller's: limit it by ctx, or use [NewPostgres] on a
// pool with limits, such as one of pgqueue.PoolConfig. Close the store after use.
func Open(_ context.Context, address string) (*Store, error) {
	opened, err := db.Open(address)
	if err != nil {
		return nil, fmt.Errorf("sqlstore: %w", err)
	}
	return &Store{db: opened}, nil
}

// NewPostgres returns a store on a pool of pgx's database/sql driver, such as stdlib.OpenDBFromPool
// returns. The caller closes the pool.
func NewPostgres(pool *sql.DB) *Store { return &Store{db: db.FromPostgres(pool)} }

// NewSQLite returns a store on two pools of the modernc.org/sqlite driver on one file: write with a
// single connection and immediate transactions, and read. Both need foreign keys on, WAL and a busy
// timeout; sqlitequeue.Open's DB returns such pools. The caller closes them.
func NewSQLite(write, read *sql.DB) *Store { return &Store{db: db.FromSQLite(write, read)} }

// Close closes the database of a store that [Open] returned, and does nothing for others.
func (s *Store) Close() error { return s.db.Close() }

const migrationsTable = "auth_migrations"

//go:embed migrations
var migrations embed.FS

// Migrate creates the tables or brings them up to date. Several programs may call it at once.
// It needs PostgreSQL's own address, not a pooler in transaction mode: its lock belongs to a
// connection.
func (s *Store) Migrate(ctx context.Context) error {
	return wrap("migrate", s.db.Migrate(ctx, migrationsTable, s.db.Files(migrations)))
}

// Migrated reports whether the tables are up to date. It changes nothing.
func (s *Store) Migrated(ctx context.Context) (bool, error) {
	ok, err := s.db.Migrated(ctx, migrationsTable, s.db.Files(migrations))
	return ok, wrap("check migrations", err)
}

// wrap names the operation, and marks errors of a database that is unavailable.
func wrap(operation string, err error) error {
	if err == nil {
		return nil
	}
	if db.IsNotMigrated(err) {
		operation += " (run Migrate)"
	}
	err = fmt.Errorf("%s: %w", operation, err)
	if db.IsUnavailable(err) {
		return auth.Unavailable(err)
	}
	return err
}
