// Package migrate brings a package's tables up to date: goose's provider under a lock that makes it
// safe for several programs to start at once.
package migrate

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"time"

	"github.com/pressly/goose/v3"
)

// Engine is a database engine.
type Engine string

// The engines.
const (
	Postgres Engine = "postgres"
	SQLite   Engine = "sqlite"
)

type running struct{}

// Running reports whether ctx belongs to a statement of [Up], which may wait for other programs and
// then take long on large tables.
func Running(ctx context.Context) bool { return ctx.Value(running{}) != nil }

// Up applies the migrations that table does not list yet, oldest first. The files have names like
// 00001_name.sql and goose's annotations; each runs in its own transaction, unless it is annotated
// otherwise.
func Up(ctx context.Context, db *sql.DB, e Engine, table string, migrations fs.FS) error {
	ctx = context.WithValue(ctx, running{}, true)
	var err error
	// PostgreSQL's lock admits one program at a time. SQLite has no such lock, but a program that
	// loses the race leaves nothing behind: it tries again and finds the work done.
	for attempt := range 10 {
		if attempt > 0 {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(time.Duration(attempt) * 10 * time.Millisecond):
			}
		}
		var p *goose.Provider
		if p, err = provider(db, e, table, migrations); err != nil {
			break
		}
		if _, err = p.Up(ctx); err == nil || e != SQLite {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("migrate %s: %w", table, err)
	}
	return nil
}

// Pending reports whether there are migrations that [Up] would apply. It changes nothing.
func Pending(ctx context.Context, db *sql.DB, e Engine, table string, migrations fs.FS) (bool, error) {
	newest, applied, err := versions(ctx, db, e, table, migrations)
	if err != nil {
		return false, fmt.Errorf("check migrations of %s: %w", table, err)
	}
	return applied < newest, nil
}

// versions returns the newest version of the migrations and the newest in table. It reads the table
// itself because goose would create it.
func versions(ctx context.Context, db *sql.DB, e Engine, table string, migrations fs.FS) (newest, applied int64,
	err error) {
	p, err := provider(db, e, table, migrations)
	if err != nil {
		return 0, 0, err
	}
	for _, s := range p.ListSources() {
		newest = max(newest, s.Version)
	}
	exists := "select to_regclass($1) is not null"
	if e == SQLite {
		exists = "select count(*) > 0 from sqlite_master where name = $1"
	}
	var there bool
	if err := db.QueryRowContext(ctx, exists, table).Scan(&there); err != nil || !there {
		return newest, 0, err
	}
	err = db.QueryRowContext(ctx, "select coalesce(max(version_id), 0) from "+table).Scan(&applied)
	return newest, applied, err
}

func provider(db *sql.DB, e Engine, table string, migrations fs.FS) (*goose.Provider, error) {
	options := []goose.ProviderOption{
		goose.WithTableName(table),
		goose.WithDisableGlobalRegistry(true),
		goose.WithLogger(goose.NopLogger()),
	}
	dialect := goose.DialectSQLite3
	if e == Postgres {
		dialect = goose.DialectPostgres
		options = append(options, goose.WithSessionLocker(blockingLock(table)))
	}
	return goose.NewProvider(dialect, db, migrations, options...)
}

// blockingLock is an advisory lock that waits in PostgreSQL; goose's own polls every few seconds.
type blockingLock string

func (l blockingLock) SessionLock(ctx context.Context, conn *sql.Conn) error {
	_, err := conn.ExecContext(ctx, "select pg_advisory_lock($1)", l.key())
	return ignoreMissing(err)
}

func (l blockingLock) SessionUnlock(ctx context.Context, conn *sql.Conn) error {
	_, err := conn.ExecContext(ctx, "select pg_advisory_unlock($1)", l.key())
	return ignoreMissing(err)
}

func (l blockingLock) key() int64 {
	h := fnv.New64a()
	h.Write([]byte(l))
	return int64(h.Sum64())
}

// ignoreMissing lets distributed databases that speak PostgreSQL's protocol without advisory locks
// migrate unlocked.
func ignoreMissing(err error) error {
	const undefinedFunction, featureNotSupported = "42883", "0A000"
	var e interface{ SQLState() string } // of pgx
	if errors.As(err, &e) && (e.SQLState() == undefinedFunction || e.SQLState() == featureNotSupported) {
		return nil
	}
	return err
}
